"""Where labels go: one module per target, each with the same few methods.

A sink carries a mapping of keys to values out and knows nothing of GPUs, pictures or policy; what to publish, and
whether, is ``labeler``'s to say. Its errors are ``errors.PublishFailed``, never ``OSError``. Only ``labeler`` and
``daemon`` publish by them, and the operator's commands read what is published; ``labels`` and sinks never import each
other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Sink(Protocol):
    """One place that labels are published to."""

    @property
    def name(self) -> str:
        """Short and stable, for logs and metrics: ``file``, ``stdout``."""

    @property
    def target(self) -> str:
        """Where to: equal for two sinks that would overwrite each other."""

    def publish(self, labels: Mapping[str, str]) -> bool:
        """Make exactly these labels the published ones; False when they are already.

        Raises PublishFailed; what was published before is then untouched.
        """

    def published(self) -> Mapping[str, str] | None:
        """What is published now, by this process or an earlier one; None when that can't be told or is nothing."""

    def refresh_in_s(self) -> float:
        """Seconds until the same labels must be published again to stay valid; ``inf`` for never."""

    def remove(self) -> None:
        """Take back what is published. Raises PublishFailed."""
