"""``nvidia.com/gpu.*``: which model, how many, and what is said of sharing."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_discovery.core import model
from gpu_discovery.core.config import compat, types as config_types
from tests import builders

T4 = {"name": "Tesla T4", "memory_mib": 15360, "compute_capability": (7, 5), "mig": None}


def block(node: Any, prefix: str = "nvidia.com/gpu", **options: Any) -> tuple[str | None, ...]:
    """Product, count, replicas and strategy of a block."""
    labels = builders.make_labels(node, **options).labels
    return tuple(labels.get(f"{prefix}.{end}") for end in ("product", "count", "replicas", "sharing-strategy"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ("NVIDIA-A100-SXM4-40GB", "2", "1", "none")),
        ({"time_slicing": [builders.make_entry(4)]}, ("NVIDIA-A100-SXM4-40GB-SHARED", "2", "4", "time-slicing")),
        ({"mps": [builders.make_entry(4)]}, ("NVIDIA-A100-SXM4-40GB-SHARED", "2", "4", "mps")),
        (
            {"time_slicing": [builders.make_entry(4)], "rename_by_default": True},
            ("NVIDIA-A100-SXM4-40GB", "2", "4", "time-slicing"),
        ),
    ],
    ids=["exclusive", "time-slicing", "mps", "renamed"],
)
def test_sharing_of_all(options: dict[str, Any], expected: tuple[str, ...]) -> None:
    """As the reference has it; the product says so where the resource's name doesn't."""
    assert block(builders.make_gpus(2), **options) == expected


def test_a_renamed_whole_resource_has_no_block_of_its_own() -> None:
    """The reference has none either: the common block tells of it."""
    made = builders.make_labels(builders.make_gpus(2), time_slicing=[builders.make_entry(4)], rename_by_default=True)
    assert not [key for key in made.labels if key.startswith("nvidia.com/gpu.shared")]


@pytest.mark.parametrize("strategy", ["none", "mixed"])
def test_replicas_are_0_where_mig_is_on_for_all(strategy: str) -> None:
    """No GPU is to be had whole, says the reference, under strategy none as well."""
    options: dict[str, Any] = {"mig_strategy": strategy, "time_slicing": [builders.make_entry(4)]}
    assert block([builders.make_mig_gpu(0), builders.make_mig_gpu(1)], **options) == (
        "NVIDIA-A100-SXM4-40GB",
        "2",
        "0",
        "none",
    )


def test_gpus_with_mig_on_are_counted() -> None:
    """``count`` is of physical GPUs, sharing of those that are served whole."""
    gpus = [builders.make_gpu(0), builders.make_mig_gpu(1)]
    assert block(gpus, mig_strategy="mixed", time_slicing=[builders.make_entry(4)]) == (
        "NVIDIA-A100-SXM4-40GB-SHARED",
        "2",
        "4",
        "time-slicing",
    )


@pytest.mark.parametrize(
    ("gpus", "product"),
    [
        ([builders.make_gpu(0), builders.make_gpu(1, **T4), builders.make_gpu(2, **T4)], "Tesla-T4"),
        ([builders.make_gpu(0), builders.make_gpu(1), builders.make_gpu(2, **T4)], "NVIDIA-A100-SXM4-40GB"),
        ([builders.make_gpu(0), builders.make_gpu(1, **T4)], "Tesla-T4"),
        ([builders.make_gpu(0), builders.make_gpu(1, **T4 | {"memory_mib": 40960})], "NVIDIA-A100-SXM4-40GB"),
        ([builders.make_gpu(0), builders.make_gpu(1, **T4 | {"memory_mib": None})], "NVIDIA-A100-SXM4-40GB"),
    ],
    ids=["most", "most, though larger", "least memory", "name", "unknown memory"],
)
def test_the_model_that_the_common_keys_describe(gpus: list[model.Gpu], product: str) -> None:
    """Most numerous, then least memory, then first by name."""
    labels = builders.make_labels(gpus).labels
    assert labels["nvidia.com/gpu.product"] == product


def test_memory_is_the_least_of_the_model() -> None:
    """A safe value where GPUs of one name differ; that of another model never gets in."""
    gpus = [builders.make_gpu(0), builders.make_gpu(1, memory_mib=40536), builders.make_gpu(2, **T4)]
    assert builders.make_labels(gpus).labels["nvidia.com/gpu.memory"] == "40536"


def test_sharing_of_one_gpu_of_two() -> None:
    """``nvidia.com/gpu`` is there and exclusive, so the common keys say so; the shared one has its block."""
    entry = builders.make_entry(4, devices=["0"], rename="nvidia.com/gpu.shared")
    gpus = builders.make_gpus(2)
    assert block(gpus, time_slicing=[entry]) == ("NVIDIA-A100-SXM4-40GB", "2", "1", "none")
    shared = ("NVIDIA-A100-SXM4-40GB", "1", "4", "time-slicing")
    assert block(gpus, "nvidia.com/gpu.shared", time_slicing=[entry]) == shared


def test_sharing_of_a_resource_from_the_config() -> None:
    """The common keys tell its replicas, and its own block that it is shared under its name."""
    options: dict[str, Any] = {
        "gpus": [("*", "nvidia.com/a100")],
        "time_slicing": [builders.make_entry(4, name="nvidia.com/a100")],
    }
    assert block(builders.make_gpus(2), **options) == ("NVIDIA-A100-SXM4-40GB", "2", "4", "time-slicing")
    own = ("NVIDIA-A100-SXM4-40GB-SHARED", "2", "4", "time-slicing")
    assert block(builders.make_gpus(2), "nvidia.com/a100", **options) == own


def test_gpus_that_no_resource_serves() -> None:
    """They are there, and 0 of them can be had."""
    options: dict[str, Any] = {"gpus": [("*H100*", "nvidia.com/h100")], "unmatched_gpus": "skip"}
    assert block(builders.make_gpus(2), **options) == ("NVIDIA-A100-SXM4-40GB", "2", "0", "none")


def test_single_describes_the_mig_devices() -> None:
    """Their memory and engines, the GPU's architecture."""
    labels = builders.make_labels([builders.make_mig_gpu(0)], mig_strategy="single").labels
    assert labels["nvidia.com/gpu.memory"] == "4864"
    assert labels["nvidia.com/gpu.multiprocessors"] == "14"
    assert labels["nvidia.com/gpu.family"] == "ampere"


