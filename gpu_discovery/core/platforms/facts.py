"""What a source of GPU facts tells: the part of a snapshot that depends on the platform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gpu_discovery.core import model
from gpu_discovery.core.kit.frozen import frozen

Functions = Sequence[model.PciFunction] | None
"""NVIDIA's functions on the bus; None where it cannot be listed. The same object as long as nothing changed."""


@frozen(kw_only=True)
class PlatformFacts:
    """Fields as in ``model.Snapshot``."""

    finding: model.Finding
    detail: str = ""
    platform: model.Platform
    probes: tuple[model.Probe, ...] = ()
    library: model.Library | None = None
    driver_version: str | None = None
    cuda_version: tuple[int, int] | None = None
    gpus: tuple[model.Gpu, ...] = ()
    unreadable: tuple[model.UnreadableGpu, ...] = ()
    pairs: tuple[model.GpuPair, ...] | None = None
    failures: tuple[model.ReadFailure, ...] = ()


class InFlight(Protocol):
    """A call into NVIDIA's code that has not returned yet."""

    @property
    def call(self) -> str:
        """Its name."""
        ...

    @property
    def gpu(self) -> str:
        """The GPU that it is about; empty for a call about the whole driver."""
        ...

    @property
    def started_monotonic_s(self) -> float:
        """Since when."""
        ...


class Source(Protocol):
    """One way to read the GPUs; keeps what cannot change while a driver is loaded."""

    @property
    def in_flight(self) -> InFlight | None:
        """What a pass is waiting for now; may be looked at from any thread."""
        ...

    def read(self, functions: Functions, load: model.DriverLoad | None) -> PlatformFacts:
        """The facts of one pass. A failure is a finding with a line for people, never an exception."""
        ...


def bindings_text(functions: Functions) -> str:
    """What the bus shows of GPUs, for people: ``the PCI bus shows 2 NVIDIA GPUs: 0000:07:00.0 bound to vfio-pci, …``."""
    if functions is None:
        return "the PCI bus cannot be listed"
    gpus = [function for function in functions if function.is_gpu]
    if not gpus:
        return "the PCI bus shows no NVIDIA GPU"
    shown = ", ".join(f"{gpu.address} bound to {gpu.driver or 'no driver'}" for gpu in gpus)
    return f"the PCI bus shows {len(gpus)} NVIDIA GPU{'s' if len(gpus) > 1 else ''}: {shown}"
