"""A clock for what is given one."""

from __future__ import annotations


class Clock:
    """Seconds that only the test moves."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
