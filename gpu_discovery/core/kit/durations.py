"""Durations in the text form of Go's ``time.Duration``: ``1m30s``, ``250ms``, ``-1.5h``.

Manifests and config files in use carry such texts, so they are read and printed exactly as the original programs do:
whole nanoseconds within 64 bits, any order of units, a fraction on any part, ``0`` alone without a unit.
"""

from __future__ import annotations

NANOSECONDS_PER_SECOND = 1_000_000_000

_UNITS_NS = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,  # Micro sign.
    "\u03bcs": 1_000,  # Greek mu; both are accepted, the micro sign is printed.
    "ms": 1_000_000,
    "s": NANOSECONDS_PER_SECOND,
    "m": 60 * NANOSECONDS_PER_SECOND,
    "h": 3600 * NANOSECONDS_PER_SECOND,
}
_DIGITS = "0123456789"
_LIMIT_NS = 1 << 63
_SUB_SECOND_UNITS = ((1_000, "ns", 1), (1_000_000, "\u00b5s", 1_000), (NANOSECONDS_PER_SECOND, "ms", 1_000_000))


def parse_go_duration(text: str) -> float:
    """Seconds of a Go duration text; ValueError says what is wrong with it."""
    rest = text
    is_negative = rest[:1] == "-"
    if rest[:1] in ("-", "+"):
        rest = rest[1:]
    if rest == "0":
        return 0.0
    if not rest:
        raise ValueError(f"invalid duration {text!r}")
    total_ns = 0
    while rest:
        part_ns, rest = _leading_part(rest, text)
        total_ns += part_ns
        # One more nanosecond below zero than above, as in two's complement.
        if total_ns >= _LIMIT_NS + is_negative:
            raise ValueError(f"invalid duration {text!r}: longer than about 292 years")
    return (-total_ns if is_negative else total_ns) / NANOSECONDS_PER_SECOND


def format_go_duration(seconds: float) -> str:
    """Go's text of a finite number of seconds, rounded to nanoseconds: ``1m0s``, ``1.5s``, ``10ns``."""
    # Apart, because the product of the whole would round in float before it is rounded to nanoseconds.
    whole = int(seconds)
    total_ns = whole * NANOSECONDS_PER_SECOND + round((seconds - whole) * NANOSECONDS_PER_SECOND)
    sign, total_ns = ("-", -total_ns) if total_ns < 0 else ("", total_ns)
    if total_ns == 0:
        return "0s"
    for below_ns, unit, unit_ns in _SUB_SECOND_UNITS:
        if total_ns < below_ns:
            return f"{sign}{_decimal(total_ns, unit_ns)}{unit}"
    minutes, seconds_ns = divmod(total_ns, 60 * NANOSECONDS_PER_SECOND)
    hours, minutes = divmod(minutes, 60)
    text = _decimal(seconds_ns, NANOSECONDS_PER_SECOND) + "s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else sign + text


def _leading_part(rest: str, text: str) -> tuple[int, str]:
    """Nanoseconds of the first number with its unit, and what follows it."""
    whole = _leading(rest, _DIGITS)
    rest = rest[len(whole) :]
    fraction = ""
    if rest[:1] == ".":
        fraction = _leading(rest[1:], _DIGITS)
        rest = rest[1 + len(fraction) :]
    if not whole and not fraction:
        raise ValueError(f"invalid duration {text!r}")
    unit = _until(rest, _DIGITS + ".")
    if not unit:
        raise ValueError(f"missing unit in duration {text!r}")
    if unit not in _UNITS_NS:
        raise ValueError(f"unknown unit {unit!r} in duration {text!r}")
    return _part_ns(whole, fraction, _UNITS_NS[unit]), rest[len(unit) :]


def _part_ns(whole: str, fraction: str, unit_ns: int) -> int:
    # More digits than these are beyond a nanosecond of any unit, and far beyond 64 bits in front of the point.
    whole, fraction = whole.lstrip("0")[:30], fraction[:18]
    part_ns = int(whole or "0") * unit_ns
    scale: int = 10 ** len(fraction)
    return part_ns + int(fraction or "0") * unit_ns // scale


def _leading(text: str, characters: str) -> str:
    return text[: len(text) - len(text.lstrip(characters))]


def _until(text: str, characters: str) -> str:
    for position, character in enumerate(text):
        if character in characters:
            return text[:position]
    return text


def _decimal(number: int, unit: int) -> str:
    """``number / unit`` without trailing zeros; ``unit`` is a power of ten."""
    whole, part = divmod(number, unit)
    digits = str(part).rjust(len(str(unit)) - 1, "0").rstrip("0") if part else ""
    return f"{whole}.{digits}" if digits else str(whole)
