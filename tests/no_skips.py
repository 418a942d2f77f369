"""A pytest plugin: a skipped test fails the run, so that "all passed" means that all ran.

Loaded with ``-p tests.no_skips`` by ``make test``. Tests marked ``gpu`` need an NVIDIA GPU and may be skipped.
"""

from __future__ import annotations

import pytest


class _NoSkips:
    """Collects what was skipped and turns success into failure when there is any."""

    def __init__(self) -> None:
        self.skipped: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test skipped by a mark, a fixture or itself."""
        if report.skipped and not hasattr(report, "wasxfail") and "gpu" not in report.keywords:
            self.skipped.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module or folder skipped as a whole."""
        if report.skipped:
            self.skipped.append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Change the exit status only of a run that would have passed."""
        if self.skipped and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say why, above pytest's closing line."""
        if self.skipped:
            terminalreporter.section("skipped, which counts as failed", red=True)
            for nodeid in self.skipped:
                terminalreporter.write_line(nodeid)


def pytest_configure(config: pytest.Config) -> None:
    """Join the session."""
    config.pluginmanager.register(_NoSkips(), "no-skips")
