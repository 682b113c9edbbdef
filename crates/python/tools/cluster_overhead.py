"""Measures what a point of a study costs besides its run: Dask's scheduler, the keys, the results and the store.

python cluster_overhead.py [POINTS [WORKERS]]

Points of about a millisecond, as many as the first argument says (100000), on Dask workers on this machine (2). It prints
the time of each part, divided by the points: wall time, and CPU time, which a loaded machine changes less. The scheduler
and the caller are one process here. Needs `flashloom[cluster]`, with an optimised build: `make wheel`.
"""

import json
import os
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable

import distributed

import flashloom
from flashloom import _native

DEVICE = {
    "name": "tiny",
    "flash": {"part": "K9K8G08U0M", "channels": 1, "chips": 1, "planes": 1, "blocks": 32, "pages": 8},
    "ftl": {"over-provisioning": "60%", "map-unit": "2KiB"},
}

WORKLOAD = """name = "w"
requests = 200
arrivals = { kind = "closed", depth = 2 }
[[stream]]
reads = "50%"
sizes = [{ size = "2KiB" }]
address = { pattern = "uniform" }
"""


def timed(what: str, points: int, do: Callable[[], object]) -> tuple[float, float]:
    """Does something, and prints its time. Returns milliseconds a point: wall and CPU time."""
    wall, cpu = time.perf_counter(), time.process_time()
    do()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    each, own = wall / points * 1e3, cpu / points * 1e3
    print(f"{what:44} {wall:8.1f} s {each:8.3f} ms a point {own:8.3f} ms of CPU", flush=True)
    return each, own


def main() -> None:
    points = int(sys.argv[1]) if sys.argv[1:] else 100_000
    workers = int(sys.argv[2]) if sys.argv[2:] else 2
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "tiny.toml").write_text(flashloom.Device(DEVICE).to_toml())
        (root / "w.toml").write_text(WORKLOAD)
        study = flashloom.Study(
            {
                "name": "overhead",
                "device": str(root / "tiny.toml"),
                "workload": str(root / "w.toml"),
                "seeds": list(range(1, min(points, 1000) + 1)),
            }
        )
        study.axis("limit", "run.limit", list(range(101, 101 + max(1, points // 1000))))
        print(f"{points} points, {workers} workers, {os.cpu_count()} cores", flush=True)

        sweeps: list[_native.Sweep] = []
        timed("digests of all keys", points, lambda: sweeps.append(study._sweep(None, print)))
        [sweep] = sweeps
        left = sweep.left()
        timed("what is known of each run", points, lambda: [sweep.due(number) for number in left])
        some = left[:: max(1, len(left) // 2000)]
        tasks: list[str] = []
        timed("tasks of some", len(some), lambda: tasks.extend(sweep.task(number)[0] for number in some))
        ran: list[tuple[bytes, float]] = []
        _, run_cpu = timed(
            "their runs, one after another", len(some), lambda: ran.extend(_native.run_tasks(tasks, [], None)[0])
        )
        lengths = [sum(map(len, of)) // len(of) for of in (tasks, [content for content, _ in ran])]
        print(f"    a task has {lengths[0]} bytes, a result {lengths[1]}")

        def take(sweep: _native.Sweep) -> None:
            for number, (content, seconds) in zip(some, ran):
                sweep.take(number, content, seconds)

        plain, kept = study._sweep(None, print), study._sweep(root / "some", print)
        _, without = timed("their results taken, without a store", len(some), lambda: take(plain))
        _, with_store = timed("their results taken, with a store", len(some), lambda: take(kept))
        print(f"    the store alone: {with_store - without:.3f} ms of CPU a point", flush=True)

        with distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster, distributed.Client(cluster) as client:
            few = 1000
            no_op = [client.submit(int, number, pure=False) for number in range(few)]
            distributed.wait(no_op)
            start = time.perf_counter()
            no_op = client.map(int, range(few), pure=False)
            distributed.wait(no_op)
            print(f"a task of Dask that does nothing: {(time.perf_counter() - start) / few * 1e3:.3f} ms", flush=True)
            del no_op
            store = root / "store"
            before = sum(client.run(time.process_time).values())
            wall, caller = timed(
                "the study on the cluster, with a store",
                points,
                lambda: study.run(executor=client, store=store, progress=False),
            )
            worker = (sum(client.run(time.process_time).values()) - before) / points * 1e3
        lines = (store / "timings.jsonl").read_text().splitlines()
        busy = sum(json.loads(line)["seconds"] for line in lines) / min(workers, os.cpu_count() or 1) / points * 1e3
        print(f"    CPU of the caller and the scheduler {caller:.3f}, of the workers {worker:.3f} ms a point")
        print(f"    overhead: {caller + worker - run_cpu:.3f} ms of CPU, {wall - busy:.3f} ms of time a point", flush=True)
        timed("the study again, from the store", points, lambda: study.run(store=store, progress=False))


if __name__ == "__main__":
    main()
