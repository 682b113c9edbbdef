"""Policies of your own, as functions.

    >>> import flashloom
    >>> fresh = flashloom.policy.victim(lambda blocks: blocks.invalid * (blocks.age > 8))
    >>> device = flashloom.Device("demo").set("ftl.gc.victim", fresh)
    >>> odd = flashloom.policy.stream(lambda lpn: lpn % 2, streams=2)
    >>> device = device.set("ftl.streams.host", odd)

A `victim` is called for each victim that garbage collection takes, with all candidates at once; the columns are arrays of
NumPy. A `stream` is called for each mapping unit that the host writes. The description of the drive names the function and has the
digest of its source, so a store of results never takes the result of one version for that of another. An exception of the function
ends the run and is raised there.
"""

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Optional, Union

from flashloom import _native, _registered
from flashloom._source import digest
from flashloom.errors import RunError


@dataclass(frozen=True)
class Blocks:
    """The superblocks from which a victim is chosen: closed ones with an invalid mapping unit, of one pool.

    A column has an element for each; those closed first are at the beginning.
    """

    valid: Any
    """The number of valid mapping units of each superblock."""
    age: Any
    """The number of superblocks that were closed after each one in any pool, plus one."""
    seconds: Any
    """Simulated time since each superblock was closed, in seconds."""
    erases: Any
    """The number of erases of each superblock."""
    units: int
    """The number of mapping units of a superblock."""
    free: int
    """The number of free superblocks of the pool."""

    @cached_property
    def invalid(self) -> Any:
        """The number of invalid mapping units of each superblock."""
        return self.units - self.valid

    @cached_property
    def u(self) -> Any:
        """Share of the mapping units of each superblock that are valid, 0 to 1."""
        return self.valid / self.units

    def __len__(self) -> int:
        return len(self.valid)


_Score = Callable[[Blocks], Any]
_Stream = Callable[..., int]


def victim(score: _Score, *, name: Optional[str] = None) -> dict[str, str]:
    """Makes a victim policy of a function that returns a score for each candidate.

    The highest score is chosen; of several, the candidate that was closed first. A score that is not a number is lower than all
    others. Returns the value of the key `ftl.gc.victim`. The name is that of the function with a part of the digest of its
    source; give one yourself if results shall be found under it.
    """
    version = digest(score)
    name = name or _registered.name_of(score, version)
    _registered.register("victim", name, version, score)
    return {"policy": "own", "name": name, "version": version}


def stream(choose: _Stream, *, streams: int, name: Optional[str] = None) -> dict[str, Union[str, int]]:
    """Makes a stream policy of a function that returns the number of the stream for each mapping unit that the host writes.

    The names of its parameters say what it gets: `lpn` (the mapping unit), `size` (bytes of the request), `queue` (its submission
    queue), `placement` (its placement identifier), `nvm_set` (the NVM set, 0 for the whole array), `partial` (true if the request
    covers a part of the mapping unit) and `written` (mapping units that the host has written before since the power came on). Stream 0 is for the data that are
    overwritten first; the last of the `streams` takes all higher numbers, too. Returns the value of the key `ftl.streams.host`:

        >>> flashloom.policy.stream(lambda size, partial: 0 if partial or size <= 8192 else 1, streams=2)

    A call takes 0.07 us, and 0.03 us for each parameter. An object with a method `__call__` may have a state. Each mount of a drive
    begins with a deep copy of the object.
    """
    values = _values(choose)
    version = digest(choose)
    name = name or _registered.name_of(choose, version)
    _registered.register("stream", name, version, (choose, values))
    return {"policy": "own", "name": name, "version": version, "streams": streams}


def _values(choose: _Stream) -> list[str]:
    """Lists the values of a write that the parameters of a function name."""
    known = _native.stream_values()
    values: list[str] = []
    passed = True
    for parameter in inspect.signature(choose).parameters.values():
        is_named = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        if passed and is_named and parameter.name in known:
            values.append(parameter.name)
            continue
        if is_named and parameter.default is not parameter.empty:
            # This parameter and all later ones keep their defaults.
            passed = False
        elif is_named or (parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty):
            names = ", ".join(known)
            raise TypeError(f"a stream policy has no parameter `{parameter.name}`; the names of its parameters are {names}")
    return values


def _register_victim(name: str, version: str, score: _Score) -> None:
    _native.register_victim(name, version, _chooser(score))


def _register_stream(name: str, version: str, policy: tuple[_Stream, list[str]]) -> None:
    _native.register_stream(name, version, *policy)


_registered.kind("victim", _register_victim)
_registered.kind("stream", _register_stream)


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


__all__ = ["Blocks", "stream", "victim"]