def test_single_claims_no_memory_that_is_not_known() -> None:
    """Without attributes the memory label is left out rather than the GPU's."""
    mig = model.Mig(True, True, 7, (builders.make_mig_device(attributes=None),))
    labels = builders.make_labels([builders.make_gpu(mig=mig)], mig_strategy="single").labels
    assert "nvidia.com/gpu.memory" not in labels
    assert labels["nvidia.com/gpu.product"].endswith("-MIG-1g.5gb")


def test_single_describes_whole_gpus_while_no_mig_device_exists() -> None:
    """Only those that are served count."""
    gpus = [builders.make_gpu(0), builders.make_gpu(1), builders.make_mig_gpu(2, ())]
    options: dict[str, Any] = {"mig_strategy": "single", "time_slicing": [builders.make_entry(4)]}
    assert block(gpus, **options) == ("NVIDIA-A100-SXM4-40GB-SHARED", "2", "4", "time-slicing")
    assert builders.make_labels(gpus, **options).labels["nvidia.com/mig.invalid-reason"] == "empty"


def test_single_with_mig_devices_under_another_name() -> None:
    """A rule takes them away from ``nvidia.com/gpu``, whose labels are then of the physical GPUs."""
    options: dict[str, Any] = {"mig_strategy": "single", "mig": [("*", "nvidia.com/slice")]}
    gpus = [builders.make_mig_gpu(0)]
    assert block(gpus, **options) == ("NVIDIA-A100-SXM4-40GB", "1", "0", "none")
    assert block(gpus, "nvidia.com/slice", **options) == ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "7", "1", "none")


def test_single_with_some_mig_devices_shared() -> None:
    """All that stem from ``nvidia.com/gpu`` are counted, and the sharing is that of the name."""
    entry = builders.make_entry(4, devices=["0:0"], rename="nvidia.com/gpu.shared")
    gpus = [builders.make_mig_gpu(0)]
    options: dict[str, Any] = {"mig_strategy": "single", "time_slicing": [entry]}
    assert block(gpus, **options) == ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "7", "1", "none")
    shared = ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "1", "4", "time-slicing")
    assert block(gpus, "nvidia.com/gpu.shared", **options) == shared


MIG_AS_GPUS: list[dict[str, Any]] = [
    {"mig": [("*", "nvidia.com/gpu")]},
    {"time_slicing": [builders.make_entry(2, name="nvidia.com/mig-1g.5gb", rename="nvidia.com/gpu")]},
]


@pytest.mark.parametrize(
    ("options", "replicas"), list(zip(MIG_AS_GPUS, ("1", "2"), strict=True)), ids=["rule", "rename"]
)
def test_mixed_describes_mig_devices_that_are_called_gpu(options: dict[str, Any], replicas: str) -> None:
    """What ``nvidia.com/gpu`` is to the kubelet its labels describe, whatever the strategy is called."""
    labels = builders.make_labels([builders.make_mig_gpu(0)], mig_strategy="mixed", **options).labels
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"
    assert (labels["nvidia.com/gpu.count"], labels["nvidia.com/gpu.replicas"]) == ("7", replicas)
    assert labels["nvidia.com/gpu.slices.gi"] == "1"
    assert "nvidia.com/mig.invalid-reason" not in labels


def test_several_profiles_that_are_called_gpu() -> None:
    """Whatever stands first, the most numerous profile is described and all are counted."""
    for profiles in (("2g.10gb", "1g.5gb", "1g.5gb"), ("1g.5gb", "1g.5gb", "2g.10gb")):
        node = [builders.make_mig_gpu(0, profiles)]
        expected = ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "3", "1", "none")
        assert block(node, mig_strategy="mixed", mig=[("*", "nvidia.com/gpu")]) == expected


