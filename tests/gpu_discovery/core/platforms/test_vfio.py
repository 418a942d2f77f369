"""GPUs that are handed to virtual machines, as a source."""

from __future__ import annotations

import pathlib

from gpu_discovery.core import model
from gpu_discovery.core.host import pci
from gpu_discovery.core.platforms import facts as platform_facts, vfio
from tests.fakes import host


def make_source(path: pathlib.Path, *functions: host.Function) -> tuple[host.HostRoot, pci.PciBus, vfio.VfioSource]:
    """A bus with these functions and no driver of NVIDIA's."""
    root = host.make_host_root(path, pci=functions, driver_version=None)
    return root, pci.PciBus(str(path)), vfio.VfioSource(str(path))


def test_golden(tmp_path: pathlib.Path) -> None:
    """Two A100 handed over beside one that is not: all that a snapshot tells of them."""
    _, bus, source = make_source(
        tmp_path,
        host.make_function("0000:0f:00.0", driver="vfio-pci", numa_node=1),
        host.make_function("0000:07:00.0", driver="vfio-pci"),
        host.make_function("0000:47:00.0", driver="nouveau"),
    )

    assert source.read(bus.read(), None) == platform_facts.PlatformFacts(
        finding=model.Finding.OK,
        platform=model.Platform.VFIO,
        driver_version="unknown.unknown.unknown",
        cuda_version=(0, 0),
        gpus=tuple(
            model.Gpu(
                index=index,
                uuid=model.GpuUuid(f"vfio-{address}"),
                pci_address=address,
                name="GA100 [A100 SXM4 40GB]",
                pci_class=0x030200,
                numa_node=index,
                memory_bytes=137438953472,
                compute_capability=(-1, -1),
            )
            for index, address in enumerate(("0000:07:00.0", "0000:0f:00.0"))
        ),
    )


def test_unchanged_bus_gives_the_same_object(tmp_path: pathlib.Path) -> None:
    """Names and sizes are not read again while the bus is unchanged, and are once it changed."""
    root, bus, source = make_source(tmp_path, host.make_function("0000:07:00.0", driver="vfio-pci"))
    first = source.read(bus.read(), None)
    again = source.read(bus.read(), None)
    root.bind("0000:07:00.0", None)

    assert again is first
    assert source.read(bus.read(), None).finding is model.Finding.NO_GPUS


def test_unreadable_size_is_tried_again(tmp_path: pathlib.Path) -> None:
    """A size that could not be read is read in the next pass, although the bus is unchanged."""
    root, bus, source = make_source(tmp_path, host.make_function("0000:07:00.0", driver="vfio-pci"))
    root.write_function_file("0000:07:00.0", "resource", None)
    (broken,) = source.read(bus.read(), None).gpus
    root.write_function_file("0000:07:00.0", "resource", b"0x0 0xffff 0x14220c\n")
    (mended,) = source.read(bus.read(), None).gpus

    assert (broken.memory_bytes, mended.memory_bytes) == (None, 65536)


def test_nothing_bound_says_what_is_bound_instead(tmp_path: pathlib.Path) -> None:
    """Without a GPU on vfio-pci the finding is zero GPUs, and the line names their drivers."""
    _, bus, source = make_source(
        tmp_path,
        host.make_function("0000:07:00.0", driver="nvidia"),
        host.make_function("0000:0f:00.0", driver=None),
    )

    facts = source.read(bus.read(), None)

    assert facts.finding is model.Finding.NO_GPUS
    assert facts.detail == (
        "no GPU is bound to vfio-pci; the PCI bus shows 2 NVIDIA GPUs: "
        "0000:07:00.0 bound to nvidia, 0000:0f:00.0 bound to no driver"
    )


def test_bus_that_cannot_be_listed(tmp_path: pathlib.Path) -> None:
    """Without the bus nothing is known, which is not the same as no GPU."""
    _, _, source = make_source(tmp_path)

    assert source.read(None, None).finding is model.Finding.PLATFORM_UNKNOWN
