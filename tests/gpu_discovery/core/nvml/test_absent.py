"""GPUs that do not answer, and GPUs that NVML no longer counts."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from gpu_discovery.core import model
from gpu_discovery.core.nvml import reader
from tests.fakes import nvml
from tests.gpu_discovery.core.nvml import reading

GPUS = [nvml.make_gpu(index, mig_devices=["1g.5gb"] if index == 1 else None) for index in range(3)]
BUS = reading.make_pci(GPUS)
NOT_LISTED = model.ReadFailure("state", "nvmlDeviceGetCount_v2", "NOT_LISTED")
REFUSED = {"nvmlDeviceGetHandleByIndex_v2": "UNKNOWN"}


def read_all(driver: nvml.FakeDriver) -> tuple[reader.NvmlReader, tuple[model.Gpu, ...]]:
    """A reader that has read the three GPUs."""
    subject = reader.NvmlReader(driver.root)
    return subject, reading.read(subject, driver, nvml.make_machine(GPUS)).gpus


def read_some(
    subject: reader.NvmlReader, driver: nvml.FakeDriver, gpus: list[nvml.Json], **options: Any
) -> reader.NvmlFacts:
    """A pass in which NVML lists these, with all three on the bus unless told otherwise."""
    return reading.read(subject, driver, nvml.make_machine(gpus), **{"pci": BUS} | options)


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_gpu_that_is_no_longer_counted_keeps_its_identity(fake_driver: nvml.FakeDriver, gone: int) -> None:
    """On the bus and with its driver it is lost, at the index that is left over, with all that was read before."""
    subject, before = read_all(fake_driver)
    for _ in range(2):
        facts = read_some(subject, fake_driver, [gpu for index, gpu in enumerate(GPUS) if index != gone])

        (lost,) = facts.unlisted
        assert lost == dataclasses.replace(before[gone], index=2, state=model.GpuState.LOST, failures=(NOT_LISTED,))
        assert [gpu.uuid for gpu in facts.gpus] == [gpu.uuid for gpu in before if gpu.uuid != lost.uuid]
        assert facts.unreadable == ()


def test_when_none_is_counted_each_keeps_its_index(fake_driver: nvml.FakeDriver) -> None:
    """All are lost, and none is listed."""
    subject, before = read_all(fake_driver)

    facts = read_some(subject, fake_driver, [])

    assert facts.gpus == ()
    assert [(gpu.index, gpu.uuid) for gpu in facts.unlisted] == [(gpu.index, gpu.uuid) for gpu in before]


def test_two_that_are_no_longer_counted_share_no_index(fake_driver: nvml.FakeDriver) -> None:
    """Where others have moved up to their indices each gets one of its own."""
    subject, before = read_all(fake_driver)

    facts = read_some(subject, fake_driver, GPUS[2:])

    assert [(gpu.index, gpu.uuid) for gpu in (*facts.gpus, *facts.unlisted)] == [
        (0, before[2].uuid),
        (1, before[0].uuid),
        (2, before[1].uuid),
    ]


def test_a_gpu_that_is_counted_again_is_present(fake_driver: nvml.FakeDriver) -> None:
    """Lost does not last."""
    subject, before = read_all(fake_driver)
    read_some(subject, fake_driver, GPUS[1:])

    facts = read_some(subject, fake_driver, GPUS)

    assert (facts.gpus, facts.unlisted) == (before, ())


@pytest.mark.parametrize("driver", ["vfio-pci", None, "off the bus"])
def test_a_gpu_that_left_the_driver_is_not_lost(fake_driver: nvml.FakeDriver, driver: str | None) -> None:
    """Removed, unbound or bound to another driver it is no concern of NVML's."""
    subject, _ = read_all(fake_driver)
    address = GPUS[0]["pci_address"]
    left = {key: function for key, function in BUS.items() if key != address}
    bus = left if driver == "off the bus" else {**left, address: dataclasses.replace(BUS[address], driver=driver)}

    facts = read_some(subject, fake_driver, GPUS[1:], pci=bus)

    assert (len(facts.gpus), facts.unlisted) == (2, ())


