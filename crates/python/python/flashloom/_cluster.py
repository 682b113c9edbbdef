"""Studies on the workers of a Dask cluster.

A point is a function of its key, so a task of Dask is some keys, and returns the bytes that a store keeps. The caller's
process makes the keys and takes the results; Dask carries them and does a task again whose worker died.
"""

import hashlib
import importlib
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import flashloom
from flashloom import _native, _registered
from flashloom._object_store import ObjectStore, Putting, point_path
from flashloom.errors import RunError

try:
    # Parts of both packages have no types.
    dask: Any = importlib.import_module("dask")
    distributed: Any = importlib.import_module("distributed")
except ImportError:
    raise RunError("Dask is not installed; install it with `pip install 'flashloom[cluster]'`") from None

from flashloom._traces import Missing, Traces, located  # noqa: E402

if TYPE_CHECKING:
    from flashloom.study import Follow

MEMORY = "MEMORY"
"""The resource of Dask's workers that stands for bytes of memory."""

_LONG = 1.0
"""Seconds that a task should take: shorter points are put together until they take this long."""

_SHORT = 0.05
"""Seconds that a task takes at least, if there are points enough, because Dask takes some milliseconds for each task."""

_MOST = 256
"""The largest number of points of a task, because their results of some 20 KB travel together."""

_PATIENCE = 2.0
"""Seconds to wait for the first points if nothing is known of their time. Points that take longer need no batches."""

_UNKNOWN = 1e6
"""Seconds that stand for the time of a point of which nothing is known."""

_TRIES = 3
"""The largest number of times that a task is submitted which another user cancelled, or which lacked a trace."""

_VERSION = (flashloom.__version__, flashloom.__commit__)

_Files = list[tuple[str, str]]
"""Digests of files, with the paths that the caller has for them."""


class Cancelled(Exception):
    """Raised in a task whose result nobody wants any more."""


class Point(NamedTuple):
    """A point that is to be done."""

    number: int
    digest: str
    place: str
    labels: list[str]
    seed: int
    device: str
    memory: int
    requests: Optional[int]
    seconds: Optional[float]


class Done(NamedTuple):
    """The results of a task."""

    results: dict[str, tuple[bytes, float]]
    """By digest of the run, the bytes of its result and the seconds that it took."""
    failed: Optional[BaseException]
    """The exception of the first point that failed; those behind it were not done."""


def run_batch(
    version: tuple[str, str], digests: list[str], tasks: bytes, files: _Files, policies: list[_registered.Named]
) -> Done:
    """Does the runs of some points; called on a worker."""
    worker = distributed.get_worker()
    if version != _VERSION:
        own, theirs = " ".join(_VERSION), " ".join(version)
        text = f"the worker {worker.address} has Flashloom {own}, and the study {theirs}; install one version on both"
        return Done({}, RunError(text))
    for named in policies:
        _registered.register(*named)
    current = worker.get_current_task()

    def poll() -> None:
        # Only the thread of the worker changes its tasks, so this thread may see a cancellation one poll later.
        state = worker.state.tasks.get(current)
        if state is None or state.state == "cancelled":
            raise Cancelled

    lines = zlib.decompress(tasks).decode().split("\n")
    places = located(files, worker.local_directory)
    ran, failed = _native.run_tasks(lines, places, poll)
    if isinstance(failed, RunError):
        # Messages name a trace by the caller's path.
        text = str(failed)
        for (_, path), (_, place) in zip(files, places):
            text = text.replace(place, path)
        failed = RunError(text)
    return Done(dict(zip(digests, ran)), failed)


def _held(wanted: set[str], client: str, dask_scheduler: Any) -> dict[str, Any]:
    """Returns the tasks of other users that do some of these points, and makes `client` want them, too; runs on the scheduler."""
    found = {}
    for key, task in dask_scheduler.tasks.items():
        digests = (task.annotations or {}).get("flashloom")
        if digests and task.state != "erred" and task.who_wants:
            found.update({digest: key for digest in digests if digest in wanted})
    dask_scheduler.client_desires_keys(keys=list(set(found.values())), client=client)
    return found


