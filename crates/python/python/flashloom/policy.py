"""Policies of your own, as functions.

    >>> import flashloom
    >>> fresh = flashloom.policy.victim(lambda blocks: blocks.invalid * (blocks.age > 8))
    >>> device = flashloom.Device("demo").set("ftl.gc.victim", fresh)

The function is called for each victim that garbage collection takes, with all candidates at once; the columns are arrays of
NumPy. The description of the drive names the function and has the digest of its source, so a store of results never takes the
result of one version for that of another. An exception of the function ends the run and is raised there.
"""

import hashlib
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import CodeType
from typing import Any, Optional

from flashloom import _native
from flashloom.errors import RunError


@dataclass(frozen=True)
class Blocks:
    """The superblocks from which a victim is chosen: closed ones with an invalid mapping unit, of one pool.

    A column has an element for each; those closed first are at the beginning.
    """

    valid: Any
    """Valid mapping units of each."""
    age: Any
    """Superblocks that were closed after it in any pool, plus one."""
    seconds: Any
    """Simulated time since it was closed, in seconds."""
    erases: Any
    """How often each was erased."""
    units: int
    """Mapping units of a superblock."""
    free: int
    """Free superblocks of the pool."""

    @cached_property
    def invalid(self) -> Any:
        """Invalid mapping units of each."""
        return self.units - self.valid

    @cached_property
    def u(self) -> Any:
        """Share of the mapping units of each that are valid, 0 to 1."""
        return self.valid / self.units

    def __len__(self) -> int:
        return len(self.valid)


_Score = Callable[[Blocks], Any]

Named = tuple[str, str, _Score]
"""A policy as it travels to the workers of a cluster: name, version, function."""

_registered: dict[str, tuple[str, _Score]] = {}
"""Versions and functions of this process by name, for the workers of a cluster."""


def victim(score: _Score, *, name: Optional[str] = None) -> dict[str, str]:
    """Makes a victim policy of a function that returns a score for each candidate.

    The highest score is chosen; of several, the candidate that was closed first. A score that is not a number is lower than all
    others. Returns the value of the key `ftl.gc.victim`. The name is that of the function with a part of the digest of its
    source; give one yourself if results shall be found under it.
    """
    version = _digest(score)
    name = name or f"{getattr(score, '__qualname__', type(score).__name__)}-{version[:8]}"
    register(name, version, score)
    return {"policy": "own", "name": name, "version": version}


def register(name: str, version: str, score: _Score) -> None:
    """Makes a function known under a name and a version, as `victim` does. Descriptions name both."""
    _native.register_victim(name, version, _chooser(score))
    _registered.setdefault(name, (version, score))


def named_in(text: str) -> list[Named]:
    """The policies of this process whose names a text has: name, version, function."""
    return [(name, version, score) for name, (version, score) in _registered.items() if name in text]


def _chooser(score: _Score) -> Callable[[bytes, bytes, bytes, bytes, int, int], int]:
    try:
        numpy: Any = importlib.import_module("numpy")
    except ImportError:
        raise RunError("a policy in Python needs NumPy; install it with `pip install numpy`") from None

    def choose(valid: bytes, age: bytes, seconds: bytes, erases: bytes, units: int, free: int) -> int:
        column = numpy.frombuffer
        blocks = Blocks(
            column(valid, numpy.uint32), column(age, numpy.uint64), column(seconds), column(erases, numpy.uint32), units, free
        )
        # A superblock without valid mapping units has an infinite score under many policies.
        with numpy.errstate(divide="ignore", invalid="ignore"):
            scores = numpy.asarray(score(blocks), dtype=float)
        if scores.shape != (len(blocks),):
            raise ValueError(f"a policy returns a score for each of {len(blocks)} candidates, not an array of {scores.shape}")
        return int(numpy.where(numpy.isnan(scores), -numpy.inf, scores).argmax())

    return choose


def _digest(score: _Score) -> str:
    """The digest of what a function is made of: its source, and the values that it takes from around it."""
    parts: list[str] = []
    code = getattr(score, "__code__", None)
    if isinstance(code, CodeType):
        try:
            parts.append(inspect.getsource(code))
        except (OSError, TypeError):
            parts += [code.co_code.hex(), *(repr(constant) for constant in code.co_consts if not isinstance(constant, CodeType))]
        around = inspect.getclosurevars(score)
        plain = {name: value for name, value in around.globals.items() if not (callable(value) or inspect.ismodule(value))}
        parts += [repr(sorted(around.nonlocals.items())), repr(sorted(plain.items()))]
        parts.append(repr(getattr(score, "__defaults__", None)))
    else:
        parts.append(repr(score))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


__all__ = ["Blocks", "Named", "named_in", "register", "victim"]
