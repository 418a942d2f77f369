"""Every function of the library, one by one: it answers, it fails as told, and it refuses to work without a session.

The calls are made bare, not through pynvml, which binds only one version of each.
"""

from __future__ import annotations

import ctypes
import struct

import pynvml
import pytest

from tests.fakes import nvml, nvml_library

ROOM = 8192
EVERYTHING: nvml.Json = {
    "numa": 0,
    "part_number": "900-21001-0000-000",
    "host_vgpu_mode": 0,
    "fabric": {"state": 3, "status": 0, "cluster_uuid": "0", "clique_id": 1, "health_mask": 0, "health_summary": 1},
    "retired_pages": {"single_bit": [], "double_bit": [], "pending": 0},
}
"""What an ordinary A100 answers NOT_SUPPORTED for."""

ARGUMENTS = {
    "nvmlInit": "",
    "nvmlInit_v2": "",
    "nvmlInitWithFlags": "0",
    "nvmlShutdown": "",
    "nvmlSystemGetDriverVersion": "out size",
    "nvmlSystemGetNVMLVersion": "out size",
    "nvmlSystemGetCudaDriverVersion": "out",
    "nvmlSystemGetCudaDriverVersion_v2": "out",
    "nvmlSystemGetConfComputeState": "out",
    "nvmlSystemGetConfComputeGpusReadyState": "out",
    "nvmlDeviceGetCount": "out",
    "nvmlDeviceGetCount_v2": "out",
    "nvmlDeviceGetHandleByIndex": "0 out",
    "nvmlDeviceGetHandleByIndex_v2": "0 out",
    "nvmlDeviceGetHandleByUUID": "uuid out",
    "nvmlDeviceGetHandleBySerial": "serial out",
    "nvmlDeviceGetHandleByPciBusId": "bus-id out",
    "nvmlDeviceGetHandleByPciBusId_v2": "bus-id out",
    "nvmlDeviceGetName": "gpu out size",
    "nvmlDeviceGetUUID": "gpu out size",
    "nvmlDeviceGetSerial": "gpu out size",
    "nvmlDeviceGetBoardPartNumber": "gpu out size",
    "nvmlDeviceGetVbiosVersion": "gpu out size",
    "nvmlDeviceGetIndex": "gpu out",
    "nvmlDeviceGetMinorNumber": "gpu out",
    "nvmlDeviceGetModuleId": "gpu out",
    "nvmlDeviceGetBrand": "gpu out",
    "nvmlDeviceGetArchitecture": "gpu out",
    "nvmlDeviceGetCudaComputeCapability": "gpu out out",
    "nvmlDeviceGetDisplayMode": "gpu out",
    "nvmlDeviceGetDisplayActive": "gpu out",
    "nvmlDeviceGetComputeMode": "gpu out",
    "nvmlDeviceGetPersistenceMode": "gpu out",
    "nvmlDeviceGetVirtualizationMode": "gpu out",
    "nvmlDeviceGetHostVgpuMode": "gpu out",
    "nvmlDeviceGetNumaNodeId": "gpu out",
    "nvmlDeviceGetAddressingMode": "gpu out:0x1000008",
    "nvmlDeviceGetMemoryInfo": "gpu out",
    "nvmlDeviceGetMemoryInfo_v2": "gpu out:0x2000028",
    "nvmlDeviceGetBAR1MemoryInfo": "gpu out",
    "nvmlDeviceGetMigMode": "gpu out out",
    "nvmlDeviceGetMaxMigDeviceCount": "gpu out",
    "nvmlDeviceGetMigDeviceHandleByIndex": "gpu 0 out",
    "nvmlDeviceIsMigDeviceHandle": "gpu out",
    "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": "mig out",
    "nvmlDeviceGetGpuInstanceId": "mig out",
    "nvmlDeviceGetComputeInstanceId": "mig out",
    "nvmlDeviceGetAttributes": "mig out",
    "nvmlDeviceGetAttributes_v2": "mig out",
    "nvmlDeviceGetGpuInstanceProfileInfo": "gpu 0 out",
    "nvmlDeviceGetGpuInstanceProfileInfoV": "gpu 0 out:0x2000098",
    "nvmlDeviceGetGpuInstancePossiblePlacements": "gpu 19 none out",
    "nvmlDeviceGetGpuInstancePossiblePlacements_v2": "gpu 19 none out",
    "nvmlDeviceGetGpuInstanceById": "gpu 1 out",
    "nvmlDeviceGetGpuInstances": "gpu 19 out out",
    "nvmlGpuInstanceGetInfo": "gi out",
    "nvmlGpuInstanceGetComputeInstanceById": "gi 0 out",
    "nvmlGpuInstanceGetComputeInstanceProfileInfo": "gi 0 0 out",
    "nvmlGpuInstanceGetComputeInstanceProfileInfoV": "gi 0 0 out:0x2000088",
    "nvmlComputeInstanceGetInfo": "ci out",
    "nvmlComputeInstanceGetInfo_v2": "ci out",
    "nvmlDeviceGetPciInfo": "gpu out",
    "nvmlDeviceGetPciInfo_v2": "gpu out",
    "nvmlDeviceGetPciInfo_v3": "gpu out",
    "nvmlDeviceGetPciInfoExt": "gpu out:0x1000040",
    "nvmlDeviceGetMaxPcieLinkGeneration": "gpu out",
    "nvmlDeviceGetGpuMaxPcieLinkGeneration": "gpu out",
    "nvmlDeviceGetCurrPcieLinkGeneration": "gpu out",
    "nvmlDeviceGetMaxPcieLinkWidth": "gpu out",
    "nvmlDeviceGetCurrPcieLinkWidth": "gpu out",
    "nvmlDeviceGetPcieReplayCounter": "gpu out",
    "nvmlDeviceGetNvLinkState": "gpu 0 out",
    "nvmlDeviceGetNvLinkVersion": "gpu 0 out",
    "nvmlDeviceGetNvLinkRemoteDeviceType": "gpu 0 out",
    "nvmlDeviceGetNvLinkErrorCounter": "gpu 0 0 out",
    "nvmlDeviceGetNvLinkRemotePciInfo": "gpu 0 out",
    "nvmlDeviceGetNvLinkRemotePciInfo_v2": "gpu 0 out",
    "nvmlDeviceGetGpuFabricInfo": "gpu out",
    "nvmlDeviceGetGpuFabricInfoV": "gpu out:0x2000024",
    "nvmlDeviceGetTopologyCommonAncestor": "gpu gpu out",
    "nvmlDeviceGetP2PStatus": "gpu gpu 0 out",
    "nvmlDeviceGetEccMode": "gpu out out",
    "nvmlDeviceGetTotalEccErrors": "gpu 0 0 out",
    "nvmlDeviceGetSramEccErrorStatus": "gpu out:0x1000068",
    "nvmlDeviceGetRemappedRows": "gpu out out out out",
    "nvmlDeviceGetRowRemapperHistogram": "gpu out",
    "nvmlDeviceGetRetiredPagesPendingStatus": "gpu out",
    "nvmlDeviceGetRetiredPages": "gpu 0 out none",
    "nvmlDeviceGetTemperature": "gpu 0 out",
    "nvmlDeviceGetTemperatureV": "gpu out:0x100000c",
    "nvmlDeviceGetPowerUsage": "gpu out",
    "nvmlDeviceGetCurrentClocksEventReasons": "gpu out",
    "nvmlDeviceGetCurrentClocksThrottleReasons": "gpu out",
    "nvmlDeviceGetUtilizationRates": "gpu out",
    "nvmlDeviceGetComputeRunningProcesses_v2": "gpu out none",
    "nvmlDeviceGetComputeRunningProcesses_v3": "gpu out none",
    "nvmlDeviceGetGraphicsRunningProcesses_v3": "gpu out none",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3": "gpu out none",
    "nvmlDeviceGetFieldValues": "gpu 1 out",
    "nvmlEventSetCreate": "out",
    "nvmlEventSetFree": "set",
    "nvmlDeviceGetSupportedEventTypes": "gpu out",
    "nvmlDeviceRegisterEvents": "gpu 8 set",
    "nvmlEventSetWait": "set out 0",
    "nvmlEventSetWait_v2": "set out 0",
}

