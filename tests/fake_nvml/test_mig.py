"""MIG through pynvml: devices, instances, profiles, and what is refused where."""

from __future__ import annotations

import ctypes
from typing import Any

import pynvml
import pytest

from tests.fakes import boards, nvml


def mig_gpu(driver: nvml.FakeDriver, devices: list[Any], board: str = "a100-40", **mig: Any) -> Any:
    """The handle of a GPU with these MIG devices."""
    gpu = nvml.make_gpu(board=board, mig_devices=devices, mig=mig)
    driver.write(nvml.make_machine([gpu]))
    return pynvml.nvmlDeviceGetHandleByIndex(0)


def instance_infos(mig: Any) -> tuple[Any, Any]:
    """The GPU instance's and the compute instance's record of a MIG device."""
    parent = pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig)
    instance = pynvml.nvmlDeviceGetGpuInstanceById(parent, pynvml.nvmlDeviceGetGpuInstanceId(mig))
    compute = pynvml.nvmlGpuInstanceGetComputeInstanceById(instance, pynvml.nvmlDeviceGetComputeInstanceId(mig))
    return pynvml.nvmlGpuInstanceGetInfo(instance), pynvml.nvmlComputeInstanceGetInfo(compute)


@pytest.mark.usefixtures("session")
def test_mig_device_is_read_back(fake_driver: nvml.FakeDriver) -> None:
    """Identity, memory and every attribute, each with a value of its own."""
    attributes = {
        "memory_mib": 20096,
        "multiprocessors": 42,
        "gpu_slices": 3,
        "compute_slices": 2,
        "copy_engines": 4,
        "decoders": 5,
        "encoders": 6,
        "jpeg_engines": 7,
        "ofa_engines": 8,
    }
    device = nvml.make_mig_device("2c.3g.20gb", gi_id=2, ci_id=1, placement=(4, 4), attributes=attributes)
    mig = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(mig_gpu(fake_driver, [device]), 0)
    read, memory = pynvml.nvmlDeviceGetAttributes(mig), pynvml.nvmlDeviceGetMemoryInfo(mig)
    gpu_info, compute_info = instance_infos(mig)
    assert pynvml.nvmlDeviceGetUUID(mig) == nvml.mig_uuid(0, 2, 1)
    assert pynvml.nvmlDeviceGetName(mig) == "NVIDIA A100-SXM4-40GB MIG 2c.3g.20gb"
    assert pynvml.nvmlDeviceIsMigDeviceHandle(mig).value == 1
    assert memory.total == 20096 << 20
    assert (read.memorySizeMB, read.multiprocessorCount) == (20096, 42)
    assert (read.gpuInstanceSliceCount, read.computeInstanceSliceCount) == (3, 2)
    assert [read.sharedCopyEngineCount, read.sharedDecoderCount, read.sharedEncoderCount] == [4, 5, 6]
    assert [read.sharedJpegCount, read.sharedOfaCount] == [7, 8]
    assert (gpu_info.id, gpu_info.profileId, gpu_info.placement.start, gpu_info.placement.size) == (2, 9, 4, 4)
    assert (compute_info.id, compute_info.profileId) == (1, pynvml.NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE)
    assert (compute_info.placement.start, compute_info.placement.size) == (2, 2)


@pytest.mark.usefixtures("session")
def test_handles_inside_records_are_the_gpus(fake_driver: nvml.FakeDriver) -> None:
    """The parent that an instance names is the GPU itself."""
    gpu = mig_gpu(fake_driver, ["1g.5gb"])
    gpu_info, compute_info = instance_infos(pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0))
    assert pynvml.nvmlDeviceGetUUID(gpu_info.device) == pynvml.nvmlDeviceGetUUID(compute_info.device)
    assert pynvml.nvmlGpuInstanceGetInfo(compute_info.gpuInstance).id == gpu_info.id
    assert pynvml.nvmlDeviceIsMigDeviceHandle(gpu).value == 0


@pytest.mark.usefixtures("session")
def test_mig_uuid_leads_to_the_device(fake_driver: nvml.FakeDriver) -> None:
    """By UUID a MIG device is found among those of all GPUs."""
    mig_gpu(fake_driver, ["3g.20gb", "2g.10gb"])
    found = pynvml.nvmlDeviceGetHandleByUUID(nvml.mig_uuid(0, 2, 0))
    assert pynvml.nvmlDeviceGetGpuInstanceId(found) == 2