def test_a_renamed_whole_gpu_leaves_the_name_to_mig_devices() -> None:
    """The common keys are of what has the name now; the renamed one has its block."""
    entries = [
        builders.make_entry(2, rename="nvidia.com/gpu.lat"),
        builders.make_entry(3, name="nvidia.com/mig-1g.5gb", rename="nvidia.com/gpu"),
    ]
    options: dict[str, Any] = {"mig_strategy": "mixed", "time_slicing": entries}
    node = [builders.make_gpu(0), builders.make_mig_gpu(1)]
    assert block(node, **options) == ("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", "7", "3", "time-slicing")
    assert block(node, "nvidia.com/gpu.lat", **options) == ("NVIDIA-A100-SXM4-40GB", "1", "2", "time-slicing")


def test_reasons_of_single_are_joined_in_order() -> None:
    """Each once."""
    gpus = [builders.make_mig_gpu(0, ("1g.5gb", "2g.10gb")), builders.make_mig_gpu(1, ()), builders.make_gpu(2)]
    labels = builders.make_labels(gpus, mig_strategy="single").labels
    assert labels["nvidia.com/mig.invalid-reason"] == "empty_mixed-modes_mixed-profiles"


@pytest.mark.parametrize(
    ("capability", "family"),
    [
        ((1, 0), "tesla"),
        ((2, 0), "fermi"),
        ((3, 5), "kepler"),
        ((4, 0), "undefined"),
        ((5, 2), "maxwell"),
        ((6, 1), "pascal"),
        ((7, 0), "volta"),
        ((7, 4), "volta"),
        ((7, 5), "turing"),
        ((8, 0), "ampere"),
        ((8, 8), "ampere"),
        ((8, 9), "ada-lovelace"),
        ((9, 0), "hopper"),
        ((10, 0), "blackwell"),
        ((11, 0), "undefined"),
        ((12, 1), "blackwell"),
        ((13, 0), "rubin"),
        ((14, 0), "undefined"),
    ],
)
def test_family_by_compute_capability(capability: tuple[int, int], family: str) -> None:
    """The reference's table."""
    labels = builders.make_labels([builders.make_gpu(compute_capability=capability)]).labels
    assert labels["nvidia.com/gpu.family"] == family
    assert labels["nvidia.com/gpu.compute.minor"] == str(capability[1])


@pytest.mark.parametrize("capability", [None, (0, 0)])
def test_no_architecture_without_a_capability(capability: tuple[int, int] | None) -> None:
    """Neither family nor compute capability."""
    labels = builders.make_labels([builders.make_gpu(compute_capability=capability)]).labels
    assert not [key for key in labels if ".compute." in key or key.endswith(".family")]


def test_a_gpu_for_virtual_machines() -> None:
    """Bound to vfio: versions unknown, memory in MiB, no compute capability for -1 is no legal value."""
    gpu = builders.make_gpu(name="GA100 [A100 SXM4 40GB]", compute_capability=(-1, -1), memory_mib=65536, mig=None)
    snapshot = builders.make_snapshot(
        [gpu],
        platform=model.Platform.VFIO,
        driver_version=model.UNKNOWN_DRIVER_VERSION,
        cuda_version=(0, 0),
    )
    made = builders.make_labels(snapshot)
    labels = made.labels
    assert made.notices == ()
    assert labels["nvidia.com/gpu.product"] == "GA100-A100-SXM4-40GB"
    assert labels["nvidia.com/gpu.memory"] == "65536"
    assert labels["nvidia.com/gpu.family"] == "undefined"
    assert labels["nvidia.com/cuda.driver.major"] == "unknown"
    assert labels["nvidia.com/cuda.driver-version.full"] == "unknown.unknown.unknown"
    assert labels["nvidia.com/cuda.runtime-version.full"] == "0.0"
    assert not [key for key in labels if ".compute." in key]
    in_bytes = builders.make_labels(snapshot, reference_compat=(compat.VFIO_MEMORY_BYTES,)).labels
    assert in_bytes["nvidia.com/gpu.memory"] == str(65536 * 2**20)


def test_bytes_are_for_vfio_only() -> None:
    """The compatibility name changes no other platform."""
    labels = builders.make_labels([builders.make_gpu()], reference_compat=(compat.VFIO_MEMORY_BYTES,)).labels
    assert labels["nvidia.com/gpu.memory"] == "40960"


def test_a_lost_gpu_is_counted() -> None:
    """Capacity is what is there; health is told elsewhere."""
    gpus = [builders.make_gpu(0), builders.make_gpu(1, state=model.GpuState.LOST)]
    assert builders.make_labels(gpus).labels == builders.make_labels(builders.make_gpus(2)).labels


def test_an_excluded_gpu_is_in_no_label() -> None:
    """The labels are those of a node without it."""
    gpus = [builders.make_gpu(0), builders.make_gpu(1, **T4)]
    only = (config_types.GpuSelector(model="*A100*"),)
    assert builders.make_labels(gpus, include=only).labels == builders.make_labels(gpus[:1]).labels
