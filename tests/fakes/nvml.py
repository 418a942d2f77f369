"""Machines for the fake NVML library, and the driver root that holds it.

``make_machine``, ``make_gpu`` and ``make_mig_device`` give the machine description as plain JSON values, with an
A100 where nothing else is said; tests/fake_nvml/README.md tells its format. ``FakeDriver`` installs a copy of its own
of the library in each driver root, so that two drivers in one process share nothing.

Longer than other modules because half of it is one machine's facts.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pynvml

from tests.fakes import boards, mig_layout, nvml_library

_NAMESPACE = uuid.UUID("6f1f2a52-6c2b-4c43-9f0a-3d0f6b7f3f10")
_BRANDS = {"quadro": 1, "tesla": 2, "nvs": 3, "grid": 4, "geforce": 5, "titan": 6, "nvidia-rtx": 13, "nvidia": 14}
_ARCHITECTURES = {
    "kepler": 2,
    "maxwell": 3,
    "pascal": 4,
    "volta": 5,
    "turing": 6,
    "ampere": 7,
    "ada": 8,
    "hopper": 9,
    "blackwell": 10,
}
_COMPUTE_MODES = {"default": 0, "exclusive-thread": 1, "prohibited": 2, "exclusive-process": 3}
_VIRTUALIZATION_MODES = {"none": 0, "passthrough": 1, "vgpu": 2, "host-vgpu": 3, "host-vsga": 4}
_NAMED = {
    "brand": _BRANDS,
    "architecture": _ARCHITECTURES,
    "compute_mode": _COMPUTE_MODES,
    "virtualization_mode": _VIRTUALIZATION_MODES,
}
_COMPUTE_PROFILES = {1: 0, 2: 1, 3: 2, 4: 3, 7: 4, 8: 5, 6: 6}
"""Index of the compute instance profile by its slices."""

Json = dict[str, Any]

calls = nvml_library.calls
"""Every function of the library that can fail or hang."""


# --- machine descriptions ------------------------------------------------------------------------------------------


def make_machine(gpus: Sequence[Json] | None = None, **overrides: Any) -> Json:
    """A machine with these GPUs, one A100 by default, whose driver answers every call."""
    return {
        "driver_version": "535.129.03",
        "nvml_version": "12.535.129.03",
        "cuda_version": 12020,
        "init": "SUCCESS",
        "missing_symbols": [],
        "open_device_nodes": None,
        "conf_compute": None,
        "max_versions": {},
        "fail": {},
        "hang": {},
        "gpus": [make_gpu()] if gpus is None else list(gpus),
        "events": [],
    } | overrides


def make_gpu(
    index: int = 0, board: str = "a100-40", *, mig_devices: Sequence[str | Json] | None = None, **overrides: Any
) -> Json:
    """One GPU of a named board (``boards.BOARDS``), its identity following from ``index``.

    ``mig_devices`` switches MIG on and takes profile names (``"1g.5gb"``, ``"1c.3g.20gb"``), which are placed as they
    fit, or entries as they are. A dict for ``mig`` changes only the keys it has.
    """
    model = boards.BOARDS[board]
    gpu: Json = {
        # These come first because every call looks them up, and the library counts as time of what benchmarks measure.
        "uuid": gpu_uuid(index),
        "fail": {},
        "hang": {},
        "minor": index,
        "pci_address": f"0000:{7 + 8 * index:02x}:00.0",
        "pci_device_id": model.pci_device_id,
        "pci_subsystem_id": 0x144E10DE,
        "pci_class": model.pci_class,
        "name": model.name,
        "brand": model.brand,
        "architecture": model.architecture,
        "memory_bytes": model.memory_mib << 20,
        "memory_used_bytes": 0,
        "memory_reserved_bytes": 0,
        "bar1_bytes": 1 << 36,
        "compute_capability": list(model.compute_capability),
        "serial": f"165{index:010d}",
        "part_number": None,
        "vbios_version": "92.00.45.00.03",
        "module_id": index + 1,
        "numa": None,
        "mig": _mig(model, index, mig_devices),
        "display_mode": 0,
        "display_active": 0,
        "compute_mode": 0,
        "addressing_mode": 0,
        "virtualization_mode": 0,
        "host_vgpu_mode": None,
        "persistence": 1,
        "fabric": _fabric() if model.has_fabric else None,
        "ecc": _ecc() if model.has_ecc else None,
        "remap": _remap() if model.has_remap else None,
        "retired_pages": None if model.has_remap else {"single_bit": [], "double_bit": [], "pending": 0},
        "nvlinks": [_nvlink(link) for link in range(model.nvlinks)] or None,
        "common_ancestor": {},
        "p2p": {},
        "pcie": _pcie(),
        "temperature_c": 34,
        "power_mw": 61_000,
        "utilization": {"gpu": 0, "memory": 0},
        "clocks_event_reasons": 1,
        "processes": [],
        "graphics_processes": [],
        "mps_processes": [],
        "event_types": 0x101F if model.has_ecc else 0x1C,
        "fields": {"230": 0},
    }
    if isinstance(overrides.get("mig"), Mapping):
        overrides["mig"] = (gpu["mig"] or _mig_defaults(model)) | overrides["mig"]
    return gpu | {
        key: _NAMED.get(key, {}).get(value, value) if isinstance(value, str) else value
        for key, value in overrides.items()
    }


def make_mig_device(
    profile: str = "1g.5gb",
    *,
    board: str = "a100-40",
    gpu: int = 0,
    gi_id: int = 1,
    ci_id: int = 0,
    placement: tuple[int, int] | None = None,
    **overrides: Any,
) -> Json:
    """One MIG device by its profile's name; the UUID follows from GPU index and instance ids."""
    row, slices = mig_layout.profile_named(boards.BOARDS[board], profile)
    copy_engines, decoders, jpeg_engines, ofa_engines = row.engines
    return {
        "uuid": mig_uuid(gpu, gi_id, ci_id),
        "name": f"{boards.BOARDS[board].name} MIG {profile}",
        "gi_id": gi_id,
        "ci_id": ci_id,
        "gi_profile": row.index,
        "ci_profile": _COMPUTE_PROFILES[slices],
        "memory_mib": row.memory_mib,
        "attributes": {
            "memory_mib": row.memory_mib,
            "multiprocessors": row.multiprocessors * slices // row.slices,
            "gpu_slices": row.slices,
            "compute_slices": slices,
            "copy_engines": copy_engines,
            "decoders": decoders,
            "encoders": 0,
            "jpeg_engines": jpeg_engines,
            "ofa_engines": ofa_engines,
        },
        "placement": list(placement or row.placements[0]),
        "ci_placement": [ci_id * slices, slices],
        "fail": {},
        "hang": {},
    } | overrides


