"""Labels as ``key=value`` lines on standard output: each set once, so a log of it holds changes only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TextIO

from gpu_discovery.core import errors
from gpu_discovery.sinks import lines


class Stdout:
    """Prints a set of labels when it differs from the one printed before."""

    name = "stdout"
    target = "stdout"

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._printed: Mapping[str, str] | None = None

    def publish(self, labels: Mapping[str, str]) -> bool:
        """Print the labels, sorted by key."""
        if labels == self._printed:
            return False
        try:
            self._stream.write(lines.text(labels))
            self._stream.flush()
        except OSError as error:
            message = f"printing the labels on standard output failed: {error.strerror}"
            raise errors.PublishFailed(message, cause="stdout") from error
        self._printed = dict(labels)
        return True

    def published(self) -> None:
        """None: what an earlier process printed is gone, and what this one printed nobody edits."""

    def refresh_in_s(self) -> float:
        """Never."""
        return math.inf

    def remove(self) -> None:
        """Nothing: a line that was printed stays printed."""
