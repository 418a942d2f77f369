"""Bounded reads under a host root.

sysfs and procfs answer one read with all they have. Anything else may stand at a path that a person gave us, so a
read never blocks on a FIFO and never takes more than its limit.
"""

from __future__ import annotations

import errno
import os

from gpu_discovery.core import model

TEXT_LIMIT_BYTES = 4096
"""A page: what sysfs gives at most."""


def host_path(root: str, path: str) -> str:
    """Where the host's absolute ``path`` lies under ``root`` (``/`` or empty: as it stands)."""
    return root.rstrip("/") + path


def open_unblocked(path: str, flags: int = os.O_RDONLY) -> int:
    """A descriptor, at once also of a FIFO that nobody writes to; an ``opener`` for ``open``. Raises OSError."""
    return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK)


def read_bytes(path: str, limit_bytes: int = TEXT_LIMIT_BYTES) -> bytes:
    """The first ``limit_bytes`` of a file; raises OSError."""
    descriptor = open_unblocked(path)
    try:
        return os.read(descriptor, limit_bytes)
    finally:
        os.close(descriptor)


def read_text(path: str) -> str:
    """A small file's text without outer white space; bytes that are not UTF-8 become U+FFFD. Raises OSError."""
    return read_bytes(path).decode("utf-8", "replace").strip()


def error_name(error: OSError) -> str:
    """``EACCES`` and the like."""
    return errno.errorcode.get(error.errno or 0, "UNKNOWN")


def read_failure(fact: str, path: str, error: OSError) -> model.ReadFailure:
    """The record of a ``fact`` whose file, named as on the host, could not be read."""
    return model.ReadFailure(fact=fact, call=path, reason=error_name(error), code=error.errno)