def make_event(number: int, gpu: Json, xid: int, **overrides: Any) -> Json:
    """A critical Xid on a GPU; events are handed out once each, by growing ``number``."""
    return {"id": number, "uuid": gpu["uuid"], "type": pynvml.nvmlEventTypeXidCriticalError, "data": xid} | overrides


def gpu_uuid(index: int) -> str:
    """The UUID that ``make_gpu`` gives the GPU of this index."""
    return f"GPU-{uuid.uuid5(_NAMESPACE, f'gpu {index}')}"


def mig_uuid(gpu: int, gi_id: int, ci_id: int) -> str:
    """The UUID that ``make_mig_device`` gives this instance."""
    return f"MIG-{uuid.uuid5(_NAMESPACE, f'mig {gpu} {gi_id} {ci_id}')}"


def profile_row(profile: boards.Profile) -> Json:
    """A board's profile as the machine description has it."""
    copy_engines, decoders, jpeg_engines, ofa_engines = profile.engines
    return {
        "id": profile.index,
        "profile_id": profile.profile_id,
        "name": profile.name,
        "slices": profile.slices,
        "instances": profile.instances,
        "memory_mib": profile.memory_mib,
        "multiprocessors": profile.multiprocessors,
        "copy_engines": copy_engines,
        "decoders": decoders,
        "encoders": 0,
        "jpeg_engines": jpeg_engines,
        "ofa_engines": ofa_engines,
        "placements": [list(placement) for placement in profile.placements],
    }


def _mig_defaults(model: boards.Board) -> Json:
    rows = [profile_row(profile) for profile in model.profiles]
    return {"current": 0, "pending": 0, "max_devices": model.mig_slices, "profiles": rows, "devices": []}


def _mig(model: boards.Board, index: int, devices: Sequence[str | Json] | None) -> Json | None:
    if not model.mig_slices:
        return None
    if devices is None:
        return _mig_defaults(model)
    placed = list(_placed_devices(model, index, devices))
    return _mig_defaults(model) | {"current": 1, "pending": 1, "devices": placed}


def _placed_devices(model: boards.Board, index: int, devices: Sequence[str | Json]) -> Iterator[Json]:
    board = next(name for name, known in boards.BOARDS.items() if known is model)
    places = iter(mig_layout.places(model, [device for device in devices if isinstance(device, str)]))
    for device in devices:
        if isinstance(device, str):
            at = next(places)
            yield make_mig_device(
                device, board=board, gpu=index, gi_id=at.gi_id, ci_id=at.ci_id, placement=at.placement
            )
        else:
            yield device


def _fabric() -> Json:
    return {
        "state": 3,
        "status": 0,
        "cluster_uuid": str(uuid.uuid5(_NAMESPACE, "cluster")),
        "clique_id": 1,
        "health_mask": 0x2,
        "health_summary": 1,
    }


