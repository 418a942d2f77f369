from __future__ import annotations

import dataclasses

import pytest

from gpu_discovery import labels
from gpu_discovery.core import model, picture
from gpu_discovery.core.config import types as config_types
from gpu_discovery.labeler import unread
from tests import builders
from tests.fakes import clock as clocks


@pytest.fixture
def clock():
    """A clock that stands still."""
    return clocks.Clock()


def labels_of(snapshot, strategy="none"):
    """What this snapshot means by itself."""
    return labels.make_labels(picture.make_picture(snapshot, config_types.Config(), mig_strategy=strategy)).labels


def make_unread(gpu, fact, **overrides):
    """A GPU of which this fact could not be read."""
    failure = model.ReadFailure(fact, f"nvml({fact})", "UNKNOWN", 999)
    return dataclasses.replace(gpu, **{fact: None, "failures": (failure,)} | overrides)


@pytest.mark.parametrize("fact", ["memory_bytes", "compute_capability", "pci_class", "mig"])
def test_no_label_vanishes_or_flips_while_a_fact_of_the_only_gpu_is_unread(clock, fact):
    """One failing call in one pass leaves the labels as they are."""
    gpu = builders.make_gpu()
    published = labels_of(builders.make_snapshot([gpu]))
    snapshot = builders.make_snapshot([make_unread(gpu, fact)])
    made = labels_of(snapshot)
    assert made != published
    assert unread.UnreadFacts(clock).completed(snapshot, made, published, strategy="none") == published


def test_a_bus_that_cannot_be_listed_takes_no_label_of_the_gpus(clock):
    """Their PCI class comes from there, for as long as it takes."""
    good = builders.make_snapshot([builders.make_gpu()])
    failure = model.ReadFailure("pci", "/sys/bus/pci/devices", "EMFILE")
    gpu = builders.make_gpu(pci_class=None)
    snapshot = dataclasses.replace(builders.make_snapshot([gpu]), pci=None, failures=(failure,))
    facts = unread.UnreadFacts(clock)
    for _ in range(3):
        assert facts.completed(snapshot, labels_of(snapshot), labels_of(good), strategy="none") == labels_of(good)
        clock.now += unread.GRACE_S


@pytest.mark.parametrize("fact", ["driver_version", "cuda_version"])
def test_versions_stay_while_the_driver_does_not_tell_them(clock, fact):
    """A fact of the whole node is kept as one of a GPU."""
    good = builders.make_snapshot([builders.make_gpu()])
    failure = model.ReadFailure(fact, "nvmlSystemGet", "UNKNOWN", 999)
    snapshot = dataclasses.replace(good, **{fact: None, "failures": (failure,)})
    completed = unread.UnreadFacts(clock).completed(snapshot, labels_of(snapshot), labels_of(good), strategy="none")
    assert completed == labels_of(good)


def test_the_machine_stays_while_its_file_cannot_be_read(clock):
    """Instead of flipping to unknown."""
    good = builders.make_snapshot([builders.make_gpu()])
    failure = model.ReadFailure("machine", "/sys/class/dmi/id/product_name", "EIO", 5)
    host = dataclasses.replace(good.host, machine=None, failures=(failure,))
    snapshot = dataclasses.replace(good, host=host)
    facts = unread.UnreadFacts(clock)
    assert facts.completed(snapshot, labels_of(snapshot), labels_of(good), strategy="none") == labels_of(good)
    clock.now += 10 * unread.GRACE_S
    assert facts.completed(snapshot, labels_of(snapshot), labels_of(good), strategy="none") == labels_of(good)


@pytest.mark.parametrize("strategy", ["single", "mixed"])
def test_labels_stand_still_for_a_change_of_mig_layout_that_nvml_stumbles_over(clock, strategy):
    """For a minute the labels of before hold; then the node is what can be read of it."""
    before = builders.make_mig_gpu(0)
    published = labels_of(builders.make_snapshot([before]), strategy)
    snapshot = builders.make_snapshot([make_unread(before, "mig")])
    made = labels_of(snapshot, strategy)
    facts = unread.UnreadFacts(clock)
    assert facts.completed(snapshot, made, published, strategy=strategy) == published
    clock.now += unread.GRACE_S - 1
    assert facts.completed(snapshot, made, published, strategy=strategy) == published
    clock.now += 1
    late = facts.completed(snapshot, made, published, strategy=strategy)
    assert not any("mig-1g.5gb" in key for key in late)
    assert late["nvidia.com/gpu.product"] == made["nvidia.com/gpu.product"]


