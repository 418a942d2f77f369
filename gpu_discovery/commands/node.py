"""What a command looks at: the node it runs on or a recorded one, seen with the eyes of the daemon.

Commands take the daemon's own options and variables, so that run in its container they come to its results.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from gpu_discovery import flags, labeler, labels as label_families, settings as labeler_settings
from gpu_discovery.core import errors, model, options, picture as pictures, samples, snapshot as snapshots
from gpu_discovery.core.kit.frozen import frozen
from gpu_discovery.sinks import feature_file

Command = TypeVar("Command", bound=Callable[..., Any])

reading_options = options.flag_options(
    *flags.SNAPSHOT_SOURCE, *flags.CONFIG, *flags.HOST, *flags.named("machine-type-file", "device-discovery-strategy")
)
"""Which node to read, and how."""

view_options = options.flag_options(*flags.named("mig-strategy", "reference-compat", "extra-labels"))
"""What to make of it."""


@frozen(kw_only=True)
class View:
    """A node as the daemon sees it."""

    snapshot: model.Snapshot
    picture: pictures.Picture
    labels: Mapping[str, str]
    """What the snapshot means, without a timestamp."""
    published: Mapping[str, str] | None
    """What the daemon would publish over what is there now; None when it would publish nothing yet."""


class PublishedFile:
    """What an earlier pass left in a feature file; never written to."""

    name = "published"

    def __init__(self, path: str) -> None:
        self.target = path
        self.labels = feature_file.FeatureFile(path).published()
        if self.labels is None:
            raise errors.SettingsError(f"there is no readable feature file at {path}")

    def publish(self, labels: Mapping[str, str]) -> bool:
        """Say whether it would change."""
        return labels != self.labels

    def published(self) -> Mapping[str, str] | None:
        """The labels in the file."""
        return self.labels

    def refresh_in_s(self) -> float:
        """Never: it is only looked at."""
        return float("inf")

    def remove(self) -> None:
        """Leave it."""


def load_settings(given: Mapping[str, object]) -> labeler_settings.LabelerSettings:
    """The daemon's settings with a command's options; what loading wants said is said."""
    settings = flags.load_labeler_settings(given, os.environ)
    for warning in settings.warnings:
        remark(warning)
    return settings


def read_node(settings: labeler_settings.LabelerSettings, *, topology: bool = False) -> model.Snapshot:
    """The recorded node if the settings name one, else this one."""
    if settings.snapshot_file or settings.sample:
        return samples.read_recorded(snapshot_file=settings.snapshot_file, sample=settings.sample)
    return snapshots.read_snapshot(
        snapshots.ReadOptions(
            host_root=settings.host_root,
            driver_root_ctr_path=settings.driver_root_ctr_path,
            machine_type_file=settings.machine_type_file,
            discovery_strategy=settings.discovery_strategy,
            topology=topology,
        )
    )


def view_node(settings: labeler_settings.LabelerSettings, *published: PublishedFile) -> View:
    """Read the node and derive everything; what a person should know of it is said.

    Raises SettingsError for a config that is impossible on this node.
    """
    snapshot = read_node(settings)
    outcome = labeler.Labeler(settings, published).publish(snapshot)
    if outcome.picture is None:
        raise errors.SettingsError(outcome.failure)
    for text in outcome.causes.values():
        remark(text)
    made = label_families.make_labels(outcome.picture)
    return View(snapshot=snapshot, picture=outcome.picture, labels=made.labels, published=outcome.labels)


def remark(text: str) -> None:
    """Tell a person something beside the output."""
    click.echo(f"gpu-discovery: {text}", err=True)
