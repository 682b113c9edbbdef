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
    """A worker lacks a trace, because it came after the others got it."""

    def __init__(self, digest: str) -> None:
        super().__init__(digest)
        self.digest = digest


def _stamp(path: str) -> tuple[tuple[str, int, int], ...]:
    """Returns values that change if a trace does: the names, the lengths and the times of its files."""
    parts = [os.fspath(part) for part in _native.file_parts(path)]
    stats = [os.stat(part) for part in parts]
    return tuple((part, stat.st_size, stat.st_mtime_ns) for part, stat in zip(parts, stats))


_FOUND: dict[tuple[str, tuple[tuple[str, int, int], ...]], bool] = {}
"""For each pair of file state and digest that was checked, true if the file has the digest."""


def _has(path: str, digest: str) -> bool:
    """Returns true if the file has this digest. A file is read only when it is new or has changed."""
    try:
        key = (digest, _stamp(path))
        if key not in _FOUND:
            _FOUND[key] = _native.file_digest(path) == digest
        return _FOUND[key]
    except (OSError, FlashloomError):
        return False


def _place(digest: str, path: str, scratch: str) -> Optional[str]:
    """Returns the path of a file on a worker: the caller's path on a shared file system, or the path to which it was sent."""
    sent = os.path.join(scratch, _FOLDER, digest, os.path.basename(path))
    return next((place for place in (path, sent) if _has(place, digest)), None)


def located(files: list[tuple[str, str]], scratch: str) -> list[tuple[str, str]]:
    """Returns the paths of the files of keys on a worker."""
    places = []
    for digest, path in files:
        place = _place(digest, path, scratch)
        if place is None:
            raise Missing(digest)
        places.append((digest, place))
    return places


async def _lacking(files: dict[str, str], dask_worker: Any) -> list[str]:
    """Returns the digests of the files that this worker lacks; runs on each worker, and may take long because it reads the files."""

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
        """The caller's paths of the files, by digest."""

    def check(self) -> None:
        """Sends the files that workers lack."""
        if self.paths:
            lacking = self._client.run(_lacking, self.paths).values()
            for digest in sorted({digest for worker in lacking for digest in worker}):
                self.send(digest)

    def send(self, digest: str) -> None:
        """Sends a file to the workers, unless it was sent before."""
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
