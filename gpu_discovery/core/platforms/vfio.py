"""GPUs that are handed to virtual machines, told by the bus alone."""

from __future__ import annotations

import dataclasses

from gpu_discovery.core import model
from gpu_discovery.core.host import pciids, vfio
from gpu_discovery.core.platforms import facts

_NO_CUDA_VERSION = (0, 0)


class VfioSource:
    """Reads the bus; names and sizes are read again only when the bus changed or something could not be read."""

    def __init__(self, host_root: str) -> None:
        self._host_root = host_root
        self._functions: facts.Functions = None
        self._known: facts.PlatformFacts | None = None

    @property
    def in_flight(self) -> facts.InFlight | None:
        """Nothing: no code of NVIDIA's is asked."""
        return None

    def read(self, functions: facts.Functions, load: model.DriverLoad | None) -> facts.PlatformFacts:  # noqa: ARG002 - a Source's form; no driver of NVIDIA's is involved.
        """As ``facts.Source``."""
        if self._known is None or functions is not self._functions:
            answer = self._read(functions)
            has_failures = any(gpu.failures for gpu in answer.gpus)
            self._functions, self._known = functions, None if has_failures else answer
            return answer
        return self._known

    def _read(self, functions: facts.Functions) -> facts.PlatformFacts:
        nothing = facts.PlatformFacts(
            finding=model.Finding.NO_GPUS,
            platform=model.Platform.VFIO,
            driver_version=model.UNKNOWN_DRIVER_VERSION,
            cuda_version=_NO_CUDA_VERSION,
            detail=f"no GPU is bound to vfio-pci; {facts.bindings_text(functions)}",
        )
        if functions is None:
            return dataclasses.replace(nothing, finding=model.Finding.PLATFORM_UNKNOWN)
        bound = [function for function in functions if vfio.is_vfio_gpu(function)]
        if not bound:
            return nothing
        names = pciids.read_names(self._host_root, {function.device_id for function in bound})
        gpus = vfio.read_vfio_gpus(self._host_root, bound, names)
        return dataclasses.replace(nothing, finding=model.Finding.OK, detail="", gpus=gpus)
