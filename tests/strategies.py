"""Hypothesis strategies for the model's values.

``any_snapshots`` obeys the types and nothing else (empty names, negative sizes, text in every script), for what must
never fail. ``snapshots`` are nodes that could stand somewhere: unique UUIDs and addresses, indices in order, MIG
devices below MIG-enabled GPUs, a few models per node so that they meet.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
import uuid
from typing import Any

from hypothesis import strategies as st

from gpu_discovery.core import model

_NAMES = (
    "NVIDIA A100-SXM4-40GB",
    "NVIDIA H100 80GB HBM3",
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
    "NVIDIA GeForce RTX 3090",
    "NVIDIA TITAN X (Pascal)",
    "Tesla T4",
    "NVIDIA GB10",
)
_PROFILES = ("1g.5gb", "1g.10gb", "1g.10gb+me", "1g.24gb-me", "1g.24gb+me.all", "1c.3g.20gb", "2g.20gb", "7g.80gb")
_CLASSES = (0x030000, 0x030200, 0x040300, 0x068000, 0x0C0330)

names = st.one_of(st.sampled_from(_NAMES), st.text(max_size=80))
"""Product names: known ones and any text."""

_bytes = st.one_of(st.none(), st.just(0), st.integers(1 << 20, 1 << 40))
_seconds = st.floats(allow_nan=False, allow_infinity=False)
_small = st.integers(0, 200)
_flags = st.one_of(st.none(), st.booleans())
_failures = st.lists(
    st.builds(
        model.ReadFailure, st.sampled_from(("memory_bytes", "mig", "name")), st.text(max_size=20), st.text(max_size=20)
    ),
    max_size=2,
).map(tuple)


def any_snapshots() -> st.SearchStrategy[model.Snapshot]:
    """Anything that the type hints allow, in every field that there is: a new fact needs nothing here."""
    return _anything(model.Snapshot)


@functools.cache
def _anything(hint: Any) -> st.SearchStrategy[Any]:
    """Values of one of the few shapes that the model uses; lists are short, for a snapshot has many."""
    if hint is float:
        return _seconds
    if isinstance(hint, typing.NewType):
        return _anything(hint.__supertype__)
    args = typing.get_args(hint)
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return st.one_of(*map(_anything, args))
    if typing.get_origin(hint) is tuple and args[-1] is Ellipsis:
        return st.lists(_anything(args[0]), max_size=2).map(tuple)
    if typing.get_origin(hint) is tuple:
        return st.tuples(*map(_anything, args))
    if not dataclasses.is_dataclass(hint):
        return st.from_type(hint)
    hints = typing.get_type_hints(hint)
    fields = {field.name: _anything(hints[field.name]) for field in dataclasses.fields(hint)}
    return st.builds(typing.cast("type", hint), **fields)


@st.composite
def snapshots(draw: st.DrawFn, max_gpus: int = 5) -> model.Snapshot:
    """A node with up to ``max_gpus`` readable GPUs of one to three models."""
    models = draw(st.lists(_gpu_models(), min_size=1, max_size=3))
    gpus = tuple(draw(_gpus(index, models)) for index in range(draw(st.integers(0, max_gpus))))
    pci = tuple(_pci_function(gpu) for gpu in gpus if gpu.pci_address) + draw(_other_functions())
    return model.Snapshot(
        taken_at_s=draw(_seconds),
        finding=model.Finding.OK if gpus else draw(st.sampled_from(model.Finding)),
        platform=model.Platform.NVML,
        driver_version=draw(st.one_of(st.none(), st.sampled_from(("470.57", "535.129.03")), st.text(max_size=20))),
        cuda_version=draw(st.one_of(st.none(), st.tuples(st.integers(0, 20), st.integers(0, 9)))),
        gpus=gpus,
        unreadable=draw(_unreadable(len(gpus))),
        host=draw(_hosts()),
        pci=draw(st.one_of(st.none(), st.just(pci))),
    )


def _gpu_models() -> st.SearchStrategy[tuple[str, int | None, tuple[int, int] | None]]:
    return st.tuples(names, _bytes, st.one_of(st.none(), st.tuples(st.integers(1, 13), st.integers(0, 9))))


@st.composite
def _gpus(draw: st.DrawFn, index: int, models: list[tuple[str, int | None, tuple[int, int] | None]]) -> model.Gpu:
    name, memory_bytes, compute_capability = draw(st.sampled_from(models))
    return model.Gpu(
        index=index,
        uuid=model.GpuUuid(f"GPU-{draw(_uuids(index))}"),
        pci_address=f"0000:{index + 1:02x}:00.0",
        name=name,
        state=draw(st.sampled_from(model.GpuState)),
        minor=index,
        pci_class=draw(st.one_of(st.none(), st.sampled_from(_CLASSES))),
        memory_bytes=memory_bytes,
        compute_capability=compute_capability,
        mig=draw(st.one_of(st.none(), _migs(index))),
        display_mode=draw(_flags),
        display_active=draw(_flags),
        fabric=draw(st.one_of(st.none(), _fabrics())),
        failures=draw(_failures),
    )


def _uuids(seed: int) -> st.SearchStrategy[uuid.UUID]:
    return st.integers(0, 1 << 16).map(lambda number: uuid.UUID(int=(seed + 1 << 64) + number))


@st.composite
def _migs(draw: st.DrawFn, gpu_index: int) -> model.Mig:
    enabled = draw(st.booleans())
    count = draw(st.integers(0, 7)) if enabled else 0
    devices = tuple(draw(_mig_devices(gpu_index, index)) for index in range(count))
    return model.Mig(enabled, draw(st.booleans()), 7, devices, _PROFILES)


@st.composite
def _mig_devices(draw: st.DrawFn, gpu_index: int, index: int) -> model.MigDevice:
    readable = draw(st.integers(0, 9)) > 0
    return model.MigDevice(
        index=index,
        uuid=model.GpuUuid(f"MIG-{uuid.UUID(int=(gpu_index + 1 << 96) + index)}") if readable else None,
        gpu_instance_id=index + 7,
        compute_instance_id=0,
        profile=draw(st.sampled_from(_PROFILES)) if readable else None,
        attributes=draw(st.one_of(st.none(), st.builds(model.MigAttributes, *[_small] * 9))),
        memory_bytes=draw(_bytes),
        placement=model.Placement(index, 1),
        failures=draw(_failures),
    )


def _fabrics() -> st.SearchStrategy[model.Fabric]:
    clusters = st.sampled_from([str(uuid.UUID(int=number)) for number in range(3)])
    return st.builds(model.Fabric, st.integers(0, 3), st.sampled_from((0, 3)), clusters, st.integers(0, 2))


def _pci_function(gpu: model.Gpu) -> model.PciFunction:
    return model.PciFunction(
        address=str(gpu.pci_address), device_id=0x20B0, class_code=0x030200, driver="nvidia", numa_node=0, is_vgpu=False
    )


def _other_functions() -> st.SearchStrategy[tuple[model.PciFunction, ...]]:
    function = st.builds(
        model.PciFunction,
        address=st.integers(0x80, 0xFF).map(lambda bus: f"0000:{bus:02x}:00.0"),
        device_id=st.integers(0, 0xFFFF),
        class_code=st.sampled_from(_CLASSES),
        driver=st.sampled_from((None, "nvidia", "vfio-pci", "nouveau")),
        numa_node=st.none(),
        is_vgpu=_flags,
        vgpu=st.one_of(st.none(), st.builds(model.VgpuRecord, st.text(max_size=10), st.text(max_size=10))),
    )
    return st.lists(function, max_size=3, unique_by=lambda one: one.address).map(
        lambda functions: tuple(sorted(functions, key=lambda one: one.address))
    )


def _unreadable(first_index: int) -> st.SearchStrategy[tuple[model.UnreadableGpu, ...]]:
    failures = (model.ReadFailure("handle", "nvmlDeviceGetHandleByIndex_v2", "UNKNOWN", 999),)
    return st.integers(0, 2).map(
        lambda count: tuple(model.UnreadableGpu(first_index + extra, failures) for extra in range(count))
    )


def _hosts() -> st.SearchStrategy[model.Host]:
    return st.builds(
        model.Host, st.one_of(st.none(), st.text(max_size=90)), st.just("6.8.0"), _uuids(0).map(str), st.none()
    )
