"""The HTTP port as the daemon uses it: opened, moved and closed with the settings; nothing is loaded without one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpu_discovery.daemon.machinery import Observation

if TYPE_CHECKING:
    from gpu_discovery.core import telemetry


class Port:
    """At most one port; what is told to it before it is opened is lost."""

    def __init__(self, program: str, version: str) -> None:
        self._build = (program, version)
        self._address: str | None = None
        self._server: telemetry.Server | None = None
        self._telemetry: telemetry.Telemetry | None = None

    def open(self, address: str | None) -> None:
        """Listen there and nowhere else; None for nowhere. Raises SettingsError, then the old port stays."""
        if address == self._address:
            return
        server = None if address is None else self._listening(address)
        if self._server is not None:
            self._server.close()
        self._server, self._address = server, address

    def loop_turned(self) -> None:
        """The main loop is alive."""
        if self._telemetry is not None:
            self._telemetry.loop_turned()

    def observe(self, event: Observation) -> None:
        """A pass ended, or hangs."""
        told = self._telemetry
        if told is None:
            return
        if event.end is None and not event.has_failed:
            told.became_unready(event.unready)
            return
        end = event.end
        is_stale = end is not None and end.outcome.is_stale
        told.pass_ended(
            0.0 if end is None else end.duration_s,
            result="stale" if is_stale else "failed" if end is None or end.outcome.failure else "ok",
            unready=event.unready,
            is_confirmed=end is not None and end.outcome.is_published and not is_stale,
        )
        if end is not None:
            told.published(end.outcome.changed)
            told.gpus_counted(end.gpus_by_state)

    def _listening(self, address: str) -> telemetry.Server:
        from gpu_discovery.core import telemetry

        if self._telemetry is None:
            self._telemetry = telemetry.Telemetry(*self._build)
        return telemetry.Server(address, self._telemetry)
