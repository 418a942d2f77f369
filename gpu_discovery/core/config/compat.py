"""Old behaviours that somebody may rely on, each under a name: ``gpuDiscovery.referenceCompat``, ``--reference-compat``.

One list instead of a flag each. What a name means is implemented where the new behaviour stands; only
``ignore-customisation`` concerns the config alone and is carried out here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from gpu_discovery.core.config import types, values

MIG_INVALID_LABELS = "mig-invalid-labels"
VFIO_MEMORY_BYTES = "vfio-memory-bytes"
IGNORE_CUSTOMISATION = "ignore-customisation"
MPS_HIDES_TIME_SLICING = "mps-hides-time-slicing"
TIMESTAMP_PER_START = "timestamp-per-start"

NAMES: Mapping[str, str] = {
    MIG_INVALID_LABELS: (
        "Under the MIG strategy single, a node whose GPUs can't all be served gets the product with -MIG-INVALID and "
        "count, replicas and memory 0 instead of labels for what can be served."
    ),
    VFIO_MEMORY_BYTES: "On vfio nodes nvidia.com/gpu.memory is in bytes instead of MiB.",
    IGNORE_CUSTOMISATION: (
        "resources, and devices and rename of sharing entries, are read and then ignored with a warning; of several "
        "entries for one resource the first counts."
    ),
    MPS_HIDES_TIME_SLICING: "When sharing.mps is there at all, sharing.timeSlicing is ignored as a whole.",
    TIMESTAMP_PER_START: "nvidia.com/gfd.timestamp is the time of the start or last reload instead of the last change.",
}


def without_customisation(config: types.Config) -> tuple[types.Config, tuple[str, ...]]:
    """The config with everything cleared that the reference parses and then ignores, and a warning for each kind."""
    warnings: list[str] = []
    if config.resources.gpus or config.resources.mig:
        warnings.append("resources: customising resources is ignored (ignore-customisation)")
    sharing = types.Sharing(
        _plain_section(config.sharing.time_slicing, "sharing.timeSlicing", warnings),
        _plain_section(config.sharing.mps, "sharing.mps", warnings),
    )
    return dataclasses.replace(config, resources=types.ResourceRules(), sharing=sharing), tuple(warnings)


def _plain_section(section: types.SharingSection | None, path: str, warnings: list[str]) -> types.SharingSection | None:
    if section is None:
        return None
    plain = tuple(_plain_entry(entry, section) for entry in section.resources)
    if any(before.rename != after.rename for before, after in zip(section.resources, plain, strict=True)):
        warnings.append(f"{path}.resources: rename is ignored (ignore-customisation)")
    if any(not entry.devices.is_all for entry in section.resources):
        warnings.append(f"{path}.resources: devices is ignored, all are shared (ignore-customisation)")
    first_of = {entry.name: entry for entry in reversed(plain)}
    if len(first_of) < len(plain):
        warnings.append(
            f"{path}.resources: of several entries for one resource the first counts (ignore-customisation)"
        )
    kept = tuple(entry for entry in plain if first_of[entry.name] is entry)
    return dataclasses.replace(section, resources=kept)


def _plain_entry(entry: types.SharingEntry, section: types.SharingSection) -> types.SharingEntry:
    rename = values.default_rename(entry.name) if section.rename_by_default else None
    return dataclasses.replace(entry, devices=types.DeviceSelection(), rename=rename)
