"""What a user writes, for the type checkers: tests/test_types.py checks it and runs nothing."""

from typing import Optional

from typing_extensions import assert_type

import flashloom
from flashloom.results import Claim, KindSummary, Summary

device = flashloom.Device("demo").set("flash.channels", 8)
assert_type(device, flashloom.Device)
assert_type(device.capacity, int)
workload = flashloom.Workload([(0.0, "read", 0, 4096), ("25us", "write", 0, 512)], name="mine")
outcome = flashloom.run(device, workload, warm_up=100, measure="0.5x", flows=["oltp", flashloom.Flow("oltp", depth=2)])
assert_type(outcome, flashloom.Outcome)
assert_type(outcome.summary, Summary)
assert_type(outcome.summary.kinds["read"], KindSummary)
assert_type(outcome.summary.kinds["read"].latency_us["p99"], float)
assert_type(outcome.summary.cost, Optional[float])
assert_type(outcome.latency, flashloom.Table)
again = flashloom.Workload(outcome.requests)

ssd = flashloom.Ssd(device, data=True)
assert_type(ssd.submit(0, "write", 0, data=b"x" * 512), int)
assert_type(ssd.next_event(), Optional[int])
assert_type(ssd.advance(flashloom.US), list[flashloom.Completion])

study = flashloom.Study("chang/wear").axis("channels", "device.flash.channels", [1, 2])
assert_type(study, flashloom.Study)
assert_type(study.run(jobs=2, store=True).claims, list[Claim])
assert_type(study.run(executor="local", jobs=2, store="memory://results"), flashloom.StudyOutcome)

victim = flashloom.policy.victim(lambda blocks: blocks.invalid, name="mine")
assert_type(victim, dict[str, str])


def choose(lpn: int, size: int) -> int:
    return int(size > 4096) + lpn % 2


streams = flashloom.policy.stream(choose, streams=3)
device.set("ftl.gc.victim", victim).set("ftl.streams.host", streams)


class Mine(flashloom.Ftl):
    def mount(self, drive: flashloom.ftl.Drive) -> None:
        assert_type(drive.geometry.pages, int)
        assert_type(drive.spare(0), Optional[tuple[int, int]])
        self.map = drive.newest()
        assert_type(self.map, list[Optional[int]])

    def place(self, unit: int) -> Optional[int]:
        return self.map[unit]

    def write(self, flash: flashloom.ftl.Flash, write: flashloom.ftl.Write) -> None:
        page = flash.next_page(0)
        if page is None:
            flash.refuse(write)
        else:
            flash.program(write, page)

    def discard(self, unit: int) -> None:
        self.map[unit] = None

    def written(self, flash: flashloom.ftl.Flash, unit: int, page: int) -> None:
        assert_type(flash.valid_pages(0, self.map), list[int])
        self.map[unit] = page


assert_type(Mine.kind(), dict[str, str])
assert_type(flashloom.ftl.check(Mine, step=1).cuts, int)
