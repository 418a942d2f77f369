"""MIG strategies and naming rules: what becomes which resource."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_discovery.core import errors, model, resources
from gpu_discovery.core.config import types as config_types
from tests import builders

Counts = dict[str, int]


def resolve(
    gpus: list[model.Gpu], config: config_types.Config | None = None, *, mig_strategy: str = "none"
) -> resources.ResourceSet:
    """The resources of a node with these GPUs."""
    snapshot = builders.make_snapshot(gpus)
    return resources.resources(snapshot, config or builders.make_config(), mig_strategy=mig_strategy)


def counts(found: resources.ResourceSet) -> Counts:
    """Devices per resource."""
    return {resource.name: len(resource.devices) for resource in found.resources}


def codes(found: resources.ResourceSet) -> list[tuple[str, str]]:
    """Index and code of what was left out."""
    return [(record.index, record.code) for record in found.left_out]


def test_whole_gpus_are_one_resource() -> None:
    """Devices stand by index, each with its GPU's UUID."""
    found = resolve(list(builders.make_gpus(8)))
    assert counts(found) == {"nvidia.com/gpu": 8}
    assert [device.uuid for device in found.resources[0].devices] == [builders.make_gpu_uuid(at) for at in range(8)]


def test_strategy_none_serves_gpus_with_mig_on_as_they_are() -> None:
    """Their MIG devices are nobody's."""
    found = resolve([builders.make_mig_gpu(0), builders.make_gpu(1)])
    assert counts(found) == {"nvidia.com/gpu": 2}
    assert codes(found) == []


def test_no_gpus_no_resources() -> None:
    """Under every strategy."""
    for strategy in ("none", "single", "mixed"):
        assert resolve([], mig_strategy=strategy) == resources.ResourceSet((), (), (), (), ())


def test_an_unknown_strategy_is_refused() -> None:
    """The message has the known ones."""
    with pytest.raises(errors.SettingsError, match="'bogus': use one of none, single, mixed"):
        resolve([], mig_strategy="bogus")


def test_t08_suffix_profiles_have_resources_of_their_own() -> None:
    """1g.10gb and 1g.10gb+me are two profiles, and ``+`` is no character of a resource name."""
    profiles = ("1g.10gb",) * 5 + ("1g.10gb+me", "1g.20gb")
    found = resolve([builders.make_mig_gpu(at, profiles) for at in range(2)], mig_strategy="mixed")
    assert counts(found) == {"nvidia.com/mig-1g.10gb": 10, "nvidia.com/mig-1g.10gb.me": 2, "nvidia.com/mig-1g.20gb": 2}


def test_t07_a_three_slice_profile_is_named_as_the_snapshot_names_it() -> None:
    """Labels and resources have one name for a profile: 3g.20gb, not 21gb."""
    found = resolve([builders.make_mig_gpu(0, ("3g.20gb", "3g.20gb"))], mig_strategy="mixed")
    assert counts(found) == {"nvidia.com/mig-3g.20gb": 2}


def test_profiles_with_fewer_compute_than_gpu_slices_are_served() -> None:
    """The reference's plugin does not start on a node that has one."""
    found = resolve([builders.make_mig_gpu(0, ("1c.3g.20gb", "3g.20gb"))], mig_strategy="mixed")
    assert counts(found) == {"nvidia.com/mig-1c.3g.20gb": 1, "nvidia.com/mig-3g.20gb": 1}


def test_mig_devices_stand_by_gpu_and_number() -> None:
    """``index`` is ``gpu:mig``."""
    found = resolve([builders.make_mig_gpu(at, ("1g.5gb", "1g.5gb")) for at in range(2)], mig_strategy="mixed")
    assert [device.index for device in found.resources[0].devices] == ["0:0", "0:1", "1:0", "1:1"]


def test_t09a_an_empty_mig_gpu_hides_no_other_under_mixed() -> None:
    """Seven GPUs are served; the warning has index, UUID and PCI address of the eighth."""
    gpus = [builders.make_gpu(at) if at != 3 else builders.make_mig_gpu(3, ()) for at in range(8)]
    found = resolve(gpus, mig_strategy="mixed")
    assert counts(found) == {"nvidia.com/gpu": 7}
    assert codes(found) == [("3", "mig-empty")]
    assert len(found.notices) == 1
    for said in ("GPU 3", builders.make_gpu_uuid(3), builders.make_pci_address(3), "no MIG devices"):
        assert said in found.notices[0].text


