"""What pynvml reads is what the machine description says, fact by fact, each with a value that no other fact has."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pynvml
import pytest

from tests.fakes import nvml

FIRST, SECOND = nvml.gpu_uuid(0), nvml.gpu_uuid(1)

FACTS: dict[str, tuple[dict[str, Any], Callable[[Any], Any], Any]] = {
    "name": ({"name": "NVIDIA Ünïcode"}, pynvml.nvmlDeviceGetName, "NVIDIA Ünïcode"),
    "uuid": ({"uuid": "GPU-1"}, pynvml.nvmlDeviceGetUUID, "GPU-1"),
    "serial": ({"serial": "1320"}, pynvml.nvmlDeviceGetSerial, "1320"),
    "part number": ({"part_number": "900-1"}, pynvml.nvmlDeviceGetBoardPartNumber, "900-1"),
    "vbios": ({"vbios_version": "92.1"}, pynvml.nvmlDeviceGetVbiosVersion, "92.1"),
    "minor": ({"minor": 3}, pynvml.nvmlDeviceGetMinorNumber, 3),
    "module": ({"module_id": 5}, pynvml.nvmlDeviceGetModuleId, 5),
    "brand": ({"brand": "nvidia-rtx"}, pynvml.nvmlDeviceGetBrand, pynvml.NVML_BRAND_NVIDIA_RTX),
    "architecture": ({"architecture": "ada"}, pynvml.nvmlDeviceGetArchitecture, pynvml.NVML_DEVICE_ARCH_ADA),
    "capability": ({"compute_capability": [12, 1]}, pynvml.nvmlDeviceGetCudaComputeCapability, (12, 1)),
    "display mode": ({"display_mode": 1}, pynvml.nvmlDeviceGetDisplayMode, 1),
    "display active": ({"display_active": True}, pynvml.nvmlDeviceGetDisplayActive, 1),
    "compute mode": ({"compute_mode": "exclusive-process"}, pynvml.nvmlDeviceGetComputeMode, 3),
    "persistence": ({"persistence": 0}, pynvml.nvmlDeviceGetPersistenceMode, 0),
    "virtualization": ({"virtualization_mode": "vgpu"}, pynvml.nvmlDeviceGetVirtualizationMode, 2),
    "host vGPU": ({"host_vgpu_mode": 1}, pynvml.nvmlDeviceGetHostVgpuMode, 1),
    "NUMA": ({"numa": 6}, pynvml.nvmlDeviceGetNumaNodeId, 6),
    "addressing": ({"addressing_mode": 2}, pynvml.nvmlDeviceGetAddressingMode, 2),
    "link generations": (
        {"pcie": {"generation_max": 5, "generation_current": 1}},
        lambda gpu: (pynvml.nvmlDeviceGetMaxPcieLinkGeneration(gpu), pynvml.nvmlDeviceGetCurrPcieLinkGeneration(gpu)),
        (5, 1),
    ),
    "link widths": (
        {"pcie": {"width_max": 16, "width_current": 8}},
        lambda gpu: (pynvml.nvmlDeviceGetMaxPcieLinkWidth(gpu), pynvml.nvmlDeviceGetCurrPcieLinkWidth(gpu)),
        (16, 8),
    ),
    "replays": ({"pcie": {"replays": 9}}, pynvml.nvmlDeviceGetPcieReplayCounter, 9),
    "ECC mode": ({"ecc": {"current": 1, "pending": 0}}, pynvml.nvmlDeviceGetEccMode, [1, 0]),
    "ECC errors": (
        {"ecc": {"volatile": {"corrected": 1, "uncorrected": 2}, "aggregate": {"corrected": 3, "uncorrected": 4}}},
        lambda gpu: [pynvml.nvmlDeviceGetTotalEccErrors(gpu, kind, period) for kind in (0, 1) for period in (0, 1)],
        [1, 3, 2, 4],
    ),
    "remapped rows": (
        {"remap": {"correctable": 1, "uncorrectable": 2, "pending": 1, "failed": 0}},
        pynvml.nvmlDeviceGetRemappedRows,
        (1, 2, 1, 0),
    ),
    "retired pages": (
        {"retired_pages": {"single_bit": [4096], "double_bit": [8192, 1 << 36], "pending": 1}},
        lambda gpu: (pynvml.nvmlDeviceGetRetiredPagesPendingStatus(gpu), pynvml.nvmlDeviceGetRetiredPages(gpu, 1)),
        (1, [8192, 1 << 36]),
    ),
    "temperature": ({"temperature_c": 77}, lambda gpu: pynvml.nvmlDeviceGetTemperature(gpu, 0), 77),
    "temperature, versioned": ({"temperature_c": -4}, lambda gpu: pynvml.nvmlDeviceGetTemperatureV(gpu, 0), -4),
    "power": ({"power_mw": 412_000}, pynvml.nvmlDeviceGetPowerUsage, 412_000),
    "clocks": ({"clocks_event_reasons": 0x48}, pynvml.nvmlDeviceGetCurrentClocksEventReasons, 0x48),
    "events": ({"event_types": 0x18}, pynvml.nvmlDeviceGetSupportedEventTypes, 0x18),
    "link state": ({"nvlinks": [None, {"active": 1}]}, lambda gpu: pynvml.nvmlDeviceGetNvLinkState(gpu, 1), 1),
    "link version": ({"nvlinks": [{"version": 4}]}, lambda gpu: pynvml.nvmlDeviceGetNvLinkVersion(gpu, 0), 4),
    "link partner": (
        {"nvlinks": [{"remote_kind": 2}]},
        lambda gpu: pynvml.nvmlDeviceGetNvLinkRemoteDeviceType(gpu, 0),
        pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH,
    ),
    "link errors": (
        {"nvlinks": [{"errors": {"replay": 1, "recovery": 2, "crc_flit": 3, "crc_data": 4, "ecc_data": 5}}]},
        lambda gpu: [pynvml.nvmlDeviceGetNvLinkErrorCounter(gpu, 0, counter) for counter in range(5)],
        [1, 2, 3, 4, 5],
    ),
}


def first_gpu(driver: nvml.FakeDriver, **overrides: Any) -> Any:
    """The handle of a GPU with these facts."""
    driver.write(nvml.make_machine([nvml.make_gpu(**overrides)]))
    return pynvml.nvmlDeviceGetHandleByIndex(0)


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize(("overrides", "read", "expected"), FACTS.values(), ids=FACTS)
def test_fact_is_read_back(
    fake_driver: nvml.FakeDriver, overrides: dict[str, Any], read: Callable[[Any], Any], expected: object
) -> None:
    """A value goes from the description to pynvml unchanged."""
    assert read(first_gpu(fake_driver, **overrides)) == expected


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize(("overrides", "read", "expected"), FACTS.values(), ids=FACTS)
def test_null_is_not_supported(
    fake_driver: nvml.FakeDriver, overrides: dict[str, Any], read: Callable[[Any], Any], expected: object
) -> None:
    """A fact that the device does not offer says so."""
    gpu = first_gpu(fake_driver, **dict.fromkeys(overrides))
    with pytest.raises(pynvml.NVMLError_NotSupported):
        read(gpu)


@pytest.mark.usefixtures("session")
def test_system_facts_are_read_back(fake_driver: nvml.FakeDriver) -> None:
    """Versions, confidential computing, and how many GPUs there are."""
    state = {"environment": 2, "feature": 1, "devtools_mode": 3, "gpus_ready": 1}
    fake_driver.write(nvml.make_machine([], cuda_version=13010, nvml_version="13.1", conf_compute=state))
    confidential = pynvml.nvmlSystemGetConfComputeState()
    assert pynvml.nvmlSystemGetDriverVersion() == "535.129.03"
    assert pynvml.nvmlSystemGetNVMLVersion() == "13.1"
    assert pynvml.nvmlSystemGetCudaDriverVersion() == pynvml.nvmlSystemGetCudaDriverVersion_v2() == 13010
    assert (confidential.environment, confidential.ccFeature, confidential.devToolsMode) == (2, 1, 3)
    assert pynvml.nvmlSystemGetConfComputeGpusReadyState() == 1
    assert pynvml.nvmlDeviceGetCount() == 0


@pytest.mark.usefixtures("session")
def test_memory_is_read_back(fake_driver: nvml.FakeDriver) -> None:
    """Both versions; the newer one keeps the driver's own share apart."""
    gpu = first_gpu(
        fake_driver, memory_bytes=50_000_000_003, memory_used_bytes=7, memory_reserved_bytes=1000, bar1_bytes=1 << 37
    )
    plain, detailed = pynvml.nvmlDeviceGetMemoryInfo(gpu), pynvml.nvmlDeviceGetMemoryInfo(gpu, pynvml.nvmlMemory_v2)
    assert (plain.total, plain.used, plain.free) == (50_000_000_003, 7, 49_999_999_996)
    assert (detailed.total, detailed.reserved, detailed.used, detailed.free) == (
        50_000_000_003,
        1000,
        7,
        49_999_998_996,
    )
    assert pynvml.nvmlDeviceGetBAR1MemoryInfo(gpu).bar1Total == 1 << 37


