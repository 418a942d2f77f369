"""Event sets: what is delivered, once, to whom, and how long a wait lasts."""

from __future__ import annotations

import ctypes
import threading
import time
from typing import Any

import pynvml
import pytest

from tests.fakes import nvml

XID = pynvml.nvmlEventTypeXidCriticalError
GPUS = [nvml.make_gpu(0), nvml.make_gpu(1)]


def inject(driver: nvml.FakeDriver, *events: nvml.Json) -> None:
    """The machine with two GPUs and these events."""
    driver.write(nvml.make_machine(GPUS, events=list(events)))


def registered_set(*indices: int, types: int = XID) -> Any:
    """A new event set for these GPUs."""
    events = pynvml.nvmlEventSetCreate()
    for index in indices:
        pynvml.nvmlDeviceRegisterEvents(pynvml.nvmlDeviceGetHandleByIndex(index), types, events)
    return events


def received(events: Any) -> list[int]:
    """The data of the events that are waiting, ten at most."""
    found: list[int] = []
    while len(found) < 10:
        try:
            found.append(pynvml.nvmlEventSetWait(events, 0).eventData)
        except pynvml.NVMLError_Timeout:
            break
    return found


@pytest.fixture(autouse=True)
def two_gpus(fake_driver: nvml.FakeDriver, session: ctypes.CDLL) -> ctypes.CDLL:
    """A session on two GPUs where nothing has happened yet."""
    inject(fake_driver)
    return session


def test_event_is_read_back(fake_driver: nvml.FakeDriver) -> None:
    """GPU, type, Xid and instance."""
    events = registered_set(0, 1)
    inject(fake_driver, nvml.make_event(1, GPUS[1], 94, gi=3, ci=2))
    event = pynvml.nvmlEventSetWait(events, 1000)
    assert pynvml.nvmlDeviceGetUUID(event.device) == nvml.gpu_uuid(1)
    assert (event.eventType, event.eventData, event.gpuInstanceId, event.computeInstanceId) == (XID, 94, 3, 2)


def test_event_of_a_whole_gpu(fake_driver: nvml.FakeDriver) -> None:
    """Without an instance both ids are NVML's any."""
    events = registered_set(0)
    inject(fake_driver, nvml.make_event(1, GPUS[0], 79))
    event = pynvml.nvmlEventSetWait(events, 1000)
    assert (event.gpuInstanceId, event.computeInstanceId) == (0xFFFFFFFF, 0xFFFFFFFF)


def test_older_call_writes_no_instance(fake_driver: nvml.FakeDriver, two_gpus: ctypes.CDLL) -> None:
    """The first version's structure ends with the data."""
    events, data = registered_set(0), pynvml.c_nvmlEventData_t(gpuInstanceId=7, computeInstanceId=8)
    inject(fake_driver, nvml.make_event(1, GPUS[0], 79, gi=1, ci=1))
    assert two_gpus.nvmlEventSetWait(events, ctypes.byref(data), 1000) == pynvml.NVML_SUCCESS
    assert (data.eventData, data.gpuInstanceId, data.computeInstanceId) == (79, 7, 8)


def test_each_event_is_delivered_once(fake_driver: nvml.FakeDriver) -> None:
    """In the order of their ids, the old ones not again when new ones come, and to every set."""
    one, other = registered_set(0), registered_set(0)
    inject(fake_driver, nvml.make_event(1, GPUS[0], 31), nvml.make_event(2, GPUS[0], 43))
    assert received(one) == [31, 43]
    inject(fake_driver, *(nvml.make_event(number, GPUS[0], 40 + number) for number in (1, 2, 3)))
    assert received(one) == [43]
    assert received(other) == [41, 42, 43]


def test_new_set_starts_after_what_was_delivered(fake_driver: nvml.FakeDriver) -> None:
    """As after a reconnect; an event that nobody has had yet is still there."""
    first = registered_set(0)
    inject(fake_driver, nvml.make_event(1, GPUS[0], 31))
    assert received(first) == [31]
    pynvml.nvmlEventSetFree(first)
    inject(fake_driver, nvml.make_event(1, GPUS[0], 31), nvml.make_event(2, GPUS[0], 62))
    assert received(registered_set(0)) == [62]


