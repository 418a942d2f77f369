"""The one way into NVML: every pynvml function is called through ``Gateway.call``.

So that three things hold everywhere. An NVML return code becomes one of our errors by one table, and never by text.
A call that hangs can be named from another thread, with its GPU and since when. And a function that this driver's
library lacks is looked up once only, because each look-up of a missing symbol costs more than a call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import pynvml

from gpu_discovery.core import errors
from gpu_discovery.core.kit.frozen import frozen

INVALID_ARGUMENT = 2
FUNCTION_NOT_FOUND = 13
ARGUMENT_VERSION_MISMATCH = 25
UNKNOWN = 999

OUTCOMES: Mapping[int, tuple[str, type[errors.NvmlCallFailed]]] = {
    1: ("UNINITIALIZED", errors.NvmlCallFailed),
    INVALID_ARGUMENT: ("INVALID_ARGUMENT", errors.NvmlCallFailed),
    3: ("NOT_SUPPORTED", errors.NotSupported),
    4: ("NO_PERMISSION", errors.NvmlCallFailed),
    5: ("ALREADY_INITIALIZED", errors.NvmlCallFailed),
    6: ("NOT_FOUND", errors.NotFound),
    7: ("INSUFFICIENT_SIZE", errors.NvmlCallFailed),
    8: ("INSUFFICIENT_POWER", errors.NvmlCallFailed),
    9: ("DRIVER_NOT_LOADED", errors.NvmlCallFailed),
    10: ("TIMEOUT", errors.NvmlCallFailed),
    11: ("IRQ_ISSUE", errors.NvmlCallFailed),
    12: ("LIBRARY_NOT_FOUND", errors.NvmlCallFailed),
    FUNCTION_NOT_FOUND: ("FUNCTION_NOT_FOUND", errors.NotSupported),
    14: ("CORRUPTED_INFOROM", errors.NvmlCallFailed),
    15: ("GPU_IS_LOST", errors.GpuLost),
    16: ("RESET_REQUIRED", errors.GpuLost),
    17: ("OPERATING_SYSTEM", errors.NvmlCallFailed),
    18: ("LIB_RM_VERSION_MISMATCH", errors.NvmlCallFailed),
    19: ("IN_USE", errors.NvmlCallFailed),
    20: ("MEMORY", errors.NvmlCallFailed),
    21: ("NO_DATA", errors.NvmlCallFailed),
    22: ("VGPU_ECC_NOT_SUPPORTED", errors.NotSupported),
    23: ("INSUFFICIENT_RESOURCES", errors.NvmlCallFailed),
    24: ("FREQ_NOT_SUPPORTED", errors.NotSupported),
    ARGUMENT_VERSION_MISMATCH: ("ARGUMENT_VERSION_MISMATCH", errors.NotSupported),
    26: ("DEPRECATED", errors.NotSupported),
    27: ("NOT_READY", errors.NvmlCallFailed),
    28: ("GPU_NOT_FOUND", errors.NotFound),
    29: ("INVALID_STATE", errors.NvmlCallFailed),
    30: ("RESET_TYPE_NOT_SUPPORTED", errors.NotSupported),
    UNKNOWN: ("UNKNOWN", errors.NvmlCallFailed),
}
"""NVML's return code → its name and what it means to us; a code that is not here is a failed call without a name."""

_TRY_OLDER = frozenset((FUNCTION_NOT_FOUND, ARGUMENT_VERSION_MISMATCH))


@frozen
class InFlight:
    """The call that NVML has not yet returned from."""

    call: str
    gpu: str
    """Index, and the UUID where it is known; empty for a call about the whole driver."""
    started_monotonic_s: float


class Gateway:
    """Calls NVML from one thread; ``in_flight`` may be read from any."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._in_flight: tuple[str, str, float] | None = None
        self._missing: set[str] = set()

    @property
    def in_flight(self) -> InFlight | None:
        """The call being waited for, if any."""
        current = self._in_flight
        return None if current is None else InFlight(*current)

    def forget_missing(self) -> None:
        """Another library was loaded: it may have what the last one lacked."""
        self._missing.clear()

    def call(self, function: Callable[..., Any], *args: Any, gpu: str = "") -> Any:
        """``function(*args)``; raises ``NvmlCallFailed`` or one of its kinds, and nothing else."""
        name = function.__name__
        if name in self._missing:
            raise errors.NotSupported(name, FUNCTION_NOT_FOUND, "FUNCTION_NOT_FOUND", gpu)
        self._in_flight = (name, gpu, self._clock())
        try:
            return function(*args)
        except pynvml.NVMLError as error:
            raise self._translated(name, error.value, gpu) from error
        except UnicodeDecodeError as error:
            raise errors.NvmlCallFailed(name, UNKNOWN, "NOT_UTF8", gpu) from error
        finally:
            self._in_flight = None

    def call_newest(self, functions: tuple[Callable[..., Any], ...], *args: Any, gpu: str = "") -> Any:
        """The first of ``functions`` (newest first) that this driver has; raises as ``call``."""
        for function in functions[:-1]:
            try:
                return self.call(function, *args, gpu=gpu)
            except errors.NotSupported as error:
                if error.code not in _TRY_OLDER:
                    raise
        return self.call(functions[-1], *args, gpu=gpu)

    def _translated(self, name: str, code: int, gpu: str) -> errors.NvmlCallFailed:
        if code == FUNCTION_NOT_FOUND:
            self._missing.add(name)
        symbol, kind = OUTCOMES.get(code, (f"CODE_{code}", errors.NvmlCallFailed))
        return kind(name, code, symbol, gpu)
