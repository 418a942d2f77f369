"""The small families: capability, mode, clique, vGPU, machine, versions, and what is there on request."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_discovery.core import model
from gpu_discovery.core.config import types as config_types
from tests import builders

CLUSTER = "00000000-0000-0000-0000-000000000001"
UNREADABLE = model.UnreadableGpu(2, (model.ReadFailure("handle", "nvmlDeviceGetHandleByIndex_v2", "UNKNOWN", 999),))


def label(key: str, node: Any, **options: Any) -> str | None:
    """One label."""
    return builders.make_labels(node, **options).labels.get(f"nvidia.com/{key}")


@pytest.mark.parametrize("mig", [model.Mig(False, False, 7), model.Mig(True, True, 7)])
def test_mig_capable_on_or_off(mig: model.Mig) -> None:
    """One capable GPU is enough, whether MIG is on or not."""
    gpus = [builders.make_gpu(0, mig=None), builders.make_gpu(1, mig=mig)]
    assert label("mig.capable", gpus) == "true"
    assert label("mig.capable", gpus[:1]) == "false"
    assert label("mig.capable", gpus, exclude=(config_types.GpuSelector(index=1),)) == "false"


def test_mig_capable_of_a_gpu_that_does_not_tell() -> None:
    """Neither true nor false, unless another GPU makes it true."""
    failure = model.ReadFailure("mig", "nvmlDeviceGetMigMode", "UNKNOWN", 999)
    silent = builders.make_gpu(0, mig=None, failures=(failure,))
    made = builders.make_labels([silent, builders.make_gpu(1, mig=None)])
    assert "nvidia.com/mig.capable" not in made.labels
    assert [notice.cause for notice in made.notices] == ["mig-unknown"]
    assert label("mig.capable", [silent, builders.make_gpu(1)]) == "true"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "false"),
        ({"time_slicing": [builders.make_entry(2)]}, "false"),
        ({"mps": [builders.make_entry(2)]}, "true"),
        ({"mps": [builders.make_entry(1)]}, "true"),
        ({"mps": [builders.make_entry(2, name="nvidia.com/mig-1g.5gb")]}, "false"),
    ],
    ids=["no sharing", "time-slicing", "mps", "mps for one tenant", "mps of what is not here"],
)
def test_mps_capable_where_the_daemon_is_wanted(options: dict[str, Any], expected: str) -> None:
    """The MPS daemon's pods select nodes by it."""
    assert label("mps.capable", builders.make_gpus(2), **options) == expected


def test_one_mps_replica_is_exclusive_for_everyone_who_asks() -> None:
    """No ``-SHARED``, one replica, strategy none; only the daemon is told."""
    shared = builders.make_labels(builders.make_gpus(2), mps=[builders.make_entry(1)]).labels
    plain = builders.make_labels(builders.make_gpus(2)).labels
    assert {key for key in plain if plain[key] != shared[key]} == {"nvidia.com/mps.capable"}


@pytest.mark.parametrize("strategy", ["none", "single", "mixed"])
def test_mps_on_a_mig_node_costs_no_other_label(strategy: str) -> None:
    """The reference exits; here nothing is MPS-shared, and a notice says why."""
    made = builders.make_labels([builders.make_mig_gpu(0)], mig_strategy=strategy, mps=[builders.make_entry(2)])
    assert made.labels == builders.make_labels([builders.make_mig_gpu(0)], mig_strategy=strategy).labels
    assert made.labels["nvidia.com/mps.capable"] == "false"


@pytest.mark.parametrize(
    ("classes", "mode"),
    [
        ([0x030000], "graphics"),
        ([0x030200, 0x030200], "compute"),
        ([0x030000, 0x030200], "unknown"),
        ([0x030200, None], "unknown"),
        ([0x040300], "unknown"),
        ([None], "unknown"),
    ],
)
def test_mode_by_pci_class(classes: list[int | None], mode: str) -> None:
    """One class of the two that GPUs have; everything else is unknown, and no crash."""
    gpus = [builders.make_gpu(at, pci_class=found) for at, found in enumerate(classes)]
    assert label("gpu.mode", gpus) == mode