def test_only_what_is_registered_is_delivered(fake_driver: nvml.FakeDriver) -> None:
    """Other GPUs' events and other types pass by."""
    events = registered_set(0)
    mig_change = nvml.make_event(1, GPUS[0], 0, type=pynvml.nvmlEventMigConfigChange)
    inject(fake_driver, mig_change, nvml.make_event(2, GPUS[1], 79), nvml.make_event(3, GPUS[0], 13))
    assert received(events) == [13]


def test_event_without_a_gpu_reaches_every_set(fake_driver: nvml.FakeDriver) -> None:
    """Its device is no handle, and asking for a UUID fails as it does on real machines."""
    events = registered_set(0)
    inject(fake_driver, nvml.make_event(1, GPUS[0], 79, uuid=None))
    event = pynvml.nvmlEventSetWait(events, 1000)
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetUUID(event.device)


def test_event_of_a_gpu_that_has_gone(fake_driver: nvml.FakeDriver) -> None:
    """The event comes with a handle, and the handle says that its GPU is lost."""
    events = registered_set(0)
    fake_driver.write(nvml.make_machine([GPUS[1]], events=[nvml.make_event(1, GPUS[0], 79)]))
    event = pynvml.nvmlEventSetWait(events, 1000)
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        pynvml.nvmlDeviceGetUUID(event.device)


def test_registration_asks_for_what_the_gpu_supports(fake_driver: nvml.FakeDriver) -> None:
    """A type that it lacks is not supported, nor is anything on a GPU that is too old."""
    gpu, events = pynvml.nvmlDeviceGetHandleByIndex(0), pynvml.nvmlEventSetCreate()
    assert pynvml.nvmlDeviceGetSupportedEventTypes(gpu) & XID
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceRegisterEvents(gpu, XID | pynvml.nvmlEventTypeGpuRecoveryAction, events)
    fake_driver.write(nvml.make_machine([nvml.make_gpu(0, event_types=None)]))
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceGetSupportedEventTypes(gpu)
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceRegisterEvents(gpu, XID, events)


def test_wait_lasts_as_long_as_asked() -> None:
    """Then it is a timeout."""
    events, started = registered_set(0), time.monotonic()
    with pytest.raises(pynvml.NVMLError_Timeout):
        pynvml.nvmlEventSetWait(events, 60)
    assert 0.06 <= time.monotonic() - started < 5


def waiting(events: Any) -> tuple[threading.Thread, list[Any]]:
    """A thread that waits long, and where its result or the class of its error will be."""
    results: list[Any] = []

    def wait() -> None:
        try:
            results.append(pynvml.nvmlEventSetWait(events, 60_000).eventData)
        except pynvml.NVMLError as error:
            results.append(type(error))

    thread = threading.Thread(target=wait)
    thread.start()
    return thread, results


def test_waiting_call_wakes_for_an_event(fake_driver: nvml.FakeDriver) -> None:
    """And lets others call meanwhile."""
    thread, results = waiting(registered_set(0))
    assert pynvml.nvmlDeviceGetCount() == 2
    inject(fake_driver, nvml.make_event(1, GPUS[0], 119))
    thread.join(10)
    assert results == [119]


def test_waiting_call_fails_when_the_machine_says_so(fake_driver: nvml.FakeDriver) -> None:
    """A failure that is put into the machine during the wait ends it."""
    thread, results = waiting(registered_set(0))
    fake_driver.write(nvml.make_machine(GPUS, fail={"nvmlEventSetWait_v2": "GPU_IS_LOST"}))
    thread.join(10)
    assert results == [pynvml.NVMLError_GpuIsLost]


def test_waiting_call_ends_with_its_session() -> None:
    """The last shutdown wakes it."""
    thread, results = waiting(registered_set(0))
    pynvml.nvmlShutdown()
    thread.join(10)
    assert results == [pynvml.NVMLError_Uninitialized]


def test_freed_set_is_refused() -> None:
    """Waiting, registering and freeing again."""
    events, gpu = registered_set(0), pynvml.nvmlDeviceGetHandleByIndex(0)
    pynvml.nvmlEventSetFree(events)
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlEventSetWait(events, 0)
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceRegisterEvents(gpu, XID, events)
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlEventSetFree(events)
