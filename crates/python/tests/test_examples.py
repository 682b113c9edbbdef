"""The examples and the notebooks run, and print what they printed before. FLASHLOOM_BLESS=1 keeps what they print today."""

import base64
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib.image
import nbclient
import nbformat
import numpy
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


def pictures(notebook: Any) -> list[Any]:
    """The pixels of the pictures that the cells show."""
    shown = (output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ()))
    coded = (data["image/png"] for data in shown if "image/png" in data)
    return [matplotlib.image.imread(io.BytesIO(base64.b64decode(png))) for png in coded]


def difference(picture: Any, other: Any) -> float:
    """The share of pixels that differ visibly. The last digits of a colour depend on the machine."""
    return float(numpy.mean(numpy.any(numpy.abs(picture - other) > 0.1, axis=-1)))


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.ipynb")))
def test_a_notebook_shows_what_it_showed(name: str) -> None:
    path = EXAMPLES / f"{name}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    before, drawn = outputs(notebook), pictures(notebook)
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    nbclient.NotebookClient(notebook, timeout=300, startup_timeout=300, record_timing=False).execute()
    if BLESS:
        notebook.metadata["language_info"] = {"name": "python"}
        nbformat.write(notebook, path)
        before, drawn = outputs(notebook), pictures(notebook)
    assert outputs(notebook) == before
    again = pictures(notebook)
    assert drawn and [picture.shape for picture in again] == [picture.shape for picture in drawn]
    assert max(map(difference, again, drawn)) < 0.002
    # It would see another curve.
    assert difference(drawn[0], drawn[0][:, ::-1]) > 0.002
    assert path.stat().st_size < 64 << 10