def test_mixed_classes_are_named() -> None:
    """In the notice, as the bus gives them."""
    made = builders.make_labels([builders.make_gpu(0), builders.make_gpu(1, pci_class=0x030000)])
    assert [notice.text for notice in made.notices if "PCI class" in notice.text] == [
        "the GPUs are not of one PCI class: 0x030000, 0x030200"
    ]


def make_fabric(cluster: str = CLUSTER, clique: int = 7, **overrides: int) -> model.Fabric:
    """An attached GPU's fabric."""
    return model.Fabric(overrides.get("state", 3), overrides.get("status", 0), cluster, clique)


@pytest.mark.parametrize(
    ("fabrics", "expected"),
    [
        ([make_fabric(), make_fabric()], f"{CLUSTER}.7"),
        ([make_fabric(), None], f"{CLUSTER}.7"),
        ([make_fabric(), make_fabric(state=2, clique=9)], f"{CLUSTER}.7"),
        ([make_fabric(), make_fabric(status=999, clique=9)], f"{CLUSTER}.7"),
        ([make_fabric(), make_fabric("00000000-0000-0000-0000-000000000000", 9)], f"{CLUSTER}.7"),
        ([make_fabric(), make_fabric(clique=8)], None),
        ([make_fabric(), make_fabric(CLUSTER[:-1] + "2")], None),
        ([None], None),
    ],
    ids=["all", "some", "in progress", "failed", "no cluster", "two cliques", "two clusters", "none"],
)
def test_clique_of_the_attached_gpus(fabrics: list[model.Fabric | None], expected: str | None) -> None:
    """Only GPUs that completed have a say, and they must agree."""
    gpus = [builders.make_gpu(at, fabric=fabric) for at, fabric in enumerate(fabrics)]
    assert label("gpu.clique", gpus) == expected


def make_vgpu(version: str = "460.16", branch: str = "r460_00", bus: str = "07") -> model.PciFunction:
    """A vGPU whose host tells its driver."""
    return builders.make_pci(f"0000:{bus}:00.0", is_vgpu=True, vgpu=model.VgpuRecord(version, branch))


def vgpu_labels(*functions: model.PciFunction) -> dict[str, str]:
    """What stands under ``nvidia.com/vgpu.`` on a node without a driver."""
    labels = builders.make_labels(builders.make_snapshot((), pci=functions)).labels
    assert all(key.startswith("nvidia.com/vgpu.") for key in labels)
    return {key.removeprefix("nvidia.com/vgpu."): value for key, value in labels.items()}


def test_no_vgpu() -> None:
    """No function says so, or there is none."""
    assert vgpu_labels(builders.make_pci()) == {"present": "false"}
    assert vgpu_labels() == {"present": "false"}


def test_vgpus_that_agree() -> None:
    """One or several: the host has one driver."""
    expected = {"present": "true", "host-driver-version": "460.16", "host-driver-branch": "r460_00"}
    assert vgpu_labels(make_vgpu()) == expected
    assert vgpu_labels(make_vgpu(), make_vgpu(bus="08"), builders.make_pci("0000:09:00.0", is_vgpu=None)) == expected


def test_vgpus_that_differ() -> None:
    """None of two values is the node's."""
    assert vgpu_labels(make_vgpu(), make_vgpu("535.10", bus="08")) == {"present": "true"}


@pytest.mark.parametrize("record", [None, model.VgpuRecord(None, None)])
def test_a_vgpu_without_a_version(record: model.VgpuRecord | None) -> None:
    """Present is still true; the reference exits here."""
    assert vgpu_labels(builders.make_pci(is_vgpu=True, vgpu=record)) == {"present": "true"}


def test_vgpu_that_needs_privileges_to_tell() -> None:
    """No label rather than a guess, and a notice."""
    snapshot = builders.make_snapshot((), pci=(builders.make_pci(), builders.make_pci("0000:08:00.0", is_vgpu=None)))
    made = builders.make_labels(snapshot)
    assert made.labels == {}
    assert [notice.cause for notice in made.notices] == ["vgpu-unknown"]
    assert "0000:08:00.0" in made.notices[0].text


