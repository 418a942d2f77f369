"""Where MIG devices find room on a board, as the driver would place them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.fakes import boards


@dataclass(frozen=True, slots=True)
class Place:
    """One MIG device's place on its GPU."""

    profile: str
    gi_id: int
    ci_id: int
    placement: tuple[int, int]


def places(model: boards.Board, profiles: Iterable[str]) -> list[Place]:
    """A place for each of these profiles, in their order; ValueError when they do not fit together."""
    groups = _gpu_instances(model, profiles)
    placements = _placements([profile_named(model, group[0])[0] for group in groups], frozenset())
    if placements is None:
        raise ValueError(f"these MIG devices do not fit on a {model.name} together: {groups}")
    return [
        Place(profile, gi_id, ci_id, placement)
        for gi_id, (group, placement) in enumerate(zip(groups, placements, strict=True), start=1)
        for ci_id, profile in enumerate(group)
    ]


def profile_named(model: boards.Board, name: str) -> tuple[boards.Profile, int]:
    """The GPU instance profile and the compute slices of ``1c.3g.20gb``."""
    slices, _, rest = name.partition("c.") if "c." in name else ("", "", name)
    for row in model.profiles:
        if row.name == rest:
            return row, int(slices or row.slices)
    known = ", ".join(row.name for row in model.profiles) or "none"
    raise ValueError(f"{model.name} has no MIG profile {name}; it has {known}")


def _gpu_instances(model: boards.Board, profiles: Iterable[str]) -> list[list[str]]:
    """Compute instances of neighbouring entries share a GPU instance while its slices last."""
    groups: list[list[str]] = []
    free, shared = 0, ""
    for profile in profiles:
        row, slices = profile_named(model, profile)
        if row.name == shared and slices <= free:
            groups[-1].append(profile)
        else:
            groups.append([profile])
            free, shared = row.slices, row.name
        free -= slices
    return groups


def _placements(rows: Sequence[boards.Profile], taken: frozenset[int]) -> tuple[tuple[int, int], ...] | None:
    if not rows:
        return ()
    for start, size in rows[0].placements:
        slices = frozenset(range(start, start + size))
        rest = None if slices & taken else _placements(rows[1:], taken | slices)
        if rest is not None:
            return ((start, size), *rest)
    return None
