"""Short names for content: equal content, equal name, in every process and on every machine.

``_blake2`` is taken past ``hashlib`` where the interpreter has it, because ``hashlib`` loads OpenSSL: 3.5 MiB that a
process on every node would keep for nothing.
"""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:  # An interpreter built otherwise: the same function, at the price above.
    from hashlib import blake2b


def digest(text: str, *, size: int = 16) -> str:
    """Twice ``size`` hexadecimal digits that name ``text``."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()
