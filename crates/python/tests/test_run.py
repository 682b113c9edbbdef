"""A run gives what the command gives, whatever its device and its workload are made of."""

import datetime
import json
import pickle
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import DEVICE, WORKLOAD, command, command_json

import flashloom
from flashloom.results import Summary

# Each with the options of the command and the arguments that mean the same.
CASES: list[tuple[list[str], dict[str, Any]]] = [
    ([], {}),
    (["--seed", "7", "--depth", "9", "--limit", "150", "--verify"], dict(seed=7, depth=9, limit=150, verify=True)),
    (["--precondition", "fill,random:x0.5"], dict(precondition=["fill", "random:x0.5"])),
    (["--warm-up", "100", "--measure", "200"], dict(warm_up=100, measure=200)),
    (["--warm-up", "1ms"], dict(warm_up=datetime.timedelta(milliseconds=1))),
    (["--until", "steady", "--round", "60"], dict(until="steady", round=60)),
    (["--series", "5ms"], dict(series="5ms")),
    (["--flow", "w.toml,depth=2,name=other", "--fairness"], dict(fairness=True)),
    (["--seeds", "3"], dict(seeds=3)),
]


@pytest.mark.parametrize("options,arguments", CASES, ids=lambda case: " ".join(map(str, case))[:40])
def test_the_json_is_that_of_the_command(files: Path, options: list[str], arguments: dict[str, Any]) -> None:
    wanted = command_json("run", "small.toml", "w.toml", "--json", "--quiet", *options, folder=files)
    if "fairness" in arguments:
        arguments = arguments | {"flows": [flashloom.Flow(files / "w.toml", name="other", depth=2)]}
    outcome = flashloom.run(files / "small.toml", files / "w.toml", **arguments)
    assert outcome.to_dict() == wanted
    assert json.loads(outcome.to_json()) == wanted


def test_a_dict_and_a_text_describe_the_same_as_a_file(files: Path) -> None:
    of_files = flashloom.run(files / "small.toml", files / "w.toml")
    of_dict = flashloom.run(DEVICE, flashloom.Workload.parse(WORKLOAD))
    assert of_files.event_hash == of_dict.event_hash
    assert of_files.summary == of_dict.summary


def test_the_configuration_describes_the_run(device: flashloom.Device) -> None:
    first = flashloom.run(device, flashloom.Workload.parse(WORKLOAD), seed=3)
    config = first.config
    again = flashloom.run(config["device"], config["workload"], seed=3)
    assert again.event_hash == first.event_hash


def test_the_summary_has_the_types_of_its_schema(device: flashloom.Device) -> None:
    outcome = flashloom.run(device, flashloom.Workload.parse(WORKLOAD), explain=True, precondition="fill")
    summary = outcome.summary
    assert isinstance(summary, Summary) and summary.requests == 400
    assert summary.kinds["read"].requests + summary.kinds["write"].requests == 400
    assert summary.kinds["read"].latency_us["mean"] > 0
    assert summary.to_dict() == outcome.to_dict()
    assert summary.explained[0].bands[0].parts_us
    assert summary.fairness is None and summary.flows == []
    with pytest.raises(AttributeError, match="copy its values"):
        summary.requests = 1
    assert pickle.loads(pickle.dumps(summary)) == summary
    assert outcome.stages == [summary]
    assert "requests=400" in repr(summary) and "400 requests" in repr(outcome)


def test_seeds_give_means_with_intervals(device: flashloom.Device) -> None:
    several = flashloom.run(device, flashloom.Workload.parse(WORKLOAD), seed=5, seeds=3, jobs=2)
    assert [run.summary.seed for run in several.runs] == [5, 6, 7]
    mean = several.metrics["read.mean"]
    assert mean.n == 3 and mean.half_width is not None and mean.half_width > 0
    one = flashloom.run(device, flashloom.Workload.parse(WORKLOAD), seed=6)
    assert several.runs[1].event_hash == one.event_hash
    with pytest.raises(flashloom.DescriptionError, match=r"holds 3 runs; choose one of them"):
        several.latency


