from __future__ import annotations

import dataclasses
import io
import itertools
import math

import pytest

from gpu_discovery import labeler as labelers, settings as labeler_settings
from gpu_discovery.core import errors, model
from gpu_discovery.core.config import types as config_types
from tests import builders

STAMP = "nvidia.com/gfd.timestamp"
COUNT = "nvidia.com/gpu.count"


class MemorySink:
    """Keeps what was published; ``failure`` makes it refuse."""

    def __init__(self, name="memory", published=None):
        self.name = self.target = name
        self.labels = published
        self.failure = ""
        self.writes = 0
        self.refresh_s = math.inf

    def publish(self, labels):
        if self.failure:
            raise errors.PublishFailed(f"{self.name}: {self.failure}", cause=f"{self.name}: {self.failure}")
        if labels == self.labels:
            return False
        self.labels = dict(labels)
        self.writes += 1
        return True

    def published(self):
        return self.labels

    def refresh_in_s(self):
        return self.refresh_s

    def remove(self):
        self.labels = None


def make_settings(*compat, **overrides):
    """Settings with the old behaviours named."""
    config = overrides.pop("config", config_types.Config(own=config_types.OwnOptions(reference_compat=compat)))
    return labeler_settings.LabelerSettings(config=config, **overrides)


def make_labeler(*sinks, settings=None, start=1_000, **overrides):
    """A labeler whose clock ticks one second per look at it."""
    ticks = itertools.count(start)
    return labelers.Labeler(settings or make_settings(), sinks, clock=lambda: float(next(ticks)), **overrides)


def make_node(gpus=1, **overrides):
    """A node that can be read."""
    return builders.make_snapshot(builders.make_gpus(gpus), **overrides)


def make_silent_node(**overrides):
    """The same node while the driver is not there."""
    return builders.make_snapshot(
        **{"finding": model.Finding.DRIVER_NOT_LOADED, "detail": "no module", "pci": (builders.make_pci(),)} | overrides
    )


def test_a_pass_publishes_labels_with_the_time_of_their_change():
    """The first pass writes, an equal one doesn't, a changed one writes with another time."""
    sink = MemorySink()
    labeler = make_labeler(sink)
    first = labeler.publish(make_node())
    stamp = sink.labels[STAMP]
    assert (first.changed, first.failure, first.unready, first.is_published) == (("memory",), "", "", True)
    again = labeler.publish(make_node(taken_at_s=5.0))
    assert again.changed == ()
    assert sink.labels[STAMP] == stamp
    labeler.publish(make_node(2))
    assert sink.labels[COUNT] == "2"
    assert int(sink.labels[STAMP]) > int(stamp)
    assert sink.writes == 2


def test_the_timestamp_is_taken_over_from_an_earlier_process():
    """A restart of the labeler changes no label."""
    sink = MemorySink()
    make_labeler(sink).publish(make_node())
    before = dict(sink.labels)
    make_labeler(sink, start=90_000).publish(make_node())
    assert sink.labels == before
    assert sink.writes == 1


def test_the_timestamp_is_new_when_the_earlier_process_published_something_else():
    """The labels changed between two processes."""
    sink = MemorySink()
    make_labeler(sink).publish(make_node())
    make_labeler(sink, start=90_000).publish(make_node(2))
    assert int(sink.labels[STAMP]) >= 90_000


@pytest.mark.parametrize("stamp", ["", "yesterday", "-5", "١٢"])
def test_a_timestamp_that_is_none_is_not_taken_over(stamp):
    """What somebody wrote there must be a number."""
    sink = MemorySink()
    make_labeler(sink).publish(make_node())
    sink.labels[STAMP] = stamp
    make_labeler(sink, start=90_000).publish(make_node())
    assert int(sink.labels[STAMP]) >= 90_000


def test_what_somebody_edited_is_put_right_with_the_old_time():
    """The node has not changed, so its labels have not."""
    sink = MemorySink()
    labeler = make_labeler(sink)
    labeler.publish(make_node())
    before = dict(sink.labels)
    sink.labels[COUNT] = "99"
    assert labeler.publish(make_node()).changed == ("memory",)
    assert sink.labels == before


def test_the_timestamp_can_be_left_out():
    """With noTimestamp it is not there, and one that is published goes."""
    sink = MemorySink(published={STAMP: "5", COUNT: "1"})
    make_labeler(sink, settings=make_settings(no_timestamp=True)).publish(make_node())
    assert STAMP not in sink.labels
    assert sink.labels[COUNT] == "1"


def test_the_timestamp_can_be_that_of_the_start_as_the_reference_has_it():
    """The same through changes of labels, another in the next process even if nothing changed."""
    sink, settings = MemorySink(), make_settings("timestamp-per-start")
    labeler = make_labeler(sink, settings=settings, start=1_000)
    labeler.publish(make_node())
    labeler.publish(make_node(2))
    assert sink.labels[STAMP] == "1000"
    make_labeler(sink, settings=settings, start=2_000).publish(make_node(2))
    assert sink.labels[STAMP] == "2000"


