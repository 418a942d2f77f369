"""Whole cases that users reported: a node, a config, and the labels that are right."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

import pytest

from gpu_discovery.core import model
from gpu_discovery.core.config import compat
from tests import builders

LEGAL = re.compile(r"(([A-Za-z0-9][A-Za-z0-9_.-]{0,61})?[A-Za-z0-9])?")
MAX_Q = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"
INVALID = (compat.MIG_INVALID_LABELS,)


def gpu_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """What stands under ``nvidia.com/gpu.``, without that."""
    return {key.removeprefix("nvidia.com/gpu."): labels[key] for key in labels if key.startswith("nvidia.com/gpu.")}


def labels_of(node: Any, **options: Any) -> Mapping[str, str]:
    """The labels alone."""
    return builders.make_labels(node, **options).labels


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        ("HP Z820 Workstation", "HP-Z820-Workstation"),
        ("Standard PC (i440FX + PIIX, 1996)", "Standard-PC-i440FX-PIIX-1996"),
        ("To be filled by O.E.M.", "To-be-filled-by-O.E.M"),
    ],
)
def test_t01_illegal_characters_and_illegal_ends(machine: str, expected: str) -> None:
    """Brackets and a final dot would make the API server refuse the label."""
    gpu = builders.make_gpu(
        name="NVIDIA TITAN X (Pascal)", memory_mib=12288, compute_capability=(6, 1), mig=None, pci_class=0x030000
    )
    host = builders.make_host(machine=machine + "\n")
    snapshot = builders.make_snapshot([gpu], driver_version="525.125.06", cuda_version=(12, 0), host=host)
    labels = labels_of(snapshot)
    assert gpu_labels(labels) == {
        "product": "NVIDIA-TITAN-X-Pascal",
        "family": "pascal",
        "compute.major": "6",
        "compute.minor": "1",
        "memory": "12288",
        "count": "1",
        "replicas": "1",
        "sharing-strategy": "none",
        "mode": "graphics",
        "machine": expected,
    }
    assert labels["nvidia.com/mig.capable"] == "false"
    assert all(LEGAL.fullmatch(value) for value in labels.values())


def make_max_q(profiles: tuple[str, ...]) -> model.Gpu:
    """The GPU with the longest name."""
    return builders.make_mig_gpu(0, profiles, name=MAX_Q, compute_capability=(12, 0), memory_mib=97887)


@pytest.mark.parametrize(
    ("profiles", "options", "product"),
    [
        (4, {"mig_strategy": "single"}, "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edi-MIG-1g.24gb"),
        (
            4,
            {"mig_strategy": "single", "time_slicing": [builders.make_entry(2)]},
            "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstat-MIG-1g.24gb-SHARED",
        ),
        (
            0,
            {"mig_strategy": "single", "reference_compat": INVALID},
            "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edi-MIG-INVALID",
        ),
        (0, {"mig_strategy": "single"}, "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edition"),
        (4, {"mig_strategy": "none"}, "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edition"),
    ],
    ids=["a", "b", "c, compat", "c", "d"],
)
def test_t02_over_long_product(profiles: int, options: dict[str, Any], product: str) -> None:
    """63 characters at most, suffix intact, and one notice where something was cut."""
    made = builders.make_labels([make_max_q(("1g.24gb",) * profiles)], **options)
    assert made.labels["nvidia.com/gpu.product"] == product
    assert len(product) <= 63
    shortened = [notice for notice in made.notices if notice.cause.startswith("shortened:")]
    assert len(shortened) == (len(product) == 63)


def test_t03_memory_not_supported() -> None:
    """An integrated GPU without memory of its own: no label, never 0, all others there, one notice."""
    gpu = builders.make_gpu(name="NVIDIA GB10", compute_capability=(12, 1), memory_mib=None, mig=None)
    made = builders.make_labels([gpu])
    labels = gpu_labels(made.labels)
    assert "memory" not in labels
    assert labels["product"] == "NVIDIA-GB10"
    assert labels["family"] == "blackwell"
    assert labels["count"] == "1"
    assert made.labels["nvidia.com/mig.capable"] == "false"
    assert [notice.cause for notice in made.notices] == ["memory-unknown:NVIDIA GB10"]


def test_t05_three_models_in_every_order() -> None:
    """One label set in all 120 passes, which describes one model and counts all."""
    models = (
        ("NVIDIA GeForce RTX 3080", 10240, (8, 6)),
        ("NVIDIA GeForce RTX 3090", 24576, (8, 6)),
        ("NVIDIA GeForce RTX 4090", 24564, (8, 9)),
    )
    passes = [
        tuple(
            labels_of(
                [
                    builders.make_gpu(at, name=name, memory_mib=memory, compute_capability=capability, mig=None)
                    for at, (name, memory, capability) in enumerate(order)
                ]
            ).items()
        )
        for order in itertools.permutations(models)
        for _ in range(20)
    ]
    assert len(passes) == 120
    assert len(set(passes)) == 1
    labels = gpu_labels(dict(passes[0]))
    assert labels["product"] == "NVIDIA-GeForce-RTX-3080"
    assert labels["memory"] == "10240"
    assert labels["count"] == "1"
    assert labels["heterogeneous"] == "true"
    assert labels["physical.count"] == "3"
    for name, memory, _ in models:
        slug = f"model.{name.replace(' ', '-')}"
        assert labels[f"{slug}.count"] == "1"
        assert labels[f"{slug}.memory"] == str(memory)


def test_t07_mig_size_rounding() -> None:
    """The label's profile is the resource's, and memory is the attribute."""
    attributes = builders.make_mig_attributes(memory_mib=20096, gpu_instance_slices=3, compute_instance_slices=3)
    devices = tuple(builders.make_mig_device(at, profile="3g.20gb", attributes=attributes) for at in range(2))
    mig = model.Mig(enabled=True, pending=True, max_devices=7, devices=devices)
    labels = labels_of([builders.make_gpu(memory_bytes=42505273344, mig=mig)], mig_strategy="mixed")
    assert labels["nvidia.com/mig-3g.20gb.count"] == "2"
    assert labels["nvidia.com/mig-3g.20gb.memory"] == "20096"
    assert labels["nvidia.com/mig-3g.20gb.slices.gi"] == "3"
    assert labels["nvidia.com/gpu.count"] == "1"
    assert labels["nvidia.com/gpu.memory"] == "40536"
    assert labels["nvidia.com/gpu.replicas"] == "0"
    assert not [key for key in labels if "21gb" in key]


def test_t08_suffix_profiles() -> None:
    """Three profiles on two GPUs, each counted alone."""
    profiles = ("1g.10gb",) * 5 + ("1g.10gb+me", "1g.20gb")
    labels = labels_of([builders.make_mig_gpu(at, profiles) for at in range(2)], mig_strategy="mixed")
    counts = {
        key: value for key, value in labels.items() if key.startswith("nvidia.com/mig-") and key.endswith("count")
    }
    assert counts == {
        "nvidia.com/mig-1g.10gb.count": "10",
        "nvidia.com/mig-1g.10gb.me.count": "2",
        "nvidia.com/mig-1g.20gb.count": "2",
    }
    assert labels["nvidia.com/mig-1g.10gb.me.product"] == "NVIDIA-A100-SXM4-40GB-MIG-1g.10gb.me"


def test_t09a_empty_mig_gpu_under_mixed() -> None:
    """The labels are the reference's: eight physical GPUs, no MIG block."""
    gpus = [builders.make_gpu(at) if at != 3 else builders.make_mig_gpu(3, ()) for at in range(8)]
    labels = labels_of(gpus, mig_strategy="mixed")
    assert labels["nvidia.com/gpu.count"] == "8"
    assert labels["nvidia.com/gpu.replicas"] == "1"
    assert labels["nvidia.com/mig.strategy"] == "mixed"
    assert "nvidia.com/mig.invalid-reason" not in labels


