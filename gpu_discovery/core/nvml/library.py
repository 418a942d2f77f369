"""Where libnvidia-ml is: in the container's driver root when a real one is there, else wherever the loader finds it.

A driver root is a mounted root file system (the host's, or a driver container's). Symbolic links in it are followed
as its own processes would follow them: an absolute target starts at that root, and ``..`` does not leave it. A file
counts only when it is a shared object that this process could load, because a place holder, a 32-bit library or a
dangling link there must not hide the good library that the container runtime injected.
"""

from __future__ import annotations

import errno
import os

from gpu_discovery.core import model
from gpu_discovery.core.kit.frozen import frozen

SONAME = "libnvidia-ml.so.1"

_FOLDERS = (
    "usr/lib64",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "lib64",
    "lib/x86_64-linux-gnu",
    "lib/aarch64-linux-gnu",
)
_MAX_LINKS = 40  # As the kernel's own limit.
_ELF64_LITTLE = b"\x7fELF\x02\x01"
_ELF_SHARED_OBJECT = 3
_ELF_MACHINES = {"x86_64": 62, "aarch64": 183}


@frozen
class Found:
    """A library in a driver root."""

    link: str
    """The path that was tried, a link as a rule."""
    path: str
    """The file it leads to, all links resolved inside the root."""


def find_library(driver_root_ctr_path: str) -> model.Library:
    """Which libnvidia-ml to load; ``origin`` is ``driver-root`` or ``loader``."""
    found = find_in_root(driver_root_ctr_path, SONAME)
    return model.Library(SONAME, "loader") if found is None else model.Library(found.path, "driver-root")


def find_in_root(root: str, soname: str) -> Found | None:
    """The first loadable ``soname`` in the library folders of ``root``; an empty root and ``/`` have none of their own."""
    if not root.strip("/"):
        return None
    for folder in _FOLDERS:
        relative = f"{folder}/{soname}"
        path = resolved_in_root(root, relative)
        if path is not None and is_loadable(path):
            return Found(os.path.join(root, relative), path)
    return None


def resolved_in_root(root: str, path: str) -> str | None:
    """``path`` with every symbolic link resolved as inside a chroot at ``root``; None when it leads nowhere."""
    todo = path.split("/")
    done: list[str] = []
    links = 0
    while todo:
        part = todo.pop(0)
        if part in ("", "."):
            continue
        if part == "..":
            del done[-1:]
            continue
        try:
            target = os.readlink(os.path.join(root, *done, part))
        except OSError as error:
            if error.errno != errno.EINVAL:  # EINVAL: there, and not a link.
                return None
            done.append(part)
            continue
        links += 1
        if links > _MAX_LINKS:
            return None
        if target.startswith("/"):
            done.clear()
        todo[:0] = target.split("/")
    return os.path.join(root, *done)


def is_loadable(path: str) -> bool:
    """Whether the file is a 64-bit shared object for this machine, by its ELF header."""
    try:
        header = _read_header(path)
    except OSError:
        return False
    if len(header) < 20 or not header.startswith(_ELF64_LITTLE):
        return False
    kind, machine = int.from_bytes(header[16:18], "little"), int.from_bytes(header[18:20], "little")
    return kind == _ELF_SHARED_OBJECT and machine == _ELF_MACHINES.get(os.uname().machine, machine)


def _read_header(path: str) -> bytes:
    """The first bytes; of a FIFO, which nobody may ever write to, none."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return os.read(descriptor, 20)
    finally:
        os.close(descriptor)
