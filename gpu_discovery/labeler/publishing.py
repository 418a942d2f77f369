"""The labeler: brings the sinks in line with a snapshot.

The timestamp is the time of the last change of any other label. It is taken over from what is published when all
else is equal, so that neither a restart nor a rollout changes a node's labels.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from gpu_discovery import labels as label_families, settings as labeler_settings, sinks as sink_kinds
from gpu_discovery.core import errors, model, picture as pictures
from gpu_discovery.core.kit.frozen import frozen
from gpu_discovery.labeler import policy, unread
from gpu_discovery.labels import names, values
from gpu_discovery.sinks import feature_file, stdout

Labels = Mapping[str, str]

NEVER_S = float("inf")
_PER_START = "timestamp-per-start"


@frozen(kw_only=True)
class Outcome:
    """What came of a pass."""

    labels: Labels | None
    """What is meant to be published now; None when nothing of ours is."""
    failure: str = ""
    """Why the pass failed, in one line: no answer from the driver, settings impossible here, a sink."""
    unready: str = ""
    """Why what is published may not be what the node is; empty when it is."""
    is_stale: bool = False
    """What is published was read in an earlier pass."""
    is_partial: bool = False
    """Some GPU, or a fact of one or of the driver, could not be read: worth another look soon."""
    is_published: bool = False
    """Every sink has these labels."""
    changed: tuple[str, ...] = ()
    """Names of the sinks that were written to."""
    causes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Everything an operator should know: stable cause → text."""
    picture: pictures.Picture | None = None


@frozen
class _View:
    """What was derived from a snapshot; kept while the snapshot stays the same."""

    snapshot: model.Snapshot
    picture: pictures.Picture
    labels: Labels
    unread: Mapping[str, str]
    causes: Mapping[str, str]