def test_what_a_gpu_can_do_with_mig_stands_in_for_itself_for_ever(clock):
    """The mode can't be read any more, the GPU is the same; what layout it has is not claimed."""
    gpu = builders.make_mig_gpu(0)
    published = labels_of(builders.make_snapshot([gpu]), "mixed")
    snapshot = builders.make_snapshot([make_unread(gpu, "mig")])
    facts = unread.UnreadFacts(clock)
    facts.completed(snapshot, labels_of(snapshot, "mixed"), published, strategy="mixed")
    clock.now += 10 * unread.GRACE_S
    late = facts.completed(snapshot, labels_of(snapshot, "mixed"), published, strategy="mixed")
    assert late["nvidia.com/mig.capable"] == "true"
    assert not any("mig-1g.5gb" in key for key in late)


def test_a_gpu_that_a_new_process_cannot_read_is_counted_for_a_minute(clock):
    """The process before knew it; a restart while the driver is busy changes no count."""
    gpus = builders.make_gpus(2)
    published = labels_of(builders.make_snapshot(gpus))
    failure = model.ReadFailure("handle", "nvmlDeviceGetHandleByIndex_v2", "UNKNOWN", 999)
    unreadable = model.UnreadableGpu(1, (failure,), gpus[1].pci_address)
    snapshot = builders.make_snapshot(gpus[:1], unreadable=(unreadable,))
    made = labels_of(snapshot)
    facts = unread.UnreadFacts(clock)
    completed = facts.completed(snapshot, made, published, strategy="none")
    assert completed["nvidia.com/gpu.count"] == "2"
    assert completed["nvidia.com/gpu.unreadable.count"] == "1"
    clock.now += unread.GRACE_S
    assert facts.completed(snapshot, made, published, strategy="none") == made


def test_grace_begins_anew_after_a_pass_that_read_everything(clock):
    """A fact that fails now and then is each time a short failure."""
    gpu = builders.make_mig_gpu(0)
    good, bad = builders.make_snapshot([gpu]), builders.make_snapshot([make_unread(gpu, "mig")])
    published, made = labels_of(good, "single"), labels_of(bad, "single")
    facts = unread.UnreadFacts(clock)
    facts.completed(bad, made, published, strategy="single")
    clock.now += 50
    assert facts.completed(good, published, published, strategy="single") == published
    clock.now += 50
    assert facts.completed(bad, made, published, strategy="single") == published


def test_a_plain_fact_stands_in_for_itself_for_ever(clock):
    """Memory that can no longer be read is still the memory of the same product."""
    gpu = builders.make_gpu()
    published = labels_of(builders.make_snapshot([gpu]))
    snapshot = builders.make_snapshot([make_unread(gpu, "memory_bytes")])
    facts = unread.UnreadFacts(clock)
    for _ in range(3):
        assert facts.completed(snapshot, labels_of(snapshot), published, strategy="none") == published
        clock.now += 10 * unread.GRACE_S


def test_nothing_is_kept_for_another_product(clock):
    """A GPU was exchanged and its memory can't be read: the old GPU's memory is not the new one's."""
    published = labels_of(builders.make_snapshot([builders.make_gpu()]))
    snapshot = builders.make_snapshot([make_unread(builders.make_gpu(name="Tesla T4"), "memory_bytes")])
    made = labels_of(snapshot)
    assert unread.UnreadFacts(clock).completed(snapshot, made, published, strategy="none") == made


def test_a_label_that_rests_on_other_facts_follows_the_node(clock):
    """One GPU's memory can't be read, another GPU is gone: the count is what is there."""
    gpus = builders.make_gpus(2)
    published = labels_of(builders.make_snapshot(gpus))
    snapshot = builders.make_snapshot([make_unread(gpus[0], "memory_bytes")])
    completed = unread.UnreadFacts(clock).completed(snapshot, labels_of(snapshot), published, strategy="none")
    assert completed["nvidia.com/gpu.count"] == "1"
    assert completed["nvidia.com/gpu.memory"] == published["nvidia.com/gpu.memory"]


def test_a_fact_that_a_gpu_does_not_offer_keeps_nothing(clock):
    """Absent is not unread: what is published goes when the node has it no more."""
    gpu = builders.make_gpu()
    published = labels_of(builders.make_snapshot([gpu]))
    snapshot = builders.make_snapshot([dataclasses.replace(gpu, memory_bytes=None)])
    completed = unread.UnreadFacts(clock).completed(snapshot, labels_of(snapshot), published, strategy="none")
    assert "nvidia.com/gpu.memory" not in completed


def test_without_published_labels_there_is_nothing_to_keep(clock):
    """The first pass of all."""
    snapshot = builders.make_snapshot([make_unread(builders.make_gpu(), "memory_bytes")])
    made = labels_of(snapshot)
    assert unread.UnreadFacts(clock).completed(snapshot, made, None, strategy="none") == made


def test_causes_name_call_reason_and_gpus_once():
    """Two GPUs failing alike are one cause."""
    gpus = [make_unread(gpu, "memory_bytes") for gpu in builders.make_gpus(2)]
    causes = unread.causes(builders.make_snapshot(gpus))
    assert list(causes.values()) == ["reading memory_bytes of GPU 0, 1 failed: nvml(memory_bytes): UNKNOWN"]
