"""NVML as a source."""

from __future__ import annotations

import pathlib

import pytest

from gpu_discovery.core import model
from gpu_discovery.core.host import pci
from gpu_discovery.core.platforms import nvml as platform
from tests.fakes import host, nvml


def make_functions(path: pathlib.Path, *functions: host.Function) -> tuple[model.PciFunction, ...]:
    """What a bus with these functions shows."""
    host.make_host_root(path / "host", pci=functions)
    return pci.PciBus(str(path / "host")).read()


def test_zero_gpus_is_a_finding_and_the_bus_is_told(fake_driver: nvml.FakeDriver, tmp_path: pathlib.Path) -> None:
    """NVML that answers without a GPU is its own finding, with what the bus shows."""
    fake_driver.write(nvml.make_machine([]))
    functions = make_functions(tmp_path, host.make_function("0000:07:00.0", driver="vfio-pci"))

    facts = platform.NvmlSource(fake_driver.root).read(functions, None)

    assert facts.finding is model.Finding.NO_GPUS
    assert facts.detail == (
        "NVML answers and lists no GPU; the PCI bus shows 1 NVIDIA GPU: 0000:07:00.0 bound to vfio-pci; "
        "set the discovery strategy to vfio to label these"
    )
    assert facts.driver_version == "535.129.03"


@pytest.mark.parametrize(
    ("code", "finding"),
    [
        ("LIBRARY_NOT_FOUND", model.Finding.NVML_MISSING),
        ("DRIVER_NOT_LOADED", model.Finding.DRIVER_NOT_LOADED),
        ("LIB_RM_VERSION_MISMATCH", model.Finding.VERSION_MISMATCH),
        ("NO_PERMISSION", model.Finding.NO_PERMISSION),
        ("UNKNOWN", model.Finding.NVML_FAILED),
    ],
)
def test_ways_to_fail(fake_driver: nvml.FakeDriver, code: str, finding: model.Finding) -> None:
    """Each way in which NVML refuses to start is a finding of its own, with the call and the code in its line."""
    fake_driver.write(nvml.make_machine(init=code))

    facts = platform.NvmlSource(fake_driver.root).read((), None)

    assert facts.finding is finding
    assert code in facts.detail
    assert (facts.library is None) is (finding is model.Finding.NVML_MISSING)
    assert facts.gpus == ()


def test_every_gpu_handed_over_points_to_vfio(fake_driver: nvml.FakeDriver, tmp_path: pathlib.Path) -> None:
    """Where NVML is missing because all GPUs belong to virtual machines, the line says which strategy labels them."""
    fake_driver.write(nvml.make_machine(init="LIBRARY_NOT_FOUND"))
    functions = make_functions(tmp_path, host.make_function("0000:07:00.0", driver="vfio-pci"))

    source = platform.NvmlSource(fake_driver.root)

    assert "set the discovery strategy to vfio" in source.read(functions, None).detail
    assert "vfio" not in source.read((), None).detail


def test_class_and_numa_node_come_from_the_bus(fake_driver: nvml.FakeDriver, tmp_path: pathlib.Path) -> None:
    """A GPU carries the class and NUMA node of its function, and follows a bus that changed."""
    source = platform.NvmlSource(fake_driver.root)
    first = make_functions(tmp_path / "first", host.make_function("0000:07:00.0", numa_node=1))
    second = make_functions(tmp_path / "second", host.make_function("0000:07:00.0", class_code=host.CLASS_VGA))

    assert [(gpu.pci_class, gpu.numa_node) for gpu in source.read(first, None).gpus] == [(0x030200, 1)]
    assert [(gpu.pci_class, gpu.numa_node) for gpu in source.read(second, None).gpus] == [(0x030000, 0)]
    assert [(gpu.pci_class, gpu.numa_node) for gpu in source.read(None, None).gpus] == [(None, None)]
