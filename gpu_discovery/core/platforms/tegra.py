"""GPUs that are one chip with the processor, told by CUDA's driver API."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from gpu_discovery.core import errors, model
from gpu_discovery.core.cuda import driver, reader
from gpu_discovery.core.kit.frozen import frozen
from gpu_discovery.core.platforms import facts

_FINDINGS: Mapping[str, model.Finding] = {
    driver.LIBRARY_NOT_FOUND: model.Finding.CUDA_MISSING,
    driver.CODES[driver.NO_DEVICE]: model.Finding.NO_GPUS,
    driver.CODES[driver.NOT_PERMITTED]: model.Finding.NO_PERMISSION,
    driver.CODES[driver.SYSTEM_DRIVER_MISMATCH]: model.Finding.VERSION_MISMATCH,
}
_REMEDIES: Mapping[model.Finding, str] = {
    model.Finding.CUDA_MISSING: "run the pod with the nvidia runtime class, which brings the library in",
    model.Finding.NO_PERMISSION: "run the pod with the nvidia runtime class or privileged",
    model.Finding.VERSION_MISMATCH: "recreate the pod so that it gets the library of the driver that is loaded",
    model.Finding.CUDA_FAILED: "look for nvgpu lines in the node's kernel log; it is tried again in each pass",
}


@frozen
class _Asking:
    """CUDA is being asked."""

    call: str
    gpu: str
    started_monotonic_s: float


class TegraSource:
    """Asks CUDA once per driver load, and again as long as the answer is no good one."""

    def __init__(self, read_cuda: Callable[[], reader.CudaFacts] = reader.read_cuda) -> None:
        self._read_cuda = read_cuda
        self._in_flight: _Asking | None = None
        self._known: tuple[model.DriverLoad | None, facts.PlatformFacts] | None = None

    @property
    def in_flight(self) -> facts.InFlight | None:
        """As ``facts.Source``; only the process that asks knows which of its calls it is in."""
        return self._in_flight

    def known(self, load: model.DriverLoad | None) -> facts.PlatformFacts | None:
        """What was read in this driver load."""
        return self._known[1] if self._known is not None and self._known[0] == load else None

    def read(self, functions: facts.Functions, load: model.DriverLoad | None) -> facts.PlatformFacts:  # noqa: ARG002 - a Source's form; Tegra's GPU is on no bus.
        """As ``facts.Source``."""
        return self.known(load) or self._read(load)

    def _read(self, load: model.DriverLoad | None) -> facts.PlatformFacts:
        self._in_flight = _Asking(f"asking {driver.SONAME}", "", time.monotonic())
        try:
            cuda = self._read_cuda()
        except errors.CudaCallFailed as error:
            return _failure(error)
        finally:
            self._in_flight = None
        is_empty = not cuda.gpus and not cuda.unreadable
        answer = facts.PlatformFacts(
            finding=model.Finding.NO_GPUS if is_empty else model.Finding.OK,
            detail="CUDA answers and lists no GPU" if is_empty else "",
            platform=model.Platform.TEGRA,
            driver_version=model.UNKNOWN_DRIVER_VERSION,
            cuda_version=cuda.cuda_version,
            gpus=cuda.gpus,
            unreadable=cuda.unreadable,
            failures=cuda.failures,
        )
        if _is_whole(answer):
            self._known = load, answer
        return answer


def _is_whole(answer: facts.PlatformFacts) -> bool:
    """Nothing in it is worth another try."""
    has_failures = answer.failures or answer.unreadable or any(gpu.failures for gpu in answer.gpus)
    return answer.finding is model.Finding.OK and not has_failures


def _failure(error: errors.CudaCallFailed) -> facts.PlatformFacts:
    finding = _FINDINGS.get(error.name, model.Finding.CUDA_FAILED)
    remedy = _REMEDIES.get(finding)
    return facts.PlatformFacts(
        finding=finding, detail=f"{error}; {remedy}" if remedy else str(error), platform=model.Platform.TEGRA
    )
