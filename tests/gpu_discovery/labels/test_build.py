"""All labels of any node by any config."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from gpu_discovery import labels
from gpu_discovery.core import errors, model, picture as pictures
from gpu_discovery.core.config import types as config_types
from gpu_discovery.labels import names
from tests import builders, config_strategies, strategies

VALUE = re.compile(r"(([A-Za-z0-9][A-Za-z0-9_.-]{0,61})?[A-Za-z0-9])?")
KEY = re.compile(r"nvidia\.com/([A-Za-z0-9][A-Za-z0-9_.-]{0,61})?[A-Za-z0-9]")

ANY_NODE = settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow], deadline=None)
mig_strategies = st.sampled_from(config_strategies.STRATEGIES)


def make(snapshot: model.Snapshot, config: config_types.Config, mig_strategy: str) -> labels.LabelSet:
    """The labels; a config that is impossible on this node is no example."""
    try:
        picture = pictures.make_picture(snapshot, config, mig_strategy=mig_strategy)
    except errors.ConfigError:
        assume(False)
    return labels.make_labels(picture)


@ANY_NODE
@given(strategies.snapshots(), config_strategies.configs(), mig_strategies)
def test_labels_are_legal_and_in_the_table(
    snapshot: model.Snapshot, config: config_types.Config, mig_strategy: str
) -> None:
    """Every key and value passes Kubernetes' rules, stands in order, and has a row in the table of keys."""
    made = make(snapshot, config, mig_strategy)
    assert not [notice for notice in made.notices if notice.cause.startswith("illegal:")]
    assert list(made.labels) == sorted(made.labels)
    for key, value in made.labels.items():
        assert KEY.fullmatch(key), key
        assert VALUE.fullmatch(value), (key, value)
        assert names.find(key) is not None, key


@ANY_NODE
@given(strategies.any_snapshots(), mig_strategies)
def test_no_snapshot_is_too_odd(snapshot: model.Snapshot, mig_strategy: str) -> None:
    """Whatever a file says that is replayed, negative numbers and any text: labels, and legal ones."""
    made = make(snapshot, builders.make_config(extra_labels=("models", "counts", "devices")), mig_strategy)
    for key, value in made.labels.items():
        assert KEY.fullmatch(key), key
        assert VALUE.fullmatch(value), (key, value)


@ANY_NODE
@given(
    strategies.snapshots(),
    config_strategies.configs(by_index=False),
    mig_strategies,
    st.randoms(use_true_random=False),
)
def test_labels_do_not_depend_on_the_order_of_enumeration(
    snapshot: model.Snapshot, config: config_types.Config, mig_strategy: str, random: object
) -> None:
    """The same GPUs under other indexes have the same labels."""
    order = list(snapshot.gpus)
    random.shuffle(order)  # type: ignore[attr-defined]  # hypothesis' Random has no type of its own
    gpus = tuple(dataclasses.replace(gpu, index=index, minor=index) for index, gpu in enumerate(order))
    shuffled = dataclasses.replace(snapshot, gpus=gpus)
    assert make(shuffled, config, mig_strategy).labels == make(snapshot, config, mig_strategy).labels


def test_a_plain_node_has_the_reference_s_labels_and_no_others() -> None:
    """Families of our own appear only where a node needs them or somebody asks."""
    for strategy in config_strategies.STRATEGIES:
        for gpus in (builders.make_gpus(8), [builders.make_mig_gpu(at) for at in range(8)]):
            made = builders.make_labels(gpus, mig_strategy=strategy).labels
            rows = [names.find(key) for key in made]
            assert {row.origin for row in rows if row is not None} == {names.REFERENCE}


@pytest.mark.parametrize("finding", [found for found in model.Finding if found is not model.Finding.OK])
def test_without_gpus_only_the_bus_is_told_of(finding: model.Finding) -> None:
    """Whatever the reason; the vGPU label needs no driver."""
    snapshot = builders.make_snapshot((), finding=finding, pci=(builders.make_pci(driver=None),))
    assert builders.make_labels(snapshot, extra_labels=("models", "counts", "devices")).labels == {
        "nvidia.com/vgpu.present": "false"
    }


def test_the_timestamp_is_the_labelers() -> None:
    """It depends on what is published already."""
    assert names.TIMESTAMP not in builders.make_labels(builders.make_gpus(1)).labels
