"""Cuts the devices of each base name into resources, by the entries of ``sharing``.

Sharing belongs to a device: MPS entries take theirs first, time-slicing entries take theirs of what is left, and the
rest stays exclusive under the base name. But a resource has one mode and one replica count, so an entry that would
split one must rename. With 1 replica a device is exclusive; in an MPS section it is still served through MPS, to one
container at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpu_discovery.core import errors, model
from gpu_discovery.core.config import compat, types as config_types
from gpu_discovery.core.resources import references, selection


class Shared(NamedTuple):
    """The resources by name, and what to say of them."""

    resources: tuple[model.Resource, ...]
    left_out: tuple[model.LeftOut, ...]
    notices: tuple[model.Notice, ...]


class _Mode(NamedTuple):
    """What must be the same for every device of a resource."""

    sharing: model.SharingStrategy
    replicas: int
    fail_requests_greater_than_one: bool = False


class _Part(NamedTuple):
    """Devices of one base name that become one resource, or go into one with others of the same mode."""

    name: model.ResourceName
    base_name: model.ResourceName
    mode: _Mode
    devices: tuple[model.Device, ...]
    path: str
    """Of the entry; empty for what no entry names."""


_EXCLUSIVE = _Mode(model.SharingStrategy.NONE, 1)


class _Cut:
    """One base name being cut: who has claimed which device so far."""

    def __init__(self, base_name: model.ResourceName, devices: Sequence[model.Device], node: references.Node) -> None:
        self.base_name = base_name
        self.devices = devices
        self.parts: list[_Part] = []
        self.left_out: list[model.LeftOut] = []
        self.notices: list[model.Notice] = []
        self._node = node
        self._claims: dict[model.GpuUuid, str] = {}

    def claim(self, entry: config_types.SharingEntry, mode: _Mode) -> None:
        """Give ``entry`` the devices it names, those without a claim of the other section's entries."""
        named = references.named_devices(entry, self.devices, self._node)
        self.notices += named.notices
        taken = [device for device in named.devices if device.uuid in self._claims]
        if taken:
            self._overlap(entry, taken[0])
        free = [device for device in named.devices if device.uuid not in self._claims]
        if mode.sharing is model.SharingStrategy.MPS:
            free = self._without_mig(entry, free)
        self._claims.update((device.uuid, entry.path) for device in free)
        if free:
            self.parts.append(_Part(_renamed(entry), self.base_name, mode, tuple(free), entry.path))

    def rest(self) -> None:
        """What no entry has claimed stays exclusive."""
        free = tuple(device for device in self.devices if device.uuid not in self._claims)
        if free:
            self.parts.append(_Part(self.base_name, self.base_name, _EXCLUSIVE, free, ""))

    def leave_out(self, gpu: model.Gpu, name: model.ResourceName) -> None:
        """Serve a GPU nowhere, because MPS, which shares ``name``, can't share it."""
        text = f"{selection.describe(gpu)} has MIG on, which MPS can't share, and {name} is MPS-shared"
        record = selection.leave_out(gpu, "mps-mig", text)
        self.left_out.append(record)
        self.notices.append(selection.notice_of(record))

    def _overlap(self, entry: config_types.SharingEntry, device: model.Device) -> None:
        other = self._claims[device.uuid]
        if other.rpartition("[")[0] == entry.path.rpartition("[")[0]:
            raise errors.ConfigError(
                f"device {device.index} of {self.base_name} is named by {other} already",
                path=entry.path,
                hint="name every device in one entry only",
            )
        text = f"{entry.path} and {other} both name device {device.index} of {self.base_name}: {other} holds"
        self.notices.append(model.Notice(f"sharing-overlap:{entry.path}", text))

    def _without_mig(self, entry: config_types.SharingEntry, devices: list[model.Device]) -> list[model.Device]:
        able = [device for device in devices if not device.gpu.is_mig_enabled]
        if len(able) < len(devices):
            text = f"{entry.path}: MPS can't share MIG devices, nor GPUs with MIG on; these stay without it"
            self.notices.append(model.Notice(f"mps-mig:{entry.path}", text))
        return able


