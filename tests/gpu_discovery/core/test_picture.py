"""The picture: verdicts, what was left out, and the two digests."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from gpu_discovery.core import errors, model, picture as pictures
from gpu_discovery.core.config import types as config_types
from tests import builders, config_strategies, strategies

XID = model.Condition("xid", "79", model.Severity.UNHEALTHY, 100.0, model.Latch.RESET)
REMAP = model.Condition("remap", "pending", model.Severity.DEGRADED, 100.0)


def make_picture(
    snapshot: model.Snapshot, health: model.Health = model.ALL_WELL, *, mig_strategy: str = "none", **config: Any
) -> pictures.Picture:
    """A picture by config options."""
    return pictures.make_picture(snapshot, builders.make_config(**config), health, mig_strategy=mig_strategy)


def verdicts(picture: pictures.Picture) -> list[bool]:
    """Health of every device, in order."""
    return [device.verdict.is_healthy for resource in picture.resources for device in resource.devices]


def test_a_picture_holds_what_it_was_made_of() -> None:
    """And the GPUs that the rules let in."""
    snapshot = builders.make_snapshot(builders.make_gpus(2))
    picture = make_picture(snapshot, exclude=(config_types.GpuSelector(index=0),))
    assert picture.snapshot is snapshot
    assert [gpu.index for gpu in picture.gpus] == [1]
    assert [record.code for record in picture.left_out] == ["excluded"]


def test_conditions_make_verdicts() -> None:
    """Degraded still serves, unhealthy doesn't; the conditions come along."""
    health = model.Health({builders.make_gpu_uuid(0): (REMAP,), builders.make_gpu_uuid(1): (REMAP, XID)})
    picture = make_picture(builders.make_snapshot(builders.make_gpus(3)), health)
    assert verdicts(picture) == [True, False, True]
    assert picture.resources[0].devices[1].verdict.conditions == (REMAP, XID)


def test_a_mig_device_suffers_with_its_gpu_and_alone() -> None:
    """A condition of the GPU concerns all its devices, one of a MIG device only that."""
    snapshot = builders.make_snapshot([builders.make_mig_gpu(at, ("1g.5gb", "1g.5gb")) for at in range(2)])
    second = builders.make_mig_device(1, gpu=1).uuid
    health = model.Health({builders.make_gpu_uuid(0): (XID,), str(second): (XID,)})
    assert verdicts(make_picture(snapshot, health, mig_strategy="mixed")) == [False, False, True, False]


def test_a_lost_gpu_counts_and_is_unhealthy() -> None:
    """Capacity stays what the node has; one notice names the GPU."""
    lost = builders.make_gpu(1, state=model.GpuState.LOST)
    picture = make_picture(builders.make_snapshot([builders.make_gpu(0), lost]))
    assert verdicts(picture) == [True, False]
    assert [condition.source for condition in picture.resources[0].devices[1].verdict.conditions] == ["lost"]
    assert [notice.cause for notice in picture.notices] == [f"lost:{lost.uuid}"]


def test_a_loss_that_health_knows_of_is_told_once() -> None:
    """Health knows since when."""
    since = model.Condition("lost", "GPU_IS_LOST", model.Severity.UNHEALTHY, 5.0, model.Latch.RESET)
    lost = builders.make_gpu(0, state=model.GpuState.LOST)
    picture = make_picture(builders.make_snapshot([lost]), model.Health({lost.uuid: (since,)}))
    assert picture.resources[0].devices[0].verdict.conditions == (since,)


def test_the_digest_leaves_health_and_time_out() -> None:
    """A lost GPU, a condition and a later pass are the same content; health has a digest of its own."""
    plain = make_picture(builders.make_snapshot(builders.make_gpus(2)))
    lost = builders.make_gpu(1, state=model.GpuState.LOST)
    health = model.Health({builders.make_gpu_uuid(0): (XID,)})
    for other in (
        make_picture(builders.make_snapshot([builders.make_gpu(0), lost], taken_at_s=5.0)),
        make_picture(builders.make_snapshot(builders.make_gpus(2)), health),
    ):
        assert other.digest == plain.digest
        assert other.health_digest != plain.health_digest


def test_the_health_digest_leaves_out_since_when() -> None:
    """Two processes that saw the same thing at different times agree."""
    later = dataclasses.replace(XID, since_s=200.0)
    snapshot = builders.make_snapshot(builders.make_gpus(1))
    first, second = (
        make_picture(snapshot, model.Health({builders.make_gpu_uuid(0): (condition,)})) for condition in (XID, later)
    )
    assert first.health_digest == second.health_digest


