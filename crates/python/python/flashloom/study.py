"""Studies: many runs along axes, and the claims about them."""

import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Optional, Union

from flashloom import _native
from flashloom._object_store import ObjectStore, Putting, folder_of, point_path, url_of
from flashloom.errors import DescriptionError, RunError
from flashloom.results import Summary

if TYPE_CHECKING:
    import distributed as _dask


class Follow(NamedTuple):
    """The functions that are called while a study runs."""

    step: Callable[[int, int], object]
    """Takes the numbers of finished runs and of all runs."""
    on_point: Optional[Callable[[Sequence[str], Summary], object]]
    """Takes the labels and the summary of each result, as soon as it is there."""
    warn: Callable[[str], object]
    """Takes a warning for the user."""


def _bar(name: str) -> tuple[Optional[Callable[[int, int], object]], Callable[[], object]]:
    """Returns functions that move and close a bar of tqdm; the first is `None` if tqdm is not installed."""
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        return None, lambda: None
    bar = tqdm(desc=name, unit="run", file=sys.stderr)

    def show(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    return show, bar.close


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=3)


class Study(_native.Study):
    """A study: the description of a TOML file, one that comes with Flashloom, or a dict with the keys of such a file.

    Its points are all combinations of its axes, each with every seed:

        >>> study = flashloom.Study({"name": "s", "device": "demo", "workload": "oltp", "run": {"limit": 2000}})
        >>> study.axis("channels", "device.flash.channels", [4, 8])
        >>> table = study.run().to_arrow()
    """

    def run(
        self,
        *,
        jobs: Optional[int] = None,
        store: Union[bool, str, os.PathLike[str], None] = None,
        memory: Optional[str] = None,
        progress: Union[bool, Callable[[int, int], object]] = True,
        on_point: Optional[Callable[[Sequence[str], Summary], object]] = None,
        executor: Union["_dask.Client", str, None] = None,
    ) -> _native.StudyOutcome:
        """Runs all points and returns their results.

        `jobs` runs at once, by default one for each core; the results do not depend on it. `store` is the folder that
        keeps each result as soon as its run ends, so that no run is done twice; `True` is the folder of the command, and a
        URL is a place on a file system of fsspec, e.g. `"s3://bucket/results"`, with the command's folder in front of it.
        `memory` is the size that the runs may take together, e.g. `"12GiB"`, instead of the machine's. `progress` shows a
        bar if tqdm is installed, or is called with the numbers of finished runs and of all runs. `on_point` is called
        with the labels of a point and the summary of its run as soon as that run ends.

        `executor` is a `distributed.Client`, or the address of a Dask scheduler: its workers do the runs, and the outcome
        is the same. `"local"` starts workers on this machine, `jobs` of them. A point takes its memory, in bytes, from
        the resource `MEMORY` of a worker, where workers declare it.

        Other Python threads go on meanwhile. Ctrl-C ends the study; what is in the store stays.
        """
        show: Optional[Callable[[int, int], object]] = progress if callable(progress) else None
        close: Callable[[], object] = lambda: None  # noqa: E731
        if progress is True:
            show, close = _bar(self.name)
        url = url_of(store)
        folder: Union[str, os.PathLike[str], None]
        if url is not None:
            folder, url = folder_of(url), url if folder_of(url) is None else None
        else:
            folder = _native.default_store() if store is True else None if isinstance(store, bool) else store or None
        try:
            if executor is not None:
                follow = Follow(show or (lambda *_: None), on_point, _warn)
                return self._run_on(executor, jobs, memory, (folder, url), follow)
            if url is not None:
                return self._run_with(url, jobs, memory, show, on_point)
            return self._run(jobs, folder, memory, show, on_point, None, _warn)
        finally:
            close()

    def _run_on(
        self,
        executor: Union["_dask.Client", str],
        jobs: Optional[int],
        memory: Optional[str],
        store: tuple[Union[str, os.PathLike[str], None], Optional[str]],
        follow: Follow,
    ) -> _native.StudyOutcome:
        """Runs the study on the workers of a Dask cluster."""
        from flashloom import _cluster

        for name, value in [("jobs", jobs), ("memory", memory)]:
            if value is not None and (name == "memory" or executor != "local"):
                remedy = "leave it out; the workers of a cluster have what they were started with"
                fault = ("argument", None, name, "has no effect on a cluster", remedy)
                raise DescriptionError(f"argument: {name}: {fault[3]}; {remedy}", [fault])
        folder, url = store
        if url is not None:
            folder = _native.default_store()
        objects = None if url is None else ObjectStore(url)
        sweep = self._sweep(folder, follow.warn)
        with _cluster.Workers(executor, jobs) as client:
            _cluster.run(sweep, client, objects, follow)
        return sweep.outcome()

    def _run_with(
        self,
        url: str,
        jobs: Optional[int],
        memory: Optional[str],
        show: Optional[Callable[[int, int], object]],
        on_point: Optional[Callable[[Sequence[str], Summary], object]],
    ) -> _native.StudyOutcome:
        """Runs the study here, with a store at a URL and one on this machine in front of it."""
        objects = ObjectStore(url)
        with tempfile.TemporaryDirectory() as temporary:
            folder = _native.default_store() or temporary
            sweep = self._sweep(folder, _warn)
            numbers = {sweep.due(number)["digest"]: number for number in sweep.left()}
            for digest, content in objects.fetch(numbers):
                try:
                    sweep.take(numbers[digest], content, None)
                except RunError:
                    # The result is damaged or of another version: the run is done again and replaces it.
                    continue
            putting = Putting(objects)
            path, text = sweep.study_file
            putting.put(os.fspath(path), text.encode())

            def kept(digest: str) -> None:
                path = point_path(digest)
                with open(os.path.join(folder, path), "rb") as file:
                    putting.put(path, file.read())

            try:
                return self._run(jobs, folder, memory, show, on_point, kept, _warn)
            finally:
                error = putting.close()
                if error is not None:
                    _warn(str(error))
