"""Which devices a sharing entry names."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_discovery.core import errors, model, resources
from gpu_discovery.core.config import types as config_types
from tests import builders

UNREADABLE = model.UnreadableGpu(2, (model.ReadFailure("handle", "nvmlDeviceGetHandleByIndex_v2", "UNKNOWN", 999),))


def share(
    devices: object, gpus: list[model.Gpu], *, mig_strategy: str = "mixed", name: str = "nvidia.com/gpu", **facts: Any
) -> resources.ResourceSet:
    """Share ``devices`` of ``name`` twice, under another name."""
    entry = builders.make_entry(2, devices=devices, name=name, rename="nvidia.com/shared")
    snapshot = builders.make_snapshot(gpus, **facts)
    return resources.resources(snapshot, builders.make_config(time_slicing=[entry]), mig_strategy=mig_strategy)


def shared(found: resources.ResourceSet) -> list[str]:
    """Indexes of the devices that were."""
    return [device.index for one in found.resources if one.name == "nvidia.com/shared" for device in one.devices]


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ("all", ["0", "1", "2"]),
        (2, ["0", "1"]),
        (["2", "0"], ["0", "2"]),
        ([builders.make_gpu_uuid(1)], ["1"]),
        (["1", builders.make_gpu_uuid(1)], ["1"]),
    ],
)
def test_gpus(devices: object, expected: list[str]) -> None:
    """All, the first n by index, by index and by UUID; twice the same is once."""
    assert shared(share(devices, list(builders.make_gpus(3)))) == expected


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        (["0:1"], ["0:1"]),
        (["1"], ["1:0", "1:1"]),
        (3, ["0:0", "0:1", "1:0"]),
        ([builders.make_mig_device(1, gpu=1).uuid], ["1:1"]),
        ([f"MIG-{builders.make_gpu_uuid(1)}/8/0"], ["1:1"]),
        ([builders.make_gpu_uuid(0)], ["0:0", "0:1"]),
    ],
    ids=["index", "all of a GPU", "count", "UUID", "old UUID", "all of a GPU by UUID"],
)
def test_mig_devices(devices: object, expected: list[str]) -> None:
    """By ``gpu:mig``, by both forms of UUID, and all of a GPU by the GPU's name."""
    gpus = [builders.make_mig_gpu(at, ("1g.5gb", "1g.5gb")) for at in range(2)]
    assert shared(share(devices, gpus, name="nvidia.com/mig-1g.5gb")) == expected


def test_t21d_an_index_that_is_not_there() -> None:
    """The error names the index, its place in the file and the valid range."""
    with pytest.raises(errors.ConfigError) as caught:
        share(["9"], list(builders.make_gpus(2)))
    assert caught.value.path == "sharing.timeSlicing.resources[0].devices[0]"
    assert caught.value.reason == "GPU index 9 is not on this node: valid 0-1"


def test_the_valid_range_has_gaps_where_the_node_has() -> None:
    """Single indexes and runs."""
    with pytest.raises(errors.ConfigError, match="valid 0-1, 4"):
        share(["9"], [builders.make_gpu(at) for at in (0, 1, 4)])


@pytest.mark.parametrize("ref", [builders.make_gpu_uuid(7), "0:0", "MIG-0"])
def test_a_name_that_is_not_there(ref: str) -> None:
    """Nor is a MIG device where no GPU has MIG on."""
    with pytest.raises(errors.ConfigError, match=f"{ref} is not on this node"):
        share([ref], list(builders.make_gpus(2)))


def test_more_devices_than_there_are() -> None:
    """The error has both numbers."""
    with pytest.raises(errors.ConfigError, match=r"devices: 3 devices of nvidia.com/gpu are .*, this node has 2"):
        share(3, list(builders.make_gpus(2)))


@pytest.mark.parametrize("ref", ["0:9", "MIG-00000000-0000-5000-0000-000000000009"])
def test_a_mig_device_that_is_not_there_now(ref: str) -> None:
    """They come and go while nobody edits the file: the entry does without it, and says so."""
    gpus = [builders.make_mig_gpu(0, ("1g.5gb", "1g.5gb"))]
    found = share(["0:0", ref], gpus, name="nvidia.com/mig-1g.5gb")
    assert shared(found) == ["0:0"]
    assert f"MIG device {ref} is not there now" in found.notices[0].text


@pytest.mark.parametrize("devices", [["0", "2"], ["0", builders.make_gpu_uuid(2)], 3])
def test_one_broken_gpu_costs_no_other_its_sharing(devices: object) -> None:
    """An entry that names the GPU that can't be read holds for the others."""
    found = share(devices, list(builders.make_gpus(2)), unreadable=(UNREADABLE,))
    assert shared(found)[0] == "0"
    assert any("sharing.timeSlicing.resources[0].devices" in notice.text for notice in found.notices)


def test_a_gpu_without_a_known_name_costs_no_other_its_sharing() -> None:
    """It may be the one that is missing in a resource of one model."""
    gpus = [builders.make_gpu(0), builders.make_gpu(1, name="")]
    entry = builders.make_entry(4, name="nvidia.com/a100", devices=2)
    config = builders.make_config(gpus=[("*A100*", "nvidia.com/a100")], time_slicing=[entry])
    found = resources.resources(builders.make_snapshot(gpus), config, mig_strategy="none")
    assert [(resource.replicas, len(resource.devices)) for resource in found.resources] == [(4, 1)]


def test_a_gpu_that_another_resource_serves() -> None:
    """It is on the node, so it is no mistake in the file: under mixed MIG can be turned on at any time."""
    found = share(["0", "1"], [builders.make_gpu(0), builders.make_mig_gpu(1)])
    assert shared(found) == ["0"]
    assert "1 is not served as nvidia.com/gpu" in found.notices[0].text


def test_a_gpu_that_is_excluded() -> None:
    """The same: the file says both, and leaving out wins."""
    entry = builders.make_entry(2, devices=["0", "1"], rename="nvidia.com/shared")
    config = builders.make_config(time_slicing=[entry], exclude=(config_types.GpuSelector(index=1),))
    found = resources.resources(builders.make_snapshot(builders.make_gpus(2)), config, mig_strategy="none")
    assert shared(found) == ["0"]
