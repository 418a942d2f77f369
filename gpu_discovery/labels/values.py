"""Makes any text a legal label value, and any model a legal and distinct part of a key.

Kubernetes wants at most 63 of ``[A-Za-z0-9_.-]`` with an alphanumeric at both ends, in a value (which may be empty)
as in a key's part after the slash. The character rule is the reference's: what is outside ``[A-Za-z0-9_. -]`` is
deleted, words are joined by ``-``. The ends and the length are ours: the reference publishes values that the API
server then refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gpu_discovery.core.kit import digests

MAX_LENGTH = 63
_ENDS = "-_."
_ILLEGAL = re.compile(r"[^A-Za-z0-9\-_. ]")
_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")


def is_legal(value: str) -> bool:
    """Whether Kubernetes takes ``value`` as a label's value."""
    return _VALUE.fullmatch(value) is not None


def is_legal_key(key: str) -> bool:
    """Whether Kubernetes takes ``key``, whose prefix must be given, as a label's key."""
    prefix, slash, name = key.partition("/")
    return bool(prefix and slash and name) and is_legal(name)


def sanitised(text: str) -> str:
    """The reference's rule: ``NVIDIA A100 (PCIe) / 80GB`` → ``NVIDIA-A100-PCIe-80GB``."""
    return "-".join(_ILLEGAL.sub("", text).split())


def legal(text: str) -> str:
    """``sanitised``, cut to length from the right, without punctuation at the ends."""
    return _cut(sanitised(text).strip(_ENDS), MAX_LENGTH)


def product(name: str, *suffixes: str) -> str:
    """A product label: the name, cut as far as needed, and every suffix whole.

    ``product("NVIDIA A100-SXM4-40GB", "MIG-1g.5gb", "SHARED")`` → ``NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED``.
    """
    parts = [part for part in (sanitised(suffix).strip(_ENDS) for suffix in suffixes) if part]
    tail = "".join("-" + part for part in parts)
    head = _cut(sanitised(name).strip(_ENDS), max(0, MAX_LENGTH - len(tail)))
    return head + tail if head else _cut(tail.strip(_ENDS), MAX_LENGTH)


def address(text: str) -> str:
    """A PCI address, whose colons no label value may hold: ``0000:07:00.0`` → ``0000-07-00.0``."""
    return legal(text.replace(":", "-"))


def slugs(names: Iterable[str], max_length: int) -> Mapping[str, str]:
    """One key part per name, legal, at most ``max_length`` long and different for different names.

    The product label's text where that is short enough and no other name has it, else its beginning and a hash of the
    name.
    """
    plain = {name: sanitised(name).strip(_ENDS) for name in sorted(set(names))}
    taken = list(plain.values())
    found = {
        name: slug if 0 < len(slug) <= max_length and taken.count(slug) == 1 else _hashed(name, slug, max_length)
        for name, slug in plain.items()
    }
    if len(set(found.values())) == len(found):
        return found
    return {name: _hashed(name, slug, max_length, size=8) for name, slug in plain.items()}


def key_part(text: str, max_length: int) -> str:
    """A resource's name as the beginning of keys: itself, or made legal and told apart by a hash."""
    if len(text) <= max_length and text and is_legal(text):
        return text
    return _hashed(text, sanitised(text).strip(_ENDS), max_length)


def _hashed(name: str, slug: str, max_length: int, *, size: int = 4) -> str:
    mark = digests.digest(name, size=size)
    head = _cut(slug, max_length - len(mark) - 1)
    return f"{head}-{mark}" if head else mark


def _cut(text: str, length: int) -> str:
    return text[:length].rstrip(_ENDS)
