"""The examples and the tutorial run, and print what they printed before. FLASHLOOM_BLESS=1 keeps what they print today."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
SHOWN = HERE / "shown"
BLESS = "FLASHLOOM_BLESS" in os.environ


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py")))
def test_an_example_prints_its_figures(name: str, tmp_path: Path) -> None:
    command = [sys.executable, EXAMPLES / f"{name}.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    shown = SHOWN / f"{name}.txt"
    if BLESS:
        shown.write_text(done.stdout)
    assert done.stdout == shown.read_text()
    assert list(tmp_path.iterdir()) == []


def outputs(notebook: Any) -> list[list[str]]:
    """What the cells print, and the kinds of other things that they show."""

    def text(output: Any) -> str:
        return str(output["text"]) if output["output_type"] == "stream" else "shows " + " ".join(sorted(output["data"]))

    return [[text(output) for output in cell.get("outputs", ())] for cell in notebook.cells]


def test_the_tutorial_shows_what_it_showed() -> None:
    path = EXAMPLES / "tutorial.ipynb"
    notebook = nbformat.read(path, as_version=4)
    before = outputs(notebook)
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    nbclient.NotebookClient(notebook, timeout=300, startup_timeout=300, record_timing=False).execute()
    if BLESS:
        notebook.metadata["language_info"] = {"name": "python"}
        nbformat.write(notebook, path)
        before = outputs(notebook)
    assert outputs(notebook) == before and any("image/png" in line for cell in before for line in cell)
    assert path.stat().st_size < 64 << 10