@pytest.mark.usefixtures("session")
def test_pci_facts_are_read_back(fake_driver: nvml.FakeDriver) -> None:
    """Address in parts and in both spellings, ids, class."""
    gpu = first_gpu(
        fake_driver,
        pci_address="00a1:3d:1f.0",
        pci_device_id=0x233010DE,
        pci_subsystem_id=0x16C110DE,
        pci_class=0x030200,
    )
    info, extended = pynvml.nvmlDeviceGetPciInfo(gpu), pynvml.nvmlPciInfoExt_v1_t(version=pynvml.nvmlPciInfoExt_v1)
    pynvml.nvmlDeviceGetPciInfoExt(gpu, ctypes.byref(extended))
    assert (info.domain, info.bus, info.device) == (0xA1, 0x3D, 0x1F)
    assert (info.busId, info.busIdLegacy) == ("000000A1:3D:1F.0", "00A1:3D:1F.0")
    assert (info.pciDeviceId, info.pciSubSystemId) == (0x233010DE, 0x16C110DE)
    assert (extended.baseClass, extended.subClass, extended.busId) == (0x03, 0x02, "000000A1:3D:1F.0")


def test_older_pci_call_writes_no_further_than_its_structure(
    fake_driver: nvml.FakeDriver, session: ctypes.CDLL
) -> None:
    """The first version's structure is shorter: what lies behind it stays."""
    gpu = first_gpu(fake_driver)
    size = ctypes.sizeof(pynvml.nvmlPciInfo_v2_t)
    buffer = ctypes.create_string_buffer(b"\xaa" * 100, 100)
    assert session.nvmlDeviceGetPciInfo_v2(gpu, buffer) == pynvml.NVML_SUCCESS
    assert buffer.raw.startswith(b"0000:07:00.0\0")
    assert buffer.raw[size:] == b"\xaa" * (100 - size)


