from __future__ import annotations

from typing import Any

import pytest

from gpu_discovery.core import model
from tests.fakes import nvml
from tests.gpu_discovery.core.nvml import reading

IDENTITY = {"index", "uuid", "pci_address", "name", "minor"}


def test_every_fact_of_a_gpu(fake_driver: nvml.FakeDriver) -> None:
    """All that a GPU tells stands in one record, with its units."""
    gpu = reading.read_gpu(
        fake_driver,
        nvml.make_gpu(
            0,
            "b200",
            minor=3,
            compute_mode="exclusive-process",
            display_mode=1,
            ecc={"current": 1, "pending": 0},
            remap={"correctable": 1, "uncorrectable": 2, "pending": 1, "failed": 0},
            virtualization_mode="passthrough",
            fabric={"state": 3, "status": 0, "cluster_uuid": "ABCDEF01-0000-0000-0000-000000000002", "clique_id": 7},
        ),
    )
    assert gpu == model.Gpu(
        index=0,
        uuid=model.GpuUuid(nvml.gpu_uuid(0)),
        pci_address="0000:07:00.0",
        name="NVIDIA B200",
        minor=3,
        pci_class=0x030200,
        numa_node=0,
        brand="nvidia",
        architecture="blackwell",
        memory_bytes=183359 << 20,
        compute_capability=(10, 0),
        mig=gpu.mig,
        display_mode=True,
        display_active=False,
        compute_mode="exclusive-process",
        fabric=model.Fabric(3, 0, "abcdef01-0000-0000-0000-000000000002", 7, 0),
        virtualization_mode="passthrough",
        persistence=True,
        ecc=model.Ecc(enabled=True, pending=False),
        row_remap=model.RowRemap(1, 2, is_pending=True, has_failed=False),
    )


@pytest.mark.parametrize(
    ("fact", "answer"),
    [
        ("minor", None),
        ("brand", None),
        ("architecture", None),
        ("memory_bytes", None),
        ("compute_capability", None),
        ("mig", None),
        ("display_mode", None),
        ("display_active", None),
        ("compute_mode", None),
        ("fabric", None),
        ("virtualization_mode", None),
        ("persistence", None),
        ("ecc", None),
    ],
)
def test_what_the_device_does_not_offer_is_none(fake_driver: nvml.FakeDriver, fact: str, answer: Any) -> None:
    """Not supported is no failure, and the other facts are there."""
    plain = reading.read_gpu(fake_driver, nvml.make_gpu(0, "b200"))
    gpu = reading.read_gpu(fake_driver, nvml.make_gpu(0, "b200", **{fact: answer}))
    assert getattr(gpu, fact) is None
    assert gpu.failures == ()
    different = {name for name in model.Gpu.__slots__ if getattr(gpu, name) != getattr(plain, name)}
    assert different <= {fact, "mig"}  # Profiles are named by the memory.


@pytest.mark.parametrize(
    ("call", "fact"),
    [
        ("nvmlDeviceGetName", "name"),
        ("nvmlDeviceGetPciInfo_v3", "pci_address"),
        ("nvmlDeviceGetMinorNumber", "minor"),
        ("nvmlDeviceGetBrand", "brand"),
        ("nvmlDeviceGetArchitecture", "architecture"),
        ("nvmlDeviceGetMemoryInfo", "memory_bytes"),
        ("nvmlDeviceGetCudaComputeCapability", "compute_capability"),
        ("nvmlDeviceGetVirtualizationMode", "virtualization_mode"),
        ("nvmlDeviceGetComputeMode", "compute_mode"),
        ("nvmlDeviceGetPersistenceMode", "persistence"),
        ("nvmlDeviceGetEccMode", "ecc"),
        ("nvmlDeviceGetRemappedRows", "row_remap"),
        ("nvmlDeviceGetGpuFabricInfoV", "fabric"),
        ("nvmlDeviceGetDisplayMode", "display_mode"),
        ("nvmlDeviceGetDisplayActive", "display_active"),
        ("nvmlDeviceGetMigMode", "mig"),
    ],
)
def test_a_fact_that_fails_is_recorded(fake_driver: nvml.FakeDriver, call: str, fact: str) -> None:
    """A failed call costs its own fact only, and the record says which call failed and with what."""
    gpu = reading.read_gpu(fake_driver, nvml.make_gpu(0, "b200", fail={call: "UNKNOWN"}))
    assert gpu.failures == (model.ReadFailure(fact, call, "UNKNOWN", 999),)
    assert getattr(gpu, fact) in (None, "")
    assert gpu.uuid == nvml.gpu_uuid(0)
    assert gpu.state is model.GpuState.PRESENT


