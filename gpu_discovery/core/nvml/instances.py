"""The GPU instance and the compute instance behind a MIG device, and the profile that the two make up."""

from __future__ import annotations

import dataclasses
from typing import Any

import pynvml

from gpu_discovery.core import errors, model
from gpu_discovery.core.kit.frozen import frozen
from gpu_discovery.core.nvml import boards, calls, facts, gateway as gateways, profiles

_NOT_LISTED = model.ReadFailure("profile", "nvmlDeviceGetGpuInstanceProfileInfo", "NOT_LISTED")
_NO_TOTAL = model.ReadFailure("profile", "nvmlDeviceGetMemoryInfo", "NOT_KNOWN")


@frozen
class Instances:
    """As far as they could be read."""

    placement: model.Placement | None = None
    gpu_profile_id: int | None = None
    compute_profile_id: int | None = None
    compute_slices: int | None = None
    """None when this kind of GPU instance lists no such compute profile."""
    failures: tuple[model.ReadFailure, ...] = ()


def read_instances(
    gateway: gateways.Gateway, handle: Any, gpu: str, gpu_instance_id: int, compute_instance_id: int
) -> Instances:
    """Look both up on the GPU by their ids; raises ``errors.GpuLost`` only."""
    read = Instances()
    try:
        gpu_instance = gateway.call(pynvml.nvmlDeviceGetGpuInstanceById, handle, gpu_instance_id, gpu=gpu)
        info = gateway.call(pynvml.nvmlGpuInstanceGetInfo, gpu_instance, gpu=gpu)
        placement = model.Placement(info.placement.start, info.placement.size)
        read = Instances(placement=placement, gpu_profile_id=info.profileId)
        compute_instance = gateway.call(
            pynvml.nvmlGpuInstanceGetComputeInstanceById, gpu_instance, compute_instance_id, gpu=gpu
        )
        compute_info = gateway.call_newest(calls.COMPUTE_INSTANCE_INFO, compute_instance, gpu=gpu)
        read = dataclasses.replace(read, compute_profile_id=compute_info.profileId)
        slices = _read_compute_slices(gateway, gpu_instance, gpu, compute_info.profileId)
        return dataclasses.replace(read, compute_slices=slices)
    except errors.GpuLost:
        raise
    except errors.NvmlCallFailed as error:
        return dataclasses.replace(read, failures=(facts.read_failure("profile", error),))


def profile_name(
    read: Instances, attributes: model.MigAttributes | None, board: boards.Board
) -> tuple[str | None, tuple[model.ReadFailure, ...]]:
    """The MIG device's profile, or None and the reason where another record does not tell it already."""
    if read.failures or read.gpu_profile_id is None:
        return None, ()
    if not board.total_bytes:
        return None, (_NO_TOTAL,)
    kind = _kind(read.gpu_profile_id, attributes, board)
    compute_slices = read.compute_slices
    if compute_slices is None and attributes is not None:
        compute_slices = attributes.compute_instance_slices
    if kind is None or compute_slices is None:
        return None, (_NOT_LISTED,)
    memory_mib = kind.memory_mib if attributes is None else attributes.memory_mib
    name = profiles.profile_name(
        gpu_slices=kind.slices,
        compute_slices=compute_slices,
        memory_gb=profiles.memory_gb(memory_mib, board.total_bytes),
        suffix=kind.suffix,
    )
    return name, ()


def _kind(
    profile_id: int, attributes: model.MigAttributes | None, board: boards.Board
) -> boards.GpuInstanceProfile | None:
    """The kind of GPU instance; one that the board does not list has the slices of the device's attributes.

    When part of the list could not be read nothing is guessed: ``1g.10gb`` and ``1g.10gb+me`` differ in the list only.
    """
    for kind in board.profiles:
        if kind.id == profile_id:
            return kind
    if attributes is None or board.failures:
        return None
    return boards.GpuInstanceProfile(profile_id, attributes.gpu_instance_slices, "", attributes.memory_mib)


def _read_compute_slices(gateway: gateways.Gateway, gpu_instance: Any, gpu: str, profile_id: int) -> int | None:
    for index in range(pynvml.NVML_COMPUTE_INSTANCE_PROFILE_COUNT):
        try:
            info = gateway.call(calls.compute_instance_profile, gpu_instance, index, gpu=gpu)
        except errors.NvmlCallFailed as error:
            if isinstance(error, errors.NotSupported) or boards.is_empty_slot(error):
                continue
            raise
        if info.id == profile_id:
            return profiles.compute_slices(index, info.sliceCount)
    return None
