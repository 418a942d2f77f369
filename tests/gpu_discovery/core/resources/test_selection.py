"""Which GPUs take part."""

from __future__ import annotations

from typing import Any

import pytest

from gpu_discovery.core import model
from gpu_discovery.core.config import types as config_types
from gpu_discovery.core.resources import selection
from tests import builders

LOST_HANDLE = model.ReadFailure("handle", "nvmlDeviceGetHandleByIndex_v2", "GPU_IS_LOST", 15)


def select(snapshot: model.Snapshot, **own: Any) -> selection.Selection:
    """The selection by the options of ``gpuDiscovery`` given."""
    return selection.select(snapshot, builders.make_config(**own).own)


def indexes(chosen: selection.Selection) -> list[int]:
    """Which GPUs were let in."""
    return [gpu.index for gpu in chosen.gpus]


@pytest.mark.parametrize(
    ("rule", "included"),
    [
        (config_types.GpuSelector(index=1), [1]),
        (config_types.GpuSelector(uuid=builders.make_gpu_uuid(2)), [2]),
        (config_types.GpuSelector(pci_address=builders.make_pci_address(0)), [0]),
        (config_types.GpuSelector(model="*T4"), [2]),
        (config_types.GpuSelector(model="*A100*"), [0, 1]),
        (config_types.GpuSelector(model="*A100*", index=1), [1]),
        (config_types.GpuSelector(model="*A100*", index=2), []),
    ],
)
def test_a_rule_matches_by_every_field_that_is_set(rule: config_types.GpuSelector, included: list[int]) -> None:
    """Include lets in what the rule matches, exclude what it doesn't."""
    snapshot = builders.make_snapshot([*builders.make_gpus(2), builders.make_gpu(2, name="Tesla T4")])
    assert indexes(select(snapshot, include=(rule,))) == included
    assert indexes(select(snapshot, exclude=(rule,))) == [index for index in range(3) if index not in included]


def test_exclude_comes_after_include() -> None:
    """What both name is left out, and the record says by which rule."""
    snapshot = builders.make_snapshot(builders.make_gpus(3))
    path = "gpuDiscovery.gpus.exclude[0]"
    chosen = select(
        snapshot,
        include=(config_types.GpuSelector(index=0), config_types.GpuSelector(index=1)),
        exclude=(config_types.GpuSelector(index=1, path=path),),
    )
    assert indexes(chosen) == [0]
    assert [(record.index, record.code) for record in chosen.left_out] == [("1", "excluded"), ("2", "excluded")]
    assert path in chosen.left_out[0].text
    assert "gpuDiscovery.gpus.include" in chosen.left_out[1].text


def test_leaving_out_as_told_is_no_news() -> None:
    """An exclusion that works is not worth a warning."""
    chosen = select(builders.make_snapshot(builders.make_gpus(2)), exclude=(config_types.GpuSelector(index=1),))
    assert chosen.notices == ()


def test_a_rule_that_names_no_gpu_here_is_told() -> None:
    """A mistyped index is likely; a model pattern may be meant for other nodes."""
    wrong = config_types.GpuSelector(index=9, path="gpuDiscovery.gpus.exclude[0]")
    other = config_types.GpuSelector(model="*H100*", path="gpuDiscovery.gpus.exclude[1]")
    chosen = select(builders.make_snapshot(builders.make_gpus(1)), exclude=(wrong, other))
    assert [notice.text for notice in chosen.notices] == ["gpuDiscovery.gpus.exclude[0] names no GPU of this node"]


@pytest.mark.parametrize("name", ["DGX Display", "NVIDIA DGX Display"])
def test_the_display_card_of_a_dgx_station_is_no_gpu_to_serve(name: str) -> None:
    """It is left out without being asked or warned of, and the others keep their index."""
    chosen = select(builders.make_snapshot([builders.make_gpu(0, name=name), builders.make_gpu(1)]))
    assert indexes(chosen) == [1]
    assert [record.code for record in chosen.left_out] == ["display-adapter"]
    assert chosen.notices == ()