def test_the_health_digest_names_every_condition() -> None:
    """Source, code, how bad, and what clears it."""
    snapshot = builders.make_snapshot(builders.make_gpus(1))
    conditions = [
        XID,
        dataclasses.replace(XID, source="ecc"),
        dataclasses.replace(XID, code="48"),
        dataclasses.replace(XID, severity=model.Severity.DEGRADED),
        dataclasses.replace(XID, latch=model.Latch.REBOOT),
    ]
    found = [make_picture(snapshot, model.Health({builders.make_gpu_uuid(0): (one,)})) for one in conditions]
    assert len({picture.health_digest for picture in found}) == len(conditions)


def test_the_digest_names_how_a_resource_is_shared() -> None:
    """Replicas, strategy, name, and whether several shares may be asked for."""
    snapshot = builders.make_snapshot(builders.make_gpus(1))
    digests = {
        make_picture(snapshot, **config).digest
        for config in (
            {"time_slicing": [builders.make_entry(2)]},
            {"time_slicing": [builders.make_entry(3)]},
            {"time_slicing": [builders.make_entry(2)], "rename_by_default": True},
            {"mps": [builders.make_entry(2)]},
            {"gpus": [("*", "nvidia.com/a100")]},
        )
    }
    assert len(digests) == 5


@pytest.mark.parametrize(
    "change",
    [
        {"gpus": 3},
        {"name": "Tesla T4"},
        {"memory_mib": 81920},
        {"compute_capability": (9, 0)},
        {"uuid": "GPU-other"},
        {"pci_address": "0000:99:00.0"},
        {"driver_version": "580.126.20"},
        {"cuda_version": (13, 0)},
        {"mig_strategy": "mixed"},
        {"time_slicing": [builders.make_entry(2)]},
        {"mps": [builders.make_entry(2)]},
        {"exclude": (config_types.GpuSelector(index=0),)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_digest_names_the_content(change: dict[str, Any]) -> None:
    """Another GPU, another driver, another way to serve: another digest."""
    snapshot_keys = {"driver_version", "cuda_version"}
    picture_keys = {"mig_strategy", "time_slicing", "mps", "exclude"}
    gpu_facts = {key: value for key, value in change.items() if key not in snapshot_keys | picture_keys | {"gpus"}}
    gpus = (builders.make_gpu(0, **gpu_facts), *builders.make_gpus(change.get("gpus", 2))[1:])
    facts = {key: value for key, value in change.items() if key in snapshot_keys}
    config = {key: value for key, value in change.items() if key in picture_keys}
    changed = make_picture(builders.make_snapshot(gpus, **facts), **config)
    assert changed.digest != make_picture(builders.make_snapshot(builders.make_gpus(2))).digest


def picture_or_fault(
    snapshot: model.Snapshot, config: config_types.Config, mig_strategy: str
) -> pictures.Picture | errors.ConfigError:
    """A picture, or what is impossible about the config on this node."""
    try:
        return pictures.make_picture(snapshot, config, mig_strategy=mig_strategy)
    except errors.ConfigError as error:
        return error


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(strategies.snapshots(), config_strategies.configs(), st.sampled_from(config_strategies.STRATEGIES))
def test_every_device_has_one_place(snapshot: model.Snapshot, config: config_types.Config, mig_strategy: str) -> None:
    """On any node and by any config: served once or left out, in order, one mode a resource; or a clear error."""
    picture = picture_or_fault(snapshot, config, mig_strategy)
    if isinstance(picture, errors.ConfigError):
        assert picture.path
        return
    served = [device.index for resource in picture.resources for device in resource.devices]
    left_out = [record.index for record in picture.left_out]
    assert len(served + left_out) == len(set(served + left_out))
    for gpu in snapshot.gpus:
        devices = gpu.mig.devices if gpu.mig and mig_strategy != "none" else ()
        known = {str(gpu.index), *(f"{gpu.index}:{mig.index}" for mig in devices)}
        assert known & {*served, *left_out}
    names = [resource.name for resource in picture.resources]
    assert names == sorted(set(names))
    assert all(resource.devices for resource in picture.resources)
    again = pictures.make_picture(snapshot, config, mig_strategy=mig_strategy)
    assert again == picture
