"""Golden machines: the whole output for every sample machine, under each MIG strategy and both kinds of sharing.

``tests/machines/<machine>/<mode>.labels`` was written by hand from the reference's documented rules and the machine's
facts, never taken from our own output; what we add or do differently there is marked in docs/compatibility.md. The
machine is the sample of that name, or the ``snapshot.json`` beside the labels.
"""

from __future__ import annotations

import dataclasses
import itertools
import os

import pytest

from gpu_discovery import labels
from gpu_discovery.core import model, picture, samples
from gpu_discovery.core.config import load

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "machines")
MODES = ("none", "single", "mixed", "time-sliced", "mps")
MACHINES = sorted(name for name in os.listdir(FOLDER) if name != "configs")


def read_machine(name: str) -> model.Snapshot:
    own = os.path.join(FOLDER, name, "snapshot.json")
    if os.path.exists(own):
        return samples.read_recorded(snapshot_file=own)
    return samples.read_recorded(sample=name)


def lines_of(snapshot: model.Snapshot, mode: str) -> list[str]:
    """The labels under a mode's config file, as ``key=value``; machines with MIG on share under strategy mixed."""
    file = os.path.join(FOLDER, "configs", f"{mode}.yaml")
    if any(gpu.is_mig_enabled for gpu in snapshot.gpus) and mode in ("time-sliced", "mps"):
        file = os.path.join(FOLDER, "configs", f"{mode}-mig.yaml")
    config = load.load_file(file).config
    made = labels.make_labels(picture.make_picture(snapshot, config, mig_strategy=config.flags.mig_strategy or "none"))
    return [f"{key}={value}" for key, value in made.labels.items()]


def orders_of(gpus: tuple[model.Gpu, ...]) -> list[tuple[model.Gpu, ...]]:
    """All orders of up to three, else each rotation forwards and backwards."""
    if len(gpus) <= 3:
        return list(itertools.permutations(gpus))
    rotations = [gpus[start:] + gpus[:start] for start in range(len(gpus))]
    return rotations + [rotation[::-1] for rotation in rotations]


def test_every_sample_is_a_golden_machine() -> None:
    """No sample is without its expected labels."""
    assert set(samples.NAMES) <= set(MACHINES)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("machine", MACHINES)
def test_labels_are_those_written_down(machine: str, mode: str) -> None:
    """Every key and value of a machine, in order, and nothing else."""
    with open(os.path.join(FOLDER, machine, f"{mode}.labels"), encoding="ascii") as file:
        expected = file.read().splitlines()

    assert lines_of(read_machine(machine), mode) == expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("machine", MACHINES)
def test_enumeration_order_does_not_show(machine: str, mode: str) -> None:
    """The driver may list the same GPUs in any order; the labels stay."""
    snapshot = read_machine(machine)
    expected = lines_of(snapshot, mode)

    for order in orders_of(snapshot.gpus):
        gpus = tuple(dataclasses.replace(gpu, index=index) for index, gpu in enumerate(order))
        assert lines_of(dataclasses.replace(snapshot, gpus=gpus), mode) == expected
