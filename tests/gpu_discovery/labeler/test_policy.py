from __future__ import annotations

import pytest

from gpu_discovery.core import model, picture as pictures
from gpu_discovery.core.config import types as config_types
from gpu_discovery.labeler import policy
from tests import builders

Finding, Platform = model.Finding, model.Platform

MADE = {"nvidia.com/vgpu.present": "false"}
GPU_LABELS = {
    "nvidia.com/gpu.count": "1",
    "nvidia.com/vgpu.present": "false",
    "nvidia.com/gfd.timestamp": "1700000000",
}
SILENT = [
    Finding.NVML_MISSING,
    Finding.DRIVER_NOT_LOADED,
    Finding.VERSION_MISMATCH,
    Finding.NO_PERMISSION,
    Finding.NVML_FAILED,
    Finding.PLATFORM_UNKNOWN,
]


def make_failed(finding, *drivers, **overrides):
    """A pass without GPUs on a node whose bus shows one GPU per driver named."""
    pci = tuple(builders.make_pci(builders.make_pci_address(at), driver=driver) for at, driver in enumerate(drivers))
    return builders.make_snapshot(**{"finding": finding, "detail": "because", "pci": pci} | overrides)


def make_picture(snapshot, **own):
    """What is made of a snapshot under options of ``gpuDiscovery``."""
    return pictures.make_picture(snapshot, builders.make_config(**own), mig_strategy="none")


def chosen(snapshot, published, *, fails=False):
    """The choice when this is published."""
    return policy.choice(make_picture(snapshot), MADE, published, fails_without_answer=fails)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("finding", SILENT)
def test_labels_of_gpus_stay_while_the_driver_gives_no_answer(finding, fails):
    """Whatever the driver's trouble, with a GPU on the bus the published labels are kept, and said to be stale."""
    choice = chosen(make_failed(finding, "nvidia"), GPU_LABELS, fails=fails)
    assert choice.labels == GPU_LABELS
    assert choice.is_stale
    assert "because" in choice.failure
    assert "kept" in choice.unready


@pytest.mark.parametrize("drivers", [("nvidia",), (None,), ("vfio-pci", "nvidia"), ("vfio-pci", None)])
def test_labels_stay_while_a_gpu_on_the_bus_is_the_drivers_or_nobodys(drivers):
    """The driver lists none, but a GPU is there that it may list in the next pass: kept, and not a failed pass."""
    choice = chosen(make_failed(Finding.NO_GPUS, *drivers), GPU_LABELS)
    assert choice.labels == GPU_LABELS
    assert choice.failure == ""
    assert choice.unready


@pytest.mark.parametrize("drivers", [(), ("vfio-pci",), ("vfio-pci", "nouveau")])
def test_labels_go_when_the_driver_answers_and_every_gpu_is_gone_or_anothers(drivers):
    """The driver lists none and the bus agrees: the empty set is the truth, and the pass is good."""
    assert chosen(make_failed(Finding.NO_GPUS, *drivers), GPU_LABELS, fails=True) == policy.Choice(MADE)


@pytest.mark.parametrize("finding", SILENT)
def test_labels_go_when_the_bus_shows_no_gpu_even_if_the_pass_failed(finding):
    """GPUs and driver were taken out together: the labels go, and the pass still counts as failed."""
    choice = chosen(make_failed(finding), GPU_LABELS, fails=True)
    assert choice.labels == MADE
    assert choice.failure
    assert not choice.is_stale


@pytest.mark.parametrize("finding", [*SILENT, Finding.NO_GPUS])
def test_labels_stay_when_the_bus_cannot_be_read(finding):
    """Not knowing is no reason to take labels away."""
    assert chosen(make_failed(finding, pci=None), GPU_LABELS).labels == GPU_LABELS


def test_labels_stay_when_all_gpus_are_anothers_but_the_driver_does_not_answer():
    """Only an answering driver makes that certain."""
    assert chosen(make_failed(Finding.DRIVER_NOT_LOADED, "vfio-pci"), GPU_LABELS).labels == GPU_LABELS


def test_functions_that_are_no_gpus_do_not_keep_labels():
    """Audio and switches of NVIDIA are on the bus, no GPU is."""
    audio = builders.make_pci(class_code=0x040300)
    assert chosen(make_failed(Finding.NVML_MISSING, pci=(audio,)), GPU_LABELS).labels == MADE


@pytest.mark.parametrize("driver", [None, "nvidia"])
def test_a_function_whose_class_cannot_be_read_may_be_a_gpu(driver):
    """Not knowing what it is is no reason to take labels away; that another driver holds it is."""
    failure = model.ReadFailure("class_code", "/sys/bus/pci/devices/0000:07:00.0/class", "EIO", 5)
    for finding in (Finding.NVML_MISSING, Finding.NO_GPUS):
        unknown = builders.make_pci(class_code=0, driver=driver, failures=(failure,))
        assert chosen(make_failed(finding, pci=(unknown,)), GPU_LABELS).labels == GPU_LABELS
    handed_over = builders.make_pci(class_code=0, driver="vfio-pci", failures=(failure,))
    assert chosen(make_failed(Finding.NO_GPUS, pci=(handed_over,)), GPU_LABELS).labels == MADE


