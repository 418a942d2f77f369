from __future__ import annotations

import threading

import pytest

from gpu_discovery.core import model
from gpu_discovery.core.nvml import reader
from tests.fakes import nvml
from tests.gpu_discovery.core.nvml import reading


def profiles(gpu: model.Gpu) -> list[str | None]:
    """The profiles of a GPU's MIG devices, by index."""
    assert gpu.mig is not None
    return [device.profile for device in gpu.mig.devices]


def test_every_fact_of_a_mig_device(fake_driver: nvml.FakeDriver) -> None:
    """UUID, ids, placement, profile, attributes and exact memory."""
    gpu = reading.read_gpu(fake_driver, nvml.make_gpu(0, mig_devices=["3g.20gb", "1c.3g.20gb"]))
    assert gpu.mig is not None
    assert gpu.is_mig_enabled
    assert gpu.mig.max_devices == 7
    assert gpu.mig.devices[1] == model.MigDevice(
        index=1,
        uuid=model.GpuUuid(nvml.mig_uuid(0, 2, 0)),
        gpu_instance_id=2,
        compute_instance_id=0,
        profile="1c.3g.20gb",
        attributes=model.MigAttributes(20096, 14, 3, 1, 3, 2, 0, 0, 0),
        memory_bytes=20096 << 20,
        placement=model.Placement(4, 4),
        gpu_instance_profile_id=9,
        compute_instance_profile_id=gpu.mig.devices[1].compute_instance_profile_id,
    )


def test_a_gpu_that_is_not_capable(fake_driver: nvml.FakeDriver) -> None:
    """No MIG is None; capable and off is a value."""
    assert reading.read_gpu(fake_driver, nvml.make_gpu(0, "t4")).mig is None
    off = reading.read_gpu(fake_driver, nvml.make_gpu(0)).mig
    assert off is not None
    assert (off.enabled, off.pending, off.devices) == (False, False, ())


def test_a_driver_without_mig(fake_driver: nvml.FakeDriver) -> None:
    """A driver before 450 lacks the symbol: not capable, no failure."""
    machine = nvml.make_machine(missing_symbols=["nvmlDeviceGetMigMode"])
    gpu = reading.read_once(fake_driver, machine).gpus[0]
    assert (gpu.mig, gpu.failures) == (None, ())


def test_pending_mode_is_told(fake_driver: nvml.FakeDriver) -> None:
    """The mode after the next reset stands beside the one now."""
    mig = reading.read_gpu(fake_driver, nvml.make_gpu(0, mig={"current": 0, "pending": 1})).mig
    assert mig is not None
    assert (mig.enabled, mig.pending) == (False, True)


def test_enabled_without_devices(fake_driver: nvml.FakeDriver) -> None:
    """An empty MIG GPU is a value like any other."""
    gpu = reading.read_gpu(fake_driver, nvml.make_gpu(0, mig_devices=[]))
    assert (gpu.is_mig_enabled, profiles(gpu), gpu.failures) == (True, [], ())


def test_sizes_are_rounded_as_the_driver_does(fake_driver: nvml.FakeDriver) -> None:
    """20096 MiB of a 42505273344-byte A100 are 20gb, not 21 (T07)."""
    gpu = reading.read_gpu(fake_driver, nvml.make_gpu(0, memory_bytes=42505273344, mig_devices=["3g.20gb", "3g.20gb"]))
    assert profiles(gpu) == ["3g.20gb", "3g.20gb"]


def test_profiles_of_one_size_are_told_apart(fake_driver: nvml.FakeDriver) -> None:
    """``1g.10gb`` and ``1g.10gb+me`` are two profiles (T08)."""
    layout = ["1g.10gb"] * 4 + ["1g.10gb+me", "1g.20gb"]
    gpu = reading.read_gpu(fake_driver, nvml.make_gpu(0, "a100-80", mig_devices=layout))
    assert sorted(map(str, profiles(gpu))) == sorted(layout)


