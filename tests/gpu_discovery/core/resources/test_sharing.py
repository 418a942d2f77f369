"""Sharing belongs to a device: which resources the entries make of what is there."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_discovery.core import errors, model, resources
from gpu_discovery.core.config import compat
from tests import builders

TIME_SLICING, MPS, NONE = model.SharingStrategy.TIME_SLICING, model.SharingStrategy.MPS, model.SharingStrategy.NONE


def resolve(node: Any = 2, /, *, mig_strategy: str = "none", **config: Any) -> resources.ResourceSet:
    """The resources of a node with these GPUs, or so many plain ones."""
    snapshot = builders.make_snapshot(builders.make_gpus(node) if isinstance(node, int) else node)
    return resources.resources(snapshot, builders.make_config(**config), mig_strategy=mig_strategy)


def modes(found: resources.ResourceSet) -> dict[str, tuple[model.SharingStrategy, int, list[str]]]:
    """Per resource how it is shared, and the devices' indexes."""
    return {
        resource.name: (resource.sharing, resource.replicas, [device.index for device in resource.devices])
        for resource in found.resources
    }


def test_an_entry_for_all_shares_the_resource() -> None:
    """Under its name, which is what ``is_renamed`` is about."""
    found = resolve(time_slicing=[builders.make_entry(4)])
    assert modes(found) == {"nvidia.com/gpu": (TIME_SLICING, 4, ["0", "1"])}
    assert not found.resources[0].is_renamed


def test_rename_by_default_renames() -> None:
    """The base name stays known."""
    found = resolve(time_slicing=[builders.make_entry(4)], rename_by_default=True)
    assert modes(found) == {"nvidia.com/gpu.shared": (TIME_SLICING, 4, ["0", "1"])}
    assert found.resources[0].base_name == "nvidia.com/gpu"
    assert found.resources[0].is_renamed


def test_t21b_two_entries_share_one_gpu_each_their_own_way() -> None:
    """2 and 8 replicas under two names, and nothing is left under the old one."""
    entries = [
        builders.make_entry(2, devices=["0"], rename="nvidia.com/gpu.lat"),
        builders.make_entry(8, devices=["1"], rename="nvidia.com/gpu.batch"),
    ]
    assert modes(resolve(time_slicing=entries)) == {
        "nvidia.com/gpu.batch": (TIME_SLICING, 8, ["1"]),
        "nvidia.com/gpu.lat": (TIME_SLICING, 2, ["0"]),
    }


def test_t21c_one_replica_is_exclusive() -> None:
    """The entry is accepted and changes nothing, not even the name by default."""
    for rename_by_default in (False, True):
        found = resolve(time_slicing=[builders.make_entry(1)], rename_by_default=rename_by_default)
        assert modes(found) == {"nvidia.com/gpu": (NONE, 1, ["0", "1"])}


def test_one_replica_may_still_be_given_a_name() -> None:
    """That is how a few GPUs are set apart without sharing them."""
    found = resolve(time_slicing=[builders.make_entry(1, devices=["0"], rename="nvidia.com/gpu.whole")])
    assert modes(found) == {"nvidia.com/gpu": (NONE, 1, ["1"]), "nvidia.com/gpu.whole": (NONE, 1, ["0"])}


def test_one_replica_through_mps_is_still_mps() -> None:
    """The device is for one container at a time, which is served by the MPS daemon."""
    assert modes(resolve(mps=[builders.make_entry(1)])) == {"nvidia.com/gpu": (MPS, 1, ["0", "1"])}


def test_devices_that_no_entry_names_stay_exclusive() -> None:
    """Under the base name."""
    found = resolve(3, time_slicing=[builders.make_entry(4, devices=2, rename="nvidia.com/gpu.shared")])
    assert modes(found) == {
        "nvidia.com/gpu": (NONE, 1, ["2"]),
        "nvidia.com/gpu.shared": (TIME_SLICING, 4, ["0", "1"]),
    }


