"""Exceptions: all faults at once, with the texts of the command, and never a panic."""

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
from conftest import DEVICE, WORKLOAD, command

import flashloom


def test_all_faults_of_a_device_come_at_once(files: Path) -> None:
    (files / "bad.toml").write_text('name = "bad"\n[flash]\npart = "dirik-2008"\nchanels = 8\nblocks = 0\n')
    said = command("check", "bad.toml", folder=files, code=2)
    with pytest.raises(flashloom.DescriptionError) as error:
        flashloom.Device(files / "bad.toml").check()
    assert str(error.value).replace(f"{files}/", "") in said
    faults = {fault.key: fault for fault in error.value.faults}
    assert {"flash.part", "flash.chanels", "flash.blocks"} <= set(faults)
    assert faults["flash.chanels"].line == 4 and "did you mean `channels`" in str(error.value)
    again = pickle.loads(pickle.dumps(error.value))
    assert again.faults == error.value.faults and str(again) == str(error.value)
    assert isinstance(error.value, ValueError) and isinstance(error.value, flashloom.FlashloomError)


def test_set_changes_a_key_and_copies_are_apart() -> None:
    device = flashloom.Device(DEVICE)
    wide = copy.copy(device).set("flash.channels", 8)
    assert (device.config["flash"]["channels"], wide.config["flash"]["channels"]) == (2, 8)
    assert wide.capacity == 4 * device.capacity
    assert pickle.loads(pickle.dumps(wide)).config == wide.config
    assert device.set("flash.channels", 4) is device and device.config["flash"]["channels"] == 4
    with pytest.raises(flashloom.DescriptionError, match=r"--set: flash.chanels: is not a known key"):
        wide.set("flash.chanels", 8).check()
    with pytest.raises(flashloom.DescriptionError, match="misspelt: is neither a file nor a device"):
        flashloom.Device("misspelt")
    with pytest.raises(TypeError, match="a value of type set has no place in a description"):
        device.set("flash.channels", {8})


BAD: list[tuple[dict[str, Any], str]] = [
    ({"depth": 0}, "argument: depth: a closed loop of depth 0"),
    ({"precondition": "steady"}, "argument: precondition: "),
    ({"precondition": "soak"}, "`soak` is not a preconditioning step"),
    ({"until": "stedy"}, "did you mean `steady`"),
    ({"warm_up": "1furlong"}, "argument: warm-up: "),
    ({"limit": 10, "measure": 10}, "both `measure` and `limit` end the run"),
    ({"queue": 9}, "there is no queue 9"),
    ({"time_scale": 2.0}, "argument: time-scale: has no effect here"),
    ({"memory": "much"}, "`much` is not a size"),
    ({"timeline": "x"}, "`x` is no window"),
    ({"seeds": 0}, "0 is no number of seeds"),
    ({"jobs": 0}, "0 runs at once do nothing"),
    ({"flows": [([(0, "read", 0, 4096)])], "depth": -1}, "depth"),
]


@pytest.mark.parametrize("arguments,text", BAD, ids=lambda case: str(case)[:40])
def test_a_wrong_argument_is_named(device: flashloom.Device, arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(flashloom.DescriptionError) as error:
        flashloom.run(device, flashloom.Workload.parse(WORKLOAD), **arguments)
    assert text in str(error.value)


def test_a_run_that_does_not_fit_or_lacks_something_is_refused(device: flashloom.Device) -> None:
    workload = flashloom.Workload.parse(WORKLOAD)
    with pytest.raises(flashloom.RunError, match="the simulation needs"):
        flashloom.run(device, workload, memory="1MiB")
    plain = flashloom.run(device, workload)
    for name in ["requests", "explain"]:
        with pytest.raises(flashloom.DescriptionError, match=f"run with {name}=True"):
            getattr(plain, name)
    with pytest.raises(flashloom.DescriptionError, match="run with timeline=True"):
        plain.timeline("t.json")
    with pytest.raises(flashloom.RunError, match="no-such.csv"):
        flashloom.run(device, "no-such.csv")


def test_requests_that_are_none_are_named() -> None:
    with pytest.raises(flashloom.DescriptionError) as error:
        flashloom.Workload([(0, "read", 0, 512), (1, "raed", 0, 512), (-1, "read", 0, 1), (1, "read", -1, 1), 7])
    assert [fault.key for fault in error.value.faults] == [
        "request[1].op",
        "request[2].time",
        "request[3].offset",
        "request[4]",
    ]
    assert "did you mean `read`" in str(error.value)
    with pytest.raises(flashloom.DescriptionError, match="has 5 more faults|has 1 more faults"):
        flashloom.Workload([(0, "?", 0, 512)] * 25)
    with pytest.raises(flashloom.DescriptionError, match=r"request\[1\].at: arrives at 0ps, after one of 1s"):
        flashloom.run(DEVICE, [(1, "read", 0, 512), (0, "read", 0, 512)])
    with pytest.raises(flashloom.DescriptionError, match="format: has no effect here"):
        flashloom.Workload("oltp", format="msr")
    with pytest.raises(TypeError):
        flashloom.Workload(7)  # type: ignore[arg-type]
