"""Labels as a feature file of Node Feature Discovery's local source.

One ``key=value`` line per label, sorted. NFD reads every file of the folder whose name does not start with a dot, up
to 64 KiB, and drops the labels below a line ``# +expiry-time=<RFC 3339>`` once that time has passed.

The file is written only when it would change: its bytes are compared, not our memory of them, so a file that somebody
deleted or edited is put right. With an expiry it is written again once half of its life is over.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
import stat
import time
from collections.abc import Callable, Mapping

from gpu_discovery.core import errors
from gpu_discovery.core.kit import files
from gpu_discovery.sinks import lines

MAX_BYTES = 65536
"""NFD ignores larger files."""
MODE = 0o644

_EXPIRY = re.compile(r"# \+expiry-time=(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)\n")
_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
_LEFTOVER_FOLDER = "gfd-tmp"
"""Where earlier versions of the reference wrote before renaming; it removes the folder when it ends."""

_ADVICE: Mapping[int, str] = {
    errno.EROFS: "the file system is mounted read-only; mount the folder writable",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "permission denied; run as a user that may write there, or allow it in SELinux (label the folder "
    "container_file_t)",
    errno.EPERM: "not permitted; the folder or the file may be immutable",
    errno.ELOOP: "symbolic links lead in a circle",
    errno.EBUSY: "the file is a mount point of its own and cannot be replaced; mount its folder instead",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EMFILE: "this process has too many open files",
    errno.ENFILE: "this machine has too many open files",
    errno.EIO: "the disk reports an error",
    errno.ESTALE: "the network file system has lost the folder",
}


class FeatureFile:
    """The file at ``path``; ``expiry_s`` is how long NFD may trust what was written, None for ever."""

    name = "file"

    def __init__(self, path: str, expiry_s: float | None = None, *, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self.target = path
        self._expiry_s = expiry_s
        self._clock = clock
        self._odd_mode: int | None = None
        """Permissions that the file has although we asked for others: a file system without them."""
        self._is_tidy = False

    def publish(self, labels: Mapping[str, str]) -> bool:
        """Replace the file unless it says the same already and does so for long enough.

        False also where only its expiry was renewed.
        """
        body = lines.text(labels).encode()
        if len(body) + len(self._expiry_line()) > MAX_BYTES:
            message = f"{len(labels)} labels take {len(body)} bytes; Node Feature Discovery reads {MAX_BYTES} at most"
            raise errors.PublishFailed(message, cause="file: too large")
        self._tidy()
        told, left_s = self._standing()
        if told == body and self._is_fresh(left_s):
            return False
        try:
            files.write_atomic(self.path, self._expiry_line() + body, mode=MODE)
        except OSError as error:
            raise publish_failed("writing", self.path, error) from error
        self._note_mode()
        return told != body

    def published(self) -> Mapping[str, str] | None:
        """The labels in the file, whoever wrote it; None without a readable one."""
        try:
            found = files.read_regular(self.path, MAX_BYTES)
        except OSError:
            return None
        return None if found is None else lines.parse(found[0].decode(errors="replace"))

    def refresh_in_s(self) -> float:
        """Until half of the life of what is in the file is over; ``inf`` without an expiry."""
        if self._expiry_s is None:
            return math.inf
        try:
            found = files.read_regular(self.path, MAX_BYTES)
        except OSError:
            found = None
        left_s = self._left_s(found[0]) if found is not None else None
        return 0.0 if left_s is None else max(0.0, left_s - self._expiry_s / 2)

    def remove(self) -> None:
        """Unlink the file, and the folder that the reference would have left beside it."""
        try:
            files.remove(self.path)
        except OSError as error:
            raise publish_failed("removing", self.path, error) from error
        self._remove_leftover_folder()

    def _standing(self) -> tuple[bytes | None, float]:
        """(lines of labels, seconds that NFD will still trust them); None for lines that are not as we would write them."""
        try:
            found = files.read_regular(self.path, MAX_BYTES)
        except OSError:
            found = None  # The write replaces it, or fails with the better message.
        if found is None or stat.S_IMODE(found[1].st_mode) not in (MODE, self._odd_mode):
            return None, 0.0
        if self._expiry_s is None:
            return found[0], math.inf
        left_s = self._left_s(found[0])
        return (None, 0.0) if left_s is None else (found[0].partition(b"\n")[2], left_s)

    def _is_fresh(self, left_s: float) -> bool:
        return self._expiry_s is None or self._expiry_s / 2 < left_s <= self._expiry_s + 1

    def _left_s(self, data: bytes) -> float | None:
        """Seconds that NFD will still trust this content; None without an expiry line."""
        match = _EXPIRY.match(data[:64].decode("ascii", errors="replace"))
        if match is None:
            return None
        import datetime as dt  # Only here, and only with an expiry: it is large.

        try:
            return dt.datetime.fromisoformat(match[1]).timestamp() - self._clock()
        except ValueError:  # The thirteenth month.
            return None

    def _expiry_line(self) -> bytes:
        if self._expiry_s is None:
            return b""
        until = time.gmtime(math.ceil(self._clock() + self._expiry_s))
        return f"# +expiry-time={time.strftime(_TIME_FORMAT, until)}\n".encode()

    def _tidy(self) -> None:
        """Once, remove what earlier processes left in the folder."""
        if not self._is_tidy:
            self._is_tidy = True
            files.remove_abandoned(self.path)
            self._remove_leftover_folder()

    def _remove_leftover_folder(self) -> None:
        """Remove it with the files in it; a symlink, or a folder with folders in it, isn't the reference's."""
        folder = os.path.join(os.path.dirname(self.path), _LEFTOVER_FOLDER)
        with contextlib.suppress(OSError):
            if not stat.S_ISDIR(os.lstat(folder).st_mode):
                return
            paths = [os.path.join(folder, name) for name in os.listdir(folder)]
            if not any(stat.S_ISDIR(os.lstat(path).st_mode) for path in paths):
                for path in paths:
                    os.unlink(path)
                os.rmdir(folder)

    def _note_mode(self) -> None:
        try:
            mode = stat.S_IMODE(os.lstat(self.path).st_mode)
        except OSError:
            return
        self._odd_mode = mode if mode != MODE else None


def publish_failed(attempt: str, path: str, error: OSError) -> errors.PublishFailed:
    """What the operating system said, as what is wrong and what to do; the cause is its symbolic name."""
    code = error.errno or 0
    name = errno.errorcode.get(code, str(code))
    return errors.PublishFailed(
        f"{attempt} {path} failed: {_advice(path, code, error)} ({name})", cause=f"file: {name}"
    )


def _advice(path: str, code: int, error: OSError) -> str:
    folder = os.path.dirname(path) or "."
    if code == errno.ENOENT:
        return f"the folder {folder} is missing; mount Node Feature Discovery's features.d there from the host"
    if code == errno.ENOTDIR:
        return f"{folder} is not a folder"
    if code in (errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST):
        return "there is a folder of that name; remove it or choose another output file"
    return _ADVICE.get(code, error.strerror or "unknown error")
