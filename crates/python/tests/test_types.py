"""The stubs: complete, and what mypy and pyright see is what is there."""

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import flashloom
from flashloom import _native

HERE = Path(__file__).parent


def checked(*command: object, folder: Path) -> None:
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def configured(folder: Path) -> Path:
    """A configuration of mypy that does not read Dask: that takes longer than all else."""
    (folder / "mypy.ini").write_text("[mypy]\n[mypy-dask.*,distributed.*]\nfollow_imports = skip\n")
    return folder / "mypy.ini"


def test_mypy_accepts_the_package_and_its_use(tmp_path: Path) -> None:
    checked(sys.executable, "-m", "mypy", "--config-file", configured(tmp_path), "--strict", "-p", "flashloom", folder=tmp_path)
    checked(sys.executable, "-m", "mypy", "--config-file", configured(tmp_path), "--strict", HERE / "typed.py", folder=tmp_path)


def test_the_stubs_are_complete(tmp_path: Path) -> None:
    checked(sys.executable, "-m", "mypy.stubtest", "flashloom", "--ignore-disjoint-bases", "--mypy-config-file", configured(tmp_path), folder=tmp_path)


def test_pyright_accepts_the_package_and_its_use(tmp_path: Path) -> None:
    pyright = [sys.executable, "-m", "pyright"]
    if subprocess.run([*pyright, "--version"], capture_output=True).returncode != 0:
        pytest.skip("pyright cannot fetch its program")
    (tmp_path / "typed.py").write_text((HERE / "typed.py").read_text())
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"strict": ["."], "pythonVersion": "3.10"}))
    checked(*pyright, "-p", tmp_path, "--pythonpath", sys.executable, folder=tmp_path)


def test_the_types_of_results_are_those_of_the_schemas() -> None:
    checked(sys.executable, HERE.parent / "tools" / "results.py", "--check", folder=HERE)


def test_everything_public_says_what_it_is() -> None:
    for name in flashloom.__all__:
        of = getattr(flashloom, name)
        if inspect.isclass(of) or callable(of):
            assert inspect.getdoc(of), name
            for member, value in vars(of).items() if inspect.isclass(of) else ():
                if not member.startswith("_") and (callable(value) or inspect.isgetsetdescriptor(value)):
                    assert inspect.getdoc(value), f"{name}.{member}"
    assert _native.devices() and _native.workloads() and _native.studies()