class Labeler:
    """Publishes what snapshots mean; one for as long as the settings are the same."""

    def __init__(
        self,
        settings: labeler_settings.LabelerSettings,
        sinks: Sequence[sink_kinds.Sink],
        *,
        predecessor: Labeler | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """``predecessor`` had other settings in the same process; what it published last is known to this one."""
        self.sinks = tuple(sinks)
        self._settings = settings
        self._clock = clock
        self._started_s = int(clock())
        self._unread = unread.UnreadFacts(time.monotonic)
        self._view: _View | None = None
        self.last: Labels | None = None if predecessor is None else predecessor.last
        """What this process published last, or meant to; None before the first time."""
        self._is_successor = predecessor is not None
        self._unstamped: Labels | None = None
        """The very labels that ``last`` was made of by this labeler."""
        self._has_failed = False
        """Some sink refused the last time."""
        self._publishing = threading.Lock()

    def publish(self, snapshot: model.Snapshot) -> Outcome:
        """Bring the sinks in line with this snapshot, or keep what they have. No error of ours is raised."""
        try:
            view = self._viewed(snapshot)
        except errors.ConfigError as error:
            return self._impossible(str(self._settings.located(error)))
        except errors.SettingsError as error:
            return self._impossible(str(error))
        choice = self._choice(view)
        changed, failed = ((), {}) if choice.labels is None else self._bring_out(choice.labels)
        causes = {**view.causes, **view.unread, **failed}
        if choice.unready:
            causes["discovery"] = choice.unready
        return Outcome(
            labels=self.last,
            failure=_joined(choice.failure, *failed.values()),
            unready=_joined(choice.unready, *failed.values()),
            is_stale=choice.is_stale or bool(failed),
            is_partial=bool(view.unread or snapshot.unreadable),
            is_published=choice.labels is not None and not failed,
            changed=changed,
            causes=causes,
            picture=view.picture,
        )

    def republish(self) -> None:
        """Publish again what was published last, also by an earlier process, where it was lost or its time runs out.

        From any thread, while a pass hangs; does nothing while that pass is at the sinks itself.
        """
        if self._publishing.acquire(blocking=False):
            try:
                published = self._published()
                if published is not None:
                    self._carry_out(published)
            finally:
                self._publishing.release()

    def refresh_in_s(self) -> float:
        """Seconds until some sink needs ``republish``; ``NEVER_S`` for never, or if one refused: that is retried."""
        if self._has_failed or self._published() is None:
            return NEVER_S
        return min((sink.refresh_in_s() for sink in self.sinks), default=NEVER_S)

    def retract(self, *, except_for: Labeler | None = None) -> None:
        """Take back what is published, except where another labeler publishes to. Raises PublishFailed."""
        kept = [] if except_for is None else [sink.target for sink in except_for.sinks]
        for sink in self.sinks:
            if sink.target not in kept:
                sink.remove()

    def _viewed(self, snapshot: model.Snapshot) -> _View:
        known = self._view
        if known is not None and dataclasses.replace(snapshot, taken_at_s=known.snapshot.taken_at_s) == known.snapshot:
            return known
        picture = pictures.make_picture(snapshot, self._settings.config, mig_strategy=self._settings.mig_strategy)
        made = label_families.make_labels(picture)
        causes = {notice.cause: notice.text for notice in (*picture.notices, *made.notices)}
        self._view = _View(snapshot, picture, made.labels, unread.causes(snapshot), causes)
        return self._view

    def _impossible(self, failure: str) -> Outcome:
        """Settings that can't be met on this node: what is published stays as it is."""
        self.republish()
        return Outcome(labels=self.last, failure=failure, unready=failure, is_stale=True, causes={"settings": failure})

    def _choice(self, view: _View) -> policy.Choice:
        published, made = self._published(), view.labels
        if view.snapshot.gpus:
            made = self._unread.completed(
                view.snapshot,
                made,
                published,
                strategy=self._settings.mig_strategy,
                has_same_settings=self._unstamped is not None or not self._is_successor,
            )
        return policy.choice(view.picture, made, published, fails_without_answer=self._settings.fail_on_init_error)

    def _published(self) -> Labels | None:
        """What this process published last; before that what an earlier one did, as far as it is ours and legal."""
        if self.last is not None:
            return self.last
        found = next((labels for sink in self.sinks if (labels := sink.published()) is not None), None)
        if found is None:
            return None
        return {key: value for key, value in found.items() if names.find(key) and values.is_legal(value)}

    def _stamped(self, labels: Labels) -> Labels:
        plain = _without_timestamp(labels)
        if self._settings.no_timestamp:
            return plain
        return dict(sorted({**plain, names.TIMESTAMP: self._timestamp(plain)}.items()))

    def _timestamp(self, plain: Labels) -> str:
        if _PER_START in self._settings.reference_compat:
            return str(self._started_s)
        published = self._published() or {}
        stamp = published.get(names.TIMESTAMP, "")
        is_same = stamp.isascii() and stamp.isdigit() and plain == _without_timestamp(published)
        return stamp if is_same else str(int(self._clock()))

    def _bring_out(self, labels: Labels) -> tuple[tuple[str, ...], Mapping[str, str]]:
        if self.last is None or labels is not self._unstamped:
            stamped, self._unstamped = self._stamped(labels), labels
        else:
            stamped = self.last
        with self._publishing:
            self.last = stamped
            return self._carry_out(stamped)

    def _carry_out(self, labels: Labels) -> tuple[tuple[str, ...], Mapping[str, str]]:
        """Publish to every sink, whatever becomes of the others: who was written to, and what failed by cause."""
        changed: list[str] = []
        failed: dict[str, str] = {}
        for sink in self.sinks:
            try:
                if sink.publish(labels):
                    changed.append(sink.name)
            except errors.PublishFailed as error:
                failed[error.cause] = str(error)
        self._has_failed = bool(failed)
        return tuple(changed), failed


def make_labeler(
    settings: labeler_settings.LabelerSettings,
    output: TextIO,
    *,
    predecessor: Labeler | None = None,
    clock: Callable[[], float] = time.time,
) -> Labeler:
    """A labeler with the sinks that the settings name; ``output`` is standard output."""
    sinks: dict[str, sink_kinds.Sink] = {}
    for name in settings.publish:
        if name == "file" and settings.output_file:
            sinks["file"] = feature_file.FeatureFile(settings.output_file, settings.nfd_expiry_s, clock=clock)
        else:  # The reference's way to ask for standard output is an empty file name.
            sinks["stdout"] = stdout.Stdout(output)
    return Labeler(settings, tuple(sinks.values()), predecessor=predecessor, clock=clock)


def _joined(*texts: str) -> str:
    return "; ".join(text for text in texts if text)


def _without_timestamp(labels: Labels) -> Labels:
    return {key: value for key, value in labels.items() if key != names.TIMESTAMP}
