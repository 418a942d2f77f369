"""The GPUs that CUDA tells, read by a child process that is gone before this returns."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from gpu_discovery.core import errors, model
from gpu_discovery.core.cuda import driver
from gpu_discovery.core.kit.frozen import frozen

TIMEOUT_S = 20.0
"""cuInit of a cold Jetson takes one to two seconds."""

TIMED_OUT = "TIMEOUT"
CHILD_FAILED = "CHILD_FAILED"

_CHILD = "gpu_discovery.core.cuda.child"
_CALL = f"asking {driver.SONAME}"


@frozen
class CudaFacts:
    """All that CUDA tells."""

    cuda_version: tuple[int, int] | None
    gpus: tuple[model.Gpu, ...]
    unreadable: tuple[model.UnreadableGpu, ...] = ()
    failures: tuple[model.ReadFailure, ...] = ()


def read_cuda(timeout_s: float = TIMEOUT_S) -> CudaFacts:
    """Ask libcuda in a child process. Raises CudaCallFailed when it tells nothing, or nothing within ``timeout_s``."""
    import subprocess

    try:
        child = subprocess.run(  # noqa: S603 - our own module under our own interpreter, no shell.
            [sys.executable, "-m", _CHILD],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=timeout_s,
            env=_environ(),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise errors.CudaCallFailed(_CALL, driver.NO_CODE, TIMED_OUT) from error
    except OSError as error:
        raise errors.CudaCallFailed(
            f"starting {sys.executable}", error.errno or driver.NO_CODE, CHILD_FAILED
        ) from error
    try:
        return parse_facts(child.stdout.decode("utf-8", "replace"))
    except ValueError as error:
        raise errors.CudaCallFailed(_CALL, child.returncode, CHILD_FAILED) from error


def parse_facts(output: str) -> CudaFacts:
    """The facts in the child's ``output``. Raises CudaCallFailed when that tells of one, ValueError for anything else."""
    document = json.loads(output.rstrip().rpartition("\n")[2])
    try:
        if "error" in document:
            call, code, name = document["error"]
            raise errors.CudaCallFailed(call, code, name)
        records = list(enumerate(document["gpus"]))
        return CudaFacts(
            cuda_version=_pair(document["cuda_version"]),
            gpus=tuple(_gpu(index, record) for index, record in records if record.get("name") is not None),
            unreadable=tuple(
                model.UnreadableGpu(index, _failures(record)) for index, record in records if record.get("name") is None
            ),
            failures=_failures(document),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not the facts of CUDA: {error}") from error


def _environ() -> dict[str, str]:
    """Ours, with this package where the child finds it."""
    package_root = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
    inherited = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{package_root}{os.pathsep}{inherited}" if inherited else package_root}


def _gpu(index: int, record: Mapping[str, Any]) -> model.Gpu:
    return model.Gpu(
        index=index,
        uuid=model.GpuUuid("tegra" if index == 0 else f"tegra-{index}"),
        pci_address=None,
        name=record["name"],
        memory_bytes=record["memory_bytes"],
        compute_capability=_pair(record["compute_capability"]),
        failures=_failures(record),
    )


def _failures(record: Mapping[str, Any]) -> tuple[model.ReadFailure, ...]:
    return tuple(model.ReadFailure(**failure) for failure in record["failures"])


def _pair(value: list[int] | None) -> tuple[int, int] | None:
    return None if value is None else (value[0], value[1])
