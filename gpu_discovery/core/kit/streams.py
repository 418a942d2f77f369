"""A standard stream that can't be written to: a pipe that nobody reads any more, a full disk.

What is still buffered for it is written once more when the interpreter ends, which then fails, loudly and with an exit
code of its own.
"""

from __future__ import annotations

import os
from typing import TextIO


def silence(stream: TextIO) -> None:
    """Let what is buffered, and all that is written from now on, go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
