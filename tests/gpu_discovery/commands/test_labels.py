from __future__ import annotations

import json
import os
import pathlib

import pytest
from click import testing

from gpu_discovery import commands
from gpu_discovery.commands import labels

MACHINES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "machines")


def run(*arguments: object) -> testing.Result:
    return testing.CliRunner().invoke(commands.main, ["labels", *map(str, arguments)])


def golden(machine: str, mode: str) -> str:
    with open(os.path.join(MACHINES, machine, f"{mode}.labels"), encoding="ascii") as file:
        return file.read()


def test_feature_form_is_what_the_daemon_writes() -> None:
    """The lines of a feature file, sorted, without the timestamp."""
    assert run("--sample", "dgx-a100", "--output", "features").stdout == golden("dgx-a100", "none")


def test_config_and_flag_are_the_daemons() -> None:
    """A config file counts, and a flag wins over it."""
    config = os.path.join(MACHINES, "configs", "time-sliced-mig.yaml")
    arguments = ("--sample", "dgx-h100-mig", "--config-file", config, "-o", "features")

    assert run(*arguments).stdout == golden("dgx-h100-mig", "time-sliced")
    assert "nvidia.com/mig.strategy" not in run(*arguments, "--mig-strategy", "none").stdout


def test_variables_are_the_daemons() -> None:
    """Run in the daemon's container, the command sees what the daemon sees."""
    environ = {"GFD_SAMPLE": "rtx-pro-6000-mig", "MIG_STRATEGY": "single"}
    result = testing.CliRunner(env=environ).invoke(commands.main, ["labels", "-o", "features"])

    assert result.stdout == golden("rtx-pro-6000-mig", "single")


def test_json_form_is_one_object() -> None:
    """Keys and values, for other programs."""
    found = json.loads(run("--sample", "t4", "-o", "json").stdout)

    assert [f"{key}={value}" for key, value in found.items()] == golden("t4", "none").splitlines()


def test_table_is_aligned() -> None:
    """Without a terminal the table is plain text: a header, and every value in one column."""
    header, *rows = run("--sample", "t4").stdout.splitlines()

    assert header.split() == ["LABEL", "VALUE"]
    column = header.index("VALUE")
    assert len(rows) == 25
    assert {row[column - 2 : column] for row in rows} == {"  "}
    assert [f"{row.split()[0]}={row[column:]}" for row in rows] == golden("t4", "none").splitlines()


def test_what_is_left_out_is_said_beside_the_output() -> None:
    """Notices stand on standard error, one a line, so that the output stays usable."""
    result = run("--sample", "dgx-h100-mig", "--mig-strategy", "single", "-o", "features")

    assert result.stdout == golden("dgx-h100-mig", "single")
    assert "gpu-discovery: GPU 0" in result.stderr
    assert "strategy single serves MIG devices only" in result.stderr


def test_a_node_without_driver_is_told_why() -> None:
    """The finding and what was tried are on standard error."""
    assert "gpu-discovery: nvml-missing: " in run("--sample", "gpu-less").stderr


def test_nothing_differs(tmp_path: pathlib.Path) -> None:
    """Comments and the timestamp in the published file do not count; the exit code is 0 and nothing is printed."""
    published = tmp_path / "gfd"
    published.write_text("# a comment\nnvidia.com/gfd.timestamp=1700000000\n" + golden("t4", "none"))
    result = run("--sample", "t4", "--diff", published)

    assert (result.exit_code, result.stdout) == (0, "")


def make_published(tmp_path: pathlib.Path) -> pathlib.Path:
    """A file that lacks a label of a T4 node, has one too many and one with another value."""
    published = tmp_path / "gfd"
    lines = golden("t4", "none").replace("gpu.memory=15360", "gpu.memory=15109").splitlines()
    lines = [line for line in lines if "gpu.mode" not in line]
    published.write_text("\n".join([*lines, "nvidia.com/gpu.clique=x.1", ""]))
    return published


