"""Studies on Dask: the results of a local run, byte for byte, also if a worker dies; nothing is run twice."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import distributed
import pytest
from conftest import DEVICE, WORKLOAD, command

import flashloom
from flashloom import _cluster, _native, _traces

STUDY = """name = "spread"
device = "small.toml"
workload = "w.toml"
seeds = 2
run = { precondition = ["fill"] }
metrics = ["read.mean", "waf"]

[[axis]]
name = "channels"
key = "device.flash.channels"
values = [1, 2, 4]

[[axis]]
name = "depth"
key = "run.depth"
values = [1, 2, 4, 8]

[[claim]]
id = "C1"
says = "depth helps"
[[claim.expect]]
metric = "read.mean"
monotonic = { along = "depth", direction = "rises" }
"""
RUNS = 24

TRACE = "".join(f"{request * 50},{'RW'[request % 2]},{request * 7 % 64 * 4096},4096\n" for request in range(300))


@pytest.fixture(scope="module")
def client() -> Iterator[distributed.Client]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50, resources={"MEMORY": 4 << 30}
    ) as cluster:
        with distributed.Client(cluster) as client:
            yield client


@pytest.fixture
def client_of_two() -> Iterator[distributed.Client]:
    """The client of a cluster of its own, for a test that changes its workers."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
        with distributed.Client(cluster) as client:
            yield client


@pytest.fixture
def study(files: Path) -> flashloom.Study:
    (files / "s.toml").write_text(STUDY)
    return flashloom.Study(files / "s.toml")


def points(store: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (store / "points").rglob("*.parquet")}


def soon(what: Any) -> None:
    """Waits for something that happens soon."""
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_cluster_gives_what_a_local_run_gives(
    study: flashloom.Study, client: distributed.Client, tmp_path: Path
) -> None:
    wanted = study.run(store=tmp_path / "here", progress=False)
    seen: list[tuple[str, ...]] = []
    steps: list[tuple[int, int]] = []
    outcome = study.run(
        executor=client,
        store=tmp_path / "there",
        progress=lambda done, total: steps.append((done, total)),
        on_point=lambda labels, summary: seen.append((*labels, str(summary.seed))),
    )
    assert outcome.to_json() == wanted.to_json() and outcome.stored == 0
    assert outcome.to_arrow().to_pydict() == wanted.to_arrow().to_pydict()
    assert [claim.verdict for claim in outcome.claims] == [claim.verdict for claim in wanted.claims]
    assert points(tmp_path / "there") == points(tmp_path / "here") and len(seen) == len(set(seen)) == RUNS
    assert steps[0] == (0, RUNS) and steps[-1] == (RUNS, RUNS)
    # What is there is not submitted, and the times of the runs are known.
    again = study.run(executor=client, store=tmp_path / "there", progress=False)
    assert again.stored == RUNS and again.to_json() == wanted.to_json()
    lines = (tmp_path / "there" / "timings.jsonl").read_text().splitlines()
    assert len(lines) == RUNS
    plain = study.run(executor=client, progress=False)
    assert plain.to_json() == wanted.to_json()


def test_a_worker_that_dies_costs_its_points_alone(
    study: flashloom.Study, client_of_two: distributed.Client, tmp_path: Path
) -> None:
    """A worker is killed when some of the points are there."""
    study.set("run.measure", "1x")
    wanted = study.run(store=tmp_path / "here", progress=False)
    workers = client_of_two.run(os.getpid)
    killed: list[int] = []

    def kill(labels: object, summary: object) -> None:
        done.append(labels)
        if len(done) == RUNS // 4 and not killed:
            killed.append(next(iter(workers.values())))
            os.kill(killed[0], signal.SIGKILL)

    done: list[object] = []
    outcome = study.run(executor=client_of_two, store=tmp_path / "there", progress=False, on_point=kill)
    assert killed and killed[0] not in client_of_two.run(os.getpid).values()
    assert len(done) == RUNS and outcome.to_json() == wanted.to_json()
    assert points(tmp_path / "there") == points(tmp_path / "here")
    for folder in ["here", "there"]:
        line = ["study", "s.toml", "--store", tmp_path / folder, "--out", tmp_path / f"{folder}-out", "--quiet"]
        (tmp_path / "s.toml").write_text(STUDY.replace('["fill"] }', '["fill"], measure = "1x" }'))
        command(*line, folder=tmp_path)
    [here, there] = [next((tmp_path / f"{folder}-out").rglob("*.parquet")).read_bytes() for folder in ["here", "there"]]
    assert here == there