ABOUT_ONE_GPU = [name for name, words in ARGUMENTS.items() if {"gpu", "mig", "gi", "ci"} & set(words.split())]


def full_machine(**overrides: object) -> nvml.Json:
    """One A100 with one MIG device that answers everything, and an Xid waiting."""
    gpu = nvml.make_gpu(mig_devices=["1g.5gb"], **EVERYTHING)
    state = {"environment": 0, "feature": 0, "devtools_mode": 0, "gpus_ready": 1}
    return nvml.make_machine([gpu], conf_compute=state, events=[nvml.make_event(1, gpu, 79)]) | overrides


class Caller:
    """Makes calls with handles of one session."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self.handles: dict[str, object] = {}

    def collect_handles(self) -> None:
        """One of each kind; the set is registered for everything that the GPU supports."""
        gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
        instance = pynvml.nvmlDeviceGetGpuInstanceById(gpu, 1)
        events = pynvml.nvmlEventSetCreate()
        pynvml.nvmlDeviceRegisterEvents(gpu, pynvml.nvmlEventTypeXidCriticalError, events)
        self.handles = {
            "gpu": gpu,
            "mig": pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0),
            "gi": instance,
            "ci": pynvml.nvmlGpuInstanceGetComputeInstanceById(instance, 0),
            "set": events,
        }

    def __call__(self, name: str, *, without_room: bool = False) -> int:
        """The return code; ``without_room`` passes null pointers for the answers."""
        words = ARGUMENTS[name].split()
        arguments = [None if without_room and word.startswith("out") else self._argument(word) for word in words]
        return int(getattr(self.library, name)(*arguments))

    def _argument(self, word: str) -> object:
        fixed = {
            "size": ctypes.c_uint(96),
            "none": None,
            "uuid": nvml.gpu_uuid(0).encode(),
            "serial": b"1650000000000",
            "bus-id": b"00000000:07:00.0",
        }
        if word.startswith("out"):
            _, _, version = word.partition(":")
            return ctypes.create_string_buffer(struct.pack("I", int(version or "0", 16)), ROOM)
        if word.isdigit():
            return ctypes.c_uint(int(word))
        return fixed[word] if word in fixed else self.handles.get(word)


@pytest.fixture
def caller(fake_driver: nvml.FakeDriver, library: ctypes.CDLL) -> Caller:
    """A session on the full machine, with handles."""
    fake_driver.write(full_machine())
    pynvml.nvmlInit()
    made = Caller(library)
    made.collect_handles()
    return made


def test_every_call_is_listed() -> None:
    """A function without a line here would be unchecked."""
    assert set(ARGUMENTS) == set(nvml_library.calls())


@pytest.mark.parametrize("name", ARGUMENTS)
def test_call_answers(caller: Caller, name: str) -> None:
    """On a machine that has everything, everything succeeds."""
    assert caller(name) == pynvml.NVML_SUCCESS


def test_calls_fail_as_the_machine_says(fake_driver: nvml.FakeDriver, caller: Caller) -> None:
    """Any call can be made to return any code, while the session is open."""
    results = {}
    for name in ARGUMENTS:
        fake_driver.write(full_machine(fail={name: "RESET_REQUIRED"}))
        results[name] = caller(name)
    assert results == dict.fromkeys(ARGUMENTS, pynvml.NVML_ERROR_RESET_REQUIRED)


def test_calls_fail_as_the_gpu_says(fake_driver: nvml.FakeDriver, caller: Caller) -> None:
    """A call about one GPU can fail for that GPU alone."""
    machine, results = full_machine(), {}
    for name in ABOUT_ONE_GPU:
        machine["gpus"][0]["fail"] = {name: "UNKNOWN"}
        fake_driver.write(machine)
        results[name] = caller(name)
    assert results == dict.fromkeys(ABOUT_ONE_GPU, pynvml.NVML_ERROR_UNKNOWN)


def test_calls_about_a_lost_gpu(fake_driver: nvml.FakeDriver, caller: Caller) -> None:
    """A GPU that is lost answers nothing, nor do its MIG devices and instances."""
    machine = full_machine()
    machine["gpus"][0]["fail"] = {"*": "GPU_IS_LOST"}
    fake_driver.write(machine)
    results = {name: caller(name) for name in ABOUT_ONE_GPU}
    assert results == dict.fromkeys(ABOUT_ONE_GPU, pynvml.NVML_ERROR_GPU_IS_LOST)


def test_calls_about_a_gpu_that_has_gone(fake_driver: nvml.FakeDriver, caller: Caller) -> None:
    """A GPU that has left the machine is lost to the handles that are still about."""
    fake_driver.write(full_machine(gpus=[nvml.make_gpu(1)]))
    results = {name: caller(name) for name in ABOUT_ONE_GPU}
    assert results == dict.fromkeys(ABOUT_ONE_GPU, pynvml.NVML_ERROR_GPU_IS_LOST)


def test_calls_without_a_session(caller: Caller) -> None:
    """After the last shutdown nothing works but init."""
    names = [name for name in ARGUMENTS if not name.startswith("nvmlInit")]
    pynvml.nvmlShutdown()
    assert {name: caller(name) for name in names} == dict.fromkeys(names, pynvml.NVML_ERROR_UNINITIALIZED)


def test_calls_with_a_handle_of_an_earlier_session(caller: Caller) -> None:
    """Handles end with their session, even where the new one has given out as many."""
    pynvml.nvmlShutdown()
    pynvml.nvmlInit()
    Caller(caller.library).collect_handles()
    results = {name: caller(name) for name in ABOUT_ONE_GPU}
    assert results == dict.fromkeys(ABOUT_ONE_GPU, pynvml.NVML_ERROR_INVALID_ARGUMENT)


def test_calls_without_room_for_the_answer(caller: Caller) -> None:
    """A null pointer for the answer is an invalid argument, not a crash."""
    names = [name for name, words in ARGUMENTS.items() if "out" in words]
    results = {name: caller(name, without_room=True) for name in names}
    assert results == dict.fromkeys(names, pynvml.NVML_ERROR_INVALID_ARGUMENT)
