"""A drive in the caller's time."""

from pathlib import Path

import pytest

import flashloom
from flashloom import US


def test_requests_complete_in_the_callers_time(device: flashloom.Device) -> None:
    ssd = flashloom.Ssd(device, seed=3)
    tags = [ssd.submit(5 * US * i, "write", 4096 * i, 4096) for i in range(8)]
    assert tags == list(range(8)) and ssd.outstanding == 8 and ssd.now == 35 * US
    done: list[flashloom.Completion] = []
    while (at := ssd.next_event()) is not None:
        done += ssd.advance(at)
    assert sorted(of.tag for of in done) == tags and ssd.outstanding == 0
    assert all(of.status == "done" and of.latency == of.end - of.arrival > 0 and of.data is None for of in done)
    assert [of.end for of in done] == sorted(of.end for of in done)
    again = flashloom.Ssd(device, seed=3)
    for i in range(8):
        again.submit(5 * US * i, "write", 4096 * i, 4096)
    assert [(of.tag, of.end) for of in again.drain()] == [(of.tag, of.end) for of in done]


def test_advance_stops_at_a_completion_or_at_the_time(device: flashloom.Device) -> None:
    ssd = flashloom.Ssd(device)
    ssd.submit(0, "write", 0, 4096)
    assert ssd.advance(US) == [] and ssd.now == US
    first = ssd.advance(10**12)
    assert len(first) == 1 and ssd.now == first[0].end < 10**12


def test_data_is_kept_and_flushed_data_survives_a_power_cut(device: flashloom.Device, tmp_path: Path) -> None:
    ssd = flashloom.Ssd(device, data=True)
    old, new = bytes(range(256)) * 16, b"new!" * 1024
    ssd.submit(0, "write", 8192, data=old)
    ssd.drain()
    ssd.submit(ssd.now, "flush")
    ssd.drain()
    tag = ssd.submit(ssd.now, "write", 8192, 4096, new)
    assert ssd.cut_power() == [tag] and not ssd.powered_on
    found = ssd.power_on(ssd.now)
    assert found.units > 0 and found.time > 0
    ssd.submit(ssd.now, "read", 8192, 4096)
    assert ssd.drain()[0].data == old
    ssd.submit(ssd.now, "write", 8192, data=new)
    assert [of.op for of in ssd.power_off()] == ["write"]
    ssd.save(tmp_path / "drive.snapshot")
    later = flashloom.Ssd(device, data=True, load_snapshot=tmp_path / "drive.snapshot")
    later.submit(0, "read", 8192, 4096)
    assert later.drain()[0].data == new


def test_preconditioning_fills_the_drive(device: flashloom.Device) -> None:
    new, full = flashloom.Ssd(device), flashloom.Ssd(device, precondition="fill,random:x0.5")
    assert sum(new.erase_counts) == 0 < sum(full.erase_counts)
    assert full.capacity == device.capacity and "small" in repr(full)


def test_what_the_drive_would_not_survive_is_refused(device: flashloom.Device) -> None:
    ssd = flashloom.Ssd(device)
    ssd.submit(10 * US, "write", 0, 4096)
    cases: list[tuple[tuple[object, ...], dict[str, object], str]] = [
        ((0, "read", 0, 4096), {}, "is no time from now on"),
        ((2**64 - 1, "read", 0, 4096), {}, "is no time from now on"),
        ((10 * US, "raed", 0, 4096), {}, "choose one of read, write, flush, discard"),
        ((10 * US, "read", 1, 4096), {}, "offset: 1 bytes are no whole sectors"),
        ((10 * US, "read", 0, 0), {}, "size: is zero"),
        ((10 * US, "flush", 0, 4096), {}, "a flush has neither offset nor size"),
        ((10 * US, "read", 0, 4096), {"queue": 7}, "there is no queue 7"),
        ((10 * US, "read", 0, 4096), {"placement_id": 1}, "carry a placement identifier"),
        ((10 * US, "write", 0, 512, b"x" * 512), {}, "the drive keeps no data"),
    ]
    for arguments, names, text in cases:
        with pytest.raises(flashloom.DescriptionError) as error:
            ssd.submit(*arguments, **names)  # type: ignore[arg-type]
        assert text in str(error.value)
    with pytest.raises(flashloom.DescriptionError, match="the power is on already"):
        ssd.power_on(10 * US)
    with pytest.raises(flashloom.DescriptionError, match="is no time from now on"):
        ssd.advance(0)
    ssd.cut_power()
    for off in [lambda: ssd.submit(10 * US, "read", 0, 512), ssd.cut_power, ssd.power_off]:
        with pytest.raises(flashloom.DescriptionError, match="the power is off"):
            off()
    with_data = flashloom.Ssd(device, data=True)
    with pytest.raises(flashloom.DescriptionError, match="a write of 4096 bytes has 0 bytes of data"):
        with_data.submit(0, "write", 0, 4096)
    beyond = with_data.submit(0, "read", device.capacity, 4096)
    assert [(of.tag, of.status) for of in with_data.drain()] == [(beyond, "out_of_range")]
    with pytest.raises(OverflowError):
        with_data.submit(-1, "read", 0, 512)