def test_a_bus_that_cannot_be_listed_tells_nothing_of_vgpus() -> None:
    """Every other label is there."""
    made = builders.make_labels(builders.make_snapshot([builders.make_gpu()], pci=None))
    plain = dict(builders.make_labels([builders.make_gpu()]).labels)
    del plain["nvidia.com/vgpu.present"]
    assert made.labels == plain


def test_an_excluded_vgpu_is_nobodys() -> None:
    """Rules hold for the bus as well; those by address also while no driver says which GPU is where."""
    none = {"nvidia.com/vgpu.present": "false"}
    by_index, by_address = config_types.GpuSelector(index=0), config_types.GpuSelector(pci_address="0000:07:00.0")
    snapshot = builders.make_snapshot([builders.make_gpu()], pci=(make_vgpu(),))
    assert builders.make_labels(snapshot, exclude=(by_index,)).labels == none
    without = builders.make_snapshot((), finding=model.Finding.DRIVER_NOT_LOADED, pci=(make_vgpu(),))
    assert builders.make_labels(without, exclude=(by_address,)).labels == none
    assert builders.make_labels(without, exclude=(by_index,)).labels["nvidia.com/vgpu.present"] == "true"
    assert builders.make_labels(without, include=(by_address,)).labels["nvidia.com/vgpu.present"] == "true"


@pytest.mark.parametrize(("machine", "expected"), [(None, "unknown"), ("", ""), (" \t\n", ""), ("a" * 70, "a" * 63)])
def test_machine(machine: str | None, expected: str) -> None:
    """Unreadable is unknown; empty stays empty, as in the reference."""
    snapshot = builders.make_snapshot([builders.make_gpu()], host=builders.make_host(machine=machine))
    assert label("gpu.machine", snapshot) == expected


def test_an_unreadable_machine_type_is_told() -> None:
    """With file and reason."""
    failure = model.ReadFailure("machine", "/sys/class/dmi/id/product_name", "EACCES", 13)
    host = builders.make_host(machine=None, failures=(failure,))
    made = builders.make_labels(builders.make_snapshot([builders.make_gpu()], host=host))
    assert [notice.cause for notice in made.notices] == ["machine-unknown"]
    assert "/sys/class/dmi/id/product_name: EACCES" in made.notices[0].text


@pytest.mark.parametrize(("fact", "family"), [("driver_version", "cuda.driver"), ("cuda_version", "cuda.runtime")])
def test_a_version_that_cannot_be_read_costs_its_labels(fact: str, family: str) -> None:
    """And no other."""
    snapshot = builders.make_snapshot([builders.make_gpu()], **{fact: None})
    made = builders.make_labels(snapshot).labels
    plain = builders.make_labels([builders.make_gpu()]).labels
    assert made == {key: value for key, value in plain.items() if family not in key}


def test_counts_tell_of_a_gpu_that_cannot_be_read() -> None:
    """All there are, and how many of what kind."""
    snapshot = builders.make_snapshot(
        [builders.make_gpu(0), builders.make_mig_gpu(1)],
        unreadable=(UNREADABLE,),
        pci=tuple(builders.make_pci(f"0000:{bus:02x}:00.0") for bus in (7, 8, 9, 10)),
    )
    counts = {kind: label(f"gpu.{kind}.count", snapshot) for kind in ("physical", "full", "mig-enabled", "unreadable")}
    assert counts == {"physical": "4", "full": "1", "mig-enabled": "1", "unreadable": "2"}
    assert label("gpu.count", snapshot) == "2"


def test_a_gpu_without_a_known_name_is_no_other_model() -> None:
    """The node is not heterogeneous for it: the others are described, and it is one that can't be read."""
    gpus = [*builders.make_gpus(2), builders.make_gpu(2, name="")]
    made = builders.make_labels(gpus, extra_labels=("devices", "counts")).labels
    plain = builders.make_labels(gpus[:2], extra_labels=("devices", "counts")).labels
    assert {key: made[key] for key in made if made.get(key) != plain.get(key)} == {
        "nvidia.com/gpu.physical.count": "3",
        "nvidia.com/gpu.unreadable.count": "1",
        "nvidia.com/gpu-2.uuid": "GPU-00000000-0000-4000-8000-000000000002",
        "nvidia.com/gpu-2.pci-address": "0000-09-00.0",
    }


