"""Which of a resource's devices a sharing entry names.

An entry may name all, the first n, or single ones: by GPU index ``3``, MIG index ``3:1``, ``GPU-…`` or ``MIG-…``. A
GPU named where MIG devices are served means all of that GPU's. What the node does not have at all is an error, for
nobody meant that; what it has but does not serve here (left out, unreadable, of another resource) is a notice, for
one broken GPU must not cost the node its sharing. So is a MIG device that is not there now: they come and go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpu_discovery.core import errors, model
from gpu_discovery.core.config import types as config_types


class Node(NamedTuple):
    """What a reference may be about: everything that was seen of the node."""

    gpus: tuple[model.Gpu, ...]
    unreadable: tuple[model.UnreadableGpu, ...]
    has_broken: bool
    """Some GPU could not be identified, so a name that is not found may well be its."""


class Named(NamedTuple):
    """The devices that an entry names, and what to say of the names that did not lead to one."""

    devices: tuple[model.Device, ...]
    notices: tuple[model.Notice, ...] = ()


def named_devices(entry: config_types.SharingEntry, devices: Sequence[model.Device], node: Node) -> Named:
    """Devices of the resource that ``entry`` selects, in the resource's order.

    Raises ConfigError for an index, UUID or number that this node does not have.
    """
    wanted = entry.devices
    if wanted.is_all:
        return Named(tuple(devices))
    if wanted.count is not None:
        return _first(wanted.count, entry, devices, node)
    chosen: set[model.GpuUuid] = set()
    notices = []
    for position, ref in enumerate(wanted.refs):
        path = f"{entry.path}.devices[{position}]"
        found = [device.uuid for device in devices if _is_named(device, ref)]
        chosen.update(found)
        if not found:
            notices.append(_missing(ref, path, entry, node))
    return Named(tuple(device for device in devices if device.uuid in chosen), tuple(notices))


def _first(count: int, entry: config_types.SharingEntry, devices: Sequence[model.Device], node: Node) -> Named:
    if count <= len(devices):
        return Named(tuple(devices[:count]))
    text = f"{count} devices of {entry.name} are to be shared, this node has {len(devices)}"
    if node.has_broken:
        return Named(tuple(devices), (model.Notice(f"too-few:{entry.path}", f"{entry.path}.devices: {text}"),))
    raise errors.ConfigError(text, path=f"{entry.path}.devices", hint=f"use a number from 1 to {len(devices)}, or all")


def _is_named(device: model.Device, ref: str) -> bool:
    return ref in _names(device.gpu, device.mig)


def _names(gpu: model.Gpu, mig: model.MigDevice | None) -> Iterable[str]:
    """Every name that means this device, the whole GPU's among them."""
    yield str(gpu.index)
    yield gpu.uuid
    if mig is not None:
        yield f"{gpu.index}:{mig.index}"
        yield mig.uuid or ""
        yield f"MIG-{gpu.uuid}/{mig.gpu_instance_id}/{mig.compute_instance_id}"


def _missing(ref: str, path: str, entry: config_types.SharingEntry, node: Node) -> model.Notice:
    """The notice of a reference to something that is not served here; raises ConfigError when it is nowhere."""
    if _is_on_node(ref, node):
        reason = f"{ref} is not served as {entry.name}"
    elif node.has_broken:
        reason = f"{ref} is not found, and a GPU of this node cannot be identified"
    elif _may_come(ref, node):
        reason = f"MIG device {ref} is not there now"
    else:
        raise errors.ConfigError(_unknown(ref, node), path=path, hint="name a device of this node, or use all")
    return model.Notice(f"unserved-ref:{path}", f"{path}: {reason}; the entry does without it")


def _is_on_node(ref: str, node: Node) -> bool:
    if any(ref == str(gpu.index) for gpu in node.unreadable):
        return True
    return any(ref in _names(gpu, mig) for gpu in node.gpus for mig in (None, *(gpu.mig.devices if gpu.mig else ())))


def _may_come(ref: str, node: Node) -> bool:
    """Whether ``ref`` is about a MIG device of a GPU that is here and has MIG on."""
    on = {str(gpu.index) for gpu in node.gpus if gpu.is_mig_enabled}
    if ref.startswith("MIG-"):
        return bool(on)
    return ref.partition(":")[0] in on


def _unknown(ref: str, node: Node) -> str:
    """``GPU index 9 is not on this node: valid are 0-1``."""
    gpus = sorted([gpu.index for gpu in node.gpus] + [gpu.index for gpu in node.unreadable])
    if ref.isdigit():
        return f"GPU index {ref} is not on this node: valid {_ranges(gpus)}"
    return f"{ref} is not on this node"


def _ranges(indexes: Sequence[int]) -> str:
    """``0-1``, ``0-2, 5``; NVML's indexes have gaps only when GPUs are left out of sight."""
    runs: list[list[int]] = []
    for index in indexes:
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs) or "none"
