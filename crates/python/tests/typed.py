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