@pytest.mark.usefixtures("session")
def test_link_partner_is_read_back(fake_driver: nvml.FakeDriver) -> None:
    """The PCI address at the other end of an NVLink."""
    link = {"active": 1, "remote_pci_address": "0000:c5:00.0", "remote_pci_device_id": 0x1AF110DE}
    info = pynvml.nvmlDeviceGetNvLinkRemotePciInfo(first_gpu(fake_driver, nvlinks=[link]), 0)
    assert (info.busId, info.pciDeviceId) == ("00000000:C5:00.0", 0x1AF110DE)


@pytest.mark.usefixtures("session")
def test_fabric_is_read_back(fake_driver: nvml.FakeDriver) -> None:
    """All three versions of the structure, each with what it has room for."""
    fabric = {
        "state": 3,
        "status": "NOT_SUPPORTED",
        "cluster_uuid": "01234567-89ab-cdef-0246-8ACE13579BDF",
        "clique_id": 7,
        "health_mask": 0x55,
        "health_summary": 2,
    }
    gpu = first_gpu(fake_driver, fabric=fabric)
    first, second, third = (
        pynvml.c_nvmlGpuFabricInfo_t(),
        pynvml.c_nvmlGpuFabricInfo_v2_t(),
        pynvml.c_nvmlGpuFabricInfo_v3_t(),
    )
    pynvml.nvmlDeviceGetGpuFabricInfo(gpu, ctypes.byref(first))
    pynvml.nvmlDeviceGetGpuFabricInfoV(gpu, ctypes.byref(second))
    pynvml.nvmlDeviceGetGpuFabricInfoV(gpu, ctypes.byref(third))
    for info in (first, second, third):
        assert bytes(info.clusterUuid).hex() == "0123456789abcdef02468ace13579bdf"
        assert (info.state, info.status, info.cliqueId) == (3, pynvml.NVML_ERROR_NOT_SUPPORTED, 7)
    assert (second.healthMask, third.healthMask, third.healthSummary) == (0x55, 0x55, 2)


