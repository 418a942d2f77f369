from __future__ import annotations

import os
import pathlib

import pytest
from click import testing

from gpu_discovery import commands
from gpu_discovery.labels import names

CONFIGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "machines", "configs")


def run(*arguments: object, environ: dict[str, str] | None = None) -> testing.Result:
    return testing.CliRunner(env=environ).invoke(commands.main, ["explain", *map(str, arguments)])


def lines_of(*arguments: object, environ: dict[str, str] | None = None) -> list[str]:
    result = run(*arguments, environ=environ)
    assert result.exit_code == 0, result.output
    return [line.strip() for line in result.stdout.splitlines()]


@pytest.mark.parametrize("key", ["gpu.memory", "nvidia.com/gpu.memory"])
def test_value_rule_and_facts(key: str) -> None:
    """The value now, its unit, and the facts it comes from, equal GPUs in one line; the prefix may be left out."""
    lines = lines_of(key, "--sample", "dgx-a100")

    assert lines[0] == "nvidia.com/gpu.memory = 40960"
    assert any("MiB" in line for line in lines)
    assert "gpus[0-7].memory_bytes = 42949672960" in lines
    assert "gpuDiscovery.gpus: not set" in lines


def test_only_the_devices_of_the_keys_profile_are_shown() -> None:
    """A key of one MIG profile is explained by the MIG devices of that profile, wherever they are."""
    lines = lines_of("mig-1g.10gb.memory", "--sample", "dgx-h100-mig", "--mig-strategy", "mixed")

    assert [line for line in lines if line.startswith("gpus")] == [
        "gpus[4].mig.devices[0-6].attributes.memory_mib = 9984",
        "gpus[5].mig.devices[0-5].attributes.memory_mib = 9984",
        "gpus[6].mig.devices[2-3].attributes.memory_mib = 9984",
    ]


def test_a_profile_with_an_attribute_is_found_by_its_key(tmp_path: pathlib.Path) -> None:
    """The key has a dot where the profile has a plus."""
    recorded = testing.CliRunner().invoke(commands.main, ["snapshot", "--sample", "rtx-pro-6000-mig"]).stdout
    path = tmp_path / "node.json"
    path.write_text(recorded.replace('"1g.24gb"', '"1g.24gb+me"'))
    lines = lines_of("mig-1g.24gb.me.count", "--snapshot", path, "--mig-strategy", "mixed")
    assert any(line.endswith("= 1g.24gb+me") for line in lines)


def test_several_models_are_told_apart() -> None:
    """On a node with several models each fact has the model it belongs to."""
    lines = lines_of("gpu.memory", "--sample", "workstation-3-models")

    assert "gpus[0].memory_bytes = 10737418240  (NVIDIA GeForce RTX 3080)" in lines
    assert "gpus[2].memory_bytes = 25757220864  (NVIDIA GeForce RTX 4090)" in lines


def test_config_lines_are_quoted() -> None:
    """What the config file says is shown with its file and line."""
    file = os.path.join(CONFIGS, "time-sliced.yaml")
    lines = lines_of("gpu.replicas", "--sample", "t4", "--config-file", file)

    assert lines[0] == "nvidia.com/gpu.replicas = 4"
    assert f"{file}:8:       replicas: 4" in lines
    assert "sharing.mps: not set" in lines


SEVERAL_ENTRIES = """\
flags: {migStrategy: mixed}
sharing:
  timeSlicing:
    resources:
    - name: nvidia.com/mig-1g.10gb
      replicas: 2
    - name: nvidia.com/gpu
      replicas: 4
    - name: nvidia.com/not-here
      replicas: 9
"""
TWO_COUNTS = """\
sharing:
  timeSlicing:
    resources:
    - {name: nvidia.com/gpu, devices: ["0"], rename: nvidia.com/gpu.lat, replicas: 2}
    - {name: nvidia.com/gpu, devices: ["1"], rename: nvidia.com/gpu.batch, replicas: 8}
"""


@pytest.mark.parametrize(
    ("text", "sample", "key", "quoted"),
    [
        (SEVERAL_ENTRIES, "dgx-h100-mig", "mig-1g.10gb.replicas", [3, 4, 5, 6]),
        (SEVERAL_ENTRIES, "dgx-h100-mig", "gpu.replicas", [3, 4, 7, 8]),
        (TWO_COUNTS, "l40s-pair", "gpu.lat.replicas", [2, 3, 4]),
        (TWO_COUNTS, "l40s-pair", "gpu.batch.replicas", [2, 3, 5]),
        (TWO_COUNTS, "l40s-pair", "gpu.replicas", [2, 3, 4, 5]),
        (TWO_COUNTS.replace("timeSlicing", "mps"), "l40s-pair", "mps.capable", [2, 3, 4, 5]),
    ],
)
def test_only_the_entries_of_the_labels_resource_are_quoted(
    tmp_path: pathlib.Path, text: str, sample: str, key: str, quoted: list[int]
) -> None:
    """Of a sharing section with many; a label of no resource in particular quotes all."""
    file = tmp_path / "config.yaml"
    file.write_text(text)
    lines = lines_of(key, "--sample", sample, "--config-file", file)
    found = [int(line.removeprefix(f"{file}:").partition(":")[0]) for line in lines if line.startswith(f"{file}:")]
    assert [number for number in found if number > 1] == quoted