def test_an_entry_that_would_split_a_resource_must_rename() -> None:
    """One name can't be exclusive and shared; the message has the entry and a name to use."""
    with pytest.raises(errors.ConfigError) as caught:
        resolve(time_slicing=[builders.make_entry(4, devices=["0"])])
    assert caught.value.path == "sharing.timeSlicing.resources[0]"
    assert "two sharing modes: time-slicing x 4 here, exclusive" in caught.value.reason
    assert "nvidia.com/gpu.shared" in caught.value.hint


def test_two_entries_that_would_split_a_resource_are_both_named() -> None:
    """Different replica counts under one name."""
    entries = [
        builders.make_entry(2, devices=["0"], rename="nvidia.com/gpu.s"),
        builders.make_entry(8, devices=["1"], rename="nvidia.com/gpu.s"),
    ]
    with pytest.raises(errors.ConfigError, match=r"resources\[1\].*8 here, time-slicing x 2 by .*resources\[0\]"):
        resolve(time_slicing=entries)


def test_two_entries_of_one_mode_make_one_resource() -> None:
    """In the order of the devices, whatever the order of the entries."""
    entries = [builders.make_entry(2, devices=["1"]), builders.make_entry(2, devices=["0"])]
    assert modes(resolve(time_slicing=entries)) == {"nvidia.com/gpu": (TIME_SLICING, 2, ["0", "1"])}


def test_overlap_within_a_section_is_an_error() -> None:
    """An index here and a UUID there may be the same GPU, which only the node shows."""
    entries = [
        builders.make_entry(2, devices=["0"], rename="nvidia.com/gpu.a"),
        builders.make_entry(4, devices=[builders.make_gpu_uuid(0)], rename="nvidia.com/gpu.b"),
    ]
    with pytest.raises(errors.ConfigError, match=r"resources\[1\]: device 0 of nvidia.com/gpu is named by .*\[0\]"):
        resolve(time_slicing=entries)


def test_time_slicing_and_mps_share_what_each_names() -> None:
    """Both sections at once, on different devices, make no noise."""
    found = resolve(
        time_slicing=[builders.make_entry(4, devices=["0"], rename="nvidia.com/gpu.ts")],
        mps=[builders.make_entry(2, devices=["1"], rename="nvidia.com/gpu.mps")],
    )
    assert modes(found) == {"nvidia.com/gpu.mps": (MPS, 2, ["1"]), "nvidia.com/gpu.ts": (TIME_SLICING, 4, ["0"])}
    assert found.notices == ()


def test_mps_wins_where_both_name_a_device() -> None:
    """With a notice that has both entries."""
    found = resolve(time_slicing=[builders.make_entry(4)], mps=[builders.make_entry(2)])
    assert modes(found) == {"nvidia.com/gpu": (MPS, 2, ["0", "1"])}
    assert len(found.notices) == 1
    assert "sharing.timeSlicing.resources[0] and sharing.mps.resources[0]" in found.notices[0].text


def test_mps_may_hide_time_slicing_as_in_the_reference() -> None:
    """Then the whole other section counts for nothing, even where it names other devices."""
    config: dict[str, Any] = {
        "time_slicing": [builders.make_entry(4, devices=["0"], rename="nvidia.com/gpu.ts")],
        "mps": [builders.make_entry(2, devices=["1"], rename="nvidia.com/gpu.mps")],
    }
    found = resolve(**config, reference_compat=(compat.MPS_HIDES_TIME_SLICING,))
    assert modes(found) == {"nvidia.com/gpu": (NONE, 1, ["0"]), "nvidia.com/gpu.mps": (MPS, 2, ["1"])}


def test_mig_devices_are_never_mps_shared() -> None:
    """They stay exclusive, or time-sliced where that names them; one notice."""
    mps = [builders.make_entry(2, name="nvidia.com/mig-1g.5gb")]
    gpus = [builders.make_mig_gpu(0, ("1g.5gb",))]
    found = resolve(gpus, mig_strategy="mixed", mps=mps)
    assert modes(found) == {"nvidia.com/mig-1g.5gb": (NONE, 1, ["0:0"])}
    assert [notice.cause for notice in found.notices] == ["mps-mig:sharing.mps.resources[0]"]
    time_slicing = [builders.make_entry(3, name="nvidia.com/mig-1g.5gb")]
    found = resolve(gpus, mig_strategy="mixed", mps=mps, time_slicing=time_slicing)
    assert modes(found) == {"nvidia.com/mig-1g.5gb": (TIME_SLICING, 3, ["0:0"])}