@pytest.mark.usefixtures("session")
def test_gaps_and_ends_of_the_enumeration(fake_driver: nvml.FakeDriver) -> None:
    """Positions without a device are not found, those beyond the maximum are invalid."""
    devices = [nvml.make_mig_device(gi_id=7, index=0), nvml.make_mig_device(gi_id=9, index=3)]
    gpu, found = mig_gpu(fake_driver, devices), {}
    for index in range(8):
        try:
            mig = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, index)
            found[index] = pynvml.nvmlDeviceGetGpuInstanceId(mig)
        except pynvml.NVMLError as error:
            found[index] = type(error).__name__
    missing = "NVMLError_NotFound"
    assert list(found.values()) == [7, missing, missing, 9, missing, missing, missing, "NVMLError_InvalidArgument"]


@pytest.mark.usefixtures("session")
def test_mode_decides_what_is_there(fake_driver: nvml.FakeDriver) -> None:
    """Off: no devices even where some are described; not capable: not supported."""
    gpu = mig_gpu(fake_driver, ["1g.5gb"], current=0, pending=1)
    assert (pynvml.nvmlDeviceGetMigMode(gpu), pynvml.nvmlDeviceGetMaxMigDeviceCount(gpu)) == ([0, 1], 0)
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0)
    fake_driver.write(nvml.make_machine([nvml.make_gpu(board="t4")]))
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceGetMigMode(gpu)
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0)
    assert pynvml.nvmlDeviceGetMaxMigDeviceCount(gpu) == 0


@pytest.mark.usefixtures("session")
def test_calls_of_gpus_refuse_mig_devices_and_the_other_way_round(fake_driver: nvml.FakeDriver) -> None:
    """An invalid argument, whichever way."""
    gpu = mig_gpu(fake_driver, ["1g.5gb"])
    mig = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0)
    for call in (pynvml.nvmlDeviceGetMinorNumber, pynvml.nvmlDeviceGetPciInfo, pynvml.nvmlDeviceGetMigMode):
        with pytest.raises(pynvml.NVMLError_InvalidArgument):
            call(mig)
    for call in (pynvml.nvmlDeviceGetGpuInstanceId, pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle):
        with pytest.raises(pynvml.NVMLError_InvalidArgument):
            call(gpu)
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceGetAttributes(gpu)


@pytest.mark.usefixtures("session")
def test_handle_of_a_destroyed_device_is_not_found(fake_driver: nvml.FakeDriver) -> None:
    """Another layout has other devices, even at the same place."""
    gpu = mig_gpu(fake_driver, ["1g.5gb"])
    mig = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0)
    mig_gpu(fake_driver, [nvml.make_mig_device(uuid="MIG-other")])
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetUUID(mig)


@pytest.mark.usefixtures("session")
def test_one_mig_device_fails_alone(fake_driver: nvml.FakeDriver) -> None:
    """Its own failures count for it, its GPU's for all, and it can be left out of those."""
    devices = [nvml.make_mig_device(gi_id=7), nvml.make_mig_device(gi_id=8)]
    devices[0]["fail"] = {"*": "UNKNOWN", "nvmlDeviceGetUUID": "SUCCESS", "nvmlDeviceGetName": "NOT_FOUND"}
    gpu = mig_gpu(fake_driver, devices)
    broken, well = (pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, index) for index in range(2))
    assert pynvml.nvmlDeviceGetUUID(broken) == devices[0]["uuid"]
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetName(broken)
    with pytest.raises(pynvml.NVMLError_Unknown):
        pynvml.nvmlDeviceGetAttributes(broken)
    assert pynvml.nvmlDeviceGetAttributes(well).gpuInstanceSliceCount == 1


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("board", [name for name, board in boards.BOARDS.items() if board.profiles])
def test_profiles_are_read_back(fake_driver: nvml.FakeDriver, board: str) -> None:
    """Both versions of the call tell every profile of the board, and no other."""
    gpu = mig_gpu(fake_driver, [], board)
    expected = {row.index: row for row in boards.BOARDS[board].profiles}
    for index in range(pynvml.NVML_GPU_INSTANCE_PROFILE_COUNT):
        if index not in expected:
            with pytest.raises(pynvml.NVMLError_NotSupported):
                pynvml.nvmlDeviceGetGpuInstanceProfileInfo(gpu, index)
            continue
        row = expected[index]
        for version in (1, 2):
            info = pynvml.nvmlDeviceGetGpuInstanceProfileInfo(gpu, index, version=version)
            assert (info.id, info.sliceCount, info.instanceCount) == (row.profile_id, row.slices, row.instances)
            assert (info.memorySizeMB, info.multiprocessorCount) == (row.memory_mib, row.multiprocessors)
            assert (info.copyEngineCount, info.decoderCount, info.jpegCount, info.ofaCount) == row.engines
        assert info.name == f"MIG {row.name}"
        assert possible_placements(gpu, row.profile_id) == list(row.placements)