def _say(keys: list[Any], client: str, dask_scheduler: Any) -> None:
    """Tells `client` which of these tasks are done; runs on the scheduler."""
    dask_scheduler.client_desires_keys(keys=keys, client=client)


def _key(study: str, points: list[Point]) -> tuple[str, str, str]:
    """Returns the key of a task. Dask's dashboard groups tasks by the first part, and shows the second."""
    first, more = points[0], len(points) - 1
    name = ", ".join([*first.labels, f"seed {first.seed}"]) + (f" and {more} more" if more else "")
    if not more:
        return (f"flashloom {study}", name, first.digest)
    return (f"flashloom {study}", name, hashlib.sha256("".join(point.digest for point in points).encode()).hexdigest())


def batches(points: Iterable[Point], seconds: float) -> Iterator[list[Point]]:
    """Puts points of known time together until they take this long, the longest first."""
    known = sorted((point for point in points if point.seconds is not None), key=lambda point: -(point.seconds or 0.0))
    batch: list[Point] = []
    sum_ = 0.0
    for point in known:
        batch.append(point)
        sum_ += point.seconds or 0.0
        if sum_ >= seconds or len(batch) == _MOST:
            yield batch
            batch, sum_ = [], 0.0
    if batch:
        yield batch


class _Run:
    """A sweep that runs on a cluster."""

    def __init__(
        self, sweep: _native.Sweep, client: Any, step: Callable[[int, int], object], took: Callable[[list[int]], object]
    ) -> None:
        self.sweep, self.client, self.step, self.took = sweep, client, step, took
        self.putting: Optional[Putting] = None
        self.traces = Traces(client, sweep.files)
        self.done = distributed.as_completed(raise_errors=False)
        self.pending: dict[Any, tuple[list[Point], int]] = {}
        """The points of each future, and the number of times that they were submitted."""
        self.measured: dict[str, list[float]] = {}
        self.largest: Optional[int] = None
        self.is_declared = False
        self.repeated = 0
        self.look_at_workers()

    def look_at_workers(self) -> None:
        """Reads the amount of memory that a worker offers."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        declared = [worker["resources"][MEMORY] for worker in workers if MEMORY in worker.get("resources", {})]
        self.is_declared = bool(declared)
        limits = declared or [worker["memory_limit"] for worker in workers if worker["memory_limit"]]
        self.largest = int(max(limits)) if limits else None
        self.threads = max(1, sum(worker["nthreads"] for worker in workers))

    def points(self, numbers: Iterable[int]) -> list[Point]:
        """Returns the points with their predicted times, by the times known so far."""
        points = []
        for number in numbers:
            point = Point(number, **self.sweep.due(number))
            if point.seconds is None and self.measured.get(point.device):
                # Without a number of requests, a point is taken to be as long as the others of its device.
                several = self.measured[point.device]
                point = point._replace(seconds=sum(several) / len(several))
            if self.largest is not None and point.memory > self.largest:
                needs, most = (f"{size / (1 << 20):.1f} MiB" for size in (point.memory, self.largest))
                raise RunError(
                    f"{point.place}: the simulation needs {needs}, and the largest worker has {most}; start workers with "
                    "more memory"
                )
            points.append(point)
        return points

    def submit(self, points: list[Point], tries: int = 1, is_new: bool = True) -> None:
        """Submits a task that does these points. Points whose task failed get a task of another key.

        The client drops a failed task a moment after its future was released, and the scheduler keeps it while another
        user has a future: a task with the same key would be the failed one.
        """
        lines: list[str] = []
        files: dict[str, str] = {}
        for point in points:
            text, needed = self.sweep.task(point.number)
            lines.append(text)
            files.update({digest: self.traces.paths[digest] for digest in needed})
        digests = [point.digest for point in points]
        # Of equally long tasks, those that were submitted first are counted.
        known = [point.seconds for point in points if point.seconds is not None]
        priority = sum(known) if len(known) == len(points) else _UNKNOWN
        resources = {MEMORY: max(point.memory for point in points)} if self.is_declared else None
        group, name, which = _key(self.sweep.name, points)
        if not is_new:
            self.repeated += 1
            which = f"{which} {self.client.id} {self.repeated}"
        with dask.annotate(flashloom=digests):
            future = self.client.submit(
                run_batch,
                _VERSION,
                digests,
                zlib.compress("\n".join(lines).encode(), 1),
                list(files.items()),
                _registered.named_in("\n".join(lines)),
                key=(group, name, which),
                priority=int(priority * 1000),
                resources=resources,
                pure=False,
            )
        self.follow(future, points, tries)

    def follow(self, future: Any, points: list[Point], tries: int) -> None:
        self.pending[future] = (points, tries)
        self.done.add(future)

    def join(self, points: list[Point]) -> list[Point]:
        """Waits for the tasks of others that do some of the points. Returns the points of which there is no task."""
        wanted = {point.digest: point for point in points}
        try:
            held = self.client.run_on_scheduler(_held, set(wanted), self.client.id)
        except Exception:
            # The scheduler's machine does not have this package, so a point that another user runs is run twice.
            return points
        tasks: dict[Any, list[Point]] = {}
        for digest, key in held.items():
            tasks.setdefault(key, []).append(wanted.pop(digest))
        for key, theirs in tasks.items():
            self.follow(distributed.Future(key, self.client), theirs, 0)
        if tasks:
            # A task may have ended before its future arrived here.
            self.client.run_on_scheduler(_say, list(tasks), self.client.id)
        return list(wanted.values())

    def take(self, number: int, digest: str, content: bytes, seconds: Optional[float]) -> None:
        """Takes the result of a point."""
        filled = self.sweep.take(number, content, seconds)
        self.took(filled)
        if self.putting is not None and seconds is not None:
            self.putting.put(point_path(digest), content)
        self.step(self.sweep.done, self.sweep.runs)

    def fetch(self, store: ObjectStore) -> None:
        """Takes the results that a store has."""
        numbers = {self.sweep.due(number)["digest"]: number for number in self.sweep.left()}
        for digest, content in store.fetch(numbers):
            try:
                self.take(numbers[digest], digest, content, None)
            except RunError:
                # The result is damaged or of another version: the run is done again and replaces it.
                continue

    def finish(self, future: Any) -> None:
        """Takes the results of a task, or submits the task again."""
        points, tries = self.pending.pop(future)
        again = False
        try:
            done = future.result()
        except (Missing, Cancelled, distributed.client.FutureCancelledError) as error:
            if tries >= _TRIES:
                why = f"{type(error).__name__} {error}"
                raise RunError(f"{points[0].place}: could not be run on the cluster: {why}") from error
            if isinstance(error, Missing):
                self.traces.send(error.digest)
            again = True
        except distributed.scheduler.KilledWorker as error:
            names = points[0].place + (f" or one of {len(points) - 1} more" if points[1:] else "")
            raise RunError(
                f"{names}: each worker that ran it died; it may need more memory than a worker has ({error})"
            ) from error
        finally:
            future.release()
        if again:
            self.submit(points, tries + 1, is_new=False)
            return
        for point in points:
            if point.digest in done.results:
                content, seconds = done.results[point.digest]
                self.take(point.number, point.digest, content, seconds)
                self.measured.setdefault(point.device, []).append(seconds)
        left = [point for point in points if point.digest not in done.results]
        if left and tries == 0:
            # In the task of another user, a point failed that may not be of this study.
            self.submit(left, is_new=False)
        elif done.failed is not None:
            raise done.failed

    def wait(self, until: Optional[float] = None) -> None:
        """Takes results until all are there, or until this time."""
        while self.pending:
            if until is not None and not self.done.has_ready():
                if time.monotonic() > until:
                    return
                time.sleep(0.01)
                continue
            for future in next(self.done.batches()):
                self.finish(future)

    def pilots(self, points: list[Point]) -> list[Point]:
        """Runs a point of each device of which no time is known, and waits a little. Returns the others."""
        first: dict[str, Point] = {}
        for point in points:
            if point.seconds is None:
                first.setdefault(point.device, point)
        for point in first.values():
            self.submit([point])
        self.wait(time.monotonic() + _PATIENCE)
        begun = {point.number for point in first.values()}
        return [point for point in points if point.number not in begun]

    def run(self) -> None:
        """Does all points that are left."""
        points = self.join(self.points(self.sweep.left()))
        try:
            if points:
                self.traces.check()
            # Another user may have begun some points meanwhile.
            points = self.join(self.points(point.number for point in self.pilots(points)))
            whole = sum(point.seconds or 0.0 for point in points)
            each = min(max(whole / (4 * self.threads), _SHORT), _LONG)
            unknown = [[point] for point in points if point.seconds is None]
            for batch in [*unknown, *batches(points, each)]:
                self.submit(batch)
            self.wait()
        finally:
            # After a Ctrl-C or an error the other tasks are cancelled.
            if self.pending:
                self.client.cancel(list(self.pending))
            self.traces.close()


def run(sweep: _native.Sweep, client: Any, store: Optional[ObjectStore], follow: "Follow") -> None:
    """Does the runs of a sweep that are left on the workers of a client."""

    def took(numbers: list[int]) -> None:
        for number in numbers if follow.on_point is not None else ():
            result = sweep.result(number)
            if result is not None and follow.on_point is not None:
                follow.on_point(*result)

    running = _Run(sweep, client, follow.step, took)
    follow.step(sweep.done, sweep.runs)
    if store is not None:
        running.fetch(store)
        running.putting = Putting(store)
        path, text = sweep.study_file
        running.putting.put(os.fspath(path), text.encode())
    try:
        running.run()
    finally:
        error = running.putting.close() if running.putting is not None else None
        if error is not None:
            follow.warn(str(error))


class Workers:
    """The client of a cluster, for a `with` statement: that of the caller, of an address, or of workers on this machine."""

    def __init__(self, executor: object, jobs: Optional[int] = None, memory: Optional[int] = None) -> None:
        self._executor, self._jobs, self._memory = executor, jobs, memory
        self._own: list[Any] = []

    def __enter__(self) -> Any:
        if isinstance(self._executor, distributed.Client):
            return self._executor
        if not isinstance(self._executor, str):
            raise TypeError(
                "executor: use a distributed.Client, the address of a scheduler such as 'tcp://scheduler:8786', or "
                "'local'"
            )
        try:
            address: Any = self._local() if self._executor == "local" else self._executor
            client = distributed.Client(address, timeout=30)
        except (OSError, ValueError) as error:
            self.__exit__()
            raise RunError(
                f"{self._executor}: the scheduler cannot be reached: {error}; start it with `dask scheduler`, or correct "
                "its address"
            ) from error
        self._own.append(client)
        return client

    def _local(self) -> Any:
        count = self._jobs or os.cpu_count() or 1
        share = (self._memory or distributed.system.MEMORY_LIMIT) // count
        cluster = distributed.LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            memory_limit=share,
            # A worker takes some 200 MiB for itself.
            resources={MEMORY: max(share - (200 << 20), share // 2)},
            dashboard_address=":0",
            silence_logs=50,
        )
        self._own.append(cluster)
        return cluster

    def __exit__(self, *_: object) -> None:
        while self._own:
            self._own.pop().close()


def hand_over(
    sweep: _native.Sweep,
    on: str,
    jobs: Optional[int],
    memory: Optional[int],
    store: Optional[str],
    step: Callable[[int, int], object],
) -> None:
    """Does the runs of a sweep for the command line: `flashloom study --on`."""
    from flashloom.study import Follow

    objects = None if store is None else ObjectStore(store)
    follow = Follow(step, None, lambda text: print(f"note: {text}", file=sys.stderr))
    with Workers(on, jobs, memory) as client:
        run(sweep, client, objects, follow)


__all__ = ["Cancelled", "Done", "Point", "Workers", "batches", "hand_over", "run", "run_batch"]