def test_an_unreadable_gpu_is_left_out_and_named() -> None:
    """By index, address and the call that failed; the others are let in."""
    unreadable = model.UnreadableGpu(1, (LOST_HANDLE,), builders.make_pci_address(1))
    pci = (builders.make_pci(), builders.make_pci(builders.make_pci_address(1)))
    chosen = select(builders.make_snapshot([builders.make_gpu(0)], unreadable=(unreadable,), pci=pci))
    assert indexes(chosen) == [0]
    assert [record.code for record in chosen.left_out] == ["unreadable"]
    for said in ("GPU 1", "0000:08:00.0", "nvmlDeviceGetHandleByIndex_v2", "GPU_IS_LOST"):
        assert said in chosen.notices[0].text


def test_a_gpu_that_only_the_bus_shows_is_left_out_and_named() -> None:
    """NVML answers without it: it fell off, or the driver refused it."""
    pci = (builders.make_pci(), builders.make_pci("0000:41:00.0"), builders.make_pci("0000:42:00.0", driver=None))
    chosen = select(builders.make_snapshot([builders.make_gpu(0)], pci=pci))
    assert [(record.index, record.code) for record in chosen.left_out] == [
        ("0000:41:00.0", "not-in-nvml"),
        ("0000:42:00.0", "not-in-nvml"),
    ]
    assert "bound to no driver" in chosen.notices[1].text


@pytest.mark.parametrize(
    "function",
    [
        {"driver": "vfio-pci"},
        {"driver": "nouveau"},
        {"is_virtual_function": True},
        {"class_code": 0x040300},
        {"class_code": 0x068000},
    ],
    ids=["vfio", "nouveau", "virtual function", "audio", "switch"],
)
def test_what_nvml_need_not_list_is_not_missed(function: dict[str, object]) -> None:
    """A GPU of another driver, a virtual function, an audio function, a switch."""
    pci = (builders.make_pci(), builders.make_pci("0000:41:00.0", **function))
    assert select(builders.make_snapshot([builders.make_gpu(0)], pci=pci)).left_out == ()


@pytest.mark.parametrize(
    "overrides",
    [
        {"finding": model.Finding.NVML_MISSING},
        {"finding": model.Finding.DRIVER_NOT_LOADED},
        {"platform": model.Platform.VFIO},
        {"platform": model.Platform.TEGRA},
        {"pci": None},
    ],
)
def test_without_an_answer_of_nvml_nothing_is_missing_in_it(overrides: dict[str, object]) -> None:
    """Only where NVML listed what it has can something be missing there."""
    facts = {"pci": (builders.make_pci("0000:41:00.0"),), "finding": model.Finding.OK} | overrides
    assert select(builders.make_snapshot([], **facts)).left_out == ()


def test_one_gpu_is_not_reported_twice() -> None:
    """An unreadable GPU whose address is not known is the one that looks missing on the bus."""
    pci = (builders.make_pci(), builders.make_pci("0000:08:00.0"))
    unreadable = (model.UnreadableGpu(1, (LOST_HANDLE,)),)
    chosen = select(builders.make_snapshot([builders.make_gpu(0)], unreadable=unreadable, pci=pci))
    assert [record.code for record in chosen.left_out] == ["unreadable"]


@pytest.mark.parametrize(
    ("own", "codes"),
    [
        ({"include": (config_types.GpuSelector(model="*A100*"),)}, ["unreadable"]),
        ({"include": (config_types.GpuSelector(index=0),)}, []),
        ({"exclude": (config_types.GpuSelector(model="*"),)}, ["excluded", "unreadable"]),
        ({"exclude": (config_types.GpuSelector(index=1),)}, []),
    ],
)
def test_of_an_unreadable_gpu_what_is_known_decides(own: dict[str, object], codes: list[str]) -> None:
    """A rule on a fact that can't be read neither hides the GPU nor lets it be forgotten."""
    unreadable = (model.UnreadableGpu(1, (LOST_HANDLE,), "0000:08:00.0"),)
    chosen = select(builders.make_snapshot([builders.make_gpu(0)], unreadable=unreadable), **own)
    assert [record.code for record in chosen.left_out] == codes


def test_a_name_that_is_not_known_is_matched_as_that_of_an_unreadable_gpu() -> None:
    """Include gets the benefit of the doubt, exclude does not."""
    snapshot = builders.make_snapshot([builders.make_gpu(0, name="")])
    rule = (config_types.GpuSelector(model="*A100*"),)
    assert indexes(select(snapshot, include=rule)) == [0]
    assert indexes(select(snapshot, exclude=rule)) == [0]