def test_a_trace_travels_to_workers_that_do_not_have_it(
    files: Path, client_of_two: distributed.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_of_two
    (files / "t.csv").write_text(TRACE)
    described = {
        "name": "traced",
        "device": str(files / "small.toml"),
        "workload": str(files / "t.csv"),
        "run": {"columns": "time=1:us,op=2,offset=3:B,size=4:B"},
    }
    study = flashloom.Study(described).axis("channels", "device.flash.channels", [1, 2])
    wanted = study.run(store=tmp_path / "here", progress=False)
    sweep = study._sweep(None, print)
    [digest] = sweep.files

    def hide(dask_worker: Any) -> None:
        # As if the file system of the caller were another one.
        from flashloom import _traces

        has = _traces._has
        _traces._has = lambda at, of: "flashloom-traces" in os.fspath(at) and has(at, of)

    def sent(dask_worker: Any) -> list[float]:
        folder = Path(dask_worker.local_directory) / "flashloom-traces" / digest
        return [file.stat().st_mtime_ns for file in folder.glob("*")]

    client.run(hide)
    for store in ["there", "again"]:
        outcome = study.run(executor=client, store=tmp_path / store, progress=False)
        assert outcome.to_json() == wanted.to_json()
        assert points(tmp_path / store) == points(tmp_path / "here")
        times = client.run(sent)
        assert all(len(worker) == 1 for worker in times.values()), times
        assert store == "there" or times == before, "it travelled once"
        before = times
    # A worker that came later gets it, too.
    (files / "t.csv").write_text(TRACE + "20000,R,0,4096\n")
    with monkeypatch.context() as patched:
        patched.setattr(_traces.Traces, "check", lambda self: None)
        # The client forgets a failed task later than the point is submitted again.
        patched.setattr(distributed.Future, "release", lambda self: None)
        outcome = study.run(executor=client, progress=False)
    assert outcome.to_json() == study.run(progress=False).to_json() != wanted.to_json()
    # A trace that cannot be read is named as here.
    (files / "t.csv").write_text(TRACE.replace("R,", "X,", 1))
    with pytest.raises(flashloom.RunError) as here:
        study.run(progress=False, jobs=1)
    with pytest.raises(flashloom.RunError, match="study traced, channels [12], seed 0: ") as there:
        study.run(executor=client, progress=False)
    assert str(there.value).split(": ", 1)[1] == str(here.value).split(": ", 1)[1]


def test_a_point_that_fails_names_itself_and_others_stay(
    files: Path, client: distributed.Client, tmp_path: Path
) -> None:
    # Beyond the end of a drive with one channel.
    (files / "t.csv").write_text(f"0,W,0,4096\n1,W,{flashloom.Device(DEVICE).capacity - 4096},4096\n")
    run = {"columns": "time=1:us,op=2,offset=3:B,size=4:B"}
    described = {"device": str(files / "small.toml"), "workload": str(files / "t.csv"), "run": run}
    study = flashloom.Study({"name": "far", **described})
    study.axis("channels", "device.flash.channels", [4, 2, 1])
    with pytest.raises(flashloom.FlashloomError) as here:
        study.run(progress=False, jobs=1)
    with pytest.raises(type(here.value), match="study far, channels 1, seed 0: ") as there:
        study.run(executor=client, progress=False, store=tmp_path / "store")
    assert str(there.value) == str(here.value)
    assert points(tmp_path / "store"), "the first point went ahead"
    soon(lambda: not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))


