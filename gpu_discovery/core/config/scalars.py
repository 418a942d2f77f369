"""What a plain YAML scalar means: the rules of go-yaml v2, for which files in use were written.

They are YAML 1.1's with exceptions: ``y`` and ``n`` are booleans, but there are no sexagesimals (``1:1`` is a text, and a
MIG device), and dates stay texts.
"""

from __future__ import annotations

from gpu_discovery.core.kit import gotext

Plain = None | bool | int | float | str

_TRUE = frozenset(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
_FALSE = frozenset(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_NOT_FINITE = {
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}


def resolved(text: str) -> Plain:
    """What go-yaml v2 makes of a plain scalar."""
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    if text[0] not in "+-.0123456789":
        return text
    for parse_number in (gotext.parse_int, gotext.parse_float):
        try:
            return parse_number(text.replace("_", ""))
        except ValueError:
            continue
    return text