@pytest.mark.usefixtures("session")
def test_health_structures_are_read_back(fake_driver: nvml.FakeDriver) -> None:
    """SRAM errors, the row remapper's banks, load."""
    sram = {
        "volatile": {"parity": 1, "sec_ded": 2, "corrected": 3},
        "aggregate": {"parity": 4, "sec_ded": 5, "corrected": 6},
        "threshold_exceeded": 1,
    }
    banks = {"max": 1, "high": 2, "partial": 3, "low": 4, "none": 5}
    gpu = first_gpu(fake_driver, ecc={"sram": sram}, remap={"histogram": banks}, utilization={"gpu": 91, "memory": 33})
    status, histogram = pynvml.c_nvmlEccSramErrorStatus_v1_t(), pynvml.nvmlDeviceGetRowRemapperHistogram(gpu)
    pynvml.nvmlDeviceGetSramEccErrorStatus(gpu, ctypes.byref(status))
    load = pynvml.nvmlDeviceGetUtilizationRates(gpu)
    assert [status.volatileUncParity, status.volatileUncSecDed, status.volatileCor] == [1, 2, 3]
    assert [status.aggregateUncParity, status.aggregateUncSecDed, status.aggregateCor] == [4, 5, 6]
    assert status.bThresholdExceeded == 1
    assert {name: getattr(histogram, name) for name in banks} == banks
    assert (load.gpu, load.memory) == (91, 33)


@pytest.mark.usefixtures("session")
def test_fields_are_read_back(fake_driver: nvml.FakeDriver) -> None:
    """Each type in its own member, errors per field, scopes, and a field that is not there."""
    fields = {
        "1": 4,
        "2": 1 << 40,
        "3": {"type": 0, "value": 2.5},
        "4": {"type": 5, "value": -3},
        "5": {"error": "UNKNOWN"},
        "6:2": 12,
        "6": 10,
        "7": {"type": 4, "value": -5_000_000_000},
    }
    gpu = first_gpu(fake_driver, fields=fields)
    values = pynvml.nvmlDeviceGetFieldValues(gpu, [1, 2, 3, 4, 5, (6, 2), (6, 1), 7, 8])
    assert [value.nvmlReturn for value in values] == [0, 0, 0, 0, pynvml.NVML_ERROR_UNKNOWN, 0, 0, 0, 3]
    assert (values[0].value.uiVal, values[1].value.ullVal, values[2].value.dVal) == (4, 1 << 40, 2.5)
    assert (values[3].value.siVal, values[5].value.uiVal, values[6].value.uiVal) == (-3, 12, 10)
    assert values[7].value.sllVal == -5_000_000_000
    assert [value.valueType for value in values][:4] == [1, 3, 0, 5]


@pytest.mark.usefixtures("session")
def test_processes_are_read_back(fake_driver: nvml.FakeDriver) -> None:
    """All of them from the GPU; from a MIG device those in it."""
    processes = [{"pid": 11, "memory_bytes": 1 << 33, "gi": 1, "ci": 0}, {"pid": 12, "memory_bytes": 5}]
    gpu = first_gpu(fake_driver, mig_devices=["1g.5gb"], processes=processes)
    mig = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0)
    found = pynvml.nvmlDeviceGetComputeRunningProcesses(gpu)
    assert [(one.pid, one.usedGpuMemory, one.gpuInstanceId) for one in found] == [(11, 1 << 33, 1), (12, 5, 0xFFFFFFFF)]
    assert [one.pid for one in pynvml.nvmlDeviceGetComputeRunningProcesses(mig)] == [11]
    assert pynvml.nvmlDeviceGetGraphicsRunningProcesses(gpu) == []


