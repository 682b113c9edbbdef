"""Traces and snapshots on Dask workers: each travels once to each worker, which keeps it by its digest."""

import asyncio
import os
from collections.abc import Mapping
from typing import Any, Optional, Union

import distributed

from flashloom import _native
from flashloom.errors import FlashloomError, RunError

_FOLDER = "flashloom-traces"


class Missing(Exception):
    """A worker lacks a trace: it came after the others got it."""

    def __init__(self, digest: str) -> None:
        super().__init__(digest)
        self.digest = digest


def _stamp(path: str) -> tuple[tuple[str, int, int], ...]:
    """What changes if a trace does: the names, the lengths and the times of its files."""
    parts = [os.fspath(part) for part in _native.file_parts(path)]
    stats = [os.stat(part) for part in parts]
    return tuple((part, stat.st_size, stat.st_mtime_ns) for part, stat in zip(parts, stats))


_FOUND: dict[tuple[str, tuple[tuple[str, int, int], ...]], bool] = {}
"""Whether files that were read have a digest."""


def _has(path: str, digest: str) -> bool:
    """True if the file has this digest; it is read if it is new."""
    try:
        key = (digest, _stamp(path))
        if key not in _FOUND:
            _FOUND[key] = _native.file_digest(path) == digest
        return _FOUND[key]
    except (OSError, FlashloomError):
        return False


def _place(digest: str, path: str, scratch: str) -> Optional[str]:
    """Where a worker has a file: where the caller has it, on a file system that both see, or where it was sent."""
    sent = os.path.join(scratch, _FOLDER, digest, os.path.basename(path))
    return next((place for place in (path, sent) if _has(place, digest)), None)


def located(files: list[tuple[str, str]], scratch: str) -> list[tuple[str, str]]:
    """Where a worker has the files of keys."""
    places = []
    for digest, path in files:
        place = _place(digest, path, scratch)
        if place is None:
            raise Missing(digest)
        places.append((digest, place))
    return places


async def _lacking(files: dict[str, str], dask_worker: Any) -> list[str]:
    """Runs on each worker: the digests of the files that it lacks. To read them takes a while."""

    def look() -> list[str]:
        return [digest for digest, path in files.items() if _place(digest, path, dask_worker.local_directory) is None]

    return await asyncio.get_running_loop().run_in_executor(None, look)


class Sent(distributed.WorkerPlugin):  # type: ignore[misc,unused-ignore]
    """Carries a trace to each worker, also to those that come later."""

    idempotent = True

    def __init__(self, digest: str, path: str) -> None:
        self.name = f"flashloom-trace-{digest}"
        self._digest = digest
        self._files: dict[str, bytes] = {}
        for part in _native.file_parts(path):
            with open(part, "rb") as file:
                self._files[os.path.basename(part)] = file.read()

    def setup(self, worker: Any) -> None:
        """Keeps the trace, whole or not at all, in the worker's folder for temporary files."""
        folder = os.path.join(worker.local_directory, _FOLDER, self._digest)
        os.makedirs(folder, exist_ok=True)
        for name, content in self._files.items():
            part = os.path.join(folder, f".{name}.part")
            with open(part, "wb") as file:
                file.write(content)
            os.replace(part, os.path.join(folder, name))


class Traces:
    """The traces and snapshots of a study, on the workers of a client."""

    def __init__(self, client: Any, files: Mapping[str, Union[str, "os.PathLike[str]"]]) -> None:
        self._client = client
        self._sent: dict[str, str] = {}
        self.paths = {digest: os.fspath(path) for digest, path in files.items()}
        """Where the caller has them, by digest."""

    def check(self) -> None:
        """Sends the files that a worker lacks."""
        if self.paths:
            lacking = self._client.run(_lacking, self.paths).values()
            for digest in sorted({digest for worker in lacking for digest in worker}):
                self.send(digest)

    def send(self, digest: str) -> None:
        """Sends a file to the workers, unless it was sent."""
        if digest in self._sent:
            return
        try:
            plugin = Sent(digest, self.paths[digest])
        except OSError as error:
            raise RunError(f"{self.paths[digest]}: cannot be read for the workers: {error}") from error
        self._client.register_plugin(plugin)
        self._sent[digest] = plugin.name

    def close(self) -> None:
        """Lets the scheduler forget the files; the workers keep them."""
        while self._sent:
            _, name = self._sent.popitem()
            try:
                self._client.unregister_worker_plugin(name)
            except Exception:
                # The cluster is gone, or another user of the same trace was first.
                continue
