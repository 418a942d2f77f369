"""Builders of model values: every argument has a default that makes a plain, healthy DGX A100.

A test names only what it is about: ``make_snapshot([make_gpu(0, name="Tesla T4")])``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from gpu_discovery import labels
from gpu_discovery.core import model, picture as pictures
from gpu_discovery.core.config import types as config_types

MIB = 2**20
A100 = "NVIDIA A100-SXM4-40GB"
GPU = model.ResourceName("nvidia.com/gpu")


def make_gpu_uuid(index: int) -> model.GpuUuid:
    """A UUID that tells its GPU at a glance."""
    return model.GpuUuid(f"GPU-00000000-0000-4000-8000-{index:012d}")


def make_pci_address(index: int) -> str:
    """One bus per GPU, from 07 on."""
    return f"0000:{7 + index:02x}:00.0"


def make_gpu(index: int = 0, **overrides: Any) -> model.Gpu:
    """An A100-SXM4-40GB that is capable of MIG and has it off; ``memory_mib`` stands for exact bytes."""
    memory_mib = overrides.pop("memory_mib", 40960)
    facts: dict[str, Any] = {
        "index": index,
        "uuid": make_gpu_uuid(index),
        "pci_address": make_pci_address(index),
        "name": A100,
        "minor": index,
        "pci_class": 0x030200,
        "numa_node": 0,
        "brand": "nvidia",
        "architecture": "ampere",
        "memory_bytes": None if memory_mib is None else memory_mib * MIB,
        "compute_capability": (8, 0),
        "mig": model.Mig(enabled=False, pending=False, max_devices=7),
        "display_mode": False,
        "display_active": False,
        "compute_mode": "default",
        "virtualization_mode": "none",
        "persistence": True,
    }
    return model.Gpu(**facts | overrides)


def make_gpus(count: int, **overrides: Any) -> tuple[model.Gpu, ...]:
    """``count`` equal GPUs."""
    return tuple(make_gpu(index, **overrides) for index in range(count))


def make_mig_attributes(**overrides: int) -> model.MigAttributes:
    """Those of a 1g.5gb."""
    facts: dict[str, int] = {
        "memory_mib": 4864,
        "multiprocessors": 14,
        "gpu_instance_slices": 1,
        "compute_instance_slices": 1,
        "copy_engines": 1,
        "decoders": 0,
        "encoders": 0,
        "jpeg_engines": 0,
        "ofa_engines": 0,
    }
    return model.MigAttributes(**facts | overrides)


def make_mig_device(
    index: int = 0, *, gpu: int = 0, profile: str | None = "1g.5gb", **overrides: Any
) -> model.MigDevice:
    """MIG device ``index`` of GPU ``gpu``."""
    facts: dict[str, Any] = {
        "index": index,
        "uuid": model.GpuUuid(f"MIG-00000000-0000-5000-{gpu:04d}-{index:012d}"),
        "gpu_instance_id": 7 + index,
        "compute_instance_id": 0,
        "profile": profile,
        "attributes": make_mig_attributes(),
        "memory_bytes": 4864 * MIB,
        "placement": model.Placement(start=index, size=1),
        "gpu_instance_profile_id": 19,
        "compute_instance_profile_id": 0,
    }
    return model.MigDevice(**facts | overrides)


def make_mig_gpu(index: int = 0, profiles: Sequence[str] = ("1g.5gb",) * 7, **overrides: Any) -> model.Gpu:
    """A GPU with MIG on and one device per profile named."""
    devices = tuple(make_mig_device(at, gpu=index, profile=profile) for at, profile in enumerate(profiles))
    mig = model.Mig(enabled=True, pending=True, max_devices=7, devices=devices)
    return make_gpu(index, **{"mig": mig} | overrides)


def make_pci(address: str = "0000:07:00.0", **overrides: Any) -> model.PciFunction:
    """A 3D controller that the nvidia driver holds and that is no virtual GPU."""
    facts: dict[str, Any] = {
        "address": address,
        "device_id": 0x20B0,
        "class_code": 0x030200,
        "driver": "nvidia",
        "numa_node": 0,
        "is_vgpu": False,
    }
    return model.PciFunction(**facts | overrides)


def make_host(**overrides: Any) -> model.Host:
    """A DGX A100 with its driver loaded."""
    facts: dict[str, Any] = {
        "machine": "DGXA100 920-23687-2530-000\n",
        "kernel": "5.15.0-91-generic",
        "boot_id": "5f3c0a52-7d7e-4f0b-9f0e-3c5f6f1a2b3c",
        "driver_load": model.DriverLoad("5f3c0a52-7d7e-4f0b-9f0e-3c5f6f1a2b3c", "535.129.03", 4711),
    }
    return model.Host(**facts | overrides)


def make_snapshot(gpus: Iterable[model.Gpu] = (), **overrides: Any) -> model.Snapshot:
    """A pass that went well; the bus shows one function per GPU that has an address."""
    gpus = tuple(gpus)
    facts: dict[str, Any] = {
        "taken_at_s": 1_700_000_000.0,
        "finding": model.Finding.OK if gpus else model.Finding.NO_GPUS,
        "platform": model.Platform.NVML,
        "driver_version": "535.129.03",
        "cuda_version": (12, 2),
        "gpus": gpus,
        "host": make_host(),
        "pci": tuple(
            make_pci(gpu.pci_address, class_code=gpu.pci_class or 0x030200) for gpu in gpus if gpu.pci_address
        ),
    }
    return model.Snapshot(**facts | overrides)


def make_entry(replicas: int = 4, **overrides: Any) -> config_types.SharingEntry:
    """Shares every ``nvidia.com/gpu``; ``devices`` may be a count or a list of references."""
    devices = overrides.pop("devices", "all")
    facts: dict[str, Any] = {"name": GPU, "replicas": replicas, "devices": _selection(devices)}
    return config_types.SharingEntry(**facts | overrides)


def _selection(devices: str | int | Sequence[str]) -> config_types.DeviceSelection:
    if devices == "all":
        return config_types.DeviceSelection()
    if isinstance(devices, int):
        return config_types.DeviceSelection(is_all=False, count=devices)
    return config_types.DeviceSelection(is_all=False, refs=tuple(devices))


def make_section(
    *entries: config_types.SharingEntry, section: str = "timeSlicing", rename_by_default: bool = False
) -> config_types.SharingSection:
    """A sharing section; paths and default renames are filled as loading fills them."""
    filled = []
    for position, entry in enumerate(entries):
        rename = entry.rename or (f"{entry.name}.shared" if rename_by_default else None)
        path = f"sharing.{section}.resources[{position}]"
        filled.append(replace(entry, path=path, rename=None if rename is None else model.ResourceName(rename)))
    return config_types.SharingSection(
        resources=tuple(filled),
        rename_by_default=rename_by_default,
        fail_requests_greater_than_one=section == "mps",
    )


def make_config(
    *,
    time_slicing: Sequence[config_types.SharingEntry] | None = None,
    mps: Sequence[config_types.SharingEntry] | None = None,
    rename_by_default: bool = False,
    gpus: Sequence[tuple[str, str]] = (),
    mig: Sequence[tuple[str, str]] = (),
    **own: Any,
) -> config_types.Config:
    """A config with sharing entries, ``resources`` as (pattern, name) and the options of ``gpuDiscovery``."""
    return config_types.Config(
        resources=config_types.ResourceRules(gpus=_rules("gpus", gpus), mig=_rules("mig", mig)),
        sharing=config_types.Sharing(
            time_slicing=None
            if time_slicing is None
            else make_section(*time_slicing, rename_by_default=rename_by_default),
            mps=None if mps is None else make_section(*mps, section="mps", rename_by_default=rename_by_default),
        ),
        own=config_types.OwnOptions(**own),
    )


def _rules(section: str, rules: Sequence[tuple[str, str]]) -> tuple[config_types.ResourceRule, ...]:
    return tuple(
        config_types.ResourceRule(pattern, model.ResourceName(name), f"resources.{section}[{position}]")
        for position, (pattern, name) in enumerate(rules)
    )


def make_labels(
    node: model.Snapshot | Iterable[model.Gpu], *, mig_strategy: str = "none", **config: Any
) -> labels.LabelSet:
    """The labels of a snapshot, or of a healthy node with these GPUs, by config options."""
    snapshot = node if isinstance(node, model.Snapshot) else make_snapshot(node)
    return labels.make_labels(pictures.make_picture(snapshot, make_config(**config), mig_strategy=mig_strategy))