@pytest.mark.parametrize("board", ["a100-40", "a100-80", "a30", "h100-80", "h200", "b200", "gb200", "rtx-pro-6000"])
def test_possible_profiles_of_every_board(fake_driver: nvml.FakeDriver, board: str) -> None:
    """What a board offers is named as its data sheet does, whether MIG is on or off."""
    offered = {row.name for row in nvml.boards.BOARDS[board].profiles}
    for devices in (None, []):
        mig = reading.read_gpu(fake_driver, nvml.make_gpu(0, board, mig_devices=devices)).mig
        assert mig is not None
        assert set(mig.possible_profiles) == offered
        assert len(mig.possible_profiles) == len(offered)


@pytest.mark.parametrize("error", ["NOT_FOUND", "INVALID_ARGUMENT"])
def test_an_empty_slot_is_skipped(fake_driver: nvml.FakeDriver, error: str) -> None:
    """A slot where NVML finds nothing is empty (R025), and the others keep their index."""
    gone = nvml.make_mig_device(gi_id=7, fail={"nvmlDeviceGetMigDeviceHandleByIndex": error})
    gpu = reading.read_gpu(fake_driver, nvml.make_gpu(0, mig_devices=[gone, "1g.5gb"]))
    assert gpu.mig is not None
    assert [device.index for device in gpu.mig.devices] == [1]
    assert gpu.failures == ()


def test_a_slot_that_cannot_be_read_is_recorded(fake_driver: nvml.FakeDriver) -> None:
    """An error at one slot leaves the other MIG devices."""
    bad = nvml.make_mig_device(gi_id=7, fail={"nvmlDeviceGetMigDeviceHandleByIndex": "UNKNOWN"})
    gpu = reading.read_gpu(fake_driver, nvml.make_gpu(0, mig_devices=[bad, "1g.5gb"]))
    assert profiles(gpu) == ["1g.5gb"]
    assert gpu.failures == (model.ReadFailure("mig.devices", "nvmlDeviceGetMigDeviceHandleByIndex", "UNKNOWN", 999),)


@pytest.mark.parametrize(
    ("call", "fact", "missing"),
    [
        ("nvmlDeviceGetUUID", "uuid", "uuid"),
        ("nvmlDeviceGetGpuInstanceId", "gpu_instance_id", "profile"),
        ("nvmlDeviceGetComputeInstanceId", "compute_instance_id", "profile"),
        ("nvmlDeviceGetAttributes_v2", "attributes", "attributes"),
        ("nvmlDeviceGetMemoryInfo", "memory_bytes", "memory_bytes"),
    ],
)
def test_a_mig_fact_that_fails_is_recorded(fake_driver: nvml.FakeDriver, call: str, fact: str, missing: str) -> None:
    """A failure stands in the MIG device, and its neighbour is whole."""
    bad = nvml.make_mig_device(gi_id=7, fail={call: "NO_PERMISSION"})
    gpu = reading.read_gpu(fake_driver, nvml.make_gpu(0, mig_devices=[bad, "1g.5gb"]))
    assert gpu.mig is not None
    broken, whole = gpu.mig.devices
    assert broken.failures == (model.ReadFailure(fact, call, "NO_PERMISSION", 4),)
    assert getattr(broken, missing) is None
    assert (whole.profile, whole.failures) == ("1g.5gb", ())
    assert gpu.failures == ()


@pytest.mark.parametrize(
    "call",
    [
        "nvmlDeviceGetGpuInstanceById",
        "nvmlGpuInstanceGetInfo",
        "nvmlGpuInstanceGetComputeInstanceById",
        "nvmlComputeInstanceGetInfo_v2",
        "nvmlGpuInstanceGetComputeInstanceProfileInfo",
    ],
)
def test_a_profile_that_cannot_be_told_is_not_guessed(fake_driver: nvml.FakeDriver, call: str) -> None:
    """The instances behind the device tell ``+me`` from plain; without them there is no profile, and the reason."""
    machine = nvml.make_machine([nvml.make_gpu(0, mig_devices=["1g.5gb"])], fail={call: "NO_PERMISSION"})
    (device,) = reading.read_once(fake_driver, machine).gpus[0].mig.devices  # type: ignore[union-attr]  # It has MIG.
    assert device.profile is None
    assert device.failures == (model.ReadFailure("profile", call, "NO_PERMISSION", 4),)
    assert device.uuid == nvml.mig_uuid(0, 1, 0)


