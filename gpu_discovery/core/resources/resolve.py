"""Snapshot, config and health to resources: select, assign, share."""

from __future__ import annotations

from typing import NamedTuple

from gpu_discovery.core import model
from gpu_discovery.core.config import types as config_types
from gpu_discovery.core.resources import assignment, references, selection, sharing


class ResourceSet(NamedTuple):
    """What the node serves, what it does not, and what the operator should know."""

    resources: tuple[model.Resource, ...]
    """By name."""
    left_out: tuple[model.LeftOut, ...]
    """By index; GPUs known by their PCI address alone come last."""
    gpus: tuple[model.Gpu, ...]
    """The GPUs that the rules let in, by index."""
    functions: tuple[model.PciFunction, ...] | None
    """What the rules let in of NVIDIA's functions, by address; None when the bus could not be listed."""
    notices: tuple[model.Notice, ...]


def resources(
    snapshot: model.Snapshot,
    config: config_types.Config,
    health: model.Health = model.ALL_WELL,
    *,
    mig_strategy: str,
) -> ResourceSet:
    """Which resources exist and what backs them.

    Raises ConfigError for a config entry that is impossible on this node, SettingsError for an unknown strategy.
    """
    chosen = selection.select(snapshot, config.own)
    assigned = assignment.assign(chosen.gpus, config, health, snapshot.taken_at_s, mig_strategy=mig_strategy)
    has_broken = any(record.is_broken for record in chosen.left_out) or not all(gpu.name for gpu in chosen.gpus)
    node = references.Node(snapshot.gpus, snapshot.unreadable, has_broken)
    shared = sharing.share(assigned.groups, config, node)
    left_out = sorted((*chosen.left_out, *assigned.left_out, *shared.left_out), key=_position)
    notices = (*chosen.notices, *_lost(chosen.gpus), *assigned.notices, *shared.notices)
    return ResourceSet(shared.resources, tuple(left_out), chosen.gpus, chosen.functions, notices)


def _lost(gpus: tuple[model.Gpu, ...]) -> list[model.Notice]:
    return [
        model.Notice(f"lost:{gpu.uuid}", f"{selection.describe(gpu)} no longer answers: it is counted, and unhealthy")
        for gpu in gpus
        if gpu.state is model.GpuState.LOST
    ]


def _position(record: model.LeftOut) -> tuple[bool, tuple[int, ...], str]:
    """``3`` before ``3:1`` before ``12``; addresses after all of them."""
    parts = record.index.split(":")
    is_index = len(parts) < 3
    return (not is_index, tuple(map(int, parts)) if is_index else (), record.index)
