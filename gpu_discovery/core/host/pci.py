"""Every NVIDIA function on the PCI bus, with its class and the kernel driver that it is bound to.

A function's identity does not change while its sysfs entry exists, and an entry that goes and comes back has another
inode. So facts are kept by (name, inode), and an unchanged bus costs one directory listing and a readlink of
``driver`` for each NVIDIA function.
"""

from __future__ import annotations

import dataclasses
import os

from gpu_discovery.core import errors, model
from gpu_discovery.core.host import files, vgpu

DEVICES = "/sys/bus/pci/devices"
NVIDIA_VENDOR_ID = 0x10DE

NEEDS_PRIVILEGE = "NEEDS_PRIVILEGE"
"""Reason of a failed ``is_vgpu``: the kernel shows the capabilities to a privileged reader only."""

_CONFIG_LIMIT_BYTES = 4096
_DISPLAY_CLASS = 0x03
_NODES = range(-1, 1 << 16)

_MALFORMED = "MALFORMED"

_Failures = tuple[model.ReadFailure, ...]


class PciBus:
    """The bus under one host root; not for use from several threads."""

    def __init__(self, root: str) -> None:
        self._directory = files.host_path(root, DEVICES)
        self._present: set[tuple[str, int]] = set()
        self._known: dict[tuple[str, int], model.PciFunction] = {}
        self._functions: tuple[model.PciFunction, ...] = ()

    def read(self) -> tuple[model.PciFunction, ...]:
        """NVIDIA's functions by address; the same tuple as long as nothing changed.

        A function of which something cannot be read carries failures. Raises HostFileUnreadable when the bus cannot
        be listed.
        """
        self._scan()
        functions = tuple(self._known.values())
        if functions != self._functions:
            self._functions = functions
        return self._functions

    def read_bindings(self) -> tuple[tuple[str, int, str | None], ...]:
        """(address, inode, driver) of each NVIDIA function. Raises as ``read``."""
        self._scan()
        return tuple((address, inode, function.driver) for (address, inode), function in self._known.items())

    def _scan(self) -> None:
        """Bring ``_known``, sorted by address, up to date."""
        present = self._list()
        functions = {key: self._refreshed(function) for key, function in self._known.items() if key in present}
        if present != self._present:
            functions |= {key: _read_function(self._directory, key[0]) for key in present - self._present}
            self._present = present
        self._known = {key: function for key, function in sorted(functions.items()) if function is not None}

    def _list(self) -> set[tuple[str, int]]:
        try:
            with os.scandir(self._directory) as entries:
                return {(entry.name, entry.inode()) for entry in entries}
        except OSError as error:
            raise errors.HostFileUnreadable(DEVICES, files.error_name(error)) from error

    def _refreshed(self, function: model.PciFunction) -> model.PciFunction | None:
        """The record as it is now: its driver is read again, everything else only where it failed."""
        if any(failure.reason != NEEDS_PRIVILEGE for failure in function.failures):
            return _read_function(self._directory, function.address)
        driver, failures = _read_driver(f"{self._directory}/{function.address}", function.address)
        if driver == function.driver and not failures:
            return function
        return dataclasses.replace(function, driver=driver, failures=(*function.failures, *failures))


def _read_function(directory: str, address: str) -> model.PciFunction | None:
    """A function's record; None when it is another vendor's or left the bus meanwhile."""
    path = f"{directory}/{address}"
    vendor, vendor_failures = _read_number(path, address, "vendor", fact="vendor")
    if vendor is not None and vendor != NVIDIA_VENDOR_ID:
        return None
    class_code, class_failures = _read_number(path, address, "class", fact="class_code")
    if vendor is None and not _may_be_gpu(path, class_code):
        return None
    device_id, device_failures = _read_number(path, address, "device", fact="device_id")
    driver, driver_failures = _read_driver(path, address)
    numa_node, numa_failures = _read_numa_node(path, address)
    is_vgpu, record, vgpu_failures = _read_vgpu(path, address)
    return model.PciFunction(
        address=address,
        device_id=device_id or 0,
        class_code=class_code or 0,
        driver=driver,
        numa_node=numa_node,
        is_virtual_function=os.path.lexists(f"{path}/physfn"),
        is_vgpu=is_vgpu,
        vgpu=record,
        failures=(
            *vendor_failures,
            *class_failures,
            *device_failures,
            *driver_failures,
            *numa_failures,
            *vgpu_failures,
        ),
    )


def _may_be_gpu(path: str, class_code: int | None) -> bool:
    """Whether a function whose vendor is not readable must be told: it is still there, and nothing rules a GPU out."""
    return os.path.lexists(path) and (class_code is None or class_code >> 16 == _DISPLAY_CLASS)


def _read_number(path: str, address: str, name: str, *, fact: str) -> tuple[int | None, _Failures]:
    """A hexadecimal file of at most 24 bits."""
    shown = f"{DEVICES}/{address}/{name}"
    try:
        value = int(files.read_text(f"{path}/{name}"), 16)
    except OSError as error:
        return None, (files.read_failure(fact, shown, error),)
    except ValueError:
        value = -1
    if not 0 <= value <= 0xFFFFFF:
        return None, (model.ReadFailure(fact=fact, call=shown, reason=_MALFORMED),)
    return value, ()


def _read_numa_node(path: str, address: str) -> tuple[int | None, _Failures]:
    """None on a machine without NUMA nodes, where the kernel says -1 or has no such file."""
    shown = f"{DEVICES}/{address}/numa_node"
    try:
        node = int(files.read_text(f"{path}/numa_node"))
    except FileNotFoundError:
        return None, ()
    except OSError as error:
        return None, (files.read_failure("numa_node", shown, error),)
    except ValueError:
        node = _NODES.stop
    if node not in _NODES:
        return None, (model.ReadFailure(fact="numa_node", call=shown, reason=_MALFORMED),)
    return (node if node >= 0 else None), ()


def _read_driver(path: str, address: str) -> tuple[str | None, _Failures]:
    try:
        return os.readlink(f"{path}/driver").rpartition("/")[2], ()
    except FileNotFoundError:
        return None, ()
    except OSError as error:
        return None, (files.read_failure("driver", f"{DEVICES}/{address}/driver", error),)


def _read_vgpu(path: str, address: str) -> tuple[bool | None, model.VgpuRecord | None, _Failures]:
    """Whether the function is a virtual GPU, and what its host tells; None when that needs privilege."""
    shown = f"{DEVICES}/{address}/config"
    try:
        config = files.read_bytes(f"{path}/config", _CONFIG_LIMIT_BYTES)
    except OSError as error:
        return None, None, (files.read_failure("is_vgpu", shown, error),)
    if len(config) < vgpu.CONFIG_SPACE_BYTES:
        return None, None, (model.ReadFailure(fact="is_vgpu", call=shown, reason=NEEDS_PRIVILEGE),)
    record = vgpu.parse_vendor_capability(config)
    return record is not None, record, ()
