"""A small drive and small workloads, and the command of the same wheel."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import flashloom

# No test uses the store of the user who runs it: it may hold results of another build.
os.environ["FLASHLOOM_STORE"] = ""

DEVICE: dict[str, Any] = {
    "name": "small",
    "flash": {"part": "dirik-2009", "channels": 2, "chips": 2, "blocks": 64},
    "host": {"queue-depth": 8},
    "ftl": {"over-provisioning": "20%"},
}

WORKLOAD = """name = "w"
requests = 400
arrivals = { kind = "closed", depth = 4 }

[[stream]]
reads = "50%"
sizes = [{ size = "4KiB" }]
address = { pattern = "uniform" }
"""


@pytest.fixture
def device() -> flashloom.Device:
    return flashloom.Device(DEVICE)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with the device and the workload as files."""
    (tmp_path / "small.toml").write_text(flashloom.Device(DEVICE).to_toml())
    (tmp_path / "w.toml").write_text(WORKLOAD)
    return tmp_path


def command(*arguments: object, folder: Path, code: int = 0) -> str:
    """Runs the command line and returns its standard output, or its standard error if it fails."""
    line = [sys.executable, "-m", "flashloom", *map(str, arguments)]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def command_json(*arguments: object, folder: Path) -> Any:
    return json.loads(command(*arguments, folder=folder))
