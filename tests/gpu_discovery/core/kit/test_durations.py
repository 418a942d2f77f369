from __future__ import annotations

import contextlib

import hypothesis
import pytest
from hypothesis import strategies as st

from gpu_discovery.core.kit import durations


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("+0", 0.0),
        ("60s", 60.0),
        ("1m30s", 90.0),
        ("1h2m3.5s", 3723.5),
        ("30s1m", 90.0),
        (".5s", 0.5),
        ("1.s", 1.0),
        ("0" * 40 + "1s", 1.0),
        ("250ms", 0.25),
        ("5us", 5e-6),
        ("5\u00b5s", 5e-6),
        ("5\u03bcs", 5e-6),
        ("10ns", 1e-8),
        ("-1.5h", -5400.0),
        ("0.9999999999999999999999s", 0.999999999),
        ("9223372036854775807ns", 9223372036.854775807),
        ("-9223372036854775808ns", -9223372036.854775808),
    ],
)
def test_texts_that_go_accepts_are_read(text: str, seconds: float) -> None:
    """Every unit, several in any order, fractions, signs, and the ends of 64 bits."""
    assert durations.parse_go_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "invalid duration"),
        ("-", "invalid duration"),
        ("s", "invalid duration"),
        (".s", "invalid duration"),
        ("1s ", "unknown unit 's '"),
        (" 1s", "invalid duration"),
        ("10", "missing unit"),
        ("1h10", "missing unit"),
        ("1d", "unknown unit 'd'"),
        ("1S", "unknown unit 'S'"),
        ("infinite", "invalid duration"),
        ("--1s", "invalid duration"),
        ("1_0s", "unknown unit '_'"),
        ("\u0661s", "invalid duration"),
        ("9223372036854775808ns", "292 years"),
        ("1" * 5000 + "h", "292 years"),
    ],
)
def test_texts_that_go_refuses_are_refused(text: str, reason: str) -> None:
    """The reason names what is wrong with the text."""
    with pytest.raises(ValueError, match=reason):
        durations.parse_go_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0s"),
        (60.0, "1m0s"),
        (3600.0, "1h0m0s"),
        (5400.5, "1h30m0.5s"),
        (1.5, "1.5s"),
        (59.0, "59s"),
        (0.25, "250ms"),
        (0.0000015, "1.5\u00b5s"),
        (1e-8, "10ns"),
        (-90.0, "-1m30s"),
        (100 * 3600.0, "100h0m0s"),
    ],
)
def test_durations_are_printed_as_go_prints_them(seconds: float, text: str) -> None:
    """Trailing zeros go, hours bring minutes and seconds along, small ones take the unit that fits."""
    assert durations.format_go_duration(seconds) == text


@hypothesis.settings(deadline=None)
@hypothesis.given(st.integers(min_value=-(1 << 52), max_value=1 << 52))
def test_what_is_printed_reads_back(nanoseconds: int) -> None:
    """No nanosecond is lost on the way to text and back, up to about 50 days."""
    seconds = nanoseconds / durations.NANOSECONDS_PER_SECOND
    assert durations.parse_go_duration(durations.format_go_duration(seconds)) == seconds


@hypothesis.settings(deadline=None)
@hypothesis.given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but ValueError comes out of a text."""
    with contextlib.suppress(ValueError):
        durations.parse_go_duration(text)
