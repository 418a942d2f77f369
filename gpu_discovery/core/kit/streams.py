"""A standard stream that can't be written to: a pipe that nobody reads any more, a full disk, or none at all.

What is still buffered for it is written once more when the interpreter ends, which then fails, loudly and with an exit
code of its own. Where a program is started with a standard stream closed, Python has None in its place, and the next
file that is opened gets its number.
"""

from __future__ import annotations

import os
import sys
from typing import TextIO


def silence(stream: TextIO) -> None:
    """Let what is buffered, and all that is written from now on, go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def open_missing() -> None:
    """Let standard streams that are closed be open to nowhere; before any other file is opened."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # The lowest number that is free: this one.
            os.set_inheritable(fd, True)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115 - for as long as the process lives.
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115 - the same.
