"""The facts of a snapshot behind a path such as ``gpus[].mig.devices[].profile``, in the fewest lines.

A path with ``[]`` stands for every element. Elements that say the same are told together, ``gpus[0-3,6].name``,
because a node with eight equal GPUs should not need eight lines.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from gpu_discovery.core import model

Step = str | int
"""A field's name, an index, or several indices as text."""


class Fact(NamedTuple):
    """One line: where, and what."""

    path: str
    value: str


class _Found(NamedTuple):
    steps: tuple[Step, ...]
    value: str


def facts(snapshot: model.Snapshot, path: str, *, wanted: Callable[[Any], bool] = lambda _: True) -> list[Fact]:
    """The values at ``path``; elements of lists that are not ``wanted`` are passed over."""
    names = path.replace("[]", ".[]").split(".")
    found = list(_walk(snapshot, names, (), wanted))
    for position in reversed([at for at, name in enumerate(names) if name == "[]"]):
        found = _joined(found, position)
    return [Fact(_path(one.steps), one.value) for one in found] or [Fact(path, "none")]


def _walk(value: Any, names: Sequence[str], steps: tuple[Step, ...], wanted: Callable[[Any], bool]) -> Iterator[_Found]:
    if not names:
        yield _Found(steps, shown(value))
    elif value is None:
        yield _Found((*steps, *names), "not offered")
    elif names[0] == "[]":
        for index, element in enumerate(value):
            if wanted(element):
                yield from _walk(element, names[1:], (*steps, index), wanted)
    else:
        yield from _walk_field(value, names, steps, wanted)


def _walk_field(
    owner: Any, names: Sequence[str], steps: tuple[Step, ...], wanted: Callable[[Any], bool]
) -> Iterator[_Found]:
    value = getattr(owner, names[0])
    failure = next((one for one in getattr(owner, "failures", ()) if one.fact == names[0]), None)
    if value is None and failure is not None:
        yield _Found((*steps, *names), f"could not be read ({failure.call}: {failure.reason})")
    else:
        yield from _walk(value, names[1:], (*steps, names[0]), wanted)


def _joined(found: Iterable[_Found], position: int) -> list[_Found]:
    """One for all that differ in the index at ``position`` only."""
    groups: dict[tuple[tuple[Step, ...], str], list[Step]] = {}
    for steps, value in found:
        if len(steps) > position:
            groups.setdefault(((*steps[:position], *steps[position + 1 :]), value), []).append(steps[position])
    return [
        _Found((*rest[:position], _ranges(indices), *rest[position:]), value)
        for (rest, value), indices in groups.items()
    ]


def _ranges(indices: Sequence[Step]) -> Step:
    """``[0, 1, 2, 6]`` → ``0-2,6``; a step that was an empty list stays."""
    runs: list[list[int]] = []
    for index in indices:
        if not isinstance(index, int):
            return index
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return f"[{','.join(str(run[0]) if len(run) == 1 else f'{run[0]}-{run[-1]}' for run in runs)}]"


def _path(steps: Iterable[Step]) -> str:
    return "".join(str(step) if str(step).startswith("[") else f".{step}" for step in steps).lstrip(".")


def shown(value: Any) -> str:
    """A value in one line: lists by their length, records by their fields."""
    if value is None:
        return "not offered"
    if isinstance(value, model.Gpu):
        return f"{value.name}, {value.state.value}"
    if isinstance(value, model.MigDevice):
        return value.profile or "profile not known"
    if isinstance(value, enum.Enum):
        return str(value.value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ".".join(map(str, value)) if all(isinstance(part, int) for part in value) else f"{len(value)}"
    if dataclasses.is_dataclass(value):
        fields = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
        return ", ".join(f"{name} {shown(part)}" for name, part in fields if part not in (None, ()))
    return str(value)
