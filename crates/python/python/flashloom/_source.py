"""The version of a function or a class: a digest of its source and of the values that it uses."""

import dis
import hashlib
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any


def digest(of: object) -> str:
    """Returns the digest of the source of a function, an object or a class, and of the values and functions of the same module that it
    uses.
    """
    parts = _Parts(str(getattr(of, "__module__", None))).of(of)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class _Parts:
    """The texts from which a digest is computed."""

    def __init__(self, home: str) -> None:
        self.home = home
        """The module of the function or the class: functions of other modules count by their names."""
        self.seen: dict[int, object] = {}
        """Visited objects by identity, so that a cycle ends. They are kept alive, so that no identity is used again."""

    def of(self, value: object) -> list[str]:
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return [repr(value)]
        if id(value) in self.seen:
            return ["again"]
        self.seen[id(value)] = value
        if isinstance(value, (list, tuple)):
            return ["[", *(part for item in value for part in self.of(item)), "]"]
        if isinstance(value, dict):
            return ["{", *(part for item in value.items() for part in self.of(item)), "}"]
        if isinstance(value, (set, frozenset)):
            # The order of a set differs between processes.
            return ["{", *sorted("\1".join(self.of(item)) for item in value), "}"]
        if isinstance(value, ModuleType):
            return [value.__name__]
        if isinstance(value, MethodType):
            return [*self.of(value.__func__), *self.of(value.__self__)]
        if isinstance(value, (classmethod, staticmethod)):
            return [type(value).__name__, *self.of(value.__func__)]
        if isinstance(value, property):
            return ["property", *(part for method in (value.fget, value.fset) for part in self.of(method))]
        if isinstance(value, FunctionType):
            return self.of_function(value)
        if isinstance(value, type):
            return self.of_class(value)
        return self.of_object(value)

    def of_function(self, function: FunctionType) -> list[str]:
        """Returns the source of a function, its defaults, and the values that it takes from enclosing scopes."""
        if function.__module__ != self.home and function.__module__ != "__main__":
            return [f"{function.__module__}.{function.__qualname__}"]
        parts = self.of_code(function.__code__)
        parts += [*self.of(function.__defaults__), *self.of(function.__kwdefaults__)]
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                parts += [name, *self.of(cell.cell_contents)]
            except ValueError:
                # The name has no value yet: the function is in a class that is being made.
                parts += [name, "empty"]
        for name in sorted(_names(function.__code__)):
            if name in function.__globals__:
                parts += [name, *self.of(function.__globals__[name])]
        return parts

    @staticmethod
    def of_code(code: CodeType) -> list[str]:
        try:
            return [inspect.getsource(code)]
        except (OSError, TypeError):
            inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
            plain = [repr(constant) for constant in code.co_consts if not isinstance(constant, CodeType)]
            return [code.co_code.hex(), *code.co_names, *plain, *(part for one in inner for part in _Parts.of_code(one))]

    def of_class(self, of: type) -> list[str]:
        """Returns the members of a class and of its bases, if they are of the same module."""
        if of.__module__ not in (self.home, "__main__"):
            return [f"{of.__module__}.{of.__qualname__}"]
        parts = [of.__qualname__]
        for base in of.__bases__:
            parts += self.of(base)
        for name, value in sorted(vars(of).items()):
            if name not in _MADE:
                parts += [name, *self.of(value)]
        return parts

    def of_object(self, value: object) -> list[str]:
        """Returns the class of an object and the values from which a copy would be made."""
        parts = self.of(type(value))
        try:
            made: Any = value.__reduce_ex__(2)
        except Exception:
            # The object cannot be copied, so only its class counts.
            return parts
        if isinstance(made, str):
            return [*parts, made]
        return [*parts, *(part for item in made for part in self.of(list(item) if isinstance(item, Iterator) else item))]


_MADE = frozenset(
    """__dict__ __weakref__ __module__ __doc__ __slotnames__ __firstlineno__ __static_attributes__ __annotate__ __annotate_func__
    __annotations_cache__ __abstractmethods__ _abc_impl""".split()
)
"""Members that Python adds to a class."""


def _names(code: CodeType) -> set[str]:
    """Returns the global names that code uses, those of its inner functions included."""
    names = {str(step.argval) for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names