def _ecc() -> Json:
    return {
        "current": 1,
        "pending": 1,
        "volatile": {"corrected": 0, "uncorrected": 0},
        "aggregate": {"corrected": 0, "uncorrected": 0},
        "sram": {"volatile": {}, "aggregate": {}, "threshold_exceeded": 0},
    }


def _remap() -> Json:
    histogram = {"max": 640, "high": 0, "partial": 0, "low": 0, "none": 0}
    return {"correctable": 0, "uncorrectable": 0, "pending": 0, "failed": 0, "histogram": histogram}


def _nvlink(link: int) -> Json:
    """Links of these boards go to NVSwitches, six of them."""
    return {
        "active": 1,
        "version": 3,
        "remote_kind": pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH,
        "remote_pci_address": f"0000:{0xC4 + link % 6:02x}:00.0",
        "remote_pci_device_id": 0x1AF110DE,
        "errors": {"replay": 0, "recovery": 0, "crc_flit": 0, "crc_data": 0, "ecc_data": 0},
    }


def _pcie() -> Json:
    return {
        "generation_max": 4,
        "generation_max_gpu": 4,
        "generation_current": 4,
        "width_max": 16,
        "width_current": 16,
        "replays": 0,
    }


# --- the driver ---------------------------------------------------------------------------------------------------


class FakeDriver:
    """A driver root with the fake library in it, and the machine that it tells of."""

    def __init__(self, root: str | os.PathLike[str], machine: Json | None = None) -> None:
        self.root = os.fspath(root)
        self.machine_path = os.path.join(self.root, "fake-nvml-machine.json")
        self.library_dir = os.path.join(self.root, "usr", "lib", f"{platform.machine()}-linux-gnu")
        self.library_path = os.path.join(self.library_dir, nvml_library.SONAME)
        self._installed: tuple[str, frozenset[str]] | None = None
        os.makedirs(self.library_dir, exist_ok=True)
        self.write(make_machine() if machine is None else machine)

    def write(self, machine: Json) -> None:
        """Replaces the description at one blow; another driver version or set of symbols replaces the library too."""
        _check(machine)
        wanted = (machine["driver_version"] or "0", frozenset(machine.get("missing_symbols", ())))
        if wanted != self._installed:
            self._install(*wanted)
        descriptor, path = tempfile.mkstemp(dir=self.root, prefix=".machine-")
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(json.dumps(machine))  # Several times as fast as json.dump.
        # The library tells a change by inode, size and time, and a kernel's own stamps only tick every few milliseconds.
        os.utime(path, ns=(time.time_ns(), time.time_ns()))
        os.replace(path, self.machine_path)

    def environ(self) -> dict[str, str]:
        """What the library itself needs."""
        return {"FAKE_NVML_MACHINE": self.machine_path}

    def loader_environ(self) -> dict[str, str]:
        """The same, with the library on the dynamic loader's path."""
        return self.environ() | {"LD_LIBRARY_PATH": self.library_dir}

    def uninstall(self) -> None:
        """Takes the library out of the driver root; a process that has loaded it keeps it."""
        for name in os.listdir(self.library_dir):
            if name.startswith("libnvidia-ml.so"):
                os.unlink(os.path.join(self.library_dir, name))
        self._installed = None

    def _install(self, version: str, missing: frozenset[str]) -> None:
        self.uninstall()
        name = f"libnvidia-ml.so.{version}"
        shutil.copy(nvml_library.build(missing), os.path.join(self.library_dir, name))
        os.symlink(name, self.library_path)
        self._installed = (version, missing)


# --- checks --------------------------------------------------------------------------------------------------------


def _check(machine: Json) -> None:
    """Names what the library would silently not understand: a test that fails nothing proves nothing."""
    _check_keys("the machine", machine, make_machine([]))
    _check_disturbances("the machine", machine)
    for index, gpu in enumerate(machine["gpus"]):
        _check_keys(f"GPU {index}", gpu, make_gpu())
        _check_disturbances(f"GPU {index}", gpu)
        for device in (gpu.get("mig") or {}).get("devices", ()):
            _check_disturbances(f"a MIG device of GPU {index}", device)


def _check_keys(owner: str, entry: Json, known: Json) -> None:
    if unknown := sorted(set(entry) - set(known)):
        raise ValueError(f"{owner} has keys that the fake does not know: {', '.join(unknown)}")


def _check_disturbances(owner: str, entry: Json) -> None:
    for what in ("fail", "hang"):
        if unknown := sorted(set(entry.get(what) or {}) - set(nvml_library.calls()) - {"*"}):
            raise ValueError(f"{owner}: {what} names calls that the fake does not have: {', '.join(unknown)}")
    for name in (entry.get("fail") or {}).values():
        if isinstance(name, str) and name != "SUCCESS" and not hasattr(pynvml, f"NVML_ERROR_{name}"):
            raise ValueError(f"{owner}: NVML has no error {name}")
