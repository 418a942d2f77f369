"""What a board offers of MIG: how many devices, which kinds of GPU instance, which kinds of compute instance.

Asked once per MIG mode and driver load, because NVML counts no devices while the mode is off.
"""

from __future__ import annotations

from typing import Any

import pynvml

from gpu_discovery.core import errors, model
from gpu_discovery.core.kit.frozen import frozen
from gpu_discovery.core.nvml import calls, facts, gateway as gateways, profiles

_MAX_PROFILES = 64


@frozen
class GpuInstanceProfile:
    """A kind of GPU instance that this board offers."""

    id: int
    slices: int
    suffix: str
    memory_mib: int


@frozen
class Board:
    """What holds for a GPU as long as its MIG mode stays."""

    total_bytes: int | None
    """Memory of the whole GPU, by which profiles are named."""
    max_devices: int
    profiles: tuple[GpuInstanceProfile, ...]
    profile_names: tuple[str, ...]
    """Of the profiles with as many compute as GPU slices, smallest first, each once."""
    failures: tuple[model.ReadFailure, ...]


def read_board(gateway: gateways.Gateway, handle: Any, gpu: str, total_bytes: int | None, *, is_enabled: bool) -> Board:
    """Ask for the number of devices and every profile; raises ``errors.GpuLost`` only."""
    failures: list[model.ReadFailure] = []
    max_devices = 0
    try:
        max_devices = gateway.call(pynvml.nvmlDeviceGetMaxMigDeviceCount, handle, gpu=gpu)
    except errors.GpuLost:
        raise
    except errors.NvmlCallFailed as error:
        if is_enabled:  # The devices that there are cannot be listed, which is not the same as none.
            failures.append(facts.read_failure("mig.devices", error))
        elif not isinstance(error, errors.NotSupported):
            failures.append(facts.read_failure("mig.max_devices", error))
    offered, profile_failures = _read_profiles(gateway, handle, gpu)
    return Board(total_bytes, max_devices, offered, _names(offered, total_bytes), (*failures, *profile_failures))


def is_empty_slot(error: errors.NvmlCallFailed) -> bool:
    """Whether NVML says that nothing stands at this index."""
    return isinstance(error, errors.NotFound) or error.code == gateways.INVALID_ARGUMENT


def _read_profiles(
    gateway: gateways.Gateway, handle: Any, gpu: str
) -> tuple[tuple[GpuInstanceProfile, ...], tuple[model.ReadFailure, ...]]:
    offered: list[GpuInstanceProfile] = []
    failures: list[model.ReadFailure] = []
    for index in range(_MAX_PROFILES):
        try:
            offered.append(_read_profile(gateway, handle, gpu, index))
        except errors.GpuLost:
            raise
        except errors.NvmlCallFailed as error:
            if not isinstance(error, errors.NotSupported) and not is_empty_slot(error):
                failures.append(facts.read_failure(f"mig.possible_profiles[{index}]", error))
            # Newer drivers have more kinds than pynvml knows of; the first gap beyond those is the end.
            if index >= pynvml.NVML_GPU_INSTANCE_PROFILE_COUNT:
                break
    return tuple(offered), tuple(failures)


def _read_profile(gateway: gateways.Gateway, handle: Any, gpu: str, index: int) -> GpuInstanceProfile:
    info = gateway.call(calls.gpu_instance_profile, handle, index, gpu=gpu)
    nvml_name = "" if profiles.is_known(index) else _read_nvml_name(gateway, handle, gpu, index)
    return GpuInstanceProfile(
        id=info.id,
        slices=profiles.gpu_slices(index, info.sliceCount),
        suffix=profiles.suffix(index, nvml_name),
        memory_mib=info.memorySizeMB,
    )


def _read_nvml_name(gateway: gateways.Gateway, handle: Any, gpu: str, index: int) -> str:
    try:
        return str(gateway.call(calls.gpu_instance_profile_name, handle, index, gpu=gpu))
    except errors.NotSupported:
        return ""


def _names(offered: tuple[GpuInstanceProfile, ...], total_bytes: int | None) -> tuple[str, ...]:
    if not total_bytes:
        return ()
    sized = sorted((kind.slices, profiles.memory_gb(kind.memory_mib, total_bytes), kind.suffix) for kind in offered)
    names = (
        profiles.profile_name(gpu_slices=slices, compute_slices=slices, memory_gb=size, suffix=suffix)
        for slices, size, suffix in sized
    )
    return tuple(dict.fromkeys(names))
