"""Files that others read while we write them: replaced whole or not at all, and safe in a folder others can write to.

A write goes to a new file beside the target (created exclusively, never through a symlink, named with a leading dot,
which readers of drop-in folders skip), is flushed to the disk and renamed over the target. The rename replaces
whatever name stands there, so a symlink at the target is replaced and never followed. The folder is opened once and
everything happens relative to it, so it cannot be swapped in between.

A process that is killed in the middle leaves its temporary file behind. Each temporary file is locked while its
writer lives; the next writer, or ``remove_abandoned``, removes those whose lock is free.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator

_TEMPORARY_SUFFIX = ".tmp"
_RANDOM_BYTES = 8
_ATTEMPTS = 3
_FOLDER_SYNC_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)


def write_atomic(path: str, data: bytes, *, mode: int = 0o644) -> None:
    """Replace ``path`` by a regular file with exactly these bytes and permissions, whatever the umask.

    The folder must be there. Raises OSError with ``filename`` set to ``path``; the old content is then untouched.
    """
    folder, name = os.path.split(path)
    try:
        folder_fd = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _remove_abandoned(folder_fd, name)
            _replace(folder_fd, name, data, mode)
            _sync_folder(folder_fd)
        finally:
            os.close(folder_fd)
    except OSError as error:
        error.filename, error.filename2 = path, None
        raise


def read_regular(path: str, limit_bytes: int) -> tuple[bytes, os.stat_result] | None:
    """What stands at ``path`` if that is a regular file of at most ``limit_bytes``; None for anything else.

    A symlink is not followed and a pipe does not block. Raises OSError other than a missing file or a symlink.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            return None
        raise
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit_bytes:
            return None
        data = os.read(fd, limit_bytes + 1)
    finally:
        os.close(fd)
    return (data, status) if len(data) <= limit_bytes else None


def remove(path: str) -> bool:
    """Unlink ``path``; a symlink goes, not what it points to. False when nothing was there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def remove_abandoned(path: str) -> None:
    """Unlink what writers of ``path`` that were killed left behind, as far as that is possible."""
    folder, name = os.path.split(path)
    with contextlib.suppress(OSError):
        folder_fd = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _remove_abandoned(folder_fd, name)
        finally:
            os.close(folder_fd)


def _replace(folder_fd: int, name: str, data: bytes, mode: int) -> None:
    for attempt in range(_ATTEMPTS):
        with _temporary_file(folder_fd, name) as (temporary, fd):
            _write_whole(fd, data, mode)
            try:
                os.rename(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
            except FileNotFoundError:
                # Another writer took our file for an abandoned one in the instant before it was locked.
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                return


@contextlib.contextmanager
def _temporary_file(folder_fd: int, name: str) -> Iterator[tuple[str, int]]:
    """A new locked file; unlinked at the end unless it was renamed."""
    temporary = f".{name}.{os.urandom(_RANDOM_BYTES).hex()}{_TEMPORARY_SUFFIX}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temporary, flags, 0o600, dir_fd=folder_fd)
    try:
        with contextlib.suppress(OSError):  # Some network file systems have no locks; then nothing is ever abandoned.
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield temporary, fd
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder_fd)
        os.close(fd)


def _write_whole(fd: int, data: bytes, mode: int) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.fchmod(fd, mode)
    os.fsync(fd)


def _sync_folder(folder_fd: int) -> None:
    try:
        os.fsync(folder_fd)
    except OSError as error:
        if error.errno not in _FOLDER_SYNC_UNSUPPORTED:
            raise


def _remove_abandoned(folder_fd: int, name: str) -> None:
    """Unlink temporary files of this target whose writer is gone."""
    for entry in os.listdir(folder_fd):
        if _is_temporary_of(entry, name):
            with contextlib.suppress(OSError):
                _remove_if_unlocked(folder_fd, entry)


def _is_temporary_of(entry: str, name: str) -> bool:
    prefix = f".{name}."
    middle = entry[len(prefix) : -len(_TEMPORARY_SUFFIX)]
    return (
        entry.startswith(prefix)
        and entry.endswith(_TEMPORARY_SUFFIX)
        and len(middle) == 2 * _RANDOM_BYTES
        and not middle.strip("0123456789abcdef")
    )


def _remove_if_unlocked(folder_fd: int, entry: str) -> None:
    fd = os.open(entry, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder_fd)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(entry, dir_fd=folder_fd)
    finally:
        os.close(fd)