@pytest.mark.usefixtures("session")
def test_pairs_are_read_back(fake_driver: nvml.FakeDriver) -> None:
    """What two GPUs are to each other, asked from either side; far apart where nothing is said."""
    near = nvml.make_gpu(0, common_ancestor={SECOND: 10}, p2p={SECOND: 5})
    fake_driver.write(nvml.make_machine([near, nvml.make_gpu(1), nvml.make_gpu(2)]))
    first, second, third = map(pynvml.nvmlDeviceGetHandleByIndex, range(3))
    level = pynvml.nvmlDeviceGetTopologyCommonAncestor
    assert [level(first, second), level(second, first), level(first, third), level(first, first)] == [10, 10, 50, 0]
    assert (pynvml.nvmlDeviceGetP2PStatus(second, first, 0), pynvml.nvmlDeviceGetP2PStatus(third, first, 0)) == (5, 0)


@pytest.mark.usefixtures("session")
def test_gpu_is_found_by_each_of_its_names(fake_driver: nvml.FakeDriver) -> None:
    """Index, UUID, serial and PCI address lead to one handle; unknown ones to none."""
    fake_driver.write(nvml.make_machine([nvml.make_gpu(0), nvml.make_gpu(1)]))
    second = pynvml.nvmlDeviceGetHandleByIndex(1)
    found = [
        pynvml.nvmlDeviceGetHandleByUUID(SECOND),
        pynvml.nvmlDeviceGetHandleBySerial("1650000000001"),
        pynvml.nvmlDeviceGetHandleByPciBusId("00000000:0F:00.0"),
        pynvml.nvmlDeviceGetHandleByPciBusId("0000:0f:00.0"),
    ]
    assert [pynvml.nvmlDeviceGetIndex(gpu) for gpu in found] == [1, 1, 1, 1]
    assert {ctypes.addressof(gpu.contents) for gpu in found} == {ctypes.addressof(second.contents)}
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetHandleByUUID("GPU-none")
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetHandleByPciBusId("0000:ff:00.0")
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetHandleByPciBusId("nonsense")
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetHandleByIndex(2)


@pytest.mark.usefixtures("session")
def test_texts_need_room(fake_driver: nvml.FakeDriver, session: ctypes.CDLL) -> None:
    """A buffer that is one byte too small is left alone."""
    gpu, buffer = first_gpu(fake_driver, name="A" * 10), ctypes.create_string_buffer(b"\xaa" * 16, 16)
    assert session.nvmlDeviceGetName(gpu, buffer, 10) == pynvml.NVML_ERROR_INSUFFICIENT_SIZE
    assert buffer.raw == b"\xaa" * 16
    assert session.nvmlDeviceGetName(gpu, buffer, 11) == pynvml.NVML_SUCCESS
    assert buffer.raw == b"A" * 10 + b"\0" + b"\xaa" * 5


@pytest.mark.usefixtures("session")
def test_text_that_is_not_utf8(fake_driver: nvml.FakeDriver, session: ctypes.CDLL) -> None:
    """A name with arbitrary bytes passes as it is, written as Python's surrogate escapes."""
    gpu, buffer = first_gpu(fake_driver, name="GPU \udcff\N{GRINNING FACE}"), ctypes.create_string_buffer(96)
    assert session.nvmlDeviceGetName(gpu, buffer, 96) == pynvml.NVML_SUCCESS
    assert buffer.value == b"GPU \xff" + "\N{GRINNING FACE}".encode()


def test_unknown_structure_versions_are_refused(fake_driver: nvml.FakeDriver, session: ctypes.CDLL) -> None:
    """As an older driver would: by the structure's own version, and by what the description says it takes."""
    gpu = first_gpu(fake_driver, board="b200")
    memory = pynvml.c_nvmlMemory_v2_t(version=0x03000028)
    assert session.nvmlDeviceGetMemoryInfo_v2(gpu, ctypes.byref(memory)) == pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH
    fake_driver.write(nvml.make_machine([nvml.make_gpu(board="b200")], max_versions={"nvmlDeviceGetGpuFabricInfoV": 2}))
    pynvml.nvmlDeviceGetGpuFabricInfoV(gpu, ctypes.byref(pynvml.c_nvmlGpuFabricInfo_v2_t()))
    with pytest.raises(pynvml.NVMLError_ArgumentVersionMismatch):
        pynvml.nvmlDeviceGetGpuFabricInfoV(gpu, ctypes.byref(pynvml.c_nvmlGpuFabricInfo_v3_t()))
