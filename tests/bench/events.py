"""What happens in a folder, counted by name: how often a file was opened, and how often anything in it changed.

Through ctypes, so that the measured environment needs no package that a node would not have.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
from collections.abc import Iterator
from dataclasses import dataclass

_OPEN = 0x20
_CHANGES = 0x02 | 0x40 | 0x80 | 0x100 | 0x200  # modify, moved from, moved to, create, delete
_HEADER = struct.Struct("iIII")
_READ_BYTES = 65536


@dataclass(frozen=True, slots=True)
class Event:
    """One event; ``name`` is empty for the folder itself."""

    name: str
    is_change: bool


class FolderEvents:
    """The events of one folder since this was made."""

    def __init__(self, folder: str) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._fd < 0 or libc.inotify_add_watch(self._fd, os.fsencode(folder), _OPEN | _CHANGES) < 0:
            raise OSError(ctypes.get_errno(), f"watching {folder} failed")

    def read(self, timeout_s: float) -> list[Event]:
        """What has happened; waits for the first event, and is empty when there is none in time."""
        ready, _, _ = select.select([self._fd], [], [], timeout_s)
        return list(_parse(os.read(self._fd, _READ_BYTES))) if ready else []

    def close(self) -> None:
        """Stop watching."""
        os.close(self._fd)


def _parse(data: bytes) -> Iterator[Event]:
    while data:
        _, mask, _, length = _HEADER.unpack_from(data)
        name = data[_HEADER.size : _HEADER.size + length].rstrip(b"\0")
        yield Event(os.fsdecode(name), bool(mask & _CHANGES))
        data = data[_HEADER.size + length :]
