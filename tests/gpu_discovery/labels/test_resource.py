"""Blocks of labels under resource names of their own."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_discovery.labels import values
from tests import builders

MIG_1G = "nvidia.com/mig-1g.5gb"


def block(prefix: str, node: Any, **options: Any) -> dict[str, str]:
    """The labels under a prefix."""
    labels = builders.make_labels(node, **options).labels
    return {key.removeprefix(prefix + "."): value for key, value in labels.items() if key.startswith(prefix + ".")}


def test_a_mig_profile_s_block() -> None:
    """Every key of the reference's block."""
    assert block(MIG_1G, [builders.make_mig_gpu(0)], mig_strategy="mixed") == {
        "product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb",
        "count": "7",
        "replicas": "1",
        "sharing-strategy": "none",
        "memory": "4864",
        "multiprocessors": "14",
        "slices.gi": "1",
        "slices.ci": "1",
        "engines.copy": "1",
        "engines.decoder": "0",
        "engines.encoder": "0",
        "engines.jpeg": "0",
        "engines.ofa": "0",
    }


def test_a_shared_mig_profile() -> None:
    """``-SHARED`` comes after the profile."""
    entry = builders.make_entry(3, name=MIG_1G)
    labels = block(MIG_1G, [builders.make_mig_gpu(0)], mig_strategy="mixed", time_slicing=[entry])
    assert labels["product"] == "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED"
    assert (labels["count"], labels["replicas"], labels["sharing-strategy"]) == ("7", "3", "time-slicing")


def test_a_mig_profile_renamed_by_default_keeps_its_prefix() -> None:
    """As in the reference, whose labels know no rename."""
    options: dict[str, Any] = {
        "mig_strategy": "mixed",
        "time_slicing": [builders.make_entry(3, name=MIG_1G)],
        "rename_by_default": True,
    }
    labels = block(MIG_1G, [builders.make_mig_gpu(0)], **options)
    assert labels["product"] == "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"
    assert labels["replicas"] == "3"
    assert not [key for key in labels if key.startswith("shared.")]


def test_a_mig_profile_shared_in_part_has_two_blocks() -> None:
    """Each under the name that it is served by."""
    entry = builders.make_entry(3, name=MIG_1G, devices=["0:0"], rename=MIG_1G + ".shared")
    options: dict[str, Any] = {"mig_strategy": "mixed", "time_slicing": [entry]}
    gpus = [builders.make_mig_gpu(0)]
    rest, shared = block(MIG_1G, gpus, **options), block(MIG_1G + ".shared", gpus, **options)
    assert (rest["count"], rest["replicas"]) == ("6", "1")
    assert (shared["count"], shared["replicas"]) == ("1", "3")


def test_a_renamed_resource_gives_up_no_name_that_is_taken() -> None:
    """Where something else is served under the old name, the renamed one is described by the new."""
    options: dict[str, Any] = {
        "gpus": [("*A100*", "nvidia.com/fast"), ("*", "nvidia.com/slow")],
        "time_slicing": [
            builders.make_entry(2, name="nvidia.com/fast", rename="nvidia.com/fast.shared"),
            builders.make_entry(4, name="nvidia.com/slow", rename="nvidia.com/fast"),
        ],
    }
    gpus = [builders.make_gpu(0), builders.make_gpu(1, name="Tesla T4")]
    assert block("nvidia.com/fast", gpus, **options)["product"] == "Tesla-T4"
    assert block("nvidia.com/fast.shared", gpus, **options)["product"] == "NVIDIA-A100-SXM4-40GB"


def test_several_profiles_behind_one_name() -> None:
    """The most numerous is described, all are counted."""
    options: dict[str, Any] = {"mig_strategy": "mixed", "mig": [("*", "nvidia.com/slice")]}
    labels = block("nvidia.com/slice", [builders.make_mig_gpu(0, ("1g.5gb", "1g.5gb", "2g.10gb"))], **options)
    assert labels["product"].endswith("-MIG-1g.5gb")
    assert labels["count"] == "3"


def test_attributes_do_not_depend_on_the_order() -> None:
    """Of devices that differ the smallest is described."""
    small, large = builders.make_mig_attributes(), builders.make_mig_attributes(multiprocessors=16)
    for order in ((small, large), (large, small)):
        devices = tuple(builders.make_mig_device(at, attributes=found) for at, found in enumerate(order))
        gpu = builders.make_mig_gpu(0)
        mig = type(gpu.mig)(True, True, 7, devices)  # type: ignore[misc]  # make_mig_gpu always has one
        labels = block(MIG_1G, [builders.make_gpu(0, mig=mig)], mig_strategy="mixed")
        assert labels["multiprocessors"] == "14"


def test_a_long_name_leaves_room_for_the_keys() -> None:
    """Shortened with a hash, every key legal, two long names told apart."""
    names = ["nvidia.com/" + "long-" * 9 + suffix for suffix in ("one", "two")]
    rules = list(zip(("*A100*", "*T4*"), names, strict=True))
    gpus = [builders.make_gpu(0), builders.make_gpu(1, name="Tesla T4")]
    labels = builders.make_labels(gpus, gpus=rules).labels
    assert all(values.is_legal_key(key) for key in labels)
    own = [key for key in labels if key.startswith("nvidia.com/long-") and key.endswith(".sharing-strategy")]
    assert len(own) == 2


@pytest.mark.parametrize(
    "name", ["gpu.present", "gpu.deploy", "gpu.deploy.driver", "mig.config", "device-plugin.config"]
)
def test_keys_of_others_are_never_touched(name: str) -> None:
    """The GPU Operator and its MIG manager act by these; no name of a resource leads there, and a notice says so."""
    plain = builders.make_labels([builders.make_gpu(0)])
    made = builders.make_labels([builders.make_gpu(0)], gpus=[("*", f"nvidia.com/{name}")])
    assert made.labels == plain.labels
    assert [notice.cause for notice in made.notices] == ["keys-taken"]
    assert f"nvidia.com/{name}.count" in made.notices[0].text


@pytest.mark.parametrize("name", ["gpu.full", "gpu.model.fast"])
def test_a_key_means_one_thing_on_every_node(name: str) -> None:
    """A node that lacks the node's own label of that key doesn't give it to a resource."""
    labels = builders.make_labels([builders.make_gpu(0)], gpus=[("*", f"nvidia.com/{name}")]).labels
    assert f"nvidia.com/{name}.count" not in labels
    assert labels[f"nvidia.com/{name}.replicas"] == "1"


def test_a_name_that_means_something_else_already() -> None:
    """The node's own label holds, and a notice asks for another name."""
    options: dict[str, Any] = {"gpus": [("*A100*", "nvidia.com/gpu.physical")], "extra_labels": ("counts",)}
    made = builders.make_labels([builders.make_gpu(0), builders.make_gpu(1, name="Tesla T4")], **options)
    assert made.labels["nvidia.com/gpu.physical.count"] == "2"
    assert made.labels["nvidia.com/gpu.physical.product"] == "NVIDIA-A100-SXM4-40GB"
    assert [notice.cause for notice in made.notices] == ["keys-taken"]
    assert made.notices[0].text.startswith("nvidia.com/gpu.physical.count: ")
