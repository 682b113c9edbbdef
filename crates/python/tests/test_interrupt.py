"""Ctrl-C ends a run, its preconditioning and a study within a tenth of a second, and leaves nothing."""

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import WORKLOAD

# A program that sends itself a Ctrl-C once the work is under way, and prints the milliseconds until it ends.
PROGRAM = """
import os, signal, threading, time, flashloom
device = flashloom.Device("small.toml").set("flash.blocks", 512)
sent = 0.0
def ctrl_c():
    global sent
    sent = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.4, ctrl_c).start()
try:
    WORK
except KeyboardInterrupt:
    print((time.monotonic() - sent) * 1000)
"""

WORK = {
    "run": "flashloom.run(device, 'w.toml', measure='1000x', save_snapshot='state.snapshot')",
    "merges": "flashloom.run(device.set('ftl.kind', 'fast'), 'w.toml', measure='1000x')",
    "precondition": "flashloom.run(device, 'w.toml', precondition='fill,random:x1000', save_snapshot='state.snapshot')",
    "drive": "flashloom.Ssd(device, precondition='fill,random:x1000')",
    "seeds": "flashloom.run(device, 'w.toml', measure='1000x', seeds=4)",
    "study": "flashloom.Study({'name': 's', 'device': 'small.toml', 'workload': 'w.toml',"
    " 'run': {'measure': '1000x'}, 'seeds': 4}).run(progress=False)",
}


@pytest.mark.parametrize("work", WORK)
def test_ctrl_c_ends_it_at_once(files: Path, work: str) -> None:
    (files / "w.toml").write_text(WORKLOAD)
    program = PROGRAM.replace("WORK", WORK[work])
    before = sorted(path.name for path in files.iterdir() if path.name != "state.snapshot")
    took = []
    # The best of some: another program may hold the cores for longer than that.
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", program], cwd=files, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and done.stdout, done.stderr
        took.append(float(done.stdout))
        if took[-1] < 100:
            break
    assert min(took) < 100, took
    after = sorted(path.name for path in files.iterdir())
    # The snapshot of a preconditioned drive is whole before the run, and stays, as that of the command does.
    assert after in (before, sorted([*before, "state.snapshot"] if work == "run" else before))