def test_a_static_fact_that_failed_is_asked_again(fake_driver: nvml.FakeDriver) -> None:
    """A transient failure right after the driver was loaded does not last for the driver load."""
    subject = reading.reader.NvmlReader(fake_driver.root)
    failing = nvml.make_gpu(0, fail={"nvmlDeviceGetName": "UNKNOWN"})
    assert reading.read(subject, fake_driver, nvml.make_machine([failing])).gpus[0].name == ""
    gpu = reading.read(subject, fake_driver, nvml.make_machine([nvml.make_gpu(0)])).gpus[0]
    assert (gpu.name, gpu.failures) == ("NVIDIA A100-SXM4-40GB", ())


def test_unified_memory_is_no_failure(fake_driver: nvml.FakeDriver) -> None:
    """GB10 says Not Supported for its memory and for MIG (T03)."""
    gb10 = nvml.make_gpu(0, name="NVIDIA GB10", compute_capability=[12, 1], memory_bytes=None, mig=None)
    gpu = reading.read_gpu(fake_driver, gb10)
    assert (gpu.memory_bytes, gpu.mig, gpu.compute_capability, gpu.failures) == (None, None, (12, 1), ())


def test_a_name_that_is_not_text_is_a_failure(fake_driver: nvml.FakeDriver) -> None:
    """A brand or architecture of the future is unknown, not wrong."""
    gpu = reading.read_gpu(fake_driver, nvml.make_gpu(0, brand=99, architecture=99, compute_mode=99))
    assert (gpu.brand, gpu.architecture, gpu.compute_mode, gpu.failures) == (None, None, None, ())


@pytest.mark.parametrize(
    ("address", "expected"), [("0000:C1:00.0", "0000:c1:00.0"), ("00010000:07:00.0", "00010000:07:00.0")]
)
def test_pci_addresses_are_those_of_sysfs(fake_driver: nvml.FakeDriver, address: str, expected: str) -> None:
    """Lower case, four digits of domain unless it needs more."""
    assert reading.read_gpu(fake_driver, nvml.make_gpu(0, pci_address=address), pci={}).pci_address == expected


def test_class_and_numa_node_come_from_the_bus(fake_driver: nvml.FakeDriver) -> None:
    """What sysfs says of the GPU's function stands in the GPU; without it nothing is claimed."""
    gpu = nvml.make_gpu(0)
    display = reading.make_pci([gpu | {"pci_class": 0x030000}], numa_node=1)
    on_bus = reading.read_gpu(fake_driver, gpu, pci=display)
    assert (on_bus.pci_class, on_bus.numa_node) == (0x030000, 1)
    nowhere = reading.read_gpu(fake_driver, gpu, pci={})
    assert (nowhere.pci_class, nowhere.numa_node) == (None, None)
    assert reading.read_gpu(fake_driver, gpu, pci=reading.make_pci([gpu], numa_node=-1)).numa_node is None


def test_fabric_without_the_newer_call(fake_driver: nvml.FakeDriver) -> None:
    """A driver before 545 tells the clique without health."""
    machine = nvml.make_machine([nvml.make_gpu(0, "b200")], missing_symbols=["nvmlDeviceGetGpuFabricInfoV"])
    fabric = reading.read_once(fake_driver, machine).gpus[0].fabric
    assert fabric is not None
    assert (fabric.is_attached, fabric.clique_id, fabric.health_mask) == (True, 1, None)
