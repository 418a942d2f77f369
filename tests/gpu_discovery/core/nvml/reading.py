"""Builders for tests that read a fake driver."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from gpu_discovery.core import model
from gpu_discovery.core.nvml import reader
from tests.fakes import nvml

LOAD = model.DriverLoad(boot_id="boot", version="535.129.03", inode=1)
RELOAD = model.DriverLoad(boot_id="boot", version="535.129.03", inode=2)


def make_pci(gpus: Sequence[nvml.Json], **overrides: Any) -> dict[str, model.PciFunction]:
    """The bus on which these GPUs of a machine description are."""
    return {
        gpu["pci_address"]: model.PciFunction(
            address=gpu["pci_address"],
            device_id=gpu["pci_device_id"] >> 16,
            class_code=gpu["pci_class"] or 0x030200,
            driver="nvidia",
            **{"numa_node": 0} | overrides,
        )
        for gpu in gpus
        if gpu["pci_address"]
    }


def read(
    subject: reader.NvmlReader,
    driver: nvml.FakeDriver,
    machine: nvml.Json | None = None,
    *,
    load: model.DriverLoad | None = LOAD,
    **options: Any,
) -> reader.NvmlFacts:
    """One pass over ``machine``, which the driver tells of from then on."""
    machine = nvml.make_machine() if machine is None else machine
    driver.write(machine)
    return subject.read(**{"pci": make_pci(machine["gpus"]), "driver_load": load} | options)


def read_once(driver: nvml.FakeDriver, machine: nvml.Json, **options: Any) -> reader.NvmlFacts:
    """One pass of a new reader."""
    return read(reader.NvmlReader(driver.root), driver, machine, **options)


def read_gpu(driver: nvml.FakeDriver, gpu: nvml.Json, **options: Any) -> model.Gpu:
    """The only GPU of a machine, read by a new reader."""
    (found,) = read_once(driver, nvml.make_machine([gpu]), **options).gpus
    return found


def wait_until(condition: Callable[[], bool]) -> None:
    """For another thread or the library, whose clock is the real one."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)