def test_a_failed_pass_keeps_what_an_earlier_process_published():
    """Byte for byte, as far as the keys are ours and the values legal."""
    sink = MemorySink()
    make_labeler(sink).publish(make_node())
    before = dict(sink.labels)
    outcome = make_labeler(sink, start=90_000).publish(make_silent_node())
    assert sink.labels == before
    assert outcome.is_stale
    assert "driver-not-loaded: no module" in outcome.failure
    assert "discovery" in outcome.causes


def test_foreign_and_illegal_lines_are_not_kept():
    """What somebody put into the file is not published in our name."""
    sink = MemorySink(published={COUNT: "1", "nvidia.com/gpu.product": "not legal!", "example.com/x": "y"})
    make_labeler(sink).publish(make_silent_node())
    assert set(sink.labels) == {COUNT, STAMP}


def test_a_failed_pass_puts_a_deleted_output_right():
    """What is kept is known even when the file is gone."""
    sink = MemorySink()
    labeler = make_labeler(sink)
    labeler.publish(make_node())
    before, sink.labels = dict(sink.labels), None
    labeler.publish(make_silent_node())
    assert sink.labels == before


def test_labels_of_gpus_go_with_the_last_gpu_of_the_bus():
    """Positively no GPU: only what a node without GPUs has, with the time of this change."""
    sink = MemorySink()
    labeler = make_labeler(sink)
    labeler.publish(make_node())
    labeler.publish(make_silent_node(pci=()))
    assert set(sink.labels) == {STAMP, "nvidia.com/vgpu.present"}


def test_a_process_that_is_to_fail_without_a_driver_publishes_nothing_new():
    """It leaves no trace before it ends; one that is to wait publishes the least set."""
    failing, waiting = MemorySink(), MemorySink()
    outcome = make_labeler(failing).publish(make_silent_node())
    assert (failing.labels, outcome.labels, outcome.is_published) == (None, None, False)
    make_labeler(waiting, settings=make_settings(fail_on_init_error=False)).publish(make_silent_node())
    assert waiting.labels is not None
    assert COUNT not in waiting.labels


def test_one_failing_sink_does_not_stop_the_others():
    """Each sink for itself; the failure is told with its cause and tried again in the next pass."""
    bad, good = MemorySink("bad"), MemorySink("good")
    bad.failure = "full"
    labeler = make_labeler(bad, good)
    outcome = labeler.publish(make_node())
    assert outcome.changed == ("good",)
    assert outcome.causes["bad: full"] == "bad: full"
    assert (outcome.failure, outcome.unready, outcome.is_published) == ("bad: full", "bad: full", False)
    bad.failure = ""
    assert labeler.publish(make_node()).changed == ("bad",)
    assert bad.labels == good.labels


def test_settings_that_are_impossible_on_this_node_keep_what_is_published():
    """An entry for a GPU that is not there is told, and the labels stay."""
    entry = builders.make_entry(devices=["7"], path="sharing.mps.resources[0]")
    section = config_types.SharingSection(resources=(entry,))
    config = config_types.Config(sharing=config_types.Sharing(time_slicing=section))
    settings = make_settings(config=config, config_file="f.yaml", config_lines={entry.path: 7})
    sink = MemorySink()
    first = make_labeler(sink)
    first.publish(make_node())
    before = dict(sink.labels)
    outcome = make_labeler(sink, settings=settings, predecessor=first).publish(make_node())
    assert "settings" in outcome.causes
    assert outcome.failure.startswith(f"f.yaml:7: {entry.path}.devices[0]: ")
    assert not outcome.is_published
    assert sink.labels == before


def test_a_fact_that_cannot_be_read_keeps_its_label():
    """A failing memory call in one pass: same labels, a cause that names it, worth another look."""
    sink = MemorySink()
    labeler = make_labeler(sink)
    labeler.publish(make_node())
    before = dict(sink.labels)
    failure = model.ReadFailure("memory_bytes", "nvmlDeviceGetMemoryInfo", "UNKNOWN", 999)
    gpu = dataclasses.replace(builders.make_gpu(), memory_bytes=None, failures=(failure,))
    outcome = labeler.publish(builders.make_snapshot([gpu]))
    assert sink.labels == before
    assert outcome.is_partial
    assert any("nvmlDeviceGetMemoryInfo" in text for text in outcome.causes.values())


