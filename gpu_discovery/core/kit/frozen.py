"""Frozen dataclasses that cost little to define.

``dataclasses`` writes and compiles six methods for each frozen class, about a millisecond of every start: seventy
classes were 40 % of a oneshot run. Here only ``__init__`` is compiled; equality, hash, text and the refusal to change
are the same functions for all classes. The rest is dataclasses' own: slots, ``field``, ``fields``, ``replace``.
``InitVar``, ``init=False`` and ``__post_init__`` are not supported, because nothing here needs them.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform, overload

T = TypeVar("T")

_VALUES = "__frozen_values__"
"""Class attribute: a function from an instance to what two of them are compared by."""


@overload
def frozen(cls: type[T], /) -> type[T]: ...
@overload
def frozen(*, kw_only: bool = False) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def frozen(cls: type[T] | None = None, /, *, kw_only: bool = False) -> type[T] | Callable[[type[T]], type[T]]:
    """``dataclass(frozen=True, slots=True)``, with or without ``kw_only``."""

    def make(plain: type[T]) -> type[T]:
        return _make(plain, kw_only=kw_only)

    return make if cls is None else make(cls)


def _make(plain: type[T], *, kw_only: bool) -> type[T]:
    made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(plain)
    fields = _fields(made)
    setattr(made, _VALUES, staticmethod(_getter([field.name for field in fields if field.compare])))
    methods = {"__init__": _initialiser(fields), **{name: vars(_Shared)[name] for name in _METHODS}}
    for name, method in methods.items():
        if name not in vars(plain):
            setattr(made, name, method)
    return made


def _getter(names: list[str]) -> Callable[[Any], Any]:
    return operator.attrgetter(*names) if names else lambda _: ()


def _initialiser(fields: tuple[dataclasses.Field[Any], ...]) -> Callable[..., None]:
    """``__init__`` for these fields, compiled: binding arguments is what Python does best."""
    scope: dict[str, Any] = {"_set": object.__setattr__, "_missing": dataclasses.MISSING}
    positional: list[str] = ["self"]
    keyword: list[str] = []
    body: list[str] = []
    for field in fields:
        parameter, value = field.name, field.name
        if field.default is not dataclasses.MISSING:
            scope[f"_default_{field.name}"] = field.default
            parameter += f"=_default_{field.name}"
        elif field.default_factory is not dataclasses.MISSING:
            scope[f"_make_{field.name}"] = field.default_factory
            parameter += "=_missing"
            value = f"_make_{field.name}() if {field.name} is _missing else {field.name}"
        (keyword if field.kw_only else positional).append(parameter)
        body.append(f" _set(self, {field.name!r}, {value})")
    parameters = ", ".join(positional + (["*", *keyword] if keyword else []))
    exec(f"def __init__({parameters}):\n" + ("\n".join(body) or " pass"), scope)  # noqa: S102 - Names of fields only.
    made: Callable[..., None] = scope["__init__"]
    return made


class _Shared:
    """The methods that every frozen class is given."""

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other.__class__ is not self.__class__:
            return NotImplemented
        values = getattr(self, _VALUES)
        return bool(values(self) == values(other))

    def __hash__(self) -> int:
        return hash(getattr(self, _VALUES)(self))

    def __repr__(self) -> str:
        shown = (f"{field.name}={getattr(self, field.name)!r}" for field in _fields(self) if field.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __setattr__(self, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot assign {value!r} to {name!r} of {type(self).__qualname__}")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete {name!r} of {type(self).__qualname__}")

    def __getstate__(self) -> list[Any]:
        return [getattr(self, field.name) for field in _fields(self)]

    def __setstate__(self, state: list[Any]) -> None:
        for field, value in zip(_fields(self), state, strict=True):
            object.__setattr__(self, field.name, value)


_METHODS = (
    "__eq__",
    "__hash__",
    "__repr__",
    "__setattr__",
    "__delattr__",
    "__getstate__",
    "__setstate__",
)


def _fields(of: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(of)