def test_flows_have_results_of_their_own(device: flashloom.Device) -> None:
    workload = flashloom.Workload.parse(WORKLOAD)
    reads = [(i * 1e-4, "read", i * 4096, 4096) for i in range(50)]
    outcome = flashloom.run(device, workload, flows=[flashloom.Flow(reads, name="reads"), workload], series="1ms")
    assert [flow.name for flow in outcome.summary.flows] == ["w", "reads", "w-2"]
    assert [sum(kind.requests for kind in flow.kinds.values()) for flow in outcome.summary.flows] == [400, 50, 400]
    assert set(outcome.flow_series.to_pydict()["flow"]) == {"w", "reads", "w-2"}


def test_a_snapshot_starts_another_run(device: flashloom.Device, tmp_path: Path) -> None:
    workload, state = flashloom.Workload.parse(WORKLOAD), tmp_path / "full.snapshot"
    flashloom.run(device, workload, precondition="fill", save_snapshot=state)
    later = flashloom.run(device, workload, load_snapshot=state, verify=True)
    assert later.summary.unmapped_slots == 0
    with pytest.raises(flashloom.DescriptionError, match="save_snapshot: holds one run"):
        flashloom.run(device, workload, save_snapshot=state, seeds=2)


def test_files_of_others_are_not_replaced(device: flashloom.Device, tmp_path: Path) -> None:
    outcome = flashloom.run(device, flashloom.Workload.parse(WORKLOAD), timeline=True)
    page, notes = tmp_path / "page.html", tmp_path / "notes.html"
    outcome.report(page)
    outcome.report(page)
    assert "<!doctype html>" in page.read_text()
    notes.write_text("mine")
    with pytest.raises(OSError) as refused:
        outcome.report(notes)
    assert isinstance(refused.value, flashloom.OutputError) and notes.read_text() == "mine"
    outcome.report(notes, force=True)
    outcome.timeline(tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.html", "page.html", "t.json"]
    shown = outcome._repr_html_()
    assert shown is not None and shown.startswith("<iframe srcdoc=") and "&lt;" not in shown[:40]


def test_the_command_line_is_the_command(files: Path) -> None:
    assert "demo" in command("devices", folder=files)
    refused = command("run", "small.toml", "no-such-workload", folder=files, code=2)
    with pytest.raises(flashloom.DescriptionError) as error:
        flashloom.run(files / "small.toml", "no-such-workload")
    assert refused == f"error: {error.value}\n"
    assert flashloom.__version__ in command("--version", folder=files)


def test_other_threads_go_on_meanwhile(device: flashloom.Device) -> None:
    counted, stop = 0, threading.Event()

    def count() -> None:
        nonlocal counted
        while not stop.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    workload = flashloom.Workload.parse(WORKLOAD)
    before, begin = counted, time.monotonic()
    flashloom.run(device, workload, precondition="fill", warm_up="2x", measure="10x")
    during, took = counted - before, time.monotonic() - begin
    stop.set()
    thread.join()
    # With the lock held, the thread would not have counted at all. A loaded machine wakes it more seldom than asked.
    assert during > max(took * 20, 2), (during, took)


def test_two_runs_side_by_side_are_two_runs(device: flashloom.Device) -> None:
    workload = flashloom.Workload.parse(WORKLOAD)
    results: dict[int, str] = {}

    def one(seed: int) -> None:
        results[seed] = flashloom.run(device, workload, seed=seed).event_hash

    threads = [threading.Thread(target=one, args=[seed]) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {seed: flashloom.run(device, workload, seed=seed).event_hash for seed in range(4)}
    assert len(set(results.values())) == 4


def test_progress_is_told_and_its_exception_ends_the_run(device: flashloom.Device) -> None:
    seen: list[tuple[int, object]] = []
    flashloom.run(device, "oltp", limit=40_000, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1 << 14, 40_000), (1 << 15, 40_000)]

    def refuse(done: int, total: object) -> None:
        raise KeyError(done)

    with pytest.raises(KeyError):
        flashloom.run(device, "oltp", limit=40_000_000, progress=refuse)
