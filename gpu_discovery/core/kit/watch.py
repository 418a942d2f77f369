"""What the kernel tells of changes: file events in folders, and device events of the machine.

Both only wake a loop that then looks for itself, so an event that is lost, or a kernel that tells nothing (no inotify
instance left, no permission for the socket), costs latency and never correctness. Opening them returns None in that
case.

inotify is called through ctypes, which the NVML binding loads anyway: the inotify packages search the C library by
running ``ldconfig`` or a compiler, which a privileged daemon should not do.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterable

_IN_CLOEXEC = os.O_CLOEXEC
_IN_NONBLOCK = os.O_NONBLOCK
_IN_CLOSE_WRITE = 0x00000008
_IN_MOVED_FROM = 0x00000040
_IN_MOVED_TO = 0x00000080
_IN_CREATE = 0x00000100
_IN_DELETE = 0x00000200
_IN_DELETE_SELF = 0x00000400
_IN_MOVE_SELF = 0x00000800
_IN_ONLYDIR = 0x01000000
_FOLDER_EVENTS = (
    _IN_CLOSE_WRITE
    | _IN_MOVED_FROM
    | _IN_MOVED_TO
    | _IN_CREATE
    | _IN_DELETE
    | _IN_DELETE_SELF
    | _IN_MOVE_SELF
    | _IN_ONLYDIR
)
_READ_BYTES = 65536
_MOST_LINKS = 16

_NETLINK_KOBJECT_UEVENT = 15
_KERNEL_GROUP = 1
_MOST_EVENTS = 256
"""Read at one time; what is left wakes us again."""


class FileWatch:
    """Tells that one path leads to another file than before, or to a file that was written."""

    def __init__(self, fd: int, libc: ctypes.CDLL) -> None:
        self.fd = fd
        """Readable when something happened near the file."""
        self._libc = libc
        self._path: str | None = None
        self._signature: tuple[int, ...] | None = None
        self._watched: dict[str, int] = {}

    def watch(self, path: str | None) -> None:
        """Watch this file from now on and no other; it need not be there."""
        self._path = path
        self._signature = None if path is None else file_signature(path)
        self._arm(() if path is None else folders_behind(path))

    def has_news(self) -> bool:
        """Read what has happened in its folders; True if the file is another one now."""
        try:
            os.read(self.fd, _READ_BYTES)
        except BlockingIOError:
            return False
        before = self._signature
        if self._path is not None and file_signature(self._path) != before:
            self.watch(self._path)
        return self._signature != before

    def close(self) -> None:
        """Forget all watches."""
        os.close(self.fd)

    def _arm(self, folders: Iterable[str]) -> None:
        wanted = set(folders)
        for folder in [folder for folder in self._watched if folder not in wanted]:
            self._libc.inotify_rm_watch(self.fd, self._watched.pop(folder))
        for folder in wanted:
            # Adding an existing watch again is free and arms a folder that was removed and made anew.
            watch_id = self._libc.inotify_add_watch(self.fd, os.fsencode(folder), _FOLDER_EVENTS)
            if watch_id >= 0:
                self._watched[folder] = watch_id
            else:
                self._watched.pop(folder, None)


class DeviceEvents:
    """Kernel events (``add``, ``remove``, ``bind`` …) whose path or fields hold one of some words."""

    def __init__(self, words: Iterable[bytes]) -> None:
        import socket

        self._words = tuple(words)
        self._socket = socket.socket(
            socket.AF_NETLINK, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC, _NETLINK_KOBJECT_UEVENT
        )
        try:
            self._socket.bind((0, _KERNEL_GROUP))
        except OSError:
            self._socket.close()
            raise

    @property
    def fd(self) -> int:
        """Readable when there is news."""
        return self._socket.fileno()

    def has_news(self) -> bool:
        """Read what has happened; True if one event holds one of the words, or if events were lost."""
        found = False
        for _ in range(_MOST_EVENTS):
            try:
                event = self._socket.recv(_READ_BYTES)
            except BlockingIOError:
                break
            except OSError:  # ENOBUFS: more events came than the socket holds.
                return True
            found = found or any(word in event for word in self._words)
        return found

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()


def open_file_watch() -> FileWatch | None:
    """A watch on nothing yet; None where inotify is not to be had."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        fd = libc.inotify_init1(_IN_NONBLOCK | _IN_CLOEXEC)
    except AttributeError:
        return None
    return FileWatch(fd, libc) if fd >= 0 else None


def open_device_events(words: Iterable[bytes]) -> DeviceEvents | None:
    """Listen to the kernel; None where that is not allowed."""
    with contextlib.suppress(OSError, AttributeError):
        return DeviceEvents(words)
    return None


def folders_behind(path: str) -> tuple[str, ...]:
    """Every folder in which a change can make ``path`` name another file: its own and those of each symlink's target.

    So the swap of a symlink to a folder, by which mounted configuration is replaced, is among them.
    """
    folders: list[str] = []
    current = os.path.abspath(path)
    for _ in range(_MOST_LINKS):
        for folder in _folders_of_links(current):
            if folder not in folders:
                folders.append(folder)
        try:
            target = os.readlink(current)
        except OSError:
            break
        current = os.path.join(os.path.dirname(current), target)
    real = os.path.dirname(os.path.realpath(path))
    return tuple(folders) if real in folders else (*folders, real)


def file_signature(path: str) -> tuple[int, ...] | None:
    """Differs whenever ``path`` leads to another file or the file was written; None while there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _folders_of_links(path: str) -> Iterable[str]:
    """The folder of ``path`` and, going up, the folder of every part that is itself a symlink."""
    yield os.path.dirname(path)
    part = os.path.dirname(path)
    while part not in ("/", ""):
        if os.path.islink(part):
            yield os.path.dirname(part)
        part = os.path.dirname(part)
