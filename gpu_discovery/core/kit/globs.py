"""Patterns as the config file has them: ``*`` stands for any run of characters, everything else for itself.

Anchored to the whole text: ``1g.24gb`` matches neither ``1g.24gb+me`` nor ``x1g.24gb``. ``fnmatch`` will not do,
because it also gives ``?`` and ``[…]`` a meaning.
"""

from __future__ import annotations


def matches(pattern: str, text: str) -> bool:
    """Whether the whole of ``text`` fits ``pattern``; case-sensitive, linear in practice."""
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == text
    last = rest.pop()
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    return _in_order(rest, text[len(first) : len(text) - len(last)])


def _in_order(parts: list[str], text: str) -> bool:
    at = 0
    for part in parts:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True