def possible_placements(gpu: Any, profile_id: int) -> list[tuple[int, int]]:
    """As a client asks: first how many, then which."""
    count = ctypes.c_uint()
    pynvml.nvmlDeviceGetGpuInstancePossiblePlacements(gpu, profile_id, None, ctypes.byref(count))
    room = (pynvml.c_nvmlGpuInstancePlacement_t * count.value)()
    pynvml.nvmlDeviceGetGpuInstancePossiblePlacements(gpu, profile_id, room, ctypes.byref(count))
    return [(place.start, place.size) for place in room]


@pytest.mark.usefixtures("session")
def test_profile_of_a_newer_driver(fake_driver: nvml.FakeDriver) -> None:
    """An index beyond those that NVML has today is valid where the description has it, and invalid elsewhere."""
    row = nvml.profile_row(boards.BOARDS["a100-40"].profiles[0]) | {"id": 20, "name": "1g.5gb+new"}
    gpu = mig_gpu(fake_driver, [], profiles=[row])
    assert pynvml.nvmlDeviceGetGpuInstanceProfileInfo(gpu, 20).name == "MIG 1g.5gb+new"
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetGpuInstanceProfileInfo(gpu, 21)


@pytest.mark.usefixtures("session")
def test_compute_profiles_of_an_instance(fake_driver: nvml.FakeDriver) -> None:
    """As many slices as the instance has, or at most half of them rounded up; shares follow."""
    gpu = mig_gpu(fake_driver, ["7g.40gb"])
    instance, offered = pynvml.nvmlDeviceGetGpuInstanceById(gpu, 1), {}
    for index in range(pynvml.NVML_COMPUTE_INSTANCE_PROFILE_COUNT):
        try:
            info = pynvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, index, 0)
            plain = pynvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, index, 0, version=1)
        except pynvml.NVMLError_NotSupported:
            continue
        assert (plain.id, plain.sliceCount, plain.multiprocessorCount) == (
            info.id,
            info.sliceCount,
            info.multiprocessorCount,
        )
        offered[info.name] = (info.id, info.instanceCount, info.multiprocessorCount)
    assert offered == {
        "MIG 1c.7g.40gb": (0, 7, 14),
        "MIG 2c.7g.40gb": (1, 3, 28),
        "MIG 3c.7g.40gb": (2, 2, 42),
        "MIG 4c.7g.40gb": (3, 1, 56),
        "MIG 7g.40gb": (4, 1, 98),
    }


@pytest.mark.usefixtures("session")
def test_compute_profiles_can_be_listed(fake_driver: nvml.FakeDriver) -> None:
    """A profile with a list of its own offers just that."""
    rows = [nvml.profile_row(row) | {"ci_profiles": [7]} for row in boards.BOARDS["a100-40"].profiles]
    instance = pynvml.nvmlDeviceGetGpuInstanceById(mig_gpu(fake_driver, ["1g.5gb"], profiles=rows), 1)
    assert pynvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, 7, 0).sliceCount == 1
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, 0, 0)


@pytest.mark.usefixtures("session")
def test_gpu_instances_of_a_profile(fake_driver: nvml.FakeDriver) -> None:
    """Each once, however many compute instances it has, and those without any too."""
    bare = [{"gi_id": 9, "gi_profile": 2, "placement": [4, 4]}]
    devices = ["1c.3g.20gb", "1c.3g.20gb", "1g.5gb"]
    gpu = mig_gpu(fake_driver, devices, gpu_instances=bare)
    room, count = (pynvml.c_nvmlGpuInstance_t * 8)(), ctypes.c_uint()
    pynvml.nvmlDeviceGetGpuInstances(gpu, 9, room, ctypes.byref(count))
    infos = [pynvml.nvmlGpuInstanceGetInfo(instance) for instance in room[: count.value]]
    assert [(info.id, info.placement.start) for info in infos] == [(1, 0), (9, 4)]
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlGpuInstanceGetComputeInstanceById(room[1], 0)