def test_differences_are_shown(tmp_path: pathlib.Path) -> None:
    """Added, removed and changed keys are told with both values, and the exit code is 1."""
    result = run("--sample", "t4", "--diff", make_published(tmp_path))

    assert result.exit_code == labels.DIFFERS
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["CHANGE", "LABEL", "PUBLISHED", "NOW"],
        ["removed", "nvidia.com/gpu.clique", "x.1"],
        ["changed", "nvidia.com/gpu.memory", "15109", "15360"],
        ["added", "nvidia.com/gpu.mode", "compute"],
    ]


def test_differences_for_programs(tmp_path: pathlib.Path) -> None:
    """As JSON a key has both values, null for none; as lines they have signs."""
    published = make_published(tmp_path)

    assert json.loads(run("--sample", "t4", "--diff", published, "-o", "json").stdout) == {
        "nvidia.com/gpu.clique": {"published": "x.1", "now": None},
        "nvidia.com/gpu.memory": {"published": "15109", "now": "15360"},
        "nvidia.com/gpu.mode": {"published": None, "now": "compute"},
    }
    assert run("--sample", "t4", "--diff", published, "-o", "features").stdout.splitlines() == [
        "-nvidia.com/gpu.clique=x.1",
        "-nvidia.com/gpu.memory=15109",
        "+nvidia.com/gpu.memory=15360",
        "+nvidia.com/gpu.mode=compute",
    ]


def test_diff_without_a_file_takes_the_daemons(tmp_path: pathlib.Path) -> None:
    """The file that the daemon writes is known from its own settings."""
    environ = {"GFD_OUTPUT_FILE": str(make_published(tmp_path))}
    result = testing.CliRunner(env=environ).invoke(commands.main, ["labels", "--sample", "t4", "--diff"])

    assert result.exit_code == labels.DIFFERS


def test_diff_shows_what_the_daemon_would_do(tmp_path: pathlib.Path) -> None:
    """A driver that does not answer makes the daemon keep the labels, so nothing would change, and that is said."""
    published = tmp_path / "gfd"
    published.write_text(golden("t4", "none"))
    node = tmp_path / "node.json"
    recorded = json.loads(testing.CliRunner().invoke(commands.main, ["snapshot", "--sample", "t4"]).stdout)
    node.write_text(json.dumps(recorded | {"finding": "nvml-failed", "gpus": [], "detail": "it hangs"}))
    result = run("--snapshot", node, "--diff", published)

    assert (result.exit_code, result.stdout) == (0, "")
    assert "it hangs; the labels published before are kept" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sample", "t4", "--diff", "/nowhere/gfd"), "there is no readable feature file at /nowhere/gfd"),
        (("--sample", "dgx"), "there is no sample machine 'dgx'"),
        (("--sample", "t4", "--snapshot", "x.json"), "exclude each other"),
        (("--snapshot", "/nowhere.json"), "reading the snapshot /nowhere.json failed"),
        (("--config-file", "/nowhere.yaml"), "/nowhere.yaml"),
        (("--sample", "t4", "--mig-strategy", "both"), "both"),
    ],
)
def test_what_cannot_be_answered_is_one_line_and_code_2(arguments: tuple[str, ...], message: str) -> None:
    """Errors of ours are told without a traceback, apart from 1, which means that labels differ."""
    result = run(*arguments)

    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_what_loading_the_settings_warns_of_is_said(tmp_path: pathlib.Path) -> None:
    """Beside the output, as the daemon logs it."""
    config = tmp_path / "config.yaml"
    config.write_text("flags: {gfd: {sleepInterval: 60}}\n")
    result = run("--sample", "t4", "--config-file", config)

    assert result.exit_code == 0
    assert f"gpu-discovery: {config}:1: flags.gfd.sleepInterval: 60ns is raised to 100ms" in result.stderr


def test_a_config_that_is_impossible_on_the_node_is_an_error(tmp_path: pathlib.Path) -> None:
    """An entry for a device that the node does not have is refused, with its place."""
    config = tmp_path / "config.yaml"
    config.write_text(
        "version: v1\nsharing:\n  timeSlicing:\n    resources:\n"
        '    - {name: nvidia.com/gpu, replicas: 2, devices: ["9"]}\n'
    )
    result = run("--sample", "l40s-pair", "--config-file", config)

    assert result.exit_code == 2
    assert f"{config}:5: sharing.timeSlicing.resources[0].devices[0]: GPU index 9 is not on this node" in result.stderr
