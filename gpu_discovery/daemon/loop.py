"""The periodic program: passes and looks on a worker, signals, reloads, and what is said of all that.

The loop itself never reads hardware. It starts one job at a time and waits for its end, for signals and for the
kernel's events; so a call that hangs in the driver stops passes and nothing else. Such a call is named, what was
published stays, and a signal still ends the process.

Everything is said once: a cause when it appears, changes and goes, a change when it happens; an unchanged pass says
nothing.
"""

from __future__ import annotations

import signal

from gpu_discovery import settings as labeler_settings
from gpu_discovery.core import errors
from gpu_discovery.core.kit import logs, loops
from gpu_discovery.daemon import schedule as schedules, telling
from gpu_discovery.daemon.machinery import Job, Machinery, Observation
from gpu_discovery.daemon.passes import Look, PassEnd, Passes

HANG_S = 5.0
"""A job that takes so long is said to hang; again after twice as long, and so on."""
LONGEST_HANG_NOTICE_S = 600.0
STOP_WAIT_S = 1.0
"""How long a job at hand may go on after a signal to stop."""

Settings = labeler_settings.LabelerSettings


class Loop:
    """Runs until a signal or a failure ends it."""

    def __init__(self, settings: Settings, passes: Passes, machinery: Machinery, *, is_config_settled: bool) -> None:
        """``is_config_settled``: the config file was not written to while it was read."""
        self._settings = settings
        self._passes = passes
        self._machinery = machinery
        self._log = logs.Log("gpu_discovery.daemon")
        self._voice = telling.Voice(self._log, machinery.now)
        self._config_once = logs.OncePerCause(self._log, machinery.now)
        self._started = machinery.now()
        self._schedule = schedules.Schedule(settings.sleep_interval_s, self._started)
        self._seen: Look | None = None
        self._is_reload_due = not is_config_settled
        self._is_reload_asked = False
        self._replaced: list[Passes] = []
        # A process that was executed anew is the same one to whoever watches it.
        self._had_good_pass = bool(machinery.restarted_for)
        self._last_failure = "no pass has ended yet"
        self._job_started: float | None = None
        self._hang_notice_at = 0.0

    def run(self) -> int:
        """The exit code."""
        while True:
            code = self._turn(self._machinery.now())
            if code is None:
                woken = self._machinery.wait(self._next_at() - self._machinery.now())
                code = self._signalled(woken.signals)
                if woken.news:
                    self._schedule.hurry(self._machinery.now())
            if code is not None:
                return code

    @property
    def is_hung(self) -> bool:
        """A job is still at hand: the process can end, its threads cannot."""
        return self._job_started is not None

    def _turn(self, now: float) -> int | None:
        done = self._machinery.take()
        if done is not None:
            code = self._job_ended(done, now)
            if code is not None:
                return code
        if self._is_out_of_time(now):
            self._log.error("no good pass in time", exit_after_s=self._settings.exit_after_s, reason=self._last_failure)
            return 1
        if self._job_started is not None:
            self._watch_job(now, self._job_started)
            return None
        if self._is_reload_asked or (self._is_reload_due and self._seen and now >= self._schedule.pass_at):
            self._reload(now)
        if now >= self._schedule.pass_at:
            self._start(self._pass_job(), now)
        elif now >= self._schedule.look_at:
            self._start(self._passes.look, now)
        return None

    def _next_at(self) -> float:
        if self._job_started is not None:
            return min(self._hang_notice_at, self._machinery.now() + schedules.LOOK_S)
        times = [self._schedule.pass_at, self._schedule.look_at]
        if self._settings.exit_after_s is not None and not self._had_good_pass:
            times.append(self._started + self._settings.exit_after_s)
        return min(times)

    # --- signals ----------------------------------------------------------------------------------------------------

    def _signalled(self, numbers: tuple[int, ...]) -> int | None:
        for number in numbers:
            if number == signal.SIGHUP:
                self._log.info("reloading", signal="SIGHUP")
                self._is_reload_asked = True
            else:
                return self._stop(signal.Signals(number).name)
        return None

    def _stop(self, name: str) -> int:
        if self._job_started is not None and self._machinery.take(STOP_WAIT_S) is not None:
            self._job_started = None
        self._log.info("ending", signal=name, labels="removed" if self._settings.remove_on_exit else "kept")
        if self._settings.remove_on_exit:
            self._retract(self._passes)
        return 0

    def _retract(self, passes: Passes, *, except_for: Passes | None = None) -> None:
        try:
            passes.labeler.retract(except_for=None if except_for is None else except_for.labeler)
        except errors.PublishFailed as error:
            self._log.warning(str(error), cause=error.cause)

    # --- settings ---------------------------------------------------------------------------------------------------

    def _reload(self, now: float) -> None:
        is_asked, self._is_reload_asked, self._is_reload_due = self._is_reload_asked, False, False
        try:
            settings = self._machinery.load()
            if settings != self._settings:
                self._machinery.apply(settings)
        except errors.SettingsError as error:
            self._config_once.report({"config": f"{error}; going on with the settings from before"})
            return
        self._config_once.report({})
        if is_asked or settings != self._settings:
            self._replaced.append(self._passes)
            self._passes = self._machinery.make_passes(settings, self._passes)
            self._settings = settings
            self._schedule.interval_s = settings.sleep_interval_s
            self._schedule.pass_now(now)

    # --- jobs -------------------------------------------------------------------------------------------------------

    def _pass_job(self) -> Job:
        passes, replaced = self._passes, tuple(self._replaced)

        def job() -> PassEnd:
            for former in replaced:
                former.close(passes)
            return passes.run()

        return job

    def _start(self, job: Job, now: float) -> None:
        self._job_started = now
        self._hang_notice_at = now + HANG_S
        self._machinery.start(job)

    def _watch_job(self, now: float, started: float) -> None:
        """Name what hangs, with back-off, and keep what is published in place meanwhile."""
        if now - started < HANG_S:
            return
        self._passes.labeler.republish()
        if now >= self._hang_notice_at:
            waiting, for_s = self._passes.waiting, round(now - started)
            self._hang_notice_at = now + min(now - started, LONGEST_HANG_NOTICE_S)
            self._log.warning("a call does not return", call=waiting.call, gpu=waiting.gpu, for_s=for_s)
            on = f" for GPU {waiting.gpu}" if waiting.gpu else ""
            self._last_failure = f"{waiting.call}{on} has not returned for {for_s} s"
            self._machinery.observe(Observation(unready=self._last_failure))

    def _job_ended(self, done: loops.Done[Look | PassEnd], now: float) -> int | None:
        started, self._job_started = self._job_started, None
        if started is not None and now - started >= HANG_S:
            self._log.info("the call returned", after_s=round(now - started))
        if isinstance(done.value, Look):
            self._looked(done.value, now)
            return None
        if isinstance(done.value, PassEnd):
            return self._pass_ended(done.value, now)
        return self._pass_failed(done.error, now)

    def _looked(self, look: Look, now: float) -> None:
        has_changed = look != self._seen
        if self._seen is not None and look.config != self._seen.config:
            self._is_reload_due = True
        self._seen = look
        self._schedule.looked(now, has_changed=has_changed)

    def _pass_ended(self, end: PassEnd, now: float) -> int | None:
        outcome = end.outcome
        if self._seen is not None and end.look.config != self._seen.config:
            self._is_reload_due = True
        self._seen = end.look
        self._schedule.pass_ended(now, is_retried=bool(outcome.failure) or outcome.is_partial, most_s=end.next_in_s)
        if self._is_reload_due:  # As after a change: whoever writes the config file may not be done yet.
            self._schedule.looked(now, has_changed=True)
        self._machinery.observe(Observation(end=end, unready=outcome.unready))
        code = self._judged(outcome.failure)
        if code is None:
            self._voice.tell(end)
            if not outcome.failure:
                self._retire_replaced()
            if end.restart_token and end.restart_token != self._machinery.restarted_for:
                self._log.warning("executing anew, to load the driver's present library", token=end.restart_token)
                self._machinery.restart(end.restart_token)
            if self._settings.oneshot:  # A reload can make it so; the reference ends then too.
                return 0
        return code

    def _pass_failed(self, error: Exception | None, now: float) -> int | None:
        """A job that ended with an error: one of ours, or a fault of this program, which must not end it either."""
        self._schedule.pass_ended(now, is_retried=True)
        failure = str(error) if isinstance(error, errors.DiscoveryError) else f"internal error: {telling.traced(error)}"
        self._machinery.observe(Observation(unready=failure, has_failed=True))
        code = self._judged(failure)
        if code is None:
            self._voice.tell_failure(failure)
        return code

    def _judged(self, failure: str) -> int | None:
        """Whether a pass that ended so ends the process."""
        if not failure:
            self._had_good_pass = True
            return None
        self._last_failure = failure
        is_fatal = self._settings.fail_on_init_error and self._settings.exit_after_s is None
        if self._had_good_pass or not is_fatal:
            return None
        self._log.error(failure)
        return 1

    def _is_out_of_time(self, now: float) -> bool:
        after_s = self._settings.exit_after_s
        return after_s is not None and not self._had_good_pass and now - self._started >= after_s

    def _retire_replaced(self) -> None:
        """What former settings published to and these don't goes once these have published."""
        for former in self._replaced:
            self._retract(former, except_for=self._passes)
        self._replaced.clear()
