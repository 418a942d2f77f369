"""docs/compatibility.md: every old behaviour that can be brought back is told, and none that can't."""

from __future__ import annotations

import os
import re

from gpu_discovery.core.config import compat

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "compatibility.md")


def old_behaviours() -> list[str]:
    """The last column of every row."""
    with open(PAGE, encoding="utf-8") as file:
        return [line.split("|")[5] for line in file if line.startswith("|")]


def test_every_name_is_told_with_the_difference_it_undoes() -> None:
    """A name without a row is a switch that nobody can understand."""
    told = set(re.findall(r"`([a-z-]+)`", " ".join(old_behaviours())))
    assert told - {"--remove-on-exit"} == set(compat.NAMES)


def test_every_row_has_five_cells() -> None:
    """A missing cell would shift the old behaviour into the reason."""
    with open(PAGE, encoding="utf-8") as file:
        rows = [line for line in file if line.startswith("|")]
    assert {row.count("|") for row in rows} == {6}
