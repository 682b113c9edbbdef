"""Exceptions, whose texts are those of the command line."""

from collections.abc import Sequence
from typing import NamedTuple, Optional


class Fault(NamedTuple):
    """One fault of a description."""

    path: Optional[str]
    """Path of the file; `None` for a key that `set` has set."""
    line: Optional[int]
    """Number of the line, from one; `None` if the description is no file."""
    key: str
    """Name of the key with its tables, joined by dots; empty for a fault of the whole file."""
    message: str
    """A sentence that says what is wrong."""
    remedy: str
    """A sentence that says how to correct it."""


class FlashloomError(Exception):
    """The base of all exceptions of this package."""


class DescriptionError(FlashloomError, ValueError):
    """A device, a workload, a study or an argument has faults: all of them at once, in `faults` and in the text."""

    faults: list[Fault]

    def __init__(
        self, text: str, faults: Sequence[tuple[object, Optional[int], str, str, str]] = ()
    ) -> None:
        super().__init__(text)
        self.faults = [
            Fault(None if path is None else str(path), line, key, message, remedy)
            for path, line, key, message, remedy in faults
        ]

    def __reduce__(self) -> tuple[type, tuple[str, list[Fault]]]:
        return (type(self), (str(self), self.faults))


class RunError(FlashloomError, RuntimeError):
    """A run cannot be done: a trace cannot be read, a drive does not fit into the memory, or a drive wears out."""


class FtlError(FlashloomError, ValueError):
    """An FTL in Python breaks a rule: a page is programmed out of order, an erase would lose data, the map points to a page that does
    not hold the mapping unit, or a check of the conformance suite fails."""


class OutputError(FlashloomError, OSError):
    """A file cannot be written, or exists and was not written by Flashloom."""


class BugError(FlashloomError, RuntimeError):
    """Flashloom is at fault: a drive returned wrong data, its counters disagree, or an invariant is broken."""