def test_a_gpu_whose_driver_cannot_be_read_has_not_left(fake_driver: nvml.FakeDriver) -> None:
    """A failed look at the bus is no proof."""
    subject, _ = read_all(fake_driver)
    address = GPUS[0]["pci_address"]
    failure = model.ReadFailure("driver", "/sys/…/driver", "EACCES", 13)
    bus = {**BUS, address: dataclasses.replace(BUS[address], driver=None, failures=(failure,))}

    assert len(read_some(subject, fake_driver, GPUS[1:], pci=bus).unlisted) == 1


def test_without_a_bus_nothing_is_said_of_a_gpu_that_is_not_counted(fake_driver: nvml.FakeDriver) -> None:
    """It may have been removed: only the bus could tell."""
    subject, _ = read_all(fake_driver)

    assert read_some(subject, fake_driver, GPUS[1:], pci={}).unlisted == ()
    assert len(read_some(subject, fake_driver, GPUS[1:]).unlisted) == 1


def test_a_gpu_that_left_and_came_back_is_read_anew(fake_driver: nvml.FakeDriver) -> None:
    """Bound once more it may have another minor number."""
    subject, _ = read_all(fake_driver)
    read_some(subject, fake_driver, GPUS[:2], pci=reading.make_pci(GPUS[:2]))

    facts = read_some(subject, fake_driver, [*GPUS[:2], GPUS[2] | {"minor": 7}])

    assert facts.gpus[2].minor == 7


def test_a_stranger_in_its_place_is_not_the_gpu_that_left(fake_driver: nvml.FakeDriver) -> None:
    """A new board that refuses where another stood is unreadable, and not the other one lost."""
    subject, _ = read_all(fake_driver)
    stranger = nvml.make_gpu(5, fail=REFUSED)

    facts = read_some(subject, fake_driver, [*GPUS[:2], stranger], pci=reading.make_pci([*GPUS[:2], stranger]))

    assert facts.unlisted == ()
    assert [(gpu.index, gpu.pci_address) for gpu in facts.unreadable] == [(2, stranger["pci_address"])]


def test_a_gpu_that_refuses_at_another_index_is_told_once(fake_driver: nvml.FakeDriver) -> None:
    """After a re-ordering it is the one that is missing, and not one more."""
    subject, before = read_all(fake_driver)

    facts = read_some(subject, fake_driver, [GPUS[1], GPUS[2], GPUS[0] | {"fail": REFUSED}])

    assert [(gpu.index, gpu.uuid, gpu.state.value) for gpu in facts.gpus] == [
        (0, before[1].uuid, "present"),
        (1, before[2].uuid, "present"),
        (2, before[0].uuid, "lost"),
    ]
    assert [failure.reason for failure in facts.gpus[2].failures] == ["UNKNOWN"]
    assert (facts.unlisted, facts.unreadable) == ((), ())


def test_one_refuses_and_one_is_not_counted(fake_driver: nvml.FakeDriver) -> None:
    """Both are lost, each with its own cause."""
    subject, before = read_all(fake_driver)

    facts = read_some(subject, fake_driver, [GPUS[0] | {"fail": REFUSED}, GPUS[1]])

    assert [(gpu.uuid, gpu.failures[0].reason) for gpu in facts.gpus if gpu.state is model.GpuState.LOST] == [
        (before[0].uuid, "UNKNOWN")
    ]
    assert [(gpu.index, gpu.uuid) for gpu in facts.unlisted] == [(2, before[2].uuid)]


def test_another_driver_load_forgets_who_was_there(fake_driver: nvml.FakeDriver) -> None:
    """After a reload what NVML lists is what there is."""
    subject, _ = read_all(fake_driver)

    assert read_some(subject, fake_driver, GPUS[1:], load=reading.RELOAD).unlisted == ()