def test_a_virtual_function_keeps_no_labels():
    """It is a part of a GPU that another driver may hold."""
    part = builders.make_pci("0000:07:00.4", driver="nvidia", is_virtual_function=True)
    snapshot = make_failed(Finding.NO_GPUS, pci=(builders.make_pci(driver="vfio-pci"), part))
    assert chosen(snapshot, GPU_LABELS).labels == MADE


@pytest.mark.parametrize("platform", [Platform.TEGRA, Platform.WSL])
def test_a_bus_without_gpus_says_nothing_where_gpus_are_not_on_it(platform):
    """On Tegra and WSL labels go only when the driver itself lists none."""
    assert chosen(make_failed(Finding.NVML_FAILED, platform=platform), GPU_LABELS).labels == GPU_LABELS
    assert chosen(make_failed(Finding.NO_GPUS, platform=platform), GPU_LABELS).labels == MADE


@pytest.mark.parametrize(("driver", "is_kept"), [("vfio-pci", True), (None, True), ("nvidia", False)])
def test_under_vfio_the_driver_that_counts_is_vfio_pci(driver, is_kept):
    """GPUs that went back to nvidia are not this labeler's any more."""
    snapshot = make_failed(Finding.NO_GPUS, driver, platform=Platform.VFIO)
    assert (chosen(snapshot, GPU_LABELS).labels == GPU_LABELS) is is_kept


@pytest.mark.parametrize("published", [None, {}, MADE, {**MADE, "nvidia.com/gfd.timestamp": "1700000000"}])
def test_without_labels_of_gpus_to_keep_the_least_set_is_published_or_nothing(published):
    """A process that is to fail publishes nothing new; one that is to wait publishes what a GPU-less node has."""
    snapshot = make_failed(Finding.NVML_MISSING, "nvidia")
    waiting, failing = chosen(snapshot, published), chosen(snapshot, published, fails=True)
    assert (waiting.labels, waiting.is_stale, bool(waiting.failure)) == (MADE, False, True)
    assert (failing.labels, bool(failing.failure)) == (None, True)


def test_gpus_none_of_which_could_be_read_are_a_failed_pass():
    """NVML counts GPUs and gives nothing of any: kept as if it had not answered."""
    unreadable = (model.UnreadableGpu(0, (model.ReadFailure("handle", "nvmlDeviceGetHandleByIndex", "UNKNOWN"),)),)
    choice = chosen(make_failed(Finding.OK, "nvidia", unreadable=unreadable), GPU_LABELS)
    assert choice.labels == GPU_LABELS
    assert "none of 1 GPUs" in choice.failure


def test_a_good_pass_publishes_what_it_made():
    """Whatever was published before."""
    snapshot = builders.make_snapshot(builders.make_gpus(2))
    assert chosen(snapshot, GPU_LABELS, fails=True) == policy.Choice(MADE)


EXCLUDED = {"exclude": (config_types.GpuSelector(index=0),)}
UNREADABLE = model.UnreadableGpu(1, (model.ReadFailure("handle", "nvmlDeviceGetHandleByIndex", "UNKNOWN"),))


def test_labels_go_when_every_gpu_is_left_out_by_rule():
    """That is what the config asks for."""
    picture = make_picture(builders.make_snapshot(builders.make_gpus(1)), **EXCLUDED)
    assert policy.choice(picture, MADE, GPU_LABELS, fails_without_answer=True) == policy.Choice(MADE)


@pytest.mark.parametrize(("name", "own"), [("NVIDIA DGX Display", {}), ("NVIDIA T400", EXCLUDED)])
def test_a_card_that_is_left_out_does_not_stand_for_one_that_cannot_be_read(name, own):
    """The only GPU to label is unreadable, as after a restart of this process: what is published stays."""
    snapshot = builders.make_snapshot([builders.make_gpu(name=name)], unreadable=(UNREADABLE,))
    choice = policy.choice(make_picture(snapshot, **own), MADE, GPU_LABELS, fails_without_answer=False)
    assert (choice.labels, choice.is_stale) == (GPU_LABELS, True)
    assert "none of 1 GPUs" in choice.failure


def test_a_driver_that_lists_none_without_a_word_is_a_reason_too():
    """A recorded snapshot may lack the text; what is kept is stale all the same."""
    assert chosen(make_failed(Finding.NO_GPUS, "nvidia", detail=""), GPU_LABELS).unready.startswith("the driver lists")