def test_a_kind_of_instance_from_the_future(fake_driver: nvml.FakeDriver) -> None:
    """A profile that the board's list lacks is named by the slices that NVML counts, and hides nothing."""
    gpu = nvml.make_gpu(0, mig_devices=["3g.20gb"])
    gpu["mig"]["profiles"] = [row for row in gpu["mig"]["profiles"] if row["name"].startswith("1g")]
    assert profiles(reading.read_gpu(fake_driver, gpu)) == ["3g.20gb"]


def test_a_partly_readable_list_of_profiles_is_not_guessed_from(fake_driver: nvml.FakeDriver) -> None:
    """While NVML refuses the list a ``+me`` instance must not pass for a plain one."""
    machine = nvml.make_machine(
        [nvml.make_gpu(0, mig_devices=["1g.5gb+me"])], fail={"nvmlDeviceGetGpuInstanceProfileInfo": "UNKNOWN"}
    )
    gpu = reading.read_once(fake_driver, machine).gpus[0]
    assert profiles(gpu) == [None]
    assert {failure.call for failure in gpu.failures} == {"nvmlDeviceGetGpuInstanceProfileInfo"}


def test_an_unreadable_count_is_not_an_empty_gpu(fake_driver: nvml.FakeDriver) -> None:
    """Without the number of slots the list of devices is failed, not empty."""
    gpu = reading.read_gpu(
        fake_driver, nvml.make_gpu(0, mig_devices=["1g.5gb"], fail={"nvmlDeviceGetMaxMigDeviceCount": "UNKNOWN"})
    )
    assert gpu.failures == (model.ReadFailure("mig.devices", "nvmlDeviceGetMaxMigDeviceCount", "UNKNOWN", 999),)


@pytest.mark.parametrize(
    "call",
    [
        "nvmlDeviceGetMaxMigDeviceCount",
        "nvmlDeviceGetGpuInstanceProfileInfo",
        "nvmlGpuInstanceGetInfo",
        "nvmlDeviceGetMemoryInfo",
        "nvmlDeviceGetMigDeviceHandleByIndex",
    ],
)
def test_what_failed_is_asked_again(fake_driver: nvml.FakeDriver, call: str) -> None:
    """A failure of one pass is not remembered as the truth."""
    subject = reader.NvmlReader(fake_driver.root)
    gpus = [nvml.make_gpu(0, mig_devices=["1g.5gb", "1g.5gb+me"])]
    reading.read(subject, fake_driver, nvml.make_machine(gpus, fail={call: "UNKNOWN"}))
    after = reading.read(subject, fake_driver, nvml.make_machine(gpus)).gpus
    assert after == reading.read_once(fake_driver, nvml.make_machine(gpus)).gpus


def test_a_walk_that_met_a_change_is_walked_again(fake_driver: nvml.FakeDriver) -> None:
    """A MIG device that vanishes while it is read costs a second look, not a failure (R030)."""
    subject = reader.NvmlReader(fake_driver.root)
    one_slot = {"max_devices": 1, "current": 1, "pending": 1}

    def write(devices: list[nvml.Json], call: str, fail: dict[str, str]) -> None:
        gpu = nvml.make_gpu(0, mig=one_slot | {"devices": devices}, hang={call: -1} if call else {}, fail=fail)
        fake_driver.write(nvml.make_machine([gpu]))

    old, new = nvml.make_mig_device("1g.5gb"), nvml.make_mig_device("3g.20gb", gi_id=2)
    vanishing = {"nvmlDeviceGetGpuInstanceId": "NOT_FOUND"}
    write([old], "nvmlDeviceGetGpuInstanceId", vanishing)
    found: list[reader.NvmlFacts] = []
    thread = threading.Thread(target=lambda: found.append(subject.read(pci={}, driver_load=reading.LOAD)))
    thread.start()
    try:
        reading.wait_until(lambda: is_in(subject, "nvmlDeviceGetGpuInstanceId"))
        write([old], "nvmlDeviceGetMigDeviceHandleByIndex", vanishing)
        reading.wait_until(lambda: is_in(subject, "nvmlDeviceGetMigDeviceHandleByIndex"))
    finally:
        write([new], "", {})
        thread.join(10)
    (gpu,) = found[0].gpus
    assert (profiles(gpu), gpu.failures) == (["3g.20gb"], ())


