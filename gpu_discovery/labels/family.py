"""What a label family gives back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gpu_discovery.core import model


class LabelSet(NamedTuple):
    """Labels, and what the operator should know about how they came to be."""

    labels: Mapping[str, str]
    notices: tuple[model.Notice, ...] = ()


def merged(sets: Iterable[LabelSet]) -> LabelSet:
    """All of them in one; where two have a key the later one holds."""
    labels: dict[str, str] = {}
    notices: list[model.Notice] = []
    for family in sets:
        labels.update(family.labels)
        notices += family.notices
    return LabelSet(labels, tuple(notices))
