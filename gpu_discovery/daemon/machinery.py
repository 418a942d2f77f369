"""What the loop has of the world, so that tests can give it another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gpu_discovery import settings as labeler_settings
from gpu_discovery.core.kit import loops
from gpu_discovery.core.kit.frozen import frozen
from gpu_discovery.daemon.passes import Look, PassEnd, Passes

Settings = labeler_settings.LabelerSettings
Job = Callable[[], Look | PassEnd]


@frozen(kw_only=True)
class Observation:
    """What happened, for metrics and probes."""

    unready: str
    """Why not ready; empty when ready."""
    end: PassEnd | None = None
    """A pass ended."""
    has_failed: bool = False
    """A pass ended with an error and has no end."""


class Machinery(Protocol):
    """What the loop has of the world."""

    def now(self) -> float:
        """Seconds of a monotonic clock."""

    def wait(self, timeout_s: float) -> loops.Woken:
        """Until a signal, an event or the end of a job, at most so long."""

    def start(self, job: Job) -> None:
        """Run ``job`` on the worker, which is idle."""

    def take(self, timeout_s: float | None = None) -> loops.Done[Look | PassEnd] | None:
        """The end of the job; None while there is none."""

    def load(self) -> Settings:
        """Read flags, environment and config file again. Raises SettingsError."""

    def apply(self, settings: Settings) -> None:
        """Logs, port and watches as these settings want them. Raises SettingsError, then nothing is changed."""

    def make_passes(self, settings: Settings, predecessor: Passes) -> Passes:
        """Passes with other settings."""

    def restart(self, token: str) -> None:
        """Execute this program anew, with ``token`` as ``restarted_for``; does not return."""

    @property
    def restarted_for(self) -> str:
        """The token of the last restart; empty in a process that wasn't."""

    def observe(self, event: Observation) -> None:
        """For metrics and probes."""