def test_an_unreadable_gpu_is_worth_another_look():
    """Or its labels would be held for ever where nothing else asks for a pass."""
    failure = model.ReadFailure("handle", "nvmlDeviceGetHandleByIndex_v2", "UNKNOWN", 999)
    snapshot = builders.make_snapshot(builders.make_gpus(1), unreadable=(model.UnreadableGpu(1, (failure,)),))
    assert make_labeler(MemorySink()).publish(snapshot).is_partial
    assert not make_labeler(MemorySink()).publish(builders.make_snapshot(builders.make_gpus(1))).is_partial


def test_other_settings_hold_at_once_although_a_gpu_is_lost():
    """What stands still while a fact can't be read is the node, not what is wanted of it."""
    sink = MemorySink()
    former = make_labeler(sink)
    former.publish(make_node(2))
    failure = model.ReadFailure("state", "nvmlDeviceGetComputeMode", "GPU_IS_LOST", 15)
    lost = dataclasses.replace(builders.make_gpu(1), state=model.GpuState.LOST, memory_bytes=None, failures=(failure,))
    section = config_types.SharingSection(resources=(builders.make_entry(4),))
    config = config_types.Config(sharing=config_types.Sharing(time_slicing=section))
    present = make_labeler(sink, settings=make_settings(config=config), predecessor=former)
    present.publish(builders.make_snapshot([builders.make_gpu(0), lost]))
    assert sink.labels["nvidia.com/gpu.replicas"] == "4"
    assert sink.labels["nvidia.com/gpu.sharing-strategy"] == "time-slicing"


def test_republishing_puts_right_what_a_sink_lost():
    """While a pass hangs, what was published last is kept in place; before the first pass there is nothing."""
    sink = MemorySink()
    labeler = make_labeler(sink)
    labeler.republish()
    assert sink.labels is None
    labeler.publish(make_node())
    before, sink.labels = dict(sink.labels), None
    labeler.republish()
    assert sink.labels == before


def test_what_an_earlier_process_published_is_republished_too():
    """The first pass hangs, and the labels run out meanwhile or are lost."""
    first, second = MemorySink("first"), MemorySink("second")
    make_labeler(first).publish(make_node())
    labeler = make_labeler(first, second)
    labeler.republish()
    assert second.labels == first.labels
    first.refresh_s = 30.0
    assert labeler.refresh_in_s() == 30.0


def test_a_sink_that_refuses_is_left_to_the_next_pass():
    """Refreshing it at once would try again without a pause."""
    sink = MemorySink()
    sink.refresh_s = 0.0
    labeler = make_labeler(sink)
    assert labeler.refresh_in_s() == labelers.publishing.NEVER_S
    labeler.publish(make_node())
    assert labeler.refresh_in_s() == 0.0
    sink.failure = "full"
    labeler.publish(make_node(2))
    assert labeler.refresh_in_s() == labelers.publishing.NEVER_S


def test_a_clock_that_is_set_forward_does_not_end_the_grace_of_unread_facts():
    """The clock of a machine is often set right after its start, when its driver comes up."""
    sink, wall = MemorySink(), [1_000.0]
    labeler = labelers.Labeler(make_settings(), [sink], clock=lambda: wall[0])
    labeler.publish(make_node(2))
    failure = model.ReadFailure("handle", "nvmlDeviceGetHandleByIndex_v2", "UNKNOWN", 999)
    for moment in (2_000.0, 90_000.0):
        wall[0] = moment
        labeler.publish(make_node(unreadable=(model.UnreadableGpu(1, (failure,)),)))
        assert sink.labels[COUNT] == "2"


def test_the_nearest_refresh_counts():
    """Of several sinks; never before anything is published."""
    never, soon = MemorySink("never"), MemorySink("soon")
    soon.refresh_s = 7.0
    labeler = make_labeler(never, soon)
    assert labeler.refresh_in_s() == math.inf
    labeler.publish(make_node())
    assert labeler.refresh_in_s() == 7.0


def test_what_another_labeler_publishes_to_is_not_taken_back():
    """After a change of the output file the old one goes, a sink of both stays."""
    old, shared = MemorySink("old"), MemorySink("shared")
    former, present = make_labeler(old, shared), make_labeler(shared)
    former.publish(make_node())
    former.retract(except_for=present)
    assert (old.labels, shared.labels is None) == (None, False)
    former.retract()
    assert shared.labels is None


@pytest.mark.parametrize(
    ("publish", "output_file", "names"),
    [
        (("file",), "/features.d/gfd", ["file"]),
        (("stdout",), "/features.d/gfd", ["stdout"]),
        (("file", "stdout"), "/features.d/gfd", ["file", "stdout"]),
        (("file",), "", ["stdout"]),
        (("file", "stdout"), "", ["stdout"]),
    ],
)
def test_the_settings_name_the_sinks(publish, output_file, names):
    """An empty output file means standard output, once, as in the reference."""
    settings = make_settings(publish=publish, output_file=output_file)
    assert [sink.name for sink in labelers.make_labeler(settings, io.StringIO()).sinks] == names
