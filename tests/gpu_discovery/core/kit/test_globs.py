"""Patterns of the config file."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given, strategies as st

from gpu_discovery.core.kit import globs


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("*", ""),
        ("*", "NVIDIA A100"),
        ("1g.24gb", "1g.24gb"),
        ("*3090*", "NVIDIA GeForce RTX 3090"),
        ("NVIDIA*80GB*", "NVIDIA A100-SXM4-80GB"),
        ("a*a", "aa"),
        ("", ""),
        ("[x]?", "[x]?"),
    ],
)
def test_matches(pattern: str, text: str) -> None:
    """Only the star is special, and it may stand for nothing."""
    assert globs.matches(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("1g.24gb", "1g.24gb-me"),
        ("1g.24gb", "1g.24gb+me.all"),
        ("1g.24gb", "1g.24gb+gfx"),
        ("1g.24gb", "x1g.24gb"),
        ("1g.24gb", "1gx24gb"),
        ("a*a", "a"),
        ("*b*a*", "xaxb"),
        ("nvidia*", "NVIDIA A100"),
        ("", "x"),
        ("[ab]", "a"),
    ],
)
def test_does_not_match(pattern: str, text: str) -> None:
    """Anchored at both ends, case-sensitive, every other character literal."""
    assert not globs.matches(pattern, text)


@given(st.text("ab*", max_size=8), st.text("ab", max_size=12))
def test_agrees_with_the_library_where_that_has_no_more_to_say(pattern: str, text: str) -> None:
    """With stars and letters only, ``fnmatch`` is a second opinion."""
    assert globs.matches(pattern, text) is fnmatch.fnmatchcase(text, pattern)
