"""Stream policies in Python choose what the same formula chooses, and fail where they raise."""

import traceback
from functools import partial
from typing import Any

import pytest

import flashloom
from flashloom import policy

WORKLOAD = "zipf-write-4k"


def drive(host: object) -> flashloom.Device:
    """A small drive with streams that collects garbage soon."""
    device = flashloom.Device("demo").set("flash.blocks", 40).set("flash.pages", 24).set("ftl.capacity", "120MiB")
    return device.set("buffer.size", "256KiB").set("ftl.streams.host", host)


def run(host: object, **arguments: Any) -> flashloom.Outcome:
    return flashloom.run(drive(host), WORKLOAD, **{"precondition": "fill", "limit": 20_000, **arguments})


@pytest.mark.parametrize(
    "formula,choose",
    [
        ("address < 32e6", lambda lpn: lpn * 4096 < 32e6),
        ("(size > 4096) + partial", lambda size, partial: (size > 4096) + partial),
        ("written > 20e6", lambda queue, written, nvm_set: queue + nvm_set + (written * 4096 > 20e6)),
        ("1", lambda: 77),
    ],
)
def test_a_function_chooses_as_its_formula(formula: str, choose: Any) -> None:
    wanted = run({"policy": "formula", "number": formula, "streams": 2})
    assert run(policy.stream(choose, streams=2)).event_hash == wanted.event_hash


class Rewritten:
    """Data that have been written before are hot."""

    def __init__(self, hot: int = 0) -> None:
        self.hot, self.seen = hot, set[int]()

    def __call__(self, lpn: int) -> int:
        known = lpn in self.seen
        self.seen.add(lpn)
        return self.hot if known else 1 - self.hot


def test_an_object_with_a_state_is_copied_at_each_mount() -> None:
    hot, cold = Rewritten(), Rewritten(1)
    assert policy.stream(hot, streams=2)["version"] == policy.stream(Rewritten(), streams=2)["version"]
    assert policy.stream(hot, streams=2)["version"] != policy.stream(cold, streams=2)["version"]
    first = run(policy.stream(hot, streams=2))
    assert run(policy.stream(hot, streams=2)).event_hash == first.event_hash != run(policy.stream(cold, streams=2)).event_hash
    assert not hot.seen


def test_an_exception_ends_the_run_with_its_traceback() -> None:
    def broken(lpn: int) -> int:
        raise LookupError(f"unit {lpn}")

    with pytest.raises(LookupError, match="unit") as caught:
        run(policy.stream(broken, streams=2))
    assert "in broken" in "".join(traceback.format_tb(caught.value.__traceback__))
    for wrong, error, text in [(-1, ValueError, "returned -1"), (0.5, TypeError, "not 0.5"), (None, TypeError, "not None")]:
        with pytest.raises(error, match=text):
            run(policy.stream(partial(lambda number, lpn: number, wrong), streams=2))  # type: ignore[arg-type]


def test_the_names_of_parameters_are_checked() -> None:
    with pytest.raises(TypeError, match="no parameter `address`; the names of its parameters are lpn, size, queue"):
        policy.stream(lambda address: 0, streams=2)
    with pytest.raises(TypeError, match="no parameter `limit`"):
        policy.stream(lambda lpn, *, limit: 0, streams=2)
    assert run(policy.stream(lambda lpn, limit=1000, *rest, queue=0, **more: lpn > limit, streams=2)).summary.requests == 20_000
    with pytest.raises(flashloom.DescriptionError, match="streams"):
        drive(policy.stream(lambda lpn: 0, streams=99)).check()


def study(host: object) -> dict[str, Any]:
    small = {"flash": {"blocks": 40, "pages": 24}, "ftl": {"capacity": "120MiB", "streams": {"host": host}}}
    run = {"limit": 20_000, "precondition": ["fill"]}
    return {"name": "s", "device": "demo", "workload": WORKLOAD, "run": run, "metrics": ["waf"], "set": {"device": small}}


def limit(units: int) -> dict[str, Any]:
    return policy.stream(lambda lpn: lpn < units, streams=2)


def test_a_store_keeps_versions_apart(tmp_path: Any) -> None:
    assert limit(1)["version"] != limit(2)["version"]
    kept = [flashloom.Study(study(limit(units))).run(store=tmp_path).stored for units in (1000, 1000, 2000)]
    assert kept == [0, 1, 0]


def test_workers_of_a_cluster_know_the_policies() -> None:
    distributed = pytest.importorskip("distributed")
    described = study(policy.stream(Rewritten(), streams=2))
    here = flashloom.Study(described).run()
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            there = flashloom.Study(described).run(executor=client)
    assert there.values("waf") == here.values("waf")
