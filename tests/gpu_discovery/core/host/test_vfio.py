"""GPUs that are bound to vfio."""

from __future__ import annotations

import pathlib

import pytest

from gpu_discovery.core import model
from gpu_discovery.core.host import pci, vfio
from tests.fakes import host

NAMES = {0x20B0: "GA100 [A100 SXM4 40GB]"}
EMPTY = "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"


def read(path: pathlib.Path, *functions: host.Function) -> tuple[model.Gpu, ...]:
    """The vfio GPUs of a bus with these functions."""
    host.make_host_root(path, pci=functions, driver_version=None)
    return vfio.read_vfio_gpus(str(path), pci.PciBus(str(path)).read(), NAMES)


def test_a100_handed_to_a_virtual_machine(tmp_path: pathlib.Path) -> None:
    """All that the bus tells of a GPU; 64 GiB and 32 MiB of windows round up to 128 GiB."""
    (gpu,) = read(tmp_path, host.make_function("0000:07:00.0", driver="vfio-pci", numa_node=3))

    assert gpu == model.Gpu(
        index=0,
        uuid=model.GpuUuid("vfio-0000:07:00.0"),
        pci_address="0000:07:00.0",
        name="GA100 [A100 SXM4 40GB]",
        pci_class=0x030200,
        numa_node=3,
        memory_bytes=128 * host.GIB,
        compute_capability=(-1, -1),
    )


def test_which_functions_count(tmp_path: pathlib.Path) -> None:
    """Display controllers on a vfio driver, by address; not virtual functions, audio, or GPUs with their own driver."""
    gpus = read(
        tmp_path,
        host.make_function("0000:0a:00.0", driver="nvgrace-gpu-vfio-pci"),
        host.make_function("0000:09:00.0", driver="vfio-pci", class_code=host.CLASS_VGA),
        host.make_function("0000:09:00.1", driver="vfio-pci", class_code=host.CLASS_AUDIO),
        host.make_function("0000:09:00.4", driver="vfio-pci", physical_function="0000:09:00.0"),
        host.make_function("0000:08:00.0", driver="nvidia"),
        host.make_function("0000:07:00.0", driver=None),
    )

    assert [(gpu.index, gpu.pci_address) for gpu in gpus] == [(0, "0000:09:00.0"), (1, "0000:0a:00.0")]


@pytest.mark.parametrize(
    ("resource", "expected_bytes"),
    [
        ("", 0),
        (EMPTY * 13, 0),
        ("0x0 0xffff 0x14220c\n", 65536),
        ("0x0 0x10000 0x14220c\n", 131072),
        ("0x0 0xffff 0x40200\n0x0 0xfff 0x14220c\n", 4096),
        (EMPTY * 6 + "0x0 0xffff 0x14220c\n", 0),
        (EMPTY * 5 + "0x0 0xffff 0x14220c\n", 65536),
        ("0x0 0xffff\n0x1 0x2 0x3 0x4\nx y z\n0x0 0xfff 0x14220c\n", 4096),
        ("0xffff 0x0 0x14220c\n", 0),
        ("\ufffd\0", 0),
    ],
)
def test_memory_of_windows(resource: str, expected_bytes: int) -> None:
    """64-bit windows among the first six lines count, together, rounded up to a power of two."""
    assert vfio.parse_memory_bytes(resource) == expected_bytes


def test_no_window_is_no_memory(tmp_path: pathlib.Path) -> None:
    """A GPU without a 64-bit window has unknown memory, and that is no failure."""
    (gpu,) = read(tmp_path, host.make_function("0000:07:00.0", driver="vfio-pci", bars=()))

    assert (gpu.memory_bytes, gpu.failures) == (None, ())


def test_unreadable_resource(tmp_path: pathlib.Path) -> None:
    """A resource file that cannot be read is the failure of one fact."""
    root = host.make_host_root(tmp_path, pci=[host.make_function("0000:07:00.0", driver="vfio-pci")])
    functions = pci.PciBus(str(tmp_path)).read()
    root.write_function_file("0000:07:00.0", "resource", None)

    (gpu,) = vfio.read_vfio_gpus(str(tmp_path), functions, NAMES)

    assert gpu.memory_bytes is None
    assert [(failure.fact, failure.call, failure.reason) for failure in gpu.failures] == [
        ("memory_bytes", "/sys/bus/pci/devices/0000:07:00.0/resource", "ENOENT")
    ]
