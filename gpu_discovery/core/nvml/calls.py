"""NVML calls of which drivers have several versions: newest first, each tuple for ``Gateway.call_newest``.

pynvml binds one version of each symbol. A driver that is older lacks it but has the one before, which fills the
beginning of the same structure (or one of its members only), so the older calls are made here with pynvml's own types.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any

import pynvml

_Call = Callable[..., Any]


def _pci_address(info: Any) -> str:
    """The address as sysfs writes it: NVML's has eight digits of domain, of which sysfs shows four when they do."""
    return re.sub(r"^0000(?=[0-9a-f]{4}:)", "", (info.busId or info.busIdLegacy).lower())


def _symbol(name: str) -> Any:
    try:
        return getattr(pynvml.nvmlLib, name)
    except AttributeError as error:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND) from error


def _named(name: str, function: _Call) -> _Call:
    """``function`` under the name of the NVML symbol that it calls, which messages and ``in_flight`` then tell."""
    function.__name__ = name
    return function


def _versioned(name: str, function: _Call, unwrap: _Call = lambda result: result) -> _Call:
    """pynvml's ``function``, which it names without the version that it binds.

    ``unwrap`` runs within the call, because pynvml decodes a structure's text only when it is looked at.
    """

    def call(*args: Any) -> Any:
        return unwrap(function(*args))

    return _named(name, call)


def _older(name: str, make_result: Callable[[], Any], unwrap: _Call = lambda result: result) -> _Call:
    """A call of the symbol ``name`` whose last argument is the result."""

    def function(*args: Any) -> Any:
        result = make_result()
        code = _symbol(name)(*args, ctypes.byref(result))
        if code:
            raise pynvml.NVMLError(code)
        return unwrap(result)

    return _named(name, function)


def _initialiser(name: str) -> _Call:
    def function() -> None:
        code = _symbol(name)()
        if code:
            raise pynvml.NVMLError(code)

    return _named(name, function)


def _fabric_with_health(handle: Any) -> Any:
    result = pynvml.c_nvmlGpuFabricInfoV_t()
    pynvml.nvmlDeviceGetGpuFabricInfoV(handle, ctypes.byref(result))
    return result


def _fabric(handle: Any) -> Any:
    result = pynvml.c_nvmlGpuFabricInfo_t()
    pynvml.nvmlDeviceGetGpuFabricInfo(handle, ctypes.byref(result))
    return result


def _gpu_instance_profile_name(handle: Any, index: int) -> str:
    return str(pynvml.nvmlDeviceGetGpuInstanceProfileInfo(handle, index, version=2).name)


def _gpu_instance_profile(handle: Any, index: int) -> Any:
    return pynvml.nvmlDeviceGetGpuInstanceProfileInfo(handle, index, version=1)


def _compute_instance_profile(gpu_instance: Any, index: int) -> Any:
    shared_engines = pynvml.NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED
    return pynvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(gpu_instance, index, shared_engines, version=1)


INIT: tuple[_Call, ...] = (
    _named("nvmlInitWithFlags", lambda: pynvml.nvmlInitWithFlags(0)),
    _initialiser("nvmlInit_v2"),
    _initialiser("nvmlInit"),
)
DEVICE_COUNT: tuple[_Call, ...] = (
    _versioned("nvmlDeviceGetCount_v2", pynvml.nvmlDeviceGetCount),
    _older("nvmlDeviceGetCount", ctypes.c_uint, lambda result: result.value),
)
HANDLE_BY_INDEX: tuple[_Call, ...] = (
    _versioned("nvmlDeviceGetHandleByIndex_v2", pynvml.nvmlDeviceGetHandleByIndex),
    _older("nvmlDeviceGetHandleByIndex", pynvml.c_nvmlDevice_t),
)
PCI_ADDRESS: tuple[_Call, ...] = (
    _versioned("nvmlDeviceGetPciInfo_v3", pynvml.nvmlDeviceGetPciInfo_v3, _pci_address),
    _older("nvmlDeviceGetPciInfo_v2", pynvml.nvmlPciInfo_t, _pci_address),
    _older("nvmlDeviceGetPciInfo", pynvml.nvmlPciInfo_t, _pci_address),
)
FABRIC: tuple[_Call, ...] = (
    _named("nvmlDeviceGetGpuFabricInfoV", _fabric_with_health),
    _named("nvmlDeviceGetGpuFabricInfo", _fabric),
)
ATTRIBUTES: tuple[_Call, ...] = (
    pynvml.nvmlDeviceGetAttributes_v2,
    _older("nvmlDeviceGetAttributes", pynvml.c_nvmlDeviceAttributes),
)
COMPUTE_INSTANCE_INFO: tuple[_Call, ...] = (
    pynvml.nvmlComputeInstanceGetInfo_v2,
    _older("nvmlComputeInstanceGetInfo", pynvml.c_nvmlComputeInstanceInfo_t),
)
REMOTE_PCI_ADDRESS: tuple[_Call, ...] = (
    _versioned("nvmlDeviceGetNvLinkRemotePciInfo_v2", pynvml.nvmlDeviceGetNvLinkRemotePciInfo, _pci_address),
    _older("nvmlDeviceGetNvLinkRemotePciInfo", pynvml.nvmlPciInfo_t, _pci_address),
)

gpu_instance_profile = _named("nvmlDeviceGetGpuInstanceProfileInfo", _gpu_instance_profile)
gpu_instance_profile_name = _named("nvmlDeviceGetGpuInstanceProfileInfoV", _gpu_instance_profile_name)
compute_instance_profile = _named("nvmlGpuInstanceGetComputeInstanceProfileInfo", _compute_instance_profile)
