"""Virtual GPUs, told by the vendor capability of their PCI configuration space.

NVIDIA's host driver puts a capability with id 9 and the signature ``VF`` into the configuration space of a virtual
GPU. Behind the signature stand records of (id, whole length, content); record 0 carries the host driver's version and
branch. The bytes come from a device, so every pointer and length is doubted: nonsense ends the walk and never raises.
"""

from __future__ import annotations

from gpu_discovery.core import model

CONFIG_SPACE_BYTES = 256
"""The part that holds the capabilities; a reader without CAP_SYS_ADMIN gets 64 bytes."""

_STATUS = 0x06
_STATUS_HAS_CAPABILITIES = 0x10
_FIRST_CAPABILITY = 0x34
_VENDOR_SPECIFIC = 0x09
_NO_CAPABILITY = 0xFF
_SIGNATURE = b"VF"
_FIRST_RECORD = 5
_DRIVER_VERSION_RECORD = 0
_TEXT_BYTES = 10


def parse_vendor_capability(config: bytes) -> model.VgpuRecord | None:
    """What the capability says of the host driver, or None when this is no virtual GPU.

    ``config`` is the whole configuration space. A virtual GPU without a whole driver-version record has None in
    both fields.
    """
    capability = _vendor_capability(config)
    if len(capability) < _FIRST_RECORD or capability[3:5] != _SIGNATURE:
        return None
    record = _driver_version_record(capability)
    if record is None:
        return model.VgpuRecord(host_driver_version=None, host_driver_branch=None)
    version, branch = record[:_TEXT_BYTES], record[_TEXT_BYTES:]
    return model.VgpuRecord(host_driver_version=_text(version), host_driver_branch=_text(branch))


def _vendor_capability(config: bytes) -> bytes:
    """The first vendor-specific capability cut to its length; empty when there is none."""
    if len(config) <= _FIRST_CAPABILITY or not config[_STATUS] & _STATUS_HAS_CAPABILITIES:
        return b""
    seen: set[int] = set()
    position = config[_FIRST_CAPABILITY]
    while position and position not in seen and position + 2 < len(config):
        seen.add(position)
        kind, following, length = config[position : position + 3]
        if kind == _NO_CAPABILITY:
            break
        if kind == _VENDOR_SPECIFIC:
            return config[position : position + length]
        position = following
    return b""


def _driver_version_record(capability: bytes) -> bytes | None:
    """The two texts of record 0, None when it is missing or cut short."""
    position = _FIRST_RECORD
    while position + 1 < len(capability):
        kind, length = capability[position], capability[position + 1]
        if kind == _DRIVER_VERSION_RECORD:
            content = capability[position + 2 : position + 2 + 2 * _TEXT_BYTES]
            return content if len(content) == 2 * _TEXT_BYTES else None
        if length == 0:
            return None
        position += length
    return None


def _text(raw: bytes) -> str | None:
    return raw.strip(b"\0").decode("ascii", "replace") or None