@pytest.mark.parametrize("strategy", ["none", "single", "mixed"])
def test_a_name_that_is_not_known_is_no_product(strategy: str) -> None:
    """Where no GPU has a name: no product label, nor one of suffixes alone; everything else is there."""
    gpus = [builders.make_mig_gpu(0, name="")]
    made = builders.make_labels(gpus, mig_strategy=strategy, extra_labels=("models",))
    plain = builders.make_labels([builders.make_mig_gpu(0)], mig_strategy=strategy).labels
    expected = {key: value for key, value in plain.items() if not key.endswith(".product")}
    assert {key: value for key, value in made.labels.items() if key in plain} == expected
    assert not [key for key in made.labels if key.endswith(".product") or ".model." in key]
    assert {notice.cause for notice in made.notices} >= {"product-unknown:nvidia.com/gpu.product"}


def test_no_gpu_that_can_be_read() -> None:
    """Nothing is said of GPUs then, as in the reference; what is published already is the labeler's to keep."""
    snapshot = builders.make_snapshot((), finding=model.Finding.OK, unreadable=(UNREADABLE,))
    assert builders.make_labels(snapshot, extra_labels=("counts",)).labels == {"nvidia.com/vgpu.present": "false"}


def test_counts_on_request() -> None:
    """Also on a plain node, but not on one without GPUs."""
    assert label("gpu.physical.count", builders.make_gpus(2), extra_labels=("counts",)) == "2"
    assert label("gpu.unreadable.count", builders.make_gpus(2), extra_labels=("counts",)) == "0"
    assert label("gpu.physical.count", (), extra_labels=("counts",)) is None


def test_models_on_request() -> None:
    """A block for the one model, and no mark of several."""
    gpus = [builders.make_gpu(0), builders.make_mig_gpu(1)]
    labels = builders.make_labels(gpus, extra_labels=("models",)).labels
    prefix = "nvidia.com/gpu.model.NVIDIA-A100-SXM4-40GB."
    assert {key.removeprefix(prefix): value for key, value in labels.items() if key.startswith(prefix)} == {
        "product": "NVIDIA-A100-SXM4-40GB",
        "count": "2",
        "memory": "40960",
        "family": "ampere",
        "compute.major": "8",
        "compute.minor": "0",
        "mig-enabled.count": "1",
    }
    assert "nvidia.com/gpu.heterogeneous" not in labels


def test_devices_on_request() -> None:
    """One set per GPU, with its index in the key."""
    gpus = [builders.make_gpu(0), builders.make_gpu(3, name="Tesla T4", pci_address=None)]
    labels = builders.make_labels(gpus, extra_labels=("devices",)).labels
    assert {key: value for key, value in labels.items() if key.startswith("nvidia.com/gpu-")} == {
        "nvidia.com/gpu-0.uuid": "GPU-00000000-0000-4000-8000-000000000000",
        "nvidia.com/gpu-0.product": "NVIDIA-A100-SXM4-40GB",
        "nvidia.com/gpu-0.pci-address": "0000-07-00.0",
        "nvidia.com/gpu-3.uuid": "GPU-00000000-0000-4000-8000-000000000003",
        "nvidia.com/gpu-3.product": "Tesla-T4",
    }


def test_share_memory_on_request() -> None:
    """What MPS lets one client have; time-slicing sets no such limit."""
    asked = {"extra_labels": ("share-memory",)}
    gpus = builders.make_gpus(2)
    assert label("gpu.share-memory", gpus, mps=[builders.make_entry(3)], **asked) == "13653"
    assert label("gpu.memory", gpus, mps=[builders.make_entry(3)], **asked) == "40960"
    assert label("gpu.share-memory", gpus, time_slicing=[builders.make_entry(3)], **asked) is None
    assert label("gpu.share-memory", gpus, mps=[builders.make_entry(3)]) is None
