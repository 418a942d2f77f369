"""What goes wrong while running: calls that hang, machines that change, GPUs that go, symbols that are not there."""

from __future__ import annotations

import os
import re
import resource
import threading
import time
from collections.abc import Callable
from typing import Any

import pynvml
import pytest

from tests.fakes import nvml, nvml_library


class Background:
    """One call in a thread of its own."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.result: Any = None
        self.thread = threading.Thread(target=self._run, args=(call,))
        self.thread.start()

    def _run(self, call: Callable[[], Any]) -> None:
        try:
            self.result = call()
        except pynvml.NVMLError as error:
            self.result = type(error)

    @property
    def is_hanging(self) -> bool:
        """Still so after a moment that is far longer than any call takes."""
        self.thread.join(0.1)
        return self.thread.is_alive()

    def finish(self) -> Any:
        """The result, or the class of the error."""
        self.thread.join(10)
        assert not self.thread.is_alive()
        return self.result


@pytest.mark.usefixtures("session")
def test_hanging_call_is_released_by_a_change(fake_driver: nvml.FakeDriver) -> None:
    """It hangs for one GPU, other calls go on meanwhile, and it answers from the machine as it then is."""
    stuck = nvml.make_gpu(0, hang={"nvmlDeviceGetName": -1})
    fake_driver.write(nvml.make_machine([stuck, nvml.make_gpu(1)]))
    first, second = map(pynvml.nvmlDeviceGetHandleByIndex, range(2))
    call = Background(lambda: pynvml.nvmlDeviceGetName(first))
    assert call.is_hanging
    assert pynvml.nvmlDeviceGetName(second) == "NVIDIA A100-SXM4-40GB"
    fake_driver.write(nvml.make_machine([nvml.make_gpu(0, name="NVIDIA L4"), nvml.make_gpu(1)]))
    assert call.finish() == "NVIDIA L4"


@pytest.mark.usefixtures("session")
def test_hanging_call_sleeps(fake_driver: nvml.FakeDriver) -> None:
    """It takes no processor time to speak of."""
    fake_driver.write(nvml.make_machine(hang={"nvmlDeviceGetCount_v2": 0.3}))
    before, started = resource.getrusage(resource.RUSAGE_THREAD), time.monotonic()
    assert pynvml.nvmlDeviceGetCount() == 1
    after = resource.getrusage(resource.RUSAGE_THREAD)
    assert time.monotonic() - started >= 0.3
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.1


@pytest.mark.usefixtures("session")
def test_hanging_gpu_hangs_every_call(fake_driver: nvml.FakeDriver) -> None:
    """The star means whatever is asked of this GPU; its failure is told when the time is over."""
    fake_driver.write(nvml.make_machine([nvml.make_gpu(hang={"*": 0.02}, fail={"nvmlDeviceGetUUID": "TIMEOUT"})]))
    started = time.monotonic()
    gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
    with pytest.raises(pynvml.NVMLError_Timeout):
        pynvml.nvmlDeviceGetUUID(gpu)
    assert time.monotonic() - started >= 0.04


@pytest.mark.usefixtures("session")
def test_session_that_ends_ends_a_hanging_call(fake_driver: nvml.FakeDriver) -> None:
    """Nothing is left behind in the library by a thread that hangs."""
    fake_driver.write(nvml.make_machine(hang={"nvmlDeviceGetCount_v2": -1}))
    call = Background(pynvml.nvmlDeviceGetCount)
    assert call.is_hanging
    pynvml.nvmlShutdown()
    assert call.finish() is pynvml.NVMLError_Uninitialized


@pytest.mark.usefixtures("library")
def test_init_hangs(fake_driver: nvml.FakeDriver) -> None:
    """Even before there is a session."""
    fake_driver.write(nvml.make_machine(hang={"nvmlInitWithFlags": -1}))
    call = Background(pynvml.nvmlInit)
    assert call.is_hanging
    fake_driver.write(nvml.make_machine(init="DRIVER_NOT_LOADED"))
    assert call.finish() is pynvml.NVMLError_DriverNotLoaded


@pytest.mark.usefixtures("session")
def test_change_is_seen_at_the_next_call(fake_driver: nvml.FakeDriver) -> None:
    """However quickly one change follows another, and though the file keeps its size."""
    gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
    for temperature in (10, 20, 30, 40, 50, 60):
        fake_driver.write(nvml.make_machine([nvml.make_gpu(temperature_c=temperature)]))
        assert pynvml.nvmlDeviceGetTemperature(gpu, 0) == temperature


@pytest.mark.usefixtures("session")
def test_change_in_place_is_seen(fake_driver: nvml.FakeDriver) -> None:
    """A file that keeps its inode and size shows by its time alone."""
    gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
    for index, text in enumerate(("A100", "H100", "B100")):
        with open(fake_driver.machine_path, "r+", encoding="utf-8") as file:
            content = re.sub("[ABH]100-", f"{text}-", file.read())
            file.seek(0)
            file.write(content)
        os.utime(fake_driver.machine_path, ns=(index, index))
        assert pynvml.nvmlDeviceGetName(gpu) == f"NVIDIA {text}-SXM4-40GB"


@pytest.mark.usefixtures("session")
def test_handle_follows_its_gpu(fake_driver: nvml.FakeDriver) -> None:
    """Another order of enumeration changes indices, not identities."""
    fake_driver.write(nvml.make_machine([nvml.make_gpu(0), nvml.make_gpu(1)]))
    second = pynvml.nvmlDeviceGetHandleByIndex(1)
    fake_driver.write(nvml.make_machine([nvml.make_gpu(1), nvml.make_gpu(0)]))
    assert (pynvml.nvmlDeviceGetUUID(second), pynvml.nvmlDeviceGetIndex(second)) == (nvml.gpu_uuid(1), 0)


@pytest.mark.usefixtures("session")
def test_lost_gpu_is_counted(fake_driver: nvml.FakeDriver) -> None:
    """It keeps its place in the enumeration, refuses its handle, and leaves its neighbour alone."""
    lost = nvml.make_gpu(0, fail={"*": "GPU_IS_LOST"})
    fake_driver.write(nvml.make_machine([lost, nvml.make_gpu(1)]))
    assert pynvml.nvmlDeviceGetCount() == 2
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        pynvml.nvmlDeviceGetHandleByIndex(0)
    assert pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByIndex(1)) == nvml.gpu_uuid(1)


@pytest.mark.usefixtures("session")
def test_gpu_without_a_uuid_keeps_a_handle(fake_driver: nvml.FakeDriver) -> None:
    """Where the UUID is not described, the PCI address tells GPUs apart."""
    fake_driver.write(nvml.make_machine([nvml.make_gpu(0, uuid=None), nvml.make_gpu(1, uuid=None)]))
    second = pynvml.nvmlDeviceGetHandleByIndex(1)
    assert pynvml.nvmlDeviceGetMinorNumber(second) == 1


def test_missing_symbols_are_not_there(fake_driver: nvml.FakeDriver) -> None:
    """The next library lacks them and has their neighbours. (A process loads one path only once.)"""
    missing = ["nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetGpuFabricInfoV"]
    fake_driver.write(nvml.make_machine(missing_symbols=missing))
    with nvml_library.loaded(fake_driver.library_path) as older:
        assert not any(hasattr(older, name) for name in missing)
        assert hasattr(older, "nvmlDeviceGetMemoryInfo")
        assert hasattr(older, "nvmlDeviceGetGpuFabricInfo")
    fake_driver.write(nvml.make_machine(driver_version="550.54.15"))
    with nvml_library.loaded(os.path.realpath(fake_driver.library_path)) as newer:
        assert all(hasattr(newer, name) for name in missing)


@pytest.mark.usefixtures("library")
def test_sessions_without_end() -> None:
    """A daemon can open one after the other, as often as it likes."""
    for _ in range(5000):
        pynvml.nvmlInit()
        pynvml.nvmlDeviceGetHandleByIndex(0)
        pynvml.nvmlShutdown()
    pynvml.nvmlInit()
    assert pynvml.nvmlDeviceGetMinorNumber(pynvml.nvmlDeviceGetHandleByIndex(0)) == 0