def is_in(subject: reader.NvmlReader, call: str) -> bool:
    """Whether this call is in flight."""
    return subject.in_flight is not None and subject.in_flight.call == call


def test_what_a_mig_device_is_is_asked_once(fake_driver: nvml.FakeDriver) -> None:
    """As long as its UUID, ids and attributes stay, neither its profile nor its placement is asked for again."""
    subject = reader.NvmlReader(fake_driver.root)
    gpus = [nvml.make_gpu(0, mig_devices=["1g.5gb", "3g.20gb"])]
    before = reading.read(subject, fake_driver, nvml.make_machine(gpus)).gpus
    fail = {"nvmlGpuInstanceGetInfo": "UNKNOWN", "nvmlDeviceGetGpuInstanceProfileInfo": "UNKNOWN"}
    assert reading.read(subject, fake_driver, nvml.make_machine(gpus, fail=fail)).gpus == before


def test_slots_that_appear_late(fake_driver: nvml.FakeDriver) -> None:
    """MIG that is on and counts no slots yet is asked again."""
    subject = reader.NvmlReader(fake_driver.root)
    gpu = nvml.make_gpu(0, mig_devices=["1g.5gb"])
    early = gpu | {"mig": gpu["mig"] | {"max_devices": 0}}
    assert profiles(reading.read(subject, fake_driver, nvml.make_machine([early])).gpus[0]) == []
    assert profiles(reading.read(subject, fake_driver, nvml.make_machine([gpu])).gpus[0]) == ["1g.5gb"]


def test_a_new_layout_is_seen_in_the_next_pass(fake_driver: nvml.FakeDriver) -> None:
    """Ids and UUIDs that are used again for another profile do not bring back the old one (R030)."""
    subject = reader.NvmlReader(fake_driver.root)
    for layout in (["1g.5gb", "1g.5gb"], ["3g.20gb"], ["4g.20gb", "3g.20gb"], [], ["1g.5gb"]):
        machine = nvml.make_machine([nvml.make_gpu(0, mig_devices=layout)])
        assert profiles(reading.read(subject, fake_driver, machine).gpus[0]) == layout


def test_switching_mig_on_is_seen(fake_driver: nvml.FakeDriver) -> None:
    """NVML counts no slots while MIG is off; that must not stick."""
    subject = reader.NvmlReader(fake_driver.root)
    assert reading.read(subject, fake_driver).gpus[0].is_mig_enabled is False
    machine = nvml.make_machine([nvml.make_gpu(0, mig_devices=["7g.40gb"])])
    assert profiles(reading.read(subject, fake_driver, machine).gpus[0]) == ["7g.40gb"]


def test_a_mig_device_keeps_its_record_at_another_index(fake_driver: nvml.FakeDriver) -> None:
    """When a slot before it is emptied, only the index of a MIG device changes."""
    subject = reader.NvmlReader(fake_driver.root)
    first, second = nvml.make_mig_device(gi_id=7), nvml.make_mig_device(gi_id=8)
    before = reading.read(subject, fake_driver, nvml.make_machine([nvml.make_gpu(0, mig_devices=[first, second])]))
    after = reading.read(subject, fake_driver, nvml.make_machine([nvml.make_gpu(0, mig_devices=[second])]))
    assert before.gpus[0].mig.devices[1].uuid == after.gpus[0].mig.devices[0].uuid  # type: ignore[union-attr]  # Both have MIG.
    assert after.gpus[0].mig.devices[0].index == 0  # type: ignore[union-attr]  # It too.


def test_older_calls_for_mig(fake_driver: nvml.FakeDriver) -> None:
    """A driver with the first versions only tells the same."""
    gpus = [nvml.make_gpu(0, mig_devices=["1g.5gb", "2c.3g.20gb"])]
    newest = reading.read_once(fake_driver, nvml.make_machine(gpus))
    missing = ["nvmlDeviceGetAttributes_v2", "nvmlComputeInstanceGetInfo_v2"]
    assert reading.read_once(fake_driver, nvml.make_machine(gpus, missing_symbols=missing)).gpus == newest.gpus