def test_a_bug_on_a_worker_comes_back_as_one() -> None:
    error = flashloom.BugError("bug: study s, seed 1: the counters disagree")
    assert isinstance(pickle.loads(pickle.dumps(_cluster.Done({}, error))).failed, flashloom.BugError)
    with pytest.raises(flashloom.BugError, match="counters disagree"):
        raise pickle.loads(pickle.dumps(error))


def test_equal_points_of_two_users_are_run_once(
    study: flashloom.Study, client: distributed.Client, tmp_path: Path
) -> None:
    """Another user runs the same points under another name, while those of the first are waiting."""
    other = flashloom.Study({**study.config, "name": "theirs", "device": str(tmp_path / "small.toml")})
    other.set("workload", str(tmp_path / "w.toml"))
    study.set("run.measure", "1x")
    other.set("run.measure", "1x")
    ran: dict[str, list[str]] = {"one": [], "two": []}
    for name in ran:
        (tmp_path / name).mkdir()
    outcomes: dict[str, Any] = {}
    with distributed.Client(client.scheduler.address) as second:
        begun = threading.Semaphore(0)

        def one() -> None:
            outcomes["one"] = study.run(
                executor=client, store=tmp_path / "one", progress=False, on_point=lambda *_: begun.release()
            )

        thread = threading.Thread(target=one)
        thread.start()
        # The first point goes ahead; after two more, all are submitted.
        assert all(begun.acquire(timeout=60) for _ in range(3))
        outcomes["two"] = other.run(executor=second, store=tmp_path / "two", progress=False)
        thread.join()
    assert points(tmp_path / "one") == points(tmp_path / "two")
    times = [(tmp_path / name / "timings.jsonl").read_text().splitlines() for name in ran]
    shared = set(times[0]) & set(times[1])
    assert len(shared) > RUNS // 2, "a point that was run twice took another time"


def test_memory_is_a_resource_of_workers(study: flashloom.Study, files: Path) -> None:
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, dashboard_address=":0", silence_logs=50, resources={"MEMORY": 1 << 20}
    ) as cluster:
        with distributed.Client(cluster) as client:
            with pytest.raises(flashloom.RunError, match=r"study spread, channels 1, depth 1, .* the simulation needs"):
                study.run(executor=client, progress=False)
    for arguments in [{"jobs": 2}, {"memory": "1GiB"}]:
        with pytest.raises(flashloom.DescriptionError, match="has no effect on a cluster"):
            study.run(executor="tcp://127.0.0.1:1", progress=False, **arguments)
    with pytest.raises(flashloom.RunError, match="the scheduler cannot be reached"):
        with _cluster.Workers("nowhere"):
            pass
    with pytest.raises(TypeError, match="use a distributed.Client"):
        study.run(executor=7, progress=False)  # type: ignore[arg-type]


