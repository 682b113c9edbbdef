"""Studies: many runs along axes, and the claims about them."""

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Optional, Union

from flashloom import _native
from flashloom.results import Summary


def _bar(name: str) -> tuple[Optional[Callable[[int, int], object]], Callable[[], object]]:
    """A bar of tqdm, if it is installed, and what closes it."""
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        return None, lambda: None
    bar = tqdm(desc=name, unit="run", file=sys.stderr)

    def show(done: int, total: int) -> None:
        bar.total = total
        bar.n = done
        bar.refresh()

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
    ) -> _native.StudyOutcome:
        """Runs all points and returns their results.

        `jobs` runs at once, by default one for each core; the results do not depend on it. `store` is the folder that
        keeps each result as soon as its run ends, so that no run is done twice; `True` is the folder of the command.
        `memory` is the size that the runs may take together, e.g. `"12GiB"`, instead of the machine's. `progress` shows a
        bar if tqdm is installed, or is called with the numbers of finished runs and of all runs. `on_point` is called
        with the labels of a point and the summary of its run as soon as that run ends.

        Other Python threads go on meanwhile. Ctrl-C ends the study; what is in the store stays.
        """
        folder = _native.default_store() if store is True else store or None
        show: Optional[Callable[[int, int], object]] = progress if callable(progress) else None
        close: Callable[[], object] = lambda: None  # noqa: E731
        if progress is True:
            show, close = _bar(self.name)
        try:
            return self._run(jobs, folder, memory, show, on_point, _warn)
        finally:
            close()