def test_t09b_an_empty_mig_gpu_hides_no_other_under_single() -> None:
    """49 devices of seven GPUs are served as GPUs."""
    gpus = [builders.make_mig_gpu(at, ("1g.5gb",) * 7 if at != 3 else ()) for at in range(8)]
    found = resolve(gpus, mig_strategy="single")
    assert counts(found) == {"nvidia.com/gpu": 49}
    assert codes(found) == [("3", "mig-empty")]


def test_t09c_nothing_to_serve_is_no_error() -> None:
    """All eight are left out, each with its reason; devices made later are served."""
    empty = [builders.make_mig_gpu(at, ()) for at in range(8)]
    found = resolve(empty, mig_strategy="single")
    assert counts(found) == {}
    assert codes(found) == [(str(at), "mig-empty") for at in range(8)]
    assert counts(resolve([builders.make_mig_gpu(0), *empty[1:]], mig_strategy="single")) == {"nvidia.com/gpu": 7}


def test_single_leaves_out_whole_gpus_beside_mig_devices() -> None:
    """``nvidia.com/gpu`` can't be both; MIG devices are what the strategy is for."""
    found = resolve([builders.make_gpu(0), builders.make_mig_gpu(1, ("1g.5gb",))], mig_strategy="single")
    assert counts(found) == {"nvidia.com/gpu": 1}
    assert found.resources[0].devices[0].index == "1:0"
    assert codes(found) == [("0", "mig-mixed-modes")]


def test_single_serves_whole_gpus_while_no_mig_device_exists() -> None:
    """An empty MIG GPU is left out, the others work as if it weren't there."""
    found = resolve([builders.make_gpu(0), builders.make_mig_gpu(1, ())], mig_strategy="single")
    assert counts(found) == {"nvidia.com/gpu": 1}
    assert codes(found) == [("1", "mig-empty")]


@pytest.mark.parametrize(
    ("profiles", "served"),
    [
        (("2g.10gb", "1g.5gb", "1g.5gb"), "1g.5gb"),
        (("2g.10gb", "2g.10gb", "1g.5gb"), "2g.10gb"),
        (("2g.10gb", "1g.5gb"), "1g.5gb"),
        (("1c.3g.20gb", "2g.10gb"), "2g.10gb"),
        (("1g.10gb", "1g.5gb"), "1g.10gb"),
    ],
    ids=["most", "most, though larger", "fewer slices", "fewer GPU slices", "name"],
)
def test_single_serves_the_profile_with_most_devices(profiles: tuple[str, ...], served: str) -> None:
    """Of equally many the one with fewer slices, then the first by name; the rest is left out."""
    found = resolve([builders.make_mig_gpu(0, profiles)], mig_strategy="single")
    assert {device.mig.profile for device in found.resources[0].devices if device.mig} == {served}
    assert {code for _, code in codes(found)} == {"mig-mixed-profiles"}


@pytest.mark.parametrize("missing", [{"uuid": None}, {"profile": None}])
def test_a_mig_device_that_cannot_be_read_hides_no_other(missing: dict[str, Any]) -> None:
    """It is left out under its number, with the call that failed."""
    failure = model.ReadFailure("profile", "nvmlGpuInstanceGetInfo", "UNKNOWN", 999)
    devices = (builders.make_mig_device(0), builders.make_mig_device(1, failures=(failure,), **missing))
    mig = model.Mig(enabled=True, pending=True, max_devices=7, devices=devices)
    found = resolve([builders.make_gpu(0, mig=mig)], mig_strategy="mixed")
    assert counts(found) == {"nvidia.com/mig-1g.5gb": 1}
    assert codes(found) == [("0:1", "mig-unreadable")]
    assert "nvmlGpuInstanceGetInfo: UNKNOWN" in found.notices[0].text


