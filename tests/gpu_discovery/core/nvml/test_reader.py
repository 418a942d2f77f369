from __future__ import annotations

import dataclasses
import os
import pathlib
import threading
from collections.abc import Iterator

import pytest

from gpu_discovery.core import errors, model
from gpu_discovery.core.nvml import gateway, reader
from tests.fakes import nvml
from tests.gpu_discovery.core.nvml import reading


def descriptors(folder: pathlib.Path) -> list[str]:
    """Which files in ``folder`` this process has open."""
    targets = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            targets.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        except OSError:
            continue  # The one that listed the folder.
    return sorted(os.path.basename(target) for target in targets if target.startswith(str(folder)))


@pytest.fixture
def nodes(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A folder of device nodes, which the library opens."""
    folder = tmp_path / "dev"
    folder.mkdir()
    for name in ("nvidiactl", "nvidia0", "nvidia1"):
        (folder / name).touch()
    yield folder
    assert descriptors(folder) == []


def test_the_whole_driver(fake_driver: nvml.FakeDriver) -> None:
    """Versions, the library that was used, and every GPU by index."""
    facts = reading.read_once(fake_driver, nvml.make_machine([nvml.make_gpu(i) for i in range(8)]))
    assert facts.library == model.Library(os.path.realpath(fake_driver.library_path), "driver-root")
    assert (facts.driver_version, facts.cuda_version) == ("535.129.03", (12, 2))
    assert [(gpu.index, gpu.uuid) for gpu in facts.gpus] == [(i, nvml.gpu_uuid(i)) for i in range(8)]
    assert (facts.unreadable, facts.pairs, facts.failures) == ((), None, ())


@pytest.mark.parametrize("version", ["535.54", "535.129.03", "1.2.3.4", "r595_12"])
def test_the_driver_version_is_told_as_it_is(fake_driver: nvml.FakeDriver, version: str) -> None:
    """An odd version costs nothing here (T13)."""
    facts = reading.read_once(fake_driver, nvml.make_machine(driver_version=version))
    assert (facts.driver_version, len(facts.gpus)) == (version, 1)


def test_no_gpus(fake_driver: nvml.FakeDriver) -> None:
    """Zero GPUs is an answer."""
    facts = reading.read_once(fake_driver, nvml.make_machine([]))
    assert (facts.gpus, facts.unreadable) == ((), ())


def test_facts_of_the_driver_that_fail_are_recorded(fake_driver: nvml.FakeDriver) -> None:
    """Without its versions the driver's GPUs are still there, and the versions are asked for again."""
    subject = reader.NvmlReader(fake_driver.root)
    fail = {"nvmlSystemGetDriverVersion": "UNKNOWN", "nvmlSystemGetCudaDriverVersion": "GPU_IS_LOST"}
    facts = reading.read(subject, fake_driver, nvml.make_machine(fail=fail))
    assert facts.failures == (
        model.ReadFailure("driver_version", "nvmlSystemGetDriverVersion", "UNKNOWN", 999),
        model.ReadFailure("cuda_version", "nvmlSystemGetCudaDriverVersion", "GPU_IS_LOST", 15),
    )
    assert len(facts.gpus) == 1
    facts = reading.read(subject, fake_driver)
    assert (facts.driver_version, facts.cuda_version, facts.failures) == ("535.129.03", (12, 2), ())


# --- what is remembered ----------------------------------------------------------------------------------------------


def test_an_unchanged_pass_gives_the_same_objects(fake_driver: nvml.FakeDriver) -> None:
    """Who compares two passes compares identities."""
    subject = reader.NvmlReader(fake_driver.root)
    machine = nvml.make_machine([nvml.make_gpu(0), nvml.make_gpu(1, mig_devices=["1g.5gb"])])
    before, after = (reading.read(subject, fake_driver, machine).gpus for _ in range(2))
    assert [one is other for one, other in zip(before, after, strict=True)] == [True, True]


def test_facts_that_can_change_are_read_in_each_pass(fake_driver: nvml.FakeDriver) -> None:
    """ECC, modes, remapped rows, fabric and display are never remembered."""
    subject = reader.NvmlReader(fake_driver.root)
    gpu = nvml.make_gpu(0, "b200")
    reading.read(subject, fake_driver, nvml.make_machine([gpu]))
    changed = gpu | {
        "compute_mode": 2,
        "persistence": 0,
        "ecc": gpu["ecc"] | {"pending": 0},
        "remap": gpu["remap"] | {"failed": 1},
        "fabric": gpu["fabric"] | {"state": 2},
        "display_mode": 1,
        "display_active": 1,
    }
    after = reading.read(subject, fake_driver, nvml.make_machine([changed])).gpus[0]
    assert after == reading.read_gpu(fake_driver, changed)


def test_facts_that_cannot_change_are_read_once_per_driver_load(fake_driver: nvml.FakeDriver) -> None:
    """A call that fails later does no harm, until the driver is loaded anew."""
    subject = reader.NvmlReader(fake_driver.root)
    whole = reading.read(subject, fake_driver).gpus[0]
    machine = nvml.make_machine([nvml.make_gpu(0, fail={"nvmlDeviceGetName": "UNKNOWN"})])
    assert reading.read(subject, fake_driver, machine).gpus[0] == whole
    assert reading.read(subject, fake_driver, machine, load=reading.RELOAD).gpus[0].name == ""


def test_without_a_driver_load_the_driver_version_tells(fake_driver: nvml.FakeDriver) -> None:
    """Where the host does not show the module, another version drops what was remembered."""
    subject = reader.NvmlReader(fake_driver.root)
    reading.read(subject, fake_driver, load=None)
    machine = nvml.make_machine([nvml.make_gpu(0, fail={"nvmlDeviceGetName": "UNKNOWN"})])
    assert reading.read(subject, fake_driver, machine, load=None).gpus[0].name != ""
    newer = machine | {"driver_version": "550.54.15"}
    facts = reading.read(subject, fake_driver, newer, load=None)
    assert (facts.driver_version, facts.gpus[0].name) == ("550.54.15", "")


def test_reordered_gpus_keep_their_own_facts(fake_driver: nvml.FakeDriver) -> None:
    """What is remembered goes with the UUID, not with the index."""
    subject = reader.NvmlReader(fake_driver.root)
    one, other = nvml.make_gpu(0, "a100-40"), nvml.make_gpu(1, "t4")
    reading.read(subject, fake_driver, nvml.make_machine([one, other]))
    facts = reading.read(subject, fake_driver, nvml.make_machine([other, one]))
    assert [(gpu.index, gpu.name, gpu.uuid) for gpu in facts.gpus] == [
        (0, "Tesla T4", nvml.gpu_uuid(1)),
        (1, "NVIDIA A100-SXM4-40GB", nvml.gpu_uuid(0)),
    ]


def test_an_exchanged_gpu_brings_its_own_facts(fake_driver: nvml.FakeDriver) -> None:
    """Another UUID at the same index and address is another GPU."""
    subject = reader.NvmlReader(fake_driver.root)
    reading.read(subject, fake_driver, nvml.make_machine([nvml.make_gpu(0)]))
    exchanged = nvml.make_gpu(0, "t4", uuid=nvml.gpu_uuid(9))
    (gpu,) = reading.read(subject, fake_driver, nvml.make_machine([exchanged])).gpus
    assert (gpu.uuid, gpu.name) == (nvml.gpu_uuid(9), "Tesla T4")


# --- GPUs that do not answer -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", ["GPU_IS_LOST", "RESET_REQUIRED"])
@pytest.mark.parametrize("call", ["*", "nvmlDeviceGetUUID", "nvmlDeviceGetComputeMode", "nvmlDeviceGetMigMode"])
def test_a_lost_gpu_keeps_its_identity(fake_driver: nvml.FakeDriver, error: str, call: str) -> None:
    """It is told as lost, with all that was read earlier in this driver load, and its neighbours are whole."""
    subject = reader.NvmlReader(fake_driver.root)
    gpus = [nvml.make_gpu(0), nvml.make_gpu(1, mig_devices=["1g.5gb"]), nvml.make_gpu(2)]
    before = reading.read(subject, fake_driver, nvml.make_machine(gpus)).gpus
    gpus[1] = gpus[1] | {"fail": {call: error}}
    facts = reading.read(subject, fake_driver, nvml.make_machine(gpus))
    after = facts.gpus[1]
    assert (facts.gpus[0], facts.gpus[2], facts.unreadable) == (before[0], before[2], ())
    assert after.state is model.GpuState.LOST
    assert (after.uuid, after.name, after.pci_address, after.mig) == (
        before[1].uuid,
        before[1].name,
        before[1].pci_address,
        before[1].mig,
    )
    assert [failure.reason for failure in after.failures] == [error]


def test_a_gpu_that_comes_back_is_present(fake_driver: nvml.FakeDriver) -> None:
    """Lost does not last."""
    subject = reader.NvmlReader(fake_driver.root)
    before = reading.read(subject, fake_driver).gpus
    lost = nvml.make_machine([nvml.make_gpu(0, fail={"*": "GPU_IS_LOST"})])
    assert reading.read(subject, fake_driver, lost).gpus[0].state is model.GpuState.LOST
    assert reading.read(subject, fake_driver).gpus == before


def test_a_refused_handle_is_the_gpu_that_was_there(fake_driver: nvml.FakeDriver) -> None:
    """Any failure of a handle makes the GPU known at this index a lost one (R129)."""
    subject = reader.NvmlReader(fake_driver.root)
    gpus = [nvml.make_gpu(0), nvml.make_gpu(1)]
    reading.read(subject, fake_driver, nvml.make_machine(gpus))
    gpus[0] = gpus[0] | {"fail": {"nvmlDeviceGetHandleByIndex_v2": "UNKNOWN"}}
    lost, whole = reading.read(subject, fake_driver, nvml.make_machine(gpus)).gpus
    assert (lost.index, lost.uuid, lost.state) == (0, nvml.gpu_uuid(0), model.GpuState.LOST)
    assert lost.failures == (model.ReadFailure("handle", "nvmlDeviceGetHandleByIndex_v2", "UNKNOWN", 999),)
    assert whole.state is model.GpuState.PRESENT


def test_a_gpu_never_read_is_unreadable(fake_driver: nvml.FakeDriver) -> None:
    """Nothing is known of it but its index, and, being the only one missing, its place on the bus."""
    gpus = [nvml.make_gpu(0, fail={"nvmlDeviceGetHandleByIndex_v2": "NO_PERMISSION"}), nvml.make_gpu(1)]
    facts = reading.read_once(fake_driver, nvml.make_machine(gpus))
    failure = model.ReadFailure("handle", "nvmlDeviceGetHandleByIndex_v2", "NO_PERMISSION", 4)
    assert facts.unreadable == (model.UnreadableGpu(0, (failure,), "0000:07:00.0"),)
    assert [gpu.index for gpu in facts.gpus] == [1]


def test_two_unreadable_gpus_are_not_located(fake_driver: nvml.FakeDriver) -> None:
    """Which of two is which cannot be told, so it is not."""
    gpus = [nvml.make_gpu(i, fail={"nvmlDeviceGetUUID": "UNKNOWN"}) for i in range(2)]
    facts = reading.read_once(fake_driver, nvml.make_machine(gpus))
    assert [(gpu.index, gpu.pci_address) for gpu in facts.unreadable] == [(0, None), (1, None)]


def test_an_unreadable_gpu_among_several_places_is_not_located(fake_driver: nvml.FakeDriver) -> None:
    """With two functions on the bus unaccounted for it could be either; one without the driver is neither."""
    gpus = [nvml.make_gpu(0, fail={"nvmlDeviceGetUUID": "UNKNOWN"})]
    bus = reading.make_pci([*gpus, nvml.make_gpu(1)])
    assert reading.read_once(fake_driver, nvml.make_machine(gpus), pci=bus).unreadable[0].pci_address is None
    passed_through = bus | {"0000:0f:00.0": dataclasses.replace(bus["0000:0f:00.0"], driver="vfio-pci")}
    facts = reading.read_once(fake_driver, nvml.make_machine(gpus), pci=passed_through)
    assert facts.unreadable[0].pci_address == "0000:07:00.0"


def test_another_driver_load_forgets_who_was_there(fake_driver: nvml.FakeDriver) -> None:
    """A lost GPU has no identity from before the driver was loaded."""
    subject = reader.NvmlReader(fake_driver.root)
    reading.read(subject, fake_driver)
    machine = nvml.make_machine([nvml.make_gpu(0, fail={"*": "GPU_IS_LOST"})])
    facts = reading.read(subject, fake_driver, machine, load=reading.RELOAD)
    assert (facts.gpus, len(facts.unreadable)) == ((), 1)


def test_a_gpu_that_answers_elsewhere_is_not_the_lost_one(fake_driver: nvml.FakeDriver) -> None:
    """After a re-ordering the GPU known at an index may be another; one GPU is never told twice."""
    subject = reader.NvmlReader(fake_driver.root)
    one, other = nvml.make_gpu(0), nvml.make_gpu(1)
    reading.read(subject, fake_driver, nvml.make_machine([one, other]))
    stranger = nvml.make_gpu(2, fail={"nvmlDeviceGetUUID": "UNKNOWN"})
    facts = reading.read(subject, fake_driver, nvml.make_machine([other, stranger]))
    assert [gpu.uuid for gpu in facts.gpus] == [nvml.gpu_uuid(1)]
    assert [gpu.index for gpu in facts.unreadable] == [1]


def test_a_gpu_lost_in_its_first_pass(fake_driver: nvml.FakeDriver) -> None:
    """What was read before it went is kept."""
    gpu = reading.read_gpu(fake_driver, nvml.make_gpu(0, fail={"nvmlDeviceGetBrand": "GPU_IS_LOST"}))
    assert (gpu.state, gpu.name, gpu.uuid) == (model.GpuState.LOST, "NVIDIA A100-SXM4-40GB", nvml.gpu_uuid(0))


# --- older drivers ---------------------------------------------------------------------------------------------------

NEWER = {
    "nvmlInitWithFlags",
    "nvmlDeviceGetCount_v2",
    "nvmlDeviceGetHandleByIndex_v2",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetGpuFabricInfoV",
    "nvmlDeviceGetNvLinkRemotePciInfo_v2",
}


@pytest.mark.parametrize("missing", [*([name] for name in sorted(NEWER)), sorted(NEWER)], ids=" ".join)
def test_a_driver_without_the_newer_calls(fake_driver: nvml.FakeDriver, missing: list[str]) -> None:
    """Each newer version may be missing (R124), and all of them."""
    gpus = [nvml.make_gpu(i) for i in range(2)]
    newest = reading.read_once(fake_driver, nvml.make_machine(gpus), topology=True)
    older = reading.read_once(fake_driver, nvml.make_machine(gpus, missing_symbols=missing), topology=True)
    assert (older.gpus, older.pairs, older.failures) == (newest.gpus, newest.pairs, ())


def test_the_oldest_calls(fake_driver: nvml.FakeDriver) -> None:
    """Version 2 of two calls may be missing as well."""
    missing = [*sorted(NEWER), "nvmlInit_v2", "nvmlDeviceGetPciInfo_v2"]
    facts = reading.read_once(fake_driver, nvml.make_machine(missing_symbols=missing))
    assert [(gpu.pci_address, gpu.failures) for gpu in facts.gpus] == [("0000:07:00.0", ())]


@pytest.mark.parametrize("symbol", sorted(set(nvml.calls()) - {"nvmlShutdown", "nvmlDeviceGetUUID"}))
def test_a_driver_without_any_one_call(fake_driver: nvml.FakeDriver, symbol: str) -> None:
    """A missing symbol is a fact that is not offered, and never a failure of the GPU."""
    gpus = [nvml.make_gpu(0), nvml.make_gpu(1, "b200")]
    facts = reading.read_once(fake_driver, nvml.make_machine(gpus, missing_symbols=[symbol]), topology=True)
    assert [(gpu.uuid, gpu.failures) for gpu in facts.gpus] == [(nvml.gpu_uuid(0), ()), (nvml.gpu_uuid(1), ())]


# --- calls that fail or hang ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", ["UNKNOWN", "GPU_IS_LOST", "NOT_FOUND"])
def test_any_call_may_fail(fake_driver: nvml.FakeDriver, error: str) -> None:
    """Whichever call fails, first time or later, a pass raises nothing but NvmlUnavailable, and that for two only."""
    gpus = [nvml.make_gpu(0), nvml.make_gpu(1, mig_devices=["1g.5gb"]), nvml.make_gpu(2, "b200")]
    whole, unavailable = nvml.make_machine(gpus), set()
    for call in nvml.calls():
        subject = reader.NvmlReader(fake_driver.root)
        for machine in (whole | {"fail": {call: error}}, whole, whole | {"fail": {call: error}}):
            try:
                facts = reading.read(subject, fake_driver, machine, topology=True)
            except errors.NvmlUnavailable:
                unavailable.add(call)
            else:
                assert len(facts.gpus) + len(facts.unreadable) == 3, call
            assert subject.in_flight is None
    assert unavailable == {"nvmlInitWithFlags", "nvmlDeviceGetCount_v2"}


@pytest.mark.parametrize("error", ["UNKNOWN", "GPU_IS_LOST", "NO_PERMISSION"])
def test_a_call_that_fails_for_one_gpu_leaves_the_others(fake_driver: nvml.FakeDriver, error: str) -> None:
    """The neighbours of a GPU that fails at one call are exactly as if nothing had failed."""
    gpus = [nvml.make_gpu(0), nvml.make_gpu(1, mig_devices=["1g.5gb"]), nvml.make_gpu(2, "b200")]
    whole = reading.read_once(fake_driver, nvml.make_machine(gpus), topology=True)
    for call in nvml.calls():
        broken = [gpus[0], gpus[1] | {"fail": {call: error}}, gpus[2]]
        facts = reading.read_once(fake_driver, nvml.make_machine(broken), topology=True)
        assert [gpu for gpu in facts.gpus if gpu.index != 1] == [whole.gpus[0], whole.gpus[2]], call
        assert [gpu.index for gpu in (*facts.gpus, *facts.unreadable) if gpu.index == 1] == [1], call


@pytest.mark.parametrize(
    ("call", "where"),
    [("nvmlInitWithFlags", ""), ("nvmlDeviceGetHandleByIndex_v2", "1"), ("nvmlDeviceGetEccMode", "1 (GPU-")],
)
def test_a_call_that_hangs_is_named(fake_driver: nvml.FakeDriver, call: str, where: str) -> None:
    """Another thread sees which call hangs, for which GPU and since when; afterwards the pass goes on."""
    subject = reader.NvmlReader(fake_driver.root, clock=lambda: 7.0)
    gpus = [nvml.make_gpu(0), nvml.make_gpu(1)]
    hanging = nvml.make_machine([gpus[0], gpus[1] | {"hang": {call: -1}}])
    if not where:
        hanging = nvml.make_machine(gpus, hang={call: -1})
    found: list[reader.NvmlFacts] = []
    thread = threading.Thread(target=lambda: found.append(reading.read(subject, fake_driver, hanging)))
    thread.start()
    try:
        reading.wait_until(
            lambda: subject.in_flight is not None and subject.in_flight.call == call and is_there(subject, where)
        )
        subject.close()  # Must neither wait nor pull the library from under the call.
        assert subject.in_flight is not None
        assert subject.in_flight.started_monotonic_s == 7.0
    finally:
        fake_driver.write(nvml.make_machine(gpus))
        thread.join(10)
    assert subject.in_flight is None
    assert [gpu.failures for gpu in found[0].gpus] == [(), ()]


def is_there(subject: reader.NvmlReader, where: str) -> bool:
    """Whether the call in flight is for the GPU whose text begins so."""
    flying: gateway.InFlight | None = subject.in_flight
    return flying is not None and (flying.gpu.startswith(where) if where else flying.gpu == "")


# --- sessions ---------------------------------------------------------------------------------------------------------


def test_nothing_is_open_between_passes(fake_driver: nvml.FakeDriver, nodes: pathlib.Path) -> None:
    """No device node is held after a pass, a good or a failed one, so that nobody's reset waits for us."""
    subject = reader.NvmlReader(fake_driver.root)
    gpus = [nvml.make_gpu(0), nvml.make_gpu(1)]
    reading.read(subject, fake_driver, nvml.make_machine(gpus, open_device_nodes=str(nodes)))
    assert descriptors(nodes) == []
    failing = nvml.make_machine(gpus, open_device_nodes=str(nodes), fail={"nvmlDeviceGetCount_v2": "UNKNOWN"})
    with pytest.raises(errors.NvmlUnavailable):
        reading.read(subject, fake_driver, failing)
    assert descriptors(nodes) == []


def test_a_session_can_be_kept_open(fake_driver: nvml.FakeDriver, nodes: pathlib.Path) -> None:
    """Where that is asked for, until the reader is closed."""
    subject = reader.NvmlReader(fake_driver.root, keep_open=True)
    machine = nvml.make_machine([nvml.make_gpu(0), nvml.make_gpu(1)], open_device_nodes=str(nodes))
    for _ in range(2):
        reading.read(subject, fake_driver, machine)
        assert descriptors(nodes) == ["nvidia0", "nvidia1", "nvidiactl"]
    subject.close()
    subject.close()


@pytest.mark.parametrize("change", ["GPU", "driver load"])
def test_a_session_kept_open_begins_anew(fake_driver: nvml.FakeDriver, change: str) -> None:
    """NVML sees a GPU that was added, and a driver that was loaded anew, only when it is initialised again."""
    subject = reader.NvmlReader(fake_driver.root, keep_open=True)
    gpus = [nvml.make_gpu(0)]
    reading.read(subject, fake_driver, nvml.make_machine(gpus))
    no_other_init = nvml.make_machine(gpus, init="UNKNOWN")
    reading.read(subject, fake_driver, no_other_init)
    changed = {"load": reading.RELOAD} if change != "GPU" else {"pci": reading.make_pci([*gpus, nvml.make_gpu(1)])}
    with pytest.raises(errors.NvmlUnavailable):
        reading.read(subject, fake_driver, no_other_init, **changed)


def test_a_node_that_cannot_be_opened(fake_driver: nvml.FakeDriver, nodes: pathlib.Path) -> None:
    """A GPU without its device node is unreadable, and the other is read."""
    (nodes / "nvidia1").unlink()
    machine = nvml.make_machine([nvml.make_gpu(0), nvml.make_gpu(1)], open_device_nodes=str(nodes))
    facts = reading.read_once(fake_driver, machine)
    assert [gpu.index for gpu in facts.gpus] == [0]
    assert [gpu.index for gpu in facts.unreadable] == [1]
