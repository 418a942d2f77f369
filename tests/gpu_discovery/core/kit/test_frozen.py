"""Frozen classes behave as dataclasses that are frozen and have slots."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import pytest

from gpu_discovery.core.kit.frozen import frozen


@frozen
class Point:
    """Two numbers and some names."""

    x: int
    y: int = 0
    names: tuple[str, ...] = dataclasses.field(default_factory=tuple)
    note: str = dataclasses.field(default="", compare=False, repr=False)


@frozen(kw_only=True)
class Size:
    """A class whose fields are given by name."""

    width: int
    height: int = 1


@frozen
class Nothing:
    """No field at all."""


@frozen
class Point3(Point):
    """One number more; the inherited defaults make it need one as well."""

    z: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Twin:
    """What the standard library makes of the same fields as ``Size``."""

    width: int
    height: int = 1


def test_arguments_are_bound_as_declared() -> None:
    """By position or name, with defaults and default factories."""
    assert Point(1) == Point(x=1, y=0, names=())
    assert Point(1, 2, ("a",)).names == ("a",)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()  # type: ignore[call-arg]  # This is the fault.


def test_keyword_only_fields_take_no_position() -> None:
    """``kw_only`` is kept."""
    assert Size(width=2).height == 1
    with pytest.raises(TypeError, match="positional"):
        Size(2)  # type: ignore[misc]  # This is the fault.


def test_nothing_can_be_changed() -> None:
    """Neither setting nor deleting nor adding works, and the message names the class."""
    point = Point(1)
    for change in (lambda: setattr(point, "x", 2), lambda: setattr(point, "new", 2), lambda: delattr(point, "x")):
        with pytest.raises(dataclasses.FrozenInstanceError, match="Point"):
            change()
    assert not hasattr(point, "__dict__")


def test_equality_and_hash_follow_the_values() -> None:
    """Of one class, by the compared fields; another class is never equal."""
    assert Point(1, note="a") == Point(1, note="b")
    assert hash(Point(1, note="a")) == hash(Point(1, note="b"))
    assert Point(1) != Point(2)
    assert Point(1) != Point3(1)
    assert Size(width=1) != Twin(1)
    assert Nothing() == Nothing()
    assert len({Point(1), Point(1), Point(2)}) == 2


def test_text_is_as_written() -> None:
    """The standard library's form, without fields that are not to be shown."""
    assert repr(Point(1, names=("a",), note="hidden")) == "Point(x=1, y=0, names=('a',))"
    assert repr(Size(width=3)) == repr(Twin(3)).replace("Twin", "Size")


def test_the_standard_functions_work() -> None:
    """``fields``, ``replace``, ``asdict``, copying and pickling."""
    point = Point3(1, names=("a",), z=4)
    assert [field.name for field in dataclasses.fields(point)] == ["x", "y", "names", "note", "z"]
    assert dataclasses.replace(point, z=5) == Point3(1, names=("a",), z=5)
    assert dataclasses.asdict(Size(width=1)) == {"width": 1, "height": 1}
    assert copy.deepcopy(point) == point
    assert pickle.loads(pickle.dumps(point)) == point


def test_own_methods_are_kept() -> None:
    """A class that says how it is shown is shown so."""

    @frozen
    class Secret:
        value: str

        def __repr__(self) -> str:
            return "Secret(…)"

    assert repr(Secret("x")) == "Secret(…)"
