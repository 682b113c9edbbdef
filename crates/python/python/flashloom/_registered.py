"""The policies and FTLs of this process by name, for the workers of a cluster."""

from collections.abc import Callable
from typing import Any

Named = tuple[str, str, str, Any]
"""A policy as it is sent to a worker: kind, name, version, and the function or class."""

_KINDS: dict[str, Callable[[str, str, Any], None]] = {}
_REGISTERED: dict[tuple[str, str], tuple[str, Any]] = {}


def kind(name: str, register: Callable[[str, str, Any], None]) -> None:
    """Adds a kind of policies, with the function that registers a name, a version and a function in the simulator."""
    _KINDS[name] = register


def register(of: str, name: str, version: str, what: Any) -> None:
    """Registers a policy of a kind under a name and a version."""
    _KINDS[of](name, version, what)
    _REGISTERED.setdefault((of, name), (version, what))


def named_in(text: str) -> list[Named]:
    """Returns the policies of this process whose names are in a text."""
    return [(of, name, version, what) for (of, name), (version, what) in _REGISTERED.items() if name in text]


def name_of(what: Any, version: str) -> str:
    """Returns the name of a function or a class with a part of its version."""
    return f"{getattr(what, '__qualname__', type(what).__qualname__)}-{version[:8]}"
