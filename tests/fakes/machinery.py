"""The labeler's loop without a process around it: time stands still except when the loop waits.

Passes are the real ones, run where the loop asks for them. A test says what happens when (``at``); ``run`` starts the
loop and ends it with a signal at a given time.
"""

from __future__ import annotations

import dataclasses
import io
import signal
from collections.abc import Callable
from typing import Any

from gpu_discovery import settings as labeler_settings
from gpu_discovery.core import errors
from gpu_discovery.core.kit import logs, loops
from gpu_discovery.daemon import loop as loops_of_passes, passes as daemon_passes

Settings = labeler_settings.LabelerSettings


class VirtualMachinery:
    """One run of the loop in virtual time."""

    def __init__(self, settings: Settings, *, restarted_for: str = "") -> None:
        self.settings: Settings | errors.SettingsError = settings
        """What loading gives, or raises."""
        self.restarted_for = restarted_for
        self.applied: list[Settings] = []
        self.restarts: list[str] = []
        self.passes_at: list[float] = []
        self.unready_at: dict[float, str] = {}
        self.output = io.StringIO()
        self.log = io.StringIO()
        self.hung_until = 0.0
        """Jobs started before then end only then."""
        self.waits = 0
        self._now = 0.0
        self._script: list[tuple[float, Callable[[], Any]]] = []
        self._signals: list[int] = []
        self._news: list[Any] = []
        self._job: Callable[[], Any] | None = None
        self._ends_at = 0.0

    def at(self, time_s: float, action: Callable[[], Any]) -> None:
        """Do this at this time, while the loop waits."""
        self._script.append((time_s, action))
        self._script.sort(key=lambda entry: entry[0])

    def send(self, number: signal.Signals) -> None:
        """A signal."""
        self._signals.append(number)

    def tell(self) -> None:
        """The kernel has something to tell."""
        self._news.append(self)

    def run(self, until_s: float = 10_000.0, *, is_config_settled: bool = True) -> int:
        """The exit code; SIGTERM comes at ``until_s``, so that a loop that should have ended by itself does not run for ever."""
        assert isinstance(self.settings, Settings)
        logs.configure(log_format="text", level="info", stream=self.log)
        self.at(until_s, lambda: self.send(signal.SIGTERM))
        passes = daemon_passes.Passes(self.settings, self.output)
        self.loop = loops_of_passes.Loop(self.settings, passes, self, is_config_settled=is_config_settled)
        return self.loop.run()

    @property
    def log_lines(self) -> list[str]:
        """``LEVEL message key=value`` of every event."""
        return [" ".join((line.split(" ")[0], *line.split(" ")[2:])) for line in self.log.getvalue().splitlines()]

    # --- what the loop calls ------------------------------------------------------------------------------------

    def now(self) -> float:
        return self._now

    def wait(self, timeout_s: float) -> loops.Woken:
        self.waits += 1
        until = self._now + max(0.0, timeout_s)
        if self._job is not None:
            until = min(until, max(self._now, self._ends_at))
        if self._script and self._script[0][0] <= until:
            self._now, action = self._script.pop(0)
            action()
        else:
            self._now = until
        woken = loops.Woken(tuple(self._signals), tuple(self._news))
        self._signals, self._news = [], []
        return woken

    def start(self, job: Callable[[], Any]) -> None:
        assert self._job is None
        self._job, self._ends_at = job, max(self._now, self.hung_until)

    def take(self, timeout_s: float | None = None) -> loops.Done[Any] | None:
        if self._job is None or self._ends_at > self._now + (timeout_s or 0.0):
            return None
        job, self._job = self._job, None
        try:
            return loops.Done(job(), None)
        except Exception as error:  # noqa: BLE001 - as the worker does.
            return loops.Done(None, error)

    def load(self) -> Settings:
        if isinstance(self.settings, errors.SettingsError):
            raise self.settings
        return self.settings

    def apply(self, settings: Settings) -> None:
        self.applied.append(settings)

    def make_passes(self, settings: Settings, predecessor: daemon_passes.Passes) -> daemon_passes.Passes:
        return daemon_passes.Passes(settings, self.output, predecessor)

    def restart(self, token: str) -> None:
        self.restarts.append(token)
        self.restarted_for = token

    def observe(self, event: Any) -> None:
        if event.end is not None or event.has_failed:
            self.passes_at.append(self._now)
        self.unready_at[self._now] = event.unready


def changed(settings: Settings, **overrides: Any) -> Settings:
    """The same settings but for these."""
    return dataclasses.replace(settings, **overrides)
