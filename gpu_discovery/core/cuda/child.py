"""The process that asks libcuda and prints what it said as one line of JSON, the last one of its output.

``{"cuda_version": [12, 2], "gpus": [{"name": …, "memory_bytes": …, "compute_capability": [8, 7], "failures": []}],
"failures": []}``, or ``{"error": [call, code, name]}`` when nothing could be asked. A fact that failed is null and has
an entry in ``failures``, with the fields of ``model.ReadFailure``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from gpu_discovery.core import errors
from gpu_discovery.core.cuda import driver

Record = dict[str, Any]


def main() -> None:
    """Ask and print."""
    print(f"\n{json.dumps(read_document())}")  # noqa: T201 - standard output is how this process answers.


def read_document() -> Record:
    """What libcuda says, in plain values."""
    try:
        cuda = driver.CudaDriver()
        count = cuda.device_count()
    except errors.CudaCallFailed as error:
        return {"error": [error.call, error.code, error.name]}
    document = _read_facts({"cuda_version": cuda.cuda_version})
    return document | {"gpus": [_read_gpu(cuda, index) for index in range(count)]}


def _read_gpu(cuda: driver.CudaDriver, index: int) -> Record:
    handle = _read_facts({"handle": lambda: cuda.device(index)})
    device = handle.pop("handle")
    if device is None:
        return handle
    return _read_facts(
        {
            "name": lambda: cuda.name(device),
            "memory_bytes": lambda: cuda.memory_bytes(device),
            "compute_capability": lambda: cuda.compute_capability(device),
        }
    )


def _read_facts(reads: Mapping[str, Callable[[], object]]) -> Record:
    record: Record = {"failures": []}
    for fact, read in reads.items():
        try:
            record[fact] = read()
        except errors.CudaCallFailed as error:
            record[fact] = None
            record["failures"].append({"fact": fact, "call": error.call, "reason": error.name, "code": error.code})
    return record


if __name__ == "__main__":
    main()
