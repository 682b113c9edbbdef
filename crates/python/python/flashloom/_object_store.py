"""Stores of results on any file system that fsspec knows, e.g. `s3://bucket/results` or `sftp://host/results`.

Results lie there as in a folder: `points/ab/abcd....parquet`, each under the digest of its key.
"""

import queue
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Optional

from flashloom.errors import OutputError, RunError

_EACH = 256
"""The number of results that are fetched or put at the same time."""

_FEW = 1024
"""The largest number of results that are asked for one by one; for more, the store is listed."""

_TAG = (
    "CACHEDIR.TAG",
    b"Signature: 8a477f597d28d172789f06886806bc55\n# Results of runs, made by Flashloom.\n",
)


def url_of(store: object) -> Optional[str]:
    """Returns the URL of a store; `None` if the store is a folder."""
    return store if isinstance(store, str) and "://" in store else None


def folder_of(url: str) -> Optional[str]:
    """Returns the folder of a URL that names this machine's own file system."""
    scheme, _, path = url.partition("://")
    return path if scheme in ("file", "local") else None


def point_path(digest: str) -> str:
    """Returns the path of the result of a run in a store."""
    return f"points/{digest[:2]}/{digest}.parquet"


def _chunks(items: list[str]) -> Iterator[list[str]]:
    return (items[at : at + _EACH] for at in range(0, len(items), _EACH))


class ObjectStore:
    """A store of results at a URL."""

    def __init__(self, url: str) -> None:
        """Opens the store. Writes its mark, so that a store that cannot be written is known before the first run."""
        self.url = url
        try:
            from fsspec.core import url_to_fs  # type: ignore[import-untyped,import-not-found,unused-ignore]
        except ImportError:
            raise RunError(
                f"{url}: fsspec is not installed; install it with `pip install 'flashloom[cluster]'`, or name a folder"
            ) from None
        try:
            self._fs, self._root = url_to_fs(url)
            self._put({_TAG[0]: _TAG[1]})
        except Exception as error:
            raise self._failed("cannot be written", error) from error

    def _failed(self, what: str, error: object) -> OutputError:
        said = f"{type(error).__name__}: {error}" if isinstance(error, BaseException) else str(error)
        return OutputError(f"{self.url}: the store of results {what}: {said}; check its URL and your access to it")

    def _path(self, path: str) -> str:
        return f"{self._root.rstrip('/')}/{path}"

    def _put(self, files: Mapping[str, bytes]) -> None:
        # An object store has no folders, and other file systems need them.
        if not getattr(self._fs, "async_impl", False):
            for folder in sorted({path.rpartition("/")[0] for path in files}):
                self._fs.makedirs(self._path(folder).rstrip("/"), exist_ok=True)
        self._fs.pipe({self._path(path): content for path, content in files.items()})

    def put(self, files: Mapping[str, bytes]) -> None:
        """Puts files into the store. A result has the same bytes whoever writes it."""
        try:
            self._put(files)
        except Exception as error:
            raise self._failed("cannot be written", error) from error

    def _there(self, digests: list[str]) -> list[str]:
        """Returns the digests of runs whose results may be in the store."""
        if len(digests) <= _FEW:
            return digests
        found = self._fs.find(self._path("points"))
        names = {path.rpartition("/")[2].removesuffix(".parquet") for path in found}
        return [digest for digest in digests if digest in names]

    def fetch(self, digests: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Returns the results in the store of runs with these digests."""
        try:
            for chunk in _chunks(self._there(list(digests))):
                paths = {self._path(point_path(digest)): digest for digest in chunk}
                found: dict[str, Any] = self._fs.cat(list(paths), on_error="return")
                for path, content in found.items():
                    digest = path.rpartition("/")[2].removesuffix(".parquet")
                    if isinstance(content, bytes):
                        yield digest, content
                    elif not isinstance(content, FileNotFoundError):
                        raise content
        except Exception as error:
            raise self._failed("cannot be read", error) from error


class Putting:
    """Puts results into a store while runs go on, from a thread of its own."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._waiting: queue.SimpleQueue[Optional[tuple[str, bytes]]] = queue.SimpleQueue()
        self._error: Optional[OutputError] = None
        self._thread = threading.Thread(target=self._run, name="flashloom-store", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        is_open = True
        while is_open:
            files: dict[str, bytes] = {}
            item = self._waiting.get()
            while item is not None:
                files[item[0]] = item[1]
                if len(files) == _EACH or self._waiting.empty():
                    break
                item = self._waiting.get()
            is_open = item is not None
            if files and self._error is None:
                try:
                    self._store.put(files)
                except OutputError as error:
                    self._error = error

    def put(self, path: str, content: bytes) -> None:
        """Queues a file for the store."""
        self._waiting.put((path, content))

    def close(self) -> Optional[OutputError]:
        """Waits until all files are in the store; returns the reason if one is not."""
        self._waiting.put(None)
        self._thread.join()
        return self._error
