"""MIG of one GPU: its mode, what the board offers, and the MIG devices that exist.

A MIG layout changes while it is walked: a slot that NVML does not find is an empty slot, and a walk that met anything
odd is walked once more, so that a repartitioning in progress does not read as a fault. What a MIG device is (profile,
placement, memory) is asked once and then held as long as NVML gives the same UUID, instance ids and attributes,
because ids are used again for other profiles.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pynvml

from gpu_discovery.core import errors, model
from gpu_discovery.core.nvml import boards, calls, facts, gateway as gateways, instances

_Failures = tuple[model.ReadFailure, ...]


def _attributes(answer: Any) -> model.MigAttributes:
    return model.MigAttributes(
        memory_mib=answer.memorySizeMB,
        multiprocessors=answer.multiprocessorCount,
        gpu_instance_slices=answer.gpuInstanceSliceCount,
        compute_instance_slices=answer.computeInstanceSliceCount,
        copy_engines=answer.sharedCopyEngineCount,
        decoders=answer.sharedDecoderCount,
        encoders=answer.sharedEncoderCount,
        jpeg_engines=answer.sharedJpegCount,
        ofa_engines=answer.sharedOfaCount,
    )


EACH_PASS: tuple[facts.Fact, ...] = (
    facts.Fact("uuid", (pynvml.nvmlDeviceGetUUID,), model.GpuUuid),
    facts.Fact("gpu_instance_id", (pynvml.nvmlDeviceGetGpuInstanceId,), int),
    facts.Fact("compute_instance_id", (pynvml.nvmlDeviceGetComputeInstanceId,), int),
    facts.Fact("attributes", calls.ATTRIBUTES, _attributes),
)
ONCE: tuple[facts.Fact, ...] = (
    facts.Fact("memory_bytes", (pynvml.nvmlDeviceGetMemoryInfo,), lambda memory: memory.total),
)


class MigReader:
    """Reads the MIG state of one GPU pass after pass."""

    def __init__(self, gateway: gateways.Gateway) -> None:
        self._gateway = gateway
        self._boards: dict[bool, boards.Board] = {}
        self._devices: dict[tuple[Any, ...], model.MigDevice] = {}

    def read(self, handle: Any, gpu: str, total_bytes: int | None) -> tuple[model.Mig | None, _Failures]:
        """None when the GPU is not capable of MIG; raises ``errors.GpuLost`` only."""
        try:
            current, pending = self._gateway.call(pynvml.nvmlDeviceGetMigMode, handle, gpu=gpu)
        except errors.NotSupported:
            return None, ()
        except errors.GpuLost:
            raise
        except errors.NvmlCallFailed as error:
            return None, (facts.read_failure("mig", error),)
        is_enabled = current == pynvml.NVML_DEVICE_MIG_ENABLE
        board = self._board(handle, gpu, total_bytes, is_enabled=is_enabled)
        devices, failures = self._read_devices(handle, gpu, board) if is_enabled else ((), ())
        mig = model.Mig(
            enabled=is_enabled,
            pending=pending == pynvml.NVML_DEVICE_MIG_ENABLE,
            max_devices=board.max_devices,
            devices=devices,
            possible_profiles=board.profile_names,
        )
        return mig, board.failures + failures

    def _board(self, handle: Any, gpu: str, total_bytes: int | None, *, is_enabled: bool) -> boards.Board:
        board = self._boards.get(is_enabled)
        if board is None or board.total_bytes != total_bytes:
            board = boards.read_board(self._gateway, handle, gpu, total_bytes, is_enabled=is_enabled)
            if not board.failures and (board.max_devices or not is_enabled):
                self._boards[is_enabled] = board
        return board

    def _read_devices(
        self, handle: Any, gpu: str, board: boards.Board
    ) -> tuple[tuple[model.MigDevice, ...], _Failures]:
        devices, failures = self._walk(handle, gpu, board)
        if failures or any(device.failures for device in devices):
            devices, failures = self._walk(handle, gpu, board)
        return devices, failures

    def _walk(self, handle: Any, gpu: str, board: boards.Board) -> tuple[tuple[model.MigDevice, ...], _Failures]:
        devices: dict[tuple[Any, ...], model.MigDevice] = {}
        failures: list[model.ReadFailure] = []
        for index in range(board.max_devices):
            try:
                mig_handle = self._gateway.call(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index, gpu=gpu)
            except errors.GpuLost:
                raise
            except errors.NvmlCallFailed as error:
                if not boards.is_empty_slot(error):
                    failures.append(facts.read_failure("mig.devices", error))
                continue
            device = self._read_device(handle, mig_handle, index, gpu, board)
            key = (device.uuid, device.gpu_instance_id, device.compute_instance_id, device.attributes)
            devices[key if not device.failures else (index,)] = device
        self._devices = devices
        return tuple(devices.values()), tuple(failures)

    def _read_device(self, handle: Any, mig_handle: Any, index: int, gpu: str, board: boards.Board) -> model.MigDevice:
        values: dict[str, Any] = {}
        failures = facts.read_facts(self._gateway, EACH_PASS, (mig_handle,), gpu, values)
        known = None if failures else self._devices.get(tuple(values.values()))
        if known is not None:
            return known if known.index == index else dataclasses.replace(known, index=index)
        failures += facts.read_facts(self._gateway, ONCE, (mig_handle,), gpu, values)
        read = instances.Instances()
        if values["gpu_instance_id"] is not None and values["compute_instance_id"] is not None:
            read = instances.read_instances(
                self._gateway, handle, gpu, values["gpu_instance_id"], values["compute_instance_id"]
            )
        profile, profile_failures = instances.profile_name(read, values["attributes"], board)
        return model.MigDevice(
            index=index,
            profile=profile,
            placement=read.placement,
            gpu_instance_profile_id=read.gpu_profile_id,
            compute_instance_profile_id=read.compute_profile_id,
            failures=failures + read.failures + profile_failures,
            **values,
        )