def test_t21e_one_resource_per_model() -> None:
    """The first pattern that matches names the resource."""
    config = builders.make_config(gpus=[("*3090*", "nvidia.com/gpu-3090"), ("*", "nvidia.com/gpu-other")])
    gpus = [
        builders.make_gpu(at, name=f"NVIDIA GeForce RTX {model_}") for at, model_ in enumerate(("3090", "4090", "3090"))
    ]
    assert counts(resolve(gpus, config)) == {"nvidia.com/gpu-3090": 2, "nvidia.com/gpu-other": 1}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("default", {"nvidia.com/gpu-3090": 1, "nvidia.com/gpu": 1}), ("skip", {"nvidia.com/gpu-3090": 1})],
)
def test_t21e_an_unmatched_card_by_policy(policy: str, expected: Counts) -> None:
    """It is an ordinary GPU, or left out and named."""
    config = builders.make_config(gpus=[("*3090*", "nvidia.com/gpu-3090")], unmatched_gpus=policy)
    gpus = [builders.make_gpu(0, name="NVIDIA GeForce RTX 3090"), builders.make_gpu(1, name="Tesla T4")]
    found = resolve(gpus, config)
    assert counts(found) == expected
    assert codes(found) == ([("1", "unmatched")] if policy == "skip" else [])


def test_t21e_an_unmatched_card_may_be_an_error() -> None:
    """The message names the card and what to change."""
    config = builders.make_config(gpus=[("*3090*", "nvidia.com/gpu-3090")], unmatched_gpus="error")
    with pytest.raises(
        errors.ConfigError, match=r"resources.gpus: no pattern .* matches GPU 0 \(Tesla T4.*unmatchedGpus"
    ):
        resolve([builders.make_gpu(0, name="Tesla T4")], config)


@pytest.mark.parametrize("policy", ["default", "skip", "error"])
def test_a_gpu_without_a_known_name_matches_no_pattern(policy: str) -> None:
    """It may be any of them: it is left out with the reason, and costs no other its resource."""
    gpus = [builders.make_gpu(0), builders.make_gpu(1, name="")]
    rules = [("*A100*", "nvidia.com/a100"), ("*", "nvidia.com/other")]
    found = resolve(gpus, builders.make_config(gpus=rules, unmatched_gpus=policy))
    assert counts(found) == {"nvidia.com/a100": 1}
    assert codes(found) == [("1", "unnamed")]
    assert "GPU 1 (name unknown, " in found.left_out[0].text


@pytest.mark.parametrize("rules", [[], [("*", "nvidia.com/any"), ("*A100*", "nvidia.com/a100")]])
def test_a_gpu_without_a_known_name_is_served_where_no_name_is_asked_for(rules: list[tuple[str, str]]) -> None:
    """Without rules, and by one that takes every GPU."""
    found = resolve([builders.make_gpu(0, name="")], builders.make_config(gpus=rules))
    assert counts(found) == {"nvidia.com/any" if rules else "nvidia.com/gpu": 1}


def test_rules_for_mig_profiles_are_anchored() -> None:
    """``1g.24gb`` is not ``1g.24gb+me.all``, which keeps its own name."""
    config = builders.make_config(mig=[("1g.24gb", "nvidia.com/slice")])
    found = resolve([builders.make_mig_gpu(0, ("1g.24gb", "1g.24gb+me.all"))], config, mig_strategy="mixed")
    assert counts(found) == {"nvidia.com/slice": 1, "nvidia.com/mig-1g.24gb.me.all": 1}


def test_a_resource_of_gpus_and_mig_devices_is_an_error() -> None:
    """Nobody could tell from its name what a container gets."""
    config = builders.make_config(mig=[("*", "nvidia.com/gpu")])
    with pytest.raises(errors.ConfigError, match=r"resources.mig\[0\]: nvidia.com/gpu would mix whole GPUs and MIG"):
        resolve([builders.make_gpu(0), builders.make_mig_gpu(1)], config, mig_strategy="mixed")


def test_what_is_left_out_stands_in_the_order_of_indexes() -> None:
    """By number, a MIG device behind its GPU, and what only the bus shows last."""
    gpus = [builders.make_mig_gpu(2, ()), builders.make_mig_gpu(3), builders.make_mig_gpu(12, ())]
    broken = builders.make_mig_device(1, gpu=3, profile=None)
    gpus[1] = builders.make_gpu(3, mig=model.Mig(True, True, 7, (builders.make_mig_device(gpu=3), broken)))
    pci = (builders.make_pci("0000:01:00.0"),)
    found = resources.resources(builders.make_snapshot(gpus, pci=pci), builders.make_config(), mig_strategy="mixed")
    assert [record.index for record in found.left_out] == ["2", "3:1", "12", "0000:01:00.0"]
