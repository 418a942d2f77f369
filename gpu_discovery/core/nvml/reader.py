"""One pass over all GPUs that NVML has: each for itself, so that one that cannot be read hides no other.

What cannot change while a driver is loaded is remembered for that driver load, by GPU UUID. Which UUID stands at which
index is asked in every pass, so a GPU that was re-ordered or exchanged never gets another's facts. One that no longer
answers, or that NVML no longer counts, is told as lost with what was read earlier in the driver load (``absent``).
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pynvml

from gpu_discovery.core import errors, model
from gpu_discovery.core.kit.frozen import frozen
from gpu_discovery.core.nvml import absent, calls, facts, gateway as gateways, gpus, links, session as sessions


@frozen(kw_only=True)
class NvmlFacts:
    """What one pass found."""

    library: model.Library
    driver_version: str | None
    cuda_version: tuple[int, int] | None
    gpus: tuple[model.Gpu, ...]
    """By index."""
    unlisted: tuple[model.Gpu, ...] = ()
    """By index: known from earlier in this driver load and still held by the driver, but not counted by NVML; lost."""
    unreadable: tuple[model.UnreadableGpu, ...] = ()
    """By index."""
    pairs: tuple[model.GpuPair, ...] | None = None
    """None: not asked for."""
    failures: tuple[model.ReadFailure, ...] = ()
    """Facts of the whole driver that could not be read."""


def _cuda_version(number: int) -> tuple[int, int]:
    return number // 1000, number % 1000 // 10


SYSTEM: tuple[facts.Fact, ...] = (
    facts.Fact("driver_version", (pynvml.nvmlSystemGetDriverVersion,), str),
    facts.Fact("cuda_version", (pynvml.nvmlSystemGetCudaDriverVersion,), _cuda_version),
)


@dataclass(slots=True)
class _DriverMemory:
    """What was learned during one driver load."""

    key: object
    """The driver load; where the host does not tell it, the driver version."""
    system: dict[str, Any] = field(default_factory=dict)
    unread: tuple[facts.Fact, ...] = SYSTEM
    gpus: dict[model.GpuUuid, gpus.GpuReader] = field(default_factory=dict)


@dataclass(slots=True)
class _Answers:
    """Which GPU answers at which index in this pass."""

    handles: list[tuple[int, model.GpuUuid, Any]] = field(default_factory=list)
    refused: list[absent.Refused] = field(default_factory=list)


class NvmlReader:
    """Reads from one thread at a time; ``in_flight`` may be looked at from another while a call hangs."""

    def __init__(
        self,
        driver_root_ctr_path: str,
        *,
        keep_open: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gateway = gateways.Gateway(clock)
        self._session = sessions.Session(self._gateway, driver_root_ctr_path)
        self._keep_open = keep_open
        self._opened_for: object = None
        self._memory = _DriverMemory(None)

    @property
    def in_flight(self) -> gateways.InFlight | None:
        """The NVML call that has not returned yet, if any."""
        return self._gateway.in_flight

    @property
    def restart_token(self) -> str | None:
        """Set when only a new process can go on; names the library file and the driver version it was set for."""
        return self._session.restart_token

    def read(
        self, *, pci: Mapping[str, model.PciFunction], driver_load: model.DriverLoad | None, topology: bool = False
    ) -> NvmlFacts:
        """One pass; ``pci`` is by address and gives class and NUMA node.

        Raises:
            errors.NvmlUnavailable: NVML as a whole cannot be used.
        """
        driver_version = None if driver_load is None else driver_load.version
        node = (driver_load, frozenset(pci))
        if node != self._opened_for:
            self._session.close()  # Kept open it would not see a GPU that was added since.
        library = self._session.open(driver_version, pci)
        self._opened_for = node
        try:
            count = self._gateway.call_newest(calls.DEVICE_COUNT)
            return self._read_all(library, count, pci, driver_load, topology=topology)
        except errors.NvmlCallFailed as error:
            self._session.close()
            raise self._session.unavailable(error, driver_version, pci) from error
        finally:
            if not self._keep_open:
                self._session.close()

    def close(self) -> None:
        """End a session that was kept open; harmless at any time."""
        self._session.close()

    def _read_all(
        self,
        library: model.Library,
        count: int,
        pci: Mapping[str, model.PciFunction],
        driver_load: model.DriverLoad | None,
        *,
        topology: bool,
    ) -> NvmlFacts:
        memory = self._remembered(driver_load)
        failures = self._read_system(memory)
        answers = self._ask_who(count)
        read: list[model.Gpu] = []
        paired: list[tuple[int, Any]] = []
        for index, uuid, handle in answers.handles:
            reader = memory.gpus.get(uuid)
            if reader is None:
                reader = memory.gpus[uuid] = gpus.GpuReader(self._gateway, uuid)
            gpu = reader.read(index, handle, pci, topology=topology)
            read.append(gpu)
            if gpu.state is model.GpuState.PRESENT:
                paired.append((index, handle))
        silent = _silent(answers, memory, count, pci)
        pairs, pair_failures = links.read_pairs(self._gateway, paired) if topology else (None, ())
        return NvmlFacts(
            library=library,
            driver_version=memory.system["driver_version"],
            cuda_version=memory.system["cuda_version"],
            gpus=tuple(sorted((*read, *silent.lost), key=lambda gpu: gpu.index)),
            unlisted=silent.unlisted,
            unreadable=_located(silent.unreadable, (*read, *silent.lost, *silent.unlisted), pci),
            pairs=pairs,
            failures=failures + pair_failures,
        )

    def _remembered(self, driver_load: model.DriverLoad | None) -> _DriverMemory:
        key: object = driver_load
        if driver_load is None:
            values: dict[str, Any] = {}
            facts.read_facts(self._gateway, SYSTEM[:1], (), "", values)
            key = values["driver_version"]
        if key != self._memory.key:
            self._memory = _DriverMemory(key)
        return self._memory

    def _read_system(self, memory: _DriverMemory) -> tuple[model.ReadFailure, ...]:
        failures, memory.unread = facts.read_missing(self._gateway, memory.unread, (), "", memory.system)
        return failures

    def _ask_who(self, count: int) -> _Answers:
        answers = _Answers()
        for index in range(count):
            gpu = str(index)
            try:
                handle = self._gateway.call_newest(calls.HANDLE_BY_INDEX, index, gpu=gpu)
                uuid = model.GpuUuid(self._gateway.call(pynvml.nvmlDeviceGetUUID, handle, gpu=gpu))
            except errors.NvmlCallFailed as error:
                answers.refused.append((index, facts.read_failure("handle", error)))
            else:
                answers.handles.append((index, uuid, handle))
        return answers


def _silent(answers: _Answers, memory: _DriverMemory, count: int, pci: absent.Functions) -> absent.Absent:
    """Those that don't answer; one that left is forgotten, because what comes back in its place is read anew."""
    answering = {uuid for _, uuid, _ in answers.handles}
    missing = [gpu for uuid, gpu in memory.gpus.items() if uuid not in answering]
    for gpu in [gpu for gpu in missing if absent.has_left(gpu, pci)]:
        missing.remove(gpu)
        del memory.gpus[gpu.uuid]
    return absent.absent_gpus(missing, answers.refused, count, pci)


def _located(
    unreadable: tuple[model.UnreadableGpu, ...], known: tuple[model.Gpu, ...], pci: Mapping[str, model.PciFunction]
) -> tuple[model.UnreadableGpu, ...]:
    """With the PCI address, where one GPU only is unreadable and one only on the bus is not accounted for."""
    if len(unreadable) != 1:
        return unreadable
    accounted = {gpu.pci_address for gpu in known}
    left = [
        address
        for address, function in pci.items()
        if function.is_gpu and function.driver == "nvidia" and address not in accounted
    ]
    return (dataclasses.replace(unreadable[0], pci_address=left[0] if len(left) == 1 else None),)
