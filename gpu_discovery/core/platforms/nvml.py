"""GPUs as NVML tells them: every machine with a driver of NVIDIA's, and WSL."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_discovery.core import errors, model
from gpu_discovery.core.host import vfio
from gpu_discovery.core.nvml import library, reader
from gpu_discovery.core.platforms import facts


class NvmlSource:
    """Reads through ``core.nvml``."""

    def __init__(self, driver_root_ctr_path: str, *, topology: bool = False, keep_open: bool = False) -> None:
        self._driver_root_ctr_path = driver_root_ctr_path
        self._topology = topology
        self._reader = reader.NvmlReader(driver_root_ctr_path, keep_open=keep_open)
        self._functions: facts.Functions = ()
        self._by_address: Mapping[str, model.PciFunction] = {}

    @property
    def in_flight(self) -> facts.InFlight | None:
        """As ``facts.Source``."""
        return self._reader.in_flight

    @property
    def restart_token(self) -> str | None:
        """Set when only a new process can go on."""
        return self._reader.restart_token

    def close(self) -> None:
        """End a session that was kept open."""
        self._reader.close()

    def read(self, functions: facts.Functions, load: model.DriverLoad | None) -> facts.PlatformFacts:
        """As ``facts.Source``."""
        if functions is not self._functions:
            self._functions = functions
            self._by_address = {function.address: function for function in functions or ()}
        try:
            read = self._reader.read(pci=self._by_address, driver_load=load, topology=self._topology)
        except errors.DiscoveryError as error:
            return self._failure(error, functions)
        is_empty = not read.gpus and not read.unreadable
        return facts.PlatformFacts(
            finding=model.Finding.NO_GPUS if is_empty else model.Finding.OK,
            detail=f"NVML answers and lists no GPU; {_bus_text(functions)}" if is_empty else "",
            platform=model.Platform.NVML,
            library=read.library,
            driver_version=read.driver_version,
            cuda_version=read.cuda_version,
            gpus=tuple(sorted((*read.gpus, *read.unlisted), key=lambda gpu: gpu.index)) if read.unlisted else read.gpus,
            unreadable=read.unreadable,
            pairs=read.pairs,
            failures=read.failures,
        )

    def _failure(self, error: errors.DiscoveryError, functions: facts.Functions) -> facts.PlatformFacts:
        """NVML as a whole cannot be used, or a call that everything depends on failed."""
        finding = model.Finding.NVML_FAILED
        if isinstance(error, errors.NvmlUnavailable):
            finding = model.Finding(error.finding)
        is_there = finding is not model.Finding.NVML_MISSING
        hint = f"; {_bus_text(functions)}" if _are_all_handed_over(functions) else ""
        return facts.PlatformFacts(
            finding=finding,
            detail=f"{error}{hint}",
            platform=model.Platform.NVML,
            library=library.find_library(self._driver_root_ctr_path) if is_there else None,
        )


def _are_all_handed_over(functions: facts.Functions) -> bool:
    gpus = [function for function in functions or () if function.is_gpu]
    return bool(gpus) and all(vfio.is_vfio_gpu(gpu) for gpu in gpus)


def _bus_text(functions: facts.Functions) -> str:
    text = facts.bindings_text(functions)
    return f"{text}; set the discovery strategy to vfio to label these" if _are_all_handed_over(functions) else text
