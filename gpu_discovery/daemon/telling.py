"""What the log says of passes: changes, and each cause once; an unchanged pass says nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpu_discovery import labeler as labelers
from gpu_discovery.core.kit import logs
from gpu_discovery.daemon.passes import PassEnd

_MOST_KEYS = 8


class Voice:
    """Remembers what it said."""

    def __init__(self, log: logs.Log, clock: Callable[[], float]) -> None:
        self._log = log
        self._once = logs.OncePerCause(log, clock)
        self._discovery: Mapping[str, object] = {}
        self._labels: labelers.Labels = {}

    def tell(self, end: PassEnd) -> None:
        """A pass ended."""
        discovery = discovery_context(end)
        if discovery != self._discovery:
            self._discovery = discovery
            self._log.info("discovered", **discovery)
        self._once.report(end.outcome.causes)
        if end.outcome.changed:
            self._log.info("labels published", **published_context(end.outcome, self._labels))
        self._labels = end.outcome.labels or {}

    def tell_failure(self, failure: str) -> None:
        """A pass ended with an error."""
        self._once.report({"pass": failure})


def discovery_context(end: PassEnd) -> Mapping[str, object]:
    """Platform, library, driver and number of GPUs, for the log."""
    snapshot = end.snapshot
    library = snapshot.library
    return {
        "platform": snapshot.platform.value,
        "finding": snapshot.finding.value,
        "library": "none" if library is None else library.path,
        "library_from": "none" if library is None else library.origin,
        "driver": snapshot.driver_version or "none",
        "gpus": sum(not gpu.is_display_adapter for gpu in snapshot.gpus),
    }


def published_context(outcome: labelers.Outcome, before: labelers.Labels) -> Mapping[str, object]:
    """Where to, how many, and which keys are new, changed or gone; few of them by name."""
    labels = outcome.labels or {}
    told: dict[str, object] = {"sinks": ",".join(outcome.changed), "labels": len(labels)}
    keys = sorted(key for key in labels.keys() | before.keys() if labels.get(key) != before.get(key))
    if before and keys:
        more = f" and {len(keys) - _MOST_KEYS} more" if len(keys) > _MOST_KEYS else ""
        told["changed"] = ",".join(keys[:_MOST_KEYS]) + more
    return told


def traced(error: Exception | None) -> str:
    """Where it happened and what; one line."""
    import traceback

    if error is None:
        return "a job ended without a value"
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    return f"{type(error).__name__}: {error} at {places}"
