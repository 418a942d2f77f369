"""docs/labels.md is the table of keys, as it is now."""

from __future__ import annotations

import os

from docs.generate import labels_page
from gpu_discovery.labels import names

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")


def test_the_page_is_current() -> None:
    """``make docs`` writes it."""
    with open(os.path.join(ROOT, labels_page.PAGE), encoding="utf-8") as file:
        assert file.read() == labels_page.render()


def test_every_key_has_a_row() -> None:
    """In one of the two tables, by origin."""
    reference, own = labels_page.render().split("## Keys of our own")
    for row in names.KEYS:
        assert f"| `{row.pattern}` |" in (reference if row.origin == names.REFERENCE else own)
