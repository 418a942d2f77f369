"""GPUs that are handed to virtual machines: bound to vfio, so that no driver of NVIDIA's can tell what they are.

What is known of them is what the bus says: a name from the PCI id database, memory from the size of their windows.
There is no UUID; the address stands in for it, because it lasts as long as the board stays in its slot.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from gpu_discovery.core import model
from gpu_discovery.core.host import files, pci

DRIVERS = frozenset({"vfio-pci", "nvgrace-gpu-vfio-pci"})
"""The generic driver, and its variant for Grace Hopper."""

UNKNOWN_COMPUTE_CAPABILITY = (-1, -1)

_BAR_LINES = 6
_MEMORY_TYPE_MASK = 0x06
_MEMORY_TYPE_64_BIT = 0x04


def is_vfio_gpu(function: model.PciFunction) -> bool:
    """A display controller that is handed over whole; a virtual function is a part of one and not counted."""
    return function.is_gpu and not function.is_virtual_function and function.driver in DRIVERS


def read_vfio_gpus(
    root: str, functions: Iterable[model.PciFunction], names: Mapping[int, str]
) -> tuple[model.Gpu, ...]:
    """The GPUs among ``functions`` that are bound to vfio, by address; ``names`` by device id."""
    bound = sorted(filter(is_vfio_gpu, functions), key=lambda function: function.address)
    return tuple(_read_gpu(root, index, function, names) for index, function in enumerate(bound))


def parse_memory_bytes(resource: str) -> int:
    """The 64-bit memory windows of a ``resource`` file, together, rounded up to a power of two; 0 without any.

    Only the first six lines are the function's own windows; a malformed line counts nothing.
    """
    total = sum(_window_sizes(resource.splitlines()[:_BAR_LINES]))
    return 1 << (total - 1).bit_length() if total else 0


def _read_gpu(root: str, index: int, function: model.PciFunction, names: Mapping[int, str]) -> model.Gpu:
    memory_bytes, failures = _read_memory_bytes(root, function.address)
    return model.Gpu(
        index=index,
        uuid=model.GpuUuid(f"vfio-{function.address}"),
        pci_address=function.address,
        name=names[function.device_id],
        pci_class=function.class_code,
        numa_node=function.numa_node,
        memory_bytes=memory_bytes,
        compute_capability=UNKNOWN_COMPUTE_CAPABILITY,
        failures=failures,
    )


def _read_memory_bytes(root: str, address: str) -> tuple[int | None, tuple[model.ReadFailure, ...]]:
    path = os.path.join(pci.DEVICES, address, "resource")
    try:
        text = files.read_text(files.host_path(root, path))
    except OSError as error:
        return None, (files.read_failure("memory_bytes", path, error),)
    return parse_memory_bytes(text) or None, ()


def _window_sizes(lines: Iterable[str]) -> Iterator[int]:
    for line in lines:
        try:
            start, end, flags = (int(field, 16) for field in line.split())
        except ValueError:
            continue
        if flags & _MEMORY_TYPE_MASK == _MEMORY_TYPE_64_BIT and end >= start:
            yield end - start + 1
