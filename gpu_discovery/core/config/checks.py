"""What the schema can't say: spans of time too short, and entries that contradict each other on every node.

Whether two entries meet on this node's devices (an index here, a UUID there) is decided in ``core.resources``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpu_discovery.core.config import types, values
from gpu_discovery.core.config.reading import Reading


def check(config: types.Config, reading: Reading) -> None:
    """Report every contradiction to ``reading``."""
    for section in (config.sharing.time_slicing, config.sharing.mps):
        if section is not None:
            _check_section(section.resources, reading)
    _check_span(config.own.nfd_expiry_s, "gpuDiscovery.nfdExpiry", reading)
    _check_span(config.own.exit_after_s, "gpuDiscovery.exitAfter", reading)


def _check_span(seconds: float | None, path: str, reading: Reading) -> None:
    try:
        if seconds is not None:
            values.checked_span_s(seconds)
    except ValueError as error:
        reading.fault(path, reading.line(path), str(error), "a bare number is nanoseconds")


def _check_section(entries: Sequence[types.SharingEntry], reading: Reading) -> None:
    for entry in entries:
        _check_devices(entry, reading)
    for position, entry in enumerate(entries):
        for earlier in entries[:position]:
            for path, reason, hint in _contradictions(earlier, entry):
                reading.fault(path, reading.line(path), reason, hint)


def _check_devices(entry: types.SharingEntry, reading: Reading) -> None:
    selection, path = entry.devices, f"{entry.path}.devices"
    if not selection.is_all and selection.count is None and not selection.refs:
        reading.slip(path, reading.line(path), "names no device", "write 'all', a count, or remove the entry")
    for position, ref in enumerate(selection.refs):
        if ref in selection.refs[:position]:
            place = f"{path}[{position}]"
            reading.slip(place, reading.line(place), f"device {ref} is named twice")


def _contradictions(earlier: types.SharingEntry, entry: types.SharingEntry) -> Iterator[tuple[str, str, str]]:
    """(path, reason, hint) of what two entries of one section can't both have."""
    if earlier.name == entry.name:
        shared = _overlap(earlier.devices, entry.devices)
        if shared:
            reason = f"{shared} of {entry.name} already belongs to {earlier.path}"
            yield f"{entry.path}.devices", reason, "a device can be shared by one entry only"
            return
    if (earlier.rename or earlier.name) == (entry.rename or entry.name) and earlier.replicas != entry.replicas:
        name = entry.rename or entry.name
        reason = f"{name} would have {earlier.replicas} replicas by {earlier.path} and {entry.replicas} by this entry"
        yield f"{entry.path}.replicas", reason, "a resource has one count; give one of the two another rename"


def _overlap(first: types.DeviceSelection, second: types.DeviceSelection) -> str:
    """What two selections surely have in common, in words; empty where that depends on the node."""
    if first.is_all or second.is_all:
        return "every device" if first.is_all and second.is_all else "each of these devices"
    if first.count is not None and second.count is not None:
        return "the first device"
    common = sorted(set(first.refs) & set(second.refs))
    return f"device {common[0]}" if common else ""
