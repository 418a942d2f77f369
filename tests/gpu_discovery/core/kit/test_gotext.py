from __future__ import annotations

import pytest

from gpu_discovery.core.kit import gotext


@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True"])
def test_texts_of_true(text: str) -> None:
    """All six texts that Go takes for true."""
    assert gotext.parse_bool(text) is True


@pytest.mark.parametrize("text", ["0", "f", "F", "FALSE", "false", "False"])
def test_texts_of_false(text: str) -> None:
    """All six texts that Go takes for false."""
    assert gotext.parse_bool(text) is False


@pytest.mark.parametrize("text", ["", "yes", "tRUE", " true", "2"])
def test_other_texts_are_no_booleans(text: str) -> None:
    """A person's yes is no boolean."""
    with pytest.raises(ValueError, match="neither true nor false"):
        gotext.parse_bool(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-0", 0),
        ("+7", 7),
        ("010", 8),
        ("007", 7),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b101", 5),
        (str(2**63 - 1), 2**63 - 1),
    ],
)
def test_integers_have_their_base_in_front(text: str, number: int) -> None:
    """A leading zero alone means octal."""
    assert gotext.parse_int(text) == number


@pytest.mark.parametrize("text", ["", "09", "1_000", " 1", "1.0", "0x", str(2**63), "1" * 5000, "\u0661"])
def test_other_texts_are_no_integers(text: str) -> None:
    """Neither spaces nor underscores nor more than 64 bits."""
    with pytest.raises(ValueError, match=r"not an integer|64 bits"):
        gotext.parse_int(text)


@pytest.mark.parametrize(("text", "number"), [("2", 2.0), ("-.5", -0.5), ("1e3", 1000.0), ("2.", 2.0)])
def test_numbers_are_decimal(text: str, number: float) -> None:
    """With or without point and exponent."""
    assert gotext.parse_float(text) == number


@pytest.mark.parametrize("text", ["", "nan", "inf", "1e999", "0x1p3", "1_0", "9" * 5000])
def test_other_texts_are_no_numbers(text: str) -> None:
    """Nothing that isn't finite."""
    with pytest.raises(ValueError, match=r"not a number|too large"):
        gotext.parse_float(text)
