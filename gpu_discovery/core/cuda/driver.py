"""libcuda through ctypes: one gateway for every call, its result codes named in one table."""

from __future__ import annotations

import ctypes

from gpu_discovery.core import errors

SONAME = "libcuda.so.1"
LIBRARY_NOT_FOUND = "LIBRARY_NOT_FOUND"
SYMBOL_NOT_FOUND = "SYMBOL_NOT_FOUND"
NO_CODE = -1
"""Where no call was made: the library or the symbol is missing."""

COMPUTE_CAPABILITY_MAJOR = 75
COMPUTE_CAPABILITY_MINOR = 76

NO_DEVICE = 100
NOT_PERMITTED = 800
SYSTEM_DRIVER_MISMATCH = 803

CODES = {
    1: "INVALID_VALUE",
    2: "OUT_OF_MEMORY",
    3: "NOT_INITIALIZED",
    4: "DEINITIALIZED",
    34: "STUB_LIBRARY",
    46: "DEVICE_UNAVAILABLE",
    NO_DEVICE: "NO_DEVICE",
    101: "INVALID_DEVICE",
    102: "DEVICE_NOT_LICENSED",
    201: "INVALID_CONTEXT",
    214: "ECC_UNCORRECTABLE",
    304: "OPERATING_SYSTEM",
    400: "INVALID_HANDLE",
    600: "NOT_READY",
    719: "LAUNCH_FAILED",
    NOT_PERMITTED: "NOT_PERMITTED",
    801: "NOT_SUPPORTED",
    802: "SYSTEM_NOT_READY",
    SYSTEM_DRIVER_MISMATCH: "SYSTEM_DRIVER_MISMATCH",
    804: "COMPAT_NOT_SUPPORTED_ON_DEVICE",
    999: "UNKNOWN",
}
"""CUresult, without its prefix ``CUDA_ERROR_``."""

_NAME_BYTES = 96


class CudaDriver:
    """libcuda, initialised. Every method raises CudaCallFailed."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL(SONAME)
        except OSError as error:
            raise errors.CudaCallFailed(f"loading {SONAME}", NO_CODE, LIBRARY_NOT_FOUND) from error
        self._call("cuInit", ctypes.c_uint(0))

    def cuda_version(self) -> tuple[int, int]:
        """(major, minor) that the driver supports."""
        version = ctypes.c_int()
        self._call("cuDriverGetVersion", ctypes.byref(version))
        return version.value // 1000, version.value % 1000 // 10

    def device_count(self) -> int:
        """How many GPUs the driver sees."""
        count = ctypes.c_int()
        self._call("cuDeviceGetCount", ctypes.byref(count))
        return count.value

    def device(self, index: int) -> int:
        """The handle of a GPU."""
        handle = ctypes.c_int()
        self._call("cuDeviceGet", ctypes.byref(handle), ctypes.c_int(index))
        return handle.value

    def name(self, device: int) -> str:
        """The product name."""
        buffer = ctypes.create_string_buffer(_NAME_BYTES)
        self._call("cuDeviceGetName", buffer, ctypes.c_int(_NAME_BYTES), ctypes.c_int(device))
        return buffer.value.decode("utf-8", "replace")

    def memory_bytes(self, device: int) -> int:
        """Total memory. The symbol without a suffix is the oldest and counts in 32 bits, so it is the second choice."""
        size = ctypes.c_size_t(0)
        call = "cuDeviceTotalMem_v2" if hasattr(self._library, "cuDeviceTotalMem_v2") else "cuDeviceTotalMem"
        self._call(call, ctypes.byref(size), ctypes.c_int(device))
        return size.value

    def compute_capability(self, device: int) -> tuple[int, int]:
        """(major, minor)."""
        return self._attribute(COMPUTE_CAPABILITY_MAJOR, device), self._attribute(COMPUTE_CAPABILITY_MINOR, device)

    def _attribute(self, attribute: int, device: int) -> int:
        value = ctypes.c_int()
        self._call("cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(attribute), ctypes.c_int(device))
        return value.value

    def _call(self, name: str, *arguments: object) -> None:
        try:
            function = getattr(self._library, name)
        except AttributeError as error:
            raise errors.CudaCallFailed(name, NO_CODE, SYMBOL_NOT_FOUND) from error
        code: int = function(*arguments)
        if code != 0:
            raise errors.CudaCallFailed(name, code, CODES.get(code, f"CODE_{code}"))
