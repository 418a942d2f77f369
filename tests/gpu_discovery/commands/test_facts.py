from __future__ import annotations

import pytest

from gpu_discovery.commands import facts
from gpu_discovery.core import model
from tests import builders


def found(snapshot: model.Snapshot, path: str) -> list[str]:
    return [f"{fact.path} = {fact.value}" for fact in facts.facts(snapshot, path)]


def test_equal_elements_share_a_line() -> None:
    """Runs and single indices of the same value are told together, in the order of the first."""
    memory = [40960, 40960, 81920, 40960, 40960, None]
    snapshot = builders.make_snapshot([builders.make_gpu(at, memory_mib=mib) for at, mib in enumerate(memory)])

    assert found(snapshot, "gpus[].memory_bytes") == [
        "gpus[0-1,3-4].memory_bytes = 42949672960",
        "gpus[2].memory_bytes = 85899345920",
        "gpus[5].memory_bytes = not offered",
    ]


def test_nested_lists_are_joined_inside_out() -> None:
    """GPUs with the same MIG layout share their lines."""
    layout = ("3g.20gb", "1g.5gb", "1g.5gb")
    gpus = [builders.make_mig_gpu(0, layout), builders.make_mig_gpu(1, layout), builders.make_gpu(2)]

    assert found(builders.make_snapshot(gpus), "gpus[].mig.devices[].profile") == [
        "gpus[0-1].mig.devices[0].profile = 3g.20gb",
        "gpus[0-1].mig.devices[1-2].profile = 1g.5gb",
    ]


def test_what_lies_below_an_absent_fact_is_not_offered() -> None:
    """A path goes through records that a GPU may lack."""
    snapshot = builders.make_snapshot([builders.make_gpu(0, mig=None), builders.make_gpu(1, mig=None)])

    assert found(snapshot, "gpus[].mig.devices[].profile") == ["gpus[0-1].mig.devices[].profile = not offered"]


@pytest.mark.parametrize(
    ("path", "expected"), [("unreadable[]", "unreadable[] = none"), ("pci[]", "pci[] = not offered")]
)
def test_empty_and_missing_lists(path: str, expected: str) -> None:
    """A list without elements is none, a list that could not be had is not offered."""
    assert found(builders.make_snapshot([], pci=None), path) == [expected]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((12, 4), "12.4"),
        (True, "true"),
        (None, "not offered"),
        (model.Platform.NVML, "nvml"),
        (model.Mig(True, False, 7), "enabled true, pending false, max_devices 7"),
        (model.Ecc(True, True), "enabled true, pending true"),
    ],
)
def test_values_in_one_line(value: object, expected: str) -> None:
    """Versions with dots, words of enums, records field by field without the empty ones."""
    assert facts.shown(value) == expected
