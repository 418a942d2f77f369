"""Asking for facts by a table, and how one that cannot be read is told.

Not offered by the device or driver is ``None``; failed is ``None`` and a ``ReadFailure`` that names the fact, the call
and the code; a GPU that is lost raises at once, because each further call to it may take its whole timeout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpu_discovery.core import errors, model
from gpu_discovery.core.kit.frozen import frozen
from gpu_discovery.core.nvml import gateway as gateways


@frozen
class Fact:
    """One fact: its field in the record, the call (newest version first) and what becomes of the answer."""

    field: str
    calls: tuple[Callable[..., Any], ...]
    convert: Callable[[Any], Any]


def read_facts(
    gateway: gateways.Gateway, facts: tuple[Fact, ...], args: tuple[Any, ...], gpu: str, values: dict[str, Any]
) -> tuple[model.ReadFailure, ...]:
    """Put each fact's value into ``values`` and return what failed.

    ``args`` are those of every call, a handle as a rule; ``gpu`` is empty for facts of the driver.

    Raises:
        errors.GpuLost: of a GPU; what was read before it is in ``values``.
    """
    failures: list[model.ReadFailure] = []
    for fact in facts:
        value = None
        try:
            value = fact.convert(gateway.call_newest(fact.calls, *args, gpu=gpu))
        except errors.NotSupported:
            pass
        except errors.NvmlCallFailed as error:
            if gpu and isinstance(error, errors.GpuLost):
                raise
            failures.append(read_failure(fact.field, error))
        values[fact.field] = value
    return tuple(failures)


def read_missing(
    gateway: gateways.Gateway, missing: tuple[Fact, ...], args: tuple[Any, ...], gpu: str, values: dict[str, Any]
) -> tuple[tuple[model.ReadFailure, ...], tuple[Fact, ...]]:
    """``read_facts``, and which of the facts must be asked for again because they failed."""
    failures = read_facts(gateway, missing, args, gpu, values)
    failed = {failure.fact for failure in failures}
    return failures, tuple(fact for fact in missing if fact.field in failed)


def read_failure(fact: str, error: errors.NvmlCallFailed) -> model.ReadFailure:
    """The record of a call that failed."""
    return model.ReadFailure(fact, error.call, error.name, error.code)