def test_what_wins_over_the_file_is_named() -> None:
    """A flag before a variable before the file before the default."""
    file = os.path.join(CONFIGS, "mixed.yaml")
    arguments = ("mig.strategy", "--sample", "t4", "--config-file", file)

    assert f"{file}:3:   migStrategy: mixed" in lines_of(*arguments)
    assert "flags.migStrategy: set by MIG_STRATEGY=single in the environment" in lines_of(
        *arguments, environ={"MIG_STRATEGY": "single"}
    )
    assert "flags.migStrategy: set by --mig-strategy=none" in lines_of(
        *arguments, "--mig-strategy", "none", environ={"MIG_STRATEGY": "single"}
    )
    assert "flags.migStrategy: not set, so none" in lines_of("mig.strategy", "--sample", "t4")


def test_an_empty_variable_of_our_own_wins_over_nothing() -> None:
    """It counts as not there, unlike one of the reference's."""
    lines = lines_of("gpu.share-memory", "--sample", "t4", environ={"GFD_EXTRA_LABELS": ""})
    assert "gpuDiscovery.extraLabels: not set" in lines


def test_a_label_that_is_not_there_is_told_when_it_would_be() -> None:
    """A key that this node does not have still has its condition and its facts."""
    lines = lines_of("gpu.clique", "--sample", "dgx-h100-mig")

    assert lines[0] == "nvidia.com/gpu.clique is not there now"
    assert any(line.startswith("there when: a GPU is attached") for line in lines)
    assert any("cluster_uuid 00000000-0000-0000-0000-000000000000" in line for line in lines)


def test_the_timestamp_is_made_at_publication() -> None:
    """The one label that is not made from the node is told apart."""
    assert lines_of("gfd.timestamp", "--sample", "t4")[0].endswith("is set when labels are published")


def test_a_fact_that_could_not_be_read_says_so(tmp_path: pathlib.Path) -> None:
    """The call that failed, and with what, stand where the fact would."""
    recorded = testing.CliRunner().invoke(commands.main, ["snapshot", "--sample", "t4"]).stdout
    broken = recorded.replace('"memory_bytes": 16106127360', '"memory_bytes": null').replace(
        '   "failures": []',
        '   "failures": [{"fact": "memory_bytes", "call": "nvmlDeviceGetMemoryInfo", "reason": "UNKNOWN", "code": 999}]',
        1,
    )
    path = tmp_path / "node.json"
    path.write_text(broken)

    assert "gpus[0].memory_bytes = could not be read (nvmlDeviceGetMemoryInfo: UNKNOWN)" in lines_of(
        "gpu.memory", "--snapshot", path
    )


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("gpu.prodct", "there is no label nvidia.com/gpu.prodct; near it are nvidia.com/gpu.product"),
        ("mig-1g.10gb.cuont", "there is no label nvidia.com/mig-1g.10gb.cuont; near it are"),
        ("zzzzzz", "there is no label nvidia.com/zzzzzz"),
        ("gpu.present", "it is a label of the GPU Operator"),
        ("gpu.deploy.dcgm", "it is a label of the GPU Operator"),
        ("mig.config.state", "it is a label of the GPU Operator"),
    ],
)
def test_an_unknown_key_is_answered_with_the_nearest(key: str, message: str) -> None:
    """A slip of the finger, or a label that somebody else sets under our prefix; the exit code is 1."""
    result = run(key, "--sample", "t4")

    assert result.exit_code == 1
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("sample", ["dgx-h100-mig", "gpu-less", "workstation-3-models"])
@pytest.mark.parametrize("row", names.KEYS, ids=lambda row: row.pattern)
def test_every_key_is_explained_on_every_sample(row: names.Key, sample: str) -> None:
    """Every row of the table names facts that exist in a snapshot, whatever the machine."""
    key = row.pattern.replace("<profile>", "1g.10gb").replace("<resource>", "gpu-big").replace("<index>", "0")
    key = key.replace("<model>", "NVIDIA-GeForce-RTX-3080")
    lines = lines_of(key, "--sample", sample, "--mig-strategy", "mixed")

    assert ("Facts" in lines) == bool(row.facts)
    assert ("Config" in lines) == bool(row.config_paths)
