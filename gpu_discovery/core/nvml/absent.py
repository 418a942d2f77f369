"""GPUs that do not answer: which of those read earlier in this driver load each of them is.

A GPU that fails keeps its index and refuses its handle, or it is counted no more and those behind it move up. Either
way it is still a function on the PCI bus that is bound to the driver, which tells it from one that was removed or
handed to another driver.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from gpu_discovery.core import model
from gpu_discovery.core.kit.frozen import frozen
from gpu_discovery.core.nvml import calls, gpus

NOT_LISTED = "NOT_LISTED"
"""Reason of a ``state`` that NVML does not count any more."""

Functions = Mapping[str, model.PciFunction]
Refused = tuple[int, model.ReadFailure]
"""An index of NVML's, and why it gives no GPU."""
_Named = tuple[gpus.GpuReader, int, model.ReadFailure]


@frozen
class Absent:
    """What became of them; each by index."""

    lost: tuple[model.Gpu, ...]
    """At an index that NVML counts."""
    unlisted: tuple[model.Gpu, ...]
    """Lost as well, at no index of NVML's: they keep theirs, or take the next free one where another has it."""
    unreadable: tuple[model.UnreadableGpu, ...]


def has_left(gpu: gpus.GpuReader, pci: Functions) -> bool:
    """Whether the bus shows that the driver does not hold this GPU any more."""
    return bool(pci) and gpu.pci_address is not None and not _is_held(gpu.pci_address, pci)


def absent_gpus(missing: Collection[gpus.GpuReader], refused: Sequence[Refused], count: int, pci: Functions) -> Absent:
    """What the ``refused`` indices and the ``missing`` GPUs (known, and not answering) have to do with each other.

    ``count`` is NVML's. After a re-ordering it can't be told which of several missing GPUs refuses at which index;
    that they are the ones can.
    """
    by_index = {gpu.index: gpu for gpu in missing}
    named = [(by_index[index], index, failure) for index, failure in refused if index in by_index]
    strangers = [(index, failure) for index, failure in refused if index not in by_index]
    matched = {gpu.uuid for gpu, _, _ in named}
    moved = [gpu for gpu in missing if gpu.uuid not in matched and _is_held(gpu.pci_address, pci)]
    moved.sort(key=lambda gpu: gpu.index)
    named += [(gpu, index, failure) for gpu, (index, failure) in zip(moved, strangers, strict=False)]
    return Absent(
        lost=_lost(named, pci),
        unlisted=_lost(_unlisted(moved[len(strangers) :], count), pci),
        unreadable=tuple(model.UnreadableGpu(index, (failure,)) for index, failure in strangers[len(moved) :]),
    )


def _is_held(address: str | None, pci: Functions) -> bool:
    function = pci.get(address or "")
    if function is None:
        return False
    return function.driver == "nvidia" or any(failure.fact == "driver" for failure in function.failures)


def _unlisted(missing: Iterable[gpus.GpuReader], count: int) -> Iterable[_Named]:
    failure = model.ReadFailure("state", calls.DEVICE_COUNT[0].__name__, NOT_LISTED)
    taken = set(range(count))
    for gpu in missing:
        index = max(taken) + 1 if gpu.index in taken else gpu.index
        taken.add(index)
        yield gpu, index, failure


def _lost(named: Iterable[_Named], pci: Functions) -> tuple[model.Gpu, ...]:
    found = (gpu.lost(index, failure, pci) for gpu, index, failure in named)
    return tuple(sorted(found, key=lambda gpu: gpu.index))