def share(
    groups: Mapping[model.ResourceName, Sequence[model.Device]],
    config: config_types.Config,
    node: references.Node,
) -> Shared:
    """The resources of the node.

    Raises ConfigError for an entry that names what the node does not have, that overlaps another of its section, or
    that would split a resource.
    """
    cuts = [_cut(base_name, groups[base_name], config, node) for base_name in sorted(groups)]
    parts = [part for cut in cuts for part in cut.parts]
    left_out = [record for cut in cuts for record in cut.left_out]
    notices = [notice for cut in cuts for notice in cut.notices]
    by_name: dict[model.ResourceName, list[_Part]] = {}
    for part in parts:
        by_name.setdefault(part.name, []).append(part)
    return Shared(tuple(_resource(by_name[name]) for name in sorted(by_name)), tuple(left_out), tuple(notices))


def _cut(
    base_name: model.ResourceName,
    devices: Sequence[model.Device],
    config: config_types.Config,
    node: references.Node,
) -> _Cut:
    cut = _Cut(base_name, devices, node)
    for strategy, section in _sections(config):
        for entry in section.resources:
            if entry.name == base_name:
                cut.claim(entry, _mode(strategy, entry, section))
    cut.rest()
    _leave_out_unshareable(cut)
    return cut


def _sections(
    config: config_types.Config,
) -> list[tuple[model.SharingStrategy, config_types.SharingSection]]:
    """MPS first, because it wins where both name a device."""
    mps, time_slicing = config.sharing.mps, config.sharing.time_slicing
    found = []
    if mps is not None:
        found.append((model.SharingStrategy.MPS, mps))
    if time_slicing is not None and not (
        mps is not None and compat.MPS_HIDES_TIME_SLICING in config.own.reference_compat
    ):
        found.append((model.SharingStrategy.TIME_SLICING, time_slicing))
    return found


def _mode(
    strategy: model.SharingStrategy, entry: config_types.SharingEntry, section: config_types.SharingSection
) -> _Mode:
    if entry.replicas == 1 and strategy is model.SharingStrategy.TIME_SLICING:
        return _EXCLUSIVE
    return _Mode(strategy, entry.replicas, section.fail_requests_greater_than_one)


def _renamed(entry: config_types.SharingEntry) -> model.ResourceName:
    """``renameByDefault`` is about shared devices: an exclusive one keeps its name unless it is given another."""
    if entry.rename is None or (entry.replicas == 1 and entry.rename == f"{entry.name}.shared"):
        return entry.name
    return entry.rename


def _leave_out_unshareable(cut: _Cut) -> None:
    """GPUs with MIG on that would split a resource whose other GPUs MPS shares: they can't be served under its name."""
    mps_shared = {part.name for part in cut.parts if part.mode.sharing is model.SharingStrategy.MPS}
    kept = []
    for part in cut.parts:
        if part.name not in mps_shared or part.mode.sharing is model.SharingStrategy.MPS:
            kept.append(part)
            continue
        for device in part.devices:
            if device.gpu.is_mig_enabled:
                cut.leave_out(device.gpu, part.name)
        able = tuple(device for device in part.devices if not device.gpu.is_mig_enabled)
        if able:
            kept.append(part._replace(devices=able))
    cut.parts = kept


def _resource(parts: Sequence[_Part]) -> model.Resource:
    """One resource of parts that have the same name; raises ConfigError when they differ in more."""
    first = parts[0]
    for part in parts[1:]:
        _check_alike(first, part)
    devices = sorted((device for part in parts for device in part.devices), key=_position)
    return model.Resource(
        name=first.name,
        base_name=first.base_name,
        devices=tuple(devices),
        sharing=first.mode.sharing,
        replicas=first.mode.replicas,
        fail_requests_greater_than_one=first.mode.fail_requests_greater_than_one,
    )


def _position(device: model.Device) -> tuple[int, int]:
    return (device.gpu.index, -1 if device.mig is None else device.mig.index)


def _check_alike(first: _Part, second: _Part) -> None:
    entry, other = (second, first) if second.path else (first, second)
    if first.mode != second.mode:
        other_path = other.path or f"the devices of {other.base_name} that no entry names"
        raise errors.ConfigError(
            f"{first.name} would have two sharing modes: {_said(entry.mode)} here, {_said(other.mode)} by {other_path}",
            path=entry.path,
            hint=f"set rename to a name of its own, for example {entry.base_name}.shared",
        )
    if (first.devices[0].mig is None) is not (second.devices[0].mig is None):
        raise errors.ConfigError(
            f"{first.name} would mix whole GPUs and MIG devices", path=entry.path, hint="rename to another name"
        )


def _said(mode: _Mode) -> str:
    return "exclusive" if mode.sharing is model.SharingStrategy.NONE else f"{mode.sharing.value} x {mode.replicas}"
