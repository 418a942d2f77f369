"""When the next look and the next pass are due; pure, all times in seconds of one monotonic clock.

A look is cheap and tells whether something changed; a pass reads everything. After a change a pass waits until
nothing more changes for a moment, but not long, so that a driver that comes up in steps costs one pass. Together
with the interval of looks that keeps a change from being published later than 5 s after it.
"""

from __future__ import annotations

import math

LOOK_S = 2.0
QUIET_S = 0.5
LONGEST_SETTLING_S = 2.0
LEAST_LOOK_S = 0.25
"""However often the kernel wakes us."""
FIRST_RETRY_S = 1.0
LONGEST_RETRY_S = 60.0
"""With an infinite interval; else the interval is the longest."""
_MOST_DOUBLINGS = 20


class Schedule:
    """Starts with a pass due at once."""

    def __init__(self, interval_s: float, now: float) -> None:
        self.interval_s = interval_s
        """Between passes when nothing happens; ``inf`` for none."""
        self._pass_at = now
        self._look_at = now + LOOK_S
        self._looked_at = now
        self._settled_at = math.inf
        self._unsettled_since: float | None = None
        self._retries = 0

    @property
    def pass_at(self) -> float:
        """When a pass is due."""
        return min(self._pass_at, self._settled_at)

    @property
    def look_at(self) -> float:
        """When a look is due."""
        return self._look_at

    def pass_now(self, now: float) -> None:
        """Somebody asks for a pass."""
        self._pass_at = min(self._pass_at, now)

    def pass_ended(self, now: float, *, is_retried: bool, most_s: float = math.inf) -> None:
        """``is_retried``: it failed or was incomplete. ``most_s``: the next is due no later, whatever the interval."""
        self._retries = min(self._retries + 1, _MOST_DOUBLINGS) if is_retried else 0
        wait_s = self._retry_s() if is_retried else self.interval_s
        self._pass_at = now + min(wait_s, most_s)
        self._settled_at, self._unsettled_since = math.inf, None
        self._looked_at, self._look_at = now, now + LOOK_S

    def looked(self, now: float, *, has_changed: bool) -> None:
        """A look ended; after a change the next comes sooner, to see whether it goes on."""
        self._looked_at = now
        if not has_changed:
            self._look_at = now + LOOK_S
            return
        if self._unsettled_since is None:
            self._unsettled_since = now
        self._settled_at = min(now + QUIET_S, self._unsettled_since + LONGEST_SETTLING_S)
        self._look_at = now + LEAST_LOOK_S

    def hurry(self, now: float) -> None:
        """The kernel told of something: look soon."""
        self._look_at = min(self._look_at, max(now, self._looked_at + LEAST_LOOK_S))

    def _retry_s(self) -> float:
        longest_s = self.interval_s if math.isfinite(self.interval_s) else LONGEST_RETRY_S
        return min(longest_s, FIRST_RETRY_S * 2.0 ** (self._retries - 1))