def test_a_gpu_with_mig_on_is_left_out_of_an_mps_shared_resource() -> None:
    """It can't be shared that way, and exclusive it would split the resource; the others are served."""
    found = resolve([builders.make_gpu(0), builders.make_mig_gpu(1)], mps=[builders.make_entry(2)])
    assert modes(found) == {"nvidia.com/gpu": (MPS, 2, ["0"])}
    assert [(record.index, record.code) for record in found.left_out] == [("1", "mps-mig")]


def test_a_gpu_with_mig_on_is_not_time_sliced_beside_mps_shared_ones() -> None:
    """Where both sections name all, one GPU that MPS can't share costs the others nothing."""
    gpus = [builders.make_gpu(0), builders.make_mig_gpu(1)]
    found = resolve(gpus, mps=[builders.make_entry(2)], time_slicing=[builders.make_entry(4)])
    assert modes(found) == {"nvidia.com/gpu": (MPS, 2, ["0"])}
    assert [(record.index, record.code) for record in found.left_out] == [("1", "mps-mig")]


def test_a_gpu_with_mig_on_stays_exclusive_beside_a_renamed_mps_resource() -> None:
    """There the names tell the two apart."""
    gpus = [builders.make_gpu(0), builders.make_mig_gpu(1)]
    found = resolve(gpus, mps=[builders.make_entry(2)], rename_by_default=True)
    assert modes(found) == {"nvidia.com/gpu": (NONE, 1, ["1"]), "nvidia.com/gpu.shared": (MPS, 2, ["0"])}


def test_an_entry_for_a_resource_that_is_not_here_is_ignored() -> None:
    """One file serves many nodes; not even its devices are looked at."""
    found = resolve(time_slicing=[builders.make_entry(4, name="nvidia.com/mig-1g.5gb", devices=["9"])])
    assert modes(found) == {"nvidia.com/gpu": (NONE, 1, ["0", "1"])}
    assert found.notices == ()


def test_the_flag_of_the_section_comes_along() -> None:
    """Requests for more than one share are the plugin's to refuse, by the resource."""
    assert resolve(mps=[builders.make_entry(2)]).resources[0].fail_requests_greater_than_one
    assert not resolve(time_slicing=[builders.make_entry(2)]).resources[0].fail_requests_greater_than_one


def test_two_models_may_share_one_name() -> None:
    """Renamed alike and shared alike, they are one resource."""
    config: dict[str, Any] = {
        "gpus": [("*A100*", "nvidia.com/gpu-a"), ("*T4*", "nvidia.com/gpu-t")],
        "time_slicing": [
            builders.make_entry(2, name="nvidia.com/gpu-a", rename="nvidia.com/any"),
            builders.make_entry(2, name="nvidia.com/gpu-t", rename="nvidia.com/any"),
        ],
    }
    found = resolve([builders.make_gpu(0, name="Tesla T4"), builders.make_gpu(1)], **config)
    assert modes(found) == {"nvidia.com/any": (TIME_SLICING, 2, ["0", "1"])}


def test_a_rename_must_not_mix_gpus_and_mig_devices() -> None:
    """As little as a naming rule."""
    entries = [
        builders.make_entry(2, rename="nvidia.com/any"),
        builders.make_entry(2, name="nvidia.com/mig-1g.5gb", rename="nvidia.com/any"),
    ]
    with pytest.raises(errors.ConfigError, match="would mix whole GPUs and MIG devices"):
        resolve([builders.make_gpu(0), builders.make_mig_gpu(1)], mig_strategy="mixed", time_slicing=entries)
