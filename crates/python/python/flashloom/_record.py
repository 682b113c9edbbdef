"""Records: typed attributes over the values of a JSON object."""

import typing
from collections.abc import Mapping
from typing import Any, Union


def _converted(hint: Any, value: Any) -> Any:
    """Converts a value to the type of its hint: nested objects become records."""
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if origin is Union:
        return None if value is None else _converted(of[0], value)
    if origin is list:
        return [_converted(of[0], item) for item in value or []]
    if origin is dict:
        return {key: _converted(of[1], item) for key, item in (value or {}).items()}
    if isinstance(hint, type) and issubclass(hint, Record):
        return hint(value)
    return float(value) if hint is float else value


_HINTS: dict[type, dict[str, Any]] = {}


def _hints(of: type) -> dict[str, Any]:
    """Returns the types of the attributes of a class of records, computed once."""
    return _HINTS.get(of) or _HINTS.setdefault(of, typing.get_type_hints(of))


class Record:
    """An object of a result. Its attributes are the keys of the JSON; keys that are missing are `None` or empty."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__["_values"] = dict(values)
        for name, hint in _hints(type(self)).items():
            self.__dict__[name] = _converted(hint, values.get(name))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is a result; copy its values with to_dict() to change them")

    def to_dict(self) -> dict[str, Any]:
        """Returns the values as in the JSON."""
        return dict(self.__dict__["_values"])

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return (type(self), (self.to_dict(),))

    def __repr__(self) -> str:
        shown = ((name, getattr(self, name)) for name in _hints(type(self)))
        text = ", ".join(f"{name}={value!r}" for name, value in shown if isinstance(value, (str, int, float)))
        return f"{type(self).__name__}({text})"
