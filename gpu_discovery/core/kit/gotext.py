"""Booleans and integers in the text forms of Go's ``strconv``, which manifests and files in use rely on."""

from __future__ import annotations

import re

_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False"))
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LONGEST_NUMBER = 400
"""Characters; Python refuses to convert texts of more than 4300 digits, and nothing we read comes near."""


def parse_bool(text: str) -> bool:
    """``strconv.ParseBool``; ValueError otherwise."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f"{text!r} is neither true nor false")


def parse_int(text: str) -> int:
    """``strconv.ParseInt`` with base 0 (``0x``, ``0b``, ``0o``, leading ``0`` is octal) in 64 bits; ValueError otherwise."""
    if len(text) > _LONGEST_NUMBER or _INTEGER.fullmatch(text) is None:
        raise ValueError(f"{text[:40]!r} is not an integer")
    digits = text.lstrip("+-")
    is_old_octal = len(digits) > 1 and digits[0] == "0" and digits[1] in "01234567"
    number = int(digits, 8 if is_old_octal else 0)
    number = -number if text[0] == "-" else number
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"{text[:40]!r} does not fit in 64 bits")
    return number


def parse_float(text: str) -> float:
    """A decimal number; ValueError for anything else, infinities among them."""
    if len(text) > _LONGEST_NUMBER or _FLOAT.fullmatch(text) is None:
        raise ValueError(f"{text[:40]!r} is not a number")
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text[:40]!r} is too large")
    return number