def test_t09b_empty_mig_gpu_under_single() -> None:
    """49 devices and a reason for the eighth GPU."""
    gpus = [builders.make_mig_gpu(at, ("1g.5gb",) * 7 if at != 3 else ()) for at in range(8)]
    labels = labels_of(gpus, mig_strategy="single")
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"
    assert labels["nvidia.com/gpu.count"] == "49"
    assert labels["nvidia.com/gpu.replicas"] == "1"
    assert labels["nvidia.com/mig.invalid-reason"] == "empty"


def test_t09c_nothing_but_empty_mig_gpus_under_single() -> None:
    """Identity stays, counts are 0, and a label says why."""
    labels = labels_of([builders.make_mig_gpu(at, ()) for at in range(8)], mig_strategy="single")
    assert gpu_labels(labels) == {
        "product": "NVIDIA-A100-SXM4-40GB",
        "count": "0",
        "replicas": "0",
        "sharing-strategy": "none",
        "memory": "40960",
        "family": "ampere",
        "compute.major": "8",
        "compute.minor": "0",
        "mode": "compute",
        "machine": "DGXA100-920-23687-2530-000",
    }
    assert labels["nvidia.com/mig.invalid-reason"] == "empty"
    assert labels["nvidia.com/mig.strategy"] == "single"


EMPTY_AND_FULL = [builders.make_mig_gpu(0, ()), builders.make_mig_gpu(1)]
ON_AND_OFF = [builders.make_mig_gpu(0), builders.make_gpu(1)]
TWO_PROFILES = [builders.make_mig_gpu(0, ("1g.5gb", "2g.10gb"))]


