"""The process: threads, signals, exit codes, the log, the port, and executing itself anew."""

from __future__ import annotations

import dataclasses
import gc
import os
import signal
import sys
import time
from collections.abc import Callable

import gpu_discovery
from gpu_discovery.core import errors
from gpu_discovery.core.kit import logs, loops, streams, watch
from gpu_discovery.daemon import loop, port, telling
from gpu_discovery.daemon.machinery import Job, Observation, Settings
from gpu_discovery.daemon.passes import Look, PassEnd, Passes

Loader = Callable[[], Settings]

ONESHOT_S = 60.0
"""A oneshot pass that takes longer has hung."""
RESTARTED_FOR = "GPU_DISCOVERY_RESTARTED_FOR"
"""Environment variable: what this process was executed anew for, so that it is done once."""

_PROGRAM = "gpu-feature-discovery"
_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
_DEVICE_WORDS = (b"nvidia", b"SUBSYSTEM=pci")
_CLOCK_GRAIN_NS = 50_000_000
"""A file written within so long of being read may have been written after."""
_TOLD_APART = ("config", "config_file", "config_lines", "warnings", "notes")

_log = logs.Log("gpu_discovery.daemon")


def run_labeler(loader: Loader, *, log_format: str = "text") -> int:
    """The exit code: 0 after a good oneshot pass or a signal, 1 after a failure. ``loader`` raises SettingsError.

    ``log_format`` counts until the settings are known.
    """
    logs.configure(log_format=log_format, level="info", stream=sys.stderr)
    process = Process(loader)
    try:
        settings = process.load()
        _log.info("starting", program=_PROGRAM, version=gpu_discovery.__version__, pid=os.getpid())
        if not settings.oneshot:
            process.listen()
        process.apply(settings)
    except errors.SettingsError as error:
        _log.error(str(error))
        return 1
    passes = Passes(settings, sys.stdout)
    if settings.oneshot:
        code, is_hung = process.run_once(settings, passes)
    else:
        # What the start made stays: it need not be looked through again.
        gc.freeze()
        gc.enable()
        periodic = loop.Loop(settings, passes, process, is_config_settled=process.is_config_settled)
        code = periodic.run()
        is_hung = periodic.is_hung
    _flush()
    if is_hung:
        os._exit(code)  # A normal exit would wait for the call that doesn't return.
    return code


class Process:
    """The loop's machinery."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._waiter = loops.Waiter()
        self._waiter.catch_signals((*_STOPS, signal.SIGHUP))
        self._worker: loops.Worker[Look | PassEnd] = loops.Worker("worker", self._waiter.wake)
        self._config_watch: watch.FileWatch | None = None
        self._port = port.Port(_PROGRAM, gpu_discovery.__version__)
        self.is_config_settled = True
        """The config file was not written to while it was read."""

    @property
    def restarted_for(self) -> str:
        """The token of the last restart."""
        return os.environ.get(RESTARTED_FOR, "")

    def now(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

    def wait(self, timeout_s: float) -> loops.Woken:
        """Until a signal, an event or the end of a job."""
        self._port.loop_turned()
        return self._waiter.wait(timeout_s)

    def start(self, job: Job) -> None:
        """Run it on the worker."""
        self._worker.start(job)

    def take(self, timeout_s: float | None = None) -> loops.Done[Look | PassEnd] | None:
        """The end of the job."""
        return self._worker.take(timeout_s)

    def load(self) -> Settings:
        """Read flags, environment and config file."""
        before_ns = time.time_ns() - _CLOCK_GRAIN_NS
        settings = self._loader()
        signature = watch.file_signature(settings.config_file) if settings.config_file else None
        self.is_config_settled = signature is None or max(signature[-2:]) < before_ns
        return settings

    def apply(self, settings: Settings) -> None:
        """Logs, port and watches as these settings want them, and say what the settings are."""
        self._port.open(None if settings.oneshot else settings.http_address)
        logs.configure(log_format=settings.log_format, level=settings.log_level, stream=sys.stderr)
        if self._config_watch is not None:
            self._config_watch.watch(settings.config_file or None)
        _log.info("settings", **_settings_context(settings))
        for note in settings.notes:
            _log.info(note)
        for warning in settings.warnings:
            _log.warning(warning)

    def listen(self) -> None:
        """Let the kernel tell of changes, as far as it does."""
        self._config_watch = watch.open_file_watch()
        for source in (self._config_watch, watch.open_device_events(_DEVICE_WORDS)):
            if source is not None:
                self._waiter.listen(source)

    def make_passes(self, settings: Settings, predecessor: Passes) -> Passes:
        """Passes with other settings."""
        return Passes(settings, sys.stdout, predecessor)

    def observe(self, event: Observation) -> None:
        """Hand on to the port."""
        self._port.observe(event)

    def restart(self, token: str) -> None:
        """Become a new process of the same id and command line; when that fails, go on and don't try again.

        A signal that comes before the new one has its handlers waits for them: the first process of a container ignores
        what it doesn't handle, and another would end with the signal's code.
        """
        os.environ[RESTARTED_FOR] = token
        _flush()
        self._waiter.hold_signals()
        try:
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - our own command line.
        except OSError as error:
            _log.error("executing anew failed", reason=error.strerror)
            self._waiter.release_signals()

    def run_once(self, settings: Settings, passes: Passes) -> tuple[int, bool]:
        """One pass: the exit code, and whether the pass hangs still."""
        self.start(passes.run)
        deadline = self.now() + ONESHOT_S
        while (done := self.take()) is None:
            stops = [number for number in self.wait(deadline - self.now()).signals if number in _STOPS]
            if stops:
                _log.info("ending", signal=signal.Signals(stops[0]).name, labels="kept")
                return 0, True
            if self.now() >= deadline:
                waiting = passes.waiting
                _log.error("a call does not return", call=waiting.call, gpu=waiting.gpu, for_s=round(ONESHOT_S))
                return 1, True
        if isinstance(done.value, PassEnd):
            return _judged(done.value, settings), False
        if not isinstance(done.error, errors.DiscoveryError) and done.error is not None:
            raise done.error
        _log.error(str(done.error))
        return 1, False


def _judged(end: PassEnd, settings: Settings) -> int:
    """Whether a oneshot pass was good enough: with --fail-on-init-error=false the driver may be missing."""
    outcome = end.outcome
    if outcome.failure and (settings.fail_on_init_error or not outcome.is_published):
        _log.error(outcome.failure)
        return 1
    telling.Voice(_log, time.monotonic).tell(end)
    return 0


def _settings_context(settings: Settings) -> dict[str, object]:
    """Every setting by name; of the config file its path and, where it is a link, the name of the file behind it."""
    context: dict[str, object] = {
        field.name: getattr(settings, field.name)
        for field in dataclasses.fields(settings)
        if field.name not in _TOLD_APART
    }
    context["publish"] = ",".join(settings.publish)
    if settings.reference_compat:
        context["reference_compat"] = ",".join(sorted(settings.reference_compat))
    if settings.config_file:
        context["config_file"] = settings.config_file
        context["config_key"] = _config_key(settings.config_file)
    return {key: value for key, value in context.items() if value is not None}


def _config_key(path: str) -> str:
    """A config-manager links the chosen one of several files; a mounted ConfigMap links into a folder of its own."""
    try:
        target = os.readlink(path)
    except OSError:
        return os.path.basename(path)
    return os.path.basename(path if target.startswith("..data/") else target)


def _flush() -> None:
    """A standard stream may be a pipe that nobody reads any more; that must not decide the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            streams.silence(stream)
