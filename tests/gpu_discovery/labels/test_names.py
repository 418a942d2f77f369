"""The table of keys."""

from __future__ import annotations

import pytest

from gpu_discovery.core import codec
from gpu_discovery.core.config import load
from gpu_discovery.labels import names
from tests import builders

PLAIN_KEYS = [row for row in names.KEYS if "<" not in row.pattern]


def test_every_row_is_whole() -> None:
    """A meaning, a rule, and where the value comes from."""
    for row in names.KEYS:
        assert row.meaning, row.pattern
        assert row.rule, row.pattern
        assert row.facts or row.config_paths, row.pattern
        assert row.origin in (names.REFERENCE, names.OWN)


def test_no_pattern_is_there_twice() -> None:
    """One row for a key."""
    patterns = [row.pattern for row in names.KEYS]
    assert sorted(patterns) == sorted(set(patterns))


@pytest.mark.parametrize("row", PLAIN_KEYS, ids=lambda row: row.pattern)
def test_a_plain_key_is_found_by_itself(row: names.Key) -> None:
    """And by no pattern that would fit it too."""
    assert names.find(row.pattern) is row


@pytest.mark.parametrize(
    ("key", "pattern"),
    [
        ("nvidia.com/gpu.model.NVIDIA-A100-SXM4-40GB.count", "nvidia.com/gpu.model.<model>.count"),
        ("nvidia.com/gpu.model.Tesla-T4.mig-enabled.count", "nvidia.com/gpu.model.<model>.mig-enabled.count"),
        ("nvidia.com/mig-1g.10gb.me.slices.gi", "nvidia.com/mig-<profile>.slices.gi"),
        ("nvidia.com/gpu-12.pci-address", "nvidia.com/gpu-<index>.pci-address"),
        ("nvidia.com/gpu-fast.product", "nvidia.com/<resource>.product"),
        ("nvidia.com/gpu-3090.product", "nvidia.com/<resource>.product"),
        ("nvidia.com/gpu.shared.replicas", "nvidia.com/<resource>.replicas"),
        ("nvidia.com/slice.engines.ofa", "nvidia.com/<resource>.engines.ofa"),
    ],
)
def test_a_key_with_a_name_in_it_is_found_by_its_pattern(key: str, pattern: str) -> None:
    """The special ones before the general."""
    row = names.find(key)
    assert row is not None
    assert row.pattern == pattern


@pytest.mark.parametrize(
    "key",
    [
        "nvidia.com/gpu.present",
        "nvidia.com/gpu.deploy.device-plugin",
        "nvidia.com/mig.config",
        "nvidia.com/mig.config.state",
        "nvidia.com/mig.config.count",
        "nvidia.com/gpu.deploy.product",
        "nvidia.com/device-plugin.config",
        "feature.node.kubernetes.io/pci-10de.present",
        "gpu.count",
    ],
)
def test_other_peoples_keys_are_not_ours(key: str) -> None:
    """Those of the GPU Operator under the same prefix above all."""
    assert names.find(key) is None


def test_facts_are_paths_of_a_recorded_snapshot() -> None:
    """``explain`` looks them up there."""
    gpu = builders.make_mig_gpu(0)
    text = codec.dumps(builders.make_snapshot([gpu]))
    for row in names.KEYS:
        for path in row.facts:
            for part in path.replace("[]", "").split("."):
                assert f'"{part}"' in text or part in ("host_driver_version", "host_driver_branch"), path


def test_config_paths_are_keys_of_the_config_file() -> None:
    """A path that the loader does not know would send people on a search."""
    texts = {
        "flags.migStrategy": "flags: {migStrategy: none}",
        "flags.gfd.noTimestamp": "flags: {gfd: {noTimestamp: true}}",
        "flags.gfd.machineTypeFile": "flags: {gfd: {machineTypeFile: /x}}",
        "resources.gpus": "resources: {gpus: [{pattern: '*', name: gpu}]}",
        "resources.mig": "resources: {mig: [{pattern: '*', name: gpu}]}",
        "sharing.timeSlicing": "sharing: {timeSlicing: {resources: [{name: gpu, replicas: 2}]}}",
        "sharing.mps": "sharing: {mps: {resources: [{name: gpu, replicas: 2}]}}",
        "gpuDiscovery.gpus": "gpuDiscovery: {gpus: {exclude: [{index: 0}]}}",
        "gpuDiscovery.unmatchedGpus": "gpuDiscovery: {unmatchedGpus: skip}",
        "gpuDiscovery.extraLabels": "gpuDiscovery: {extraLabels: [counts]}",
        "gpuDiscovery.referenceCompat": "gpuDiscovery: {referenceCompat: [mig-invalid-labels]}",
    }
    assert {path for row in names.KEYS for path in row.config_paths} == set(texts)
    for path, text in texts.items():
        assert path in load.parse_config(f"version: v1\n{text}\n", "x.yaml").lines