def test_ctrl_c_cancels_what_is_left(files: Path, tmp_path: Path) -> None:
    (files / "s.toml").write_text(STUDY.replace('["fill"] }', '["fill"], measure = "3000x" }'))
    program = """
import distributed, os, signal, threading, time, flashloom
if __name__ == "__main__":
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
        with distributed.Client(cluster) as client:
            tasks = lambda dask_scheduler: len(dask_scheduler.tasks)
            running = lambda dask_worker: dask_worker.state.executing_count
            def ctrl_c():
                while sum(client.run(running).values()) < 2:
                    time.sleep(0.01)
                os.kill(os.getpid(), signal.SIGINT)
            threading.Thread(target=ctrl_c).start()
            try:
                flashloom.Study("s.toml").run(executor=client, store="store", progress=False)
            except KeyboardInterrupt:
                began = time.monotonic()
                while client.run_on_scheduler(tasks) or sum(client.run(running).values()):
                    assert time.monotonic() < began + 60
                print("cancelled")
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=files, capture_output=True, text=True, timeout=300)
    assert done.stdout == "cancelled\n", done.stdout + done.stderr
    assert not list((files / "store").rglob("*.part"))


def test_the_command_hands_over(files: Path, tmp_path: Path) -> None:
    (files / "s.toml").write_text(STUDY)
    for number, form in enumerate(["--json", "--csv"]):
        line = ["study", "s.toml", "--quiet", form]
        here = command(*line, "--store", f"here{number}", "--out", f"here{number}-out", folder=files)
        on = [*line, "--on", "local", "--jobs", "2", "--store", f"there{number}", "--out", f"there{number}-out"]
        assert command(*on, folder=files) == here
        assert points(files / f"there{number}") == points(files / f"here{number}")
        outs = [files / f"{of}{number}-out" for of in ["here", "there"]]
        one, other = ({path.name: path.read_bytes() for path in out.iterdir()} for out in outs)
        assert one == other and any(name.endswith(".parquet") for name in one)
    table = command("study", "s.toml", "--quiet", "--no-store", "--on", "local", "--jobs", "1", folder=files)
    assert table == command("study", "s.toml", "--quiet", "--no-store", folder=files)
    for line, said in [
        (["--on", "tcp://127.0.0.1:1", "--jobs", "2"], "--jobs: has no effect on a cluster"),
        (["--on", "nowhere"], "is not the address of a scheduler"),
        (["--store", "s3://bucket/x"], "add --on local, or name a folder"),
        (["--on", "local", "--shard", "1/2"], "cannot be used with"),
    ]:
        assert said in command("study", "s.toml", *line, folder=files, code=2)


def test_points_are_put_together_by_their_time() -> None:
    def point(number: int, seconds: Any) -> _cluster.Point:
        return _cluster.Point(number, f"{number:064x}", "", [], 0, "d", 1, None, seconds)

    def sizes(seconds: list[Any], each: float) -> list[list[int]]:
        all_ = [point(number, of) for number, of in enumerate(seconds)]
        return [[of.number for of in batch] for batch in _cluster.batches(all_, each)]

    assert sizes([0.5, 3.0, 0.5, None, 1.0], 1.0) == [[1], [4], [0, 2]]
    assert sizes([0.001] * 1000, 1.0) == [list(range(at, min(at + 256, 1000))) for at in range(0, 1000, 256)]
    assert sizes([], 1.0) == []
    key = _cluster._key("s", [point(7, 1.0)])
    assert key == ("flashloom s", "seed 0", f"{7:064x}"), "a point alone has its digest"


def test_studies_workloads_and_devices_are_pickled(study: flashloom.Study, files: Path) -> None:
    study.axis("limit", "run.limit", [10, 20])
    again = pickle.loads(pickle.dumps(study))
    assert type(again) is flashloom.Study and again.config == study.config and again.axes == study.axes
    (files / "t.csv").write_text(TRACE)
    columns = "time=1:us,op=2,offset=3:B,size=4:B"
    for workload in [
        flashloom.Workload(files / "w.toml"),
        flashloom.Workload("oltp"),
        flashloom.Workload.parse(WORKLOAD),
        flashloom.Workload(files / "t.csv", columns=columns, name="mine", repeat=2),
        flashloom.Workload([(0, "write", 0, 4096), ("25us", "read", 0, 4096)], name="two"),
    ]:
        other = pickle.loads(pickle.dumps(workload))
        assert other.name == workload.name
        one, two = (flashloom.run(DEVICE, of, limit=100) for of in [workload, other])
        assert one.event_hash == two.event_hash and one.to_json() == two.to_json()
    flow = flashloom.Flow("oltp", name="beside", queue=1, depth=3, open=False, placement_id=2)
    assert repr(pickle.loads(pickle.dumps(flow))) == repr(flow)


def test_a_file_has_its_digest(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    # FIPS 180-2, appendix B.1.
    assert _native.file_digest(tmp_path / "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