@pytest.mark.parametrize("gpus", [EMPTY_AND_FULL, ON_AND_OFF, TWO_PROFILES], ids=["empty", "modes", "profiles"])
def test_t09_the_reference_s_invalid_labels(gpus: list[model.Gpu]) -> None:
    """With the compatibility name the set is the reference's, to the empty sharing strategy, and has no reason."""
    options: dict[str, Any] = {"mig_strategy": "single", "time_slicing": [builders.make_entry(2)]}
    labels = labels_of(gpus, reference_compat=INVALID, **options)
    assert gpu_labels(labels) == {
        "product": "NVIDIA-A100-SXM4-40GB-MIG-INVALID",
        "count": "0",
        "replicas": "0",
        "sharing-strategy": "",
        "memory": "0",
        "family": "ampere",
        "compute.major": "8",
        "compute.minor": "0",
        "mode": "compute",
        "machine": "DGXA100-920-23687-2530-000",
    }
    assert "nvidia.com/mig.invalid-reason" not in labels
    assert "nvidia.com/mig.invalid-reason" in labels_of(gpus, **options)


def test_the_invalid_set_names_the_same_model_in_any_order() -> None:
    """The reference takes the first by index; of several models here it is the one that the common keys describe."""
    names = ("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB")
    for order in (names, names[::-1]):
        gpus = [builders.make_mig_gpu(at, (), name=name) for at, name in enumerate(order)]
        labels = labels_of(gpus, mig_strategy="single", reference_compat=INVALID)
        assert labels["nvidia.com/gpu.product"] == "NVIDIA-A100-SXM4-40GB-MIG-INVALID"


@pytest.mark.parametrize("gpus", [[builders.make_mig_gpu(0)], [builders.make_gpu(0)]])
def test_the_invalid_set_is_for_invalid_nodes(gpus: list[model.Gpu]) -> None:
    """On others the name changes nothing."""
    assert labels_of(gpus, mig_strategy="single", reference_compat=INVALID) == labels_of(gpus, mig_strategy="single")


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("535.54", ("535", "54", "", "535.54")),
        ("535.129.03", ("535", "129", "03", "535.129.03")),
        ("580.126.20", ("580", "126", "20", "580.126.20")),
        ("1.2.3.4", (None, None, None, "1.2.3.4")),
        ("", (None, None, None, None)),
        ("r595_12", (None, None, None, "r595_12")),
        ("535.-1", (None, None, None, "535.-1")),
        ("535 .54", (None, None, None, None)),
    ],
)
def test_t13_driver_version_strings(version: str, expected: tuple[str | None, ...]) -> None:
    """An odd one costs its own labels only, and one notice."""
    made = builders.make_labels(builders.make_snapshot([builders.make_gpu()], driver_version=version))
    new = [made.labels.get(f"nvidia.com/cuda.driver-version.{part}") for part in ("major", "minor", "revision", "full")]
    old = [made.labels.get(f"nvidia.com/cuda.driver.{part}") for part in ("major", "minor", "rev")]
    assert tuple(new) == expected
    assert tuple(old) == expected[:3]
    others = {key: value for key, value in made.labels.items() if "cuda.driver" not in key}
    plain = labels_of([builders.make_gpu()])
    assert others == {key: value for key, value in plain.items() if "cuda.driver" not in key}
    assert [notice.cause for notice in made.notices] == (["driver-version"] if expected[0] is None else [])


def test_t21b_labels_per_resource() -> None:
    """Two GPUs shared differently: a block for each name, and the physical GPUs under the common keys."""
    entries = [
        builders.make_entry(2, devices=["0"], rename="nvidia.com/gpu.lat"),
        builders.make_entry(8, devices=["1"], rename="nvidia.com/gpu.batch"),
    ]
    labels = labels_of(builders.make_gpus(2), time_slicing=entries)
    assert labels["nvidia.com/gpu.lat.count"] == "1"
    assert labels["nvidia.com/gpu.lat.replicas"] == "2"
    assert labels["nvidia.com/gpu.batch.replicas"] == "8"
    assert labels["nvidia.com/gpu.batch.sharing-strategy"] == "time-slicing"
    assert labels["nvidia.com/gpu.count"] == "2"
    assert not [value for value in labels.values() if value.endswith("-SHARED")]


def test_t21c_one_replica_leaves_no_trace() -> None:
    """Exclusive, and no ``-SHARED``."""
    plain = labels_of(builders.make_gpus(2))
    assert labels_of(builders.make_gpus(2), time_slicing=[builders.make_entry(1)]) == plain


def test_t21e_a_block_per_model_s_resource() -> None:
    """Names out of ``resources`` have labels of their own beside the common ones."""
    gpus = [
        builders.make_gpu(at, name=f"NVIDIA GeForce RTX {name}") for at, name in enumerate(("3090", "4090", "4090"))
    ]
    rules = [("*3090*", "nvidia.com/gpu-3090"), ("*4090*", "nvidia.com/gpu-4090")]
    labels = labels_of(gpus, gpus=rules)
    assert labels["nvidia.com/gpu-3090.count"] == "1"
    assert labels["nvidia.com/gpu-4090.count"] == "2"
    assert labels["nvidia.com/gpu-4090.product"] == labels["nvidia.com/gpu.product"] == "NVIDIA-GeForce-RTX-4090"
