from __future__ import annotations

import json
import pathlib

import jsonschema
import pytest
from click import testing

from gpu_discovery import commands

TWO_COUNTS = """\
version: v1
sharing:
  timeSlicing:
    resources:
    - {{name: nvidia.com/gpu, devices: ["0"], rename: nvidia.com/gpu.lat, replicas: 2}}
    - {{name: nvidia.com/gpu, devices: ["{second}"], rename: nvidia.com/gpu.batch, replicas: 8}}
"""
RULES = 'resources:\n  gpus:\n  - {pattern: "*3090*", name: gpu-3090}\n  - {pattern: "*4090*", name: gpu-4090}\n'


def validate(folder: pathlib.Path, text: str, *arguments: str) -> tuple[int, list[str]]:
    """Exit code and lines of the verdict on a text; the file's name is ``f``."""
    file = folder / "f"
    file.write_text(text)
    found = testing.CliRunner().invoke(commands.main, ["validate", str(file), *arguments])
    assert found.stderr == ""
    return found.exit_code, found.stdout.replace(str(file), "f").splitlines()


def test_a_valid_file_is_exit_code_0(tmp_path: pathlib.Path) -> None:
    """And one line."""
    assert validate(tmp_path, "version: v1\n") == (0, ["f: valid"])


def test_all_faults_are_told_with_exit_code_1(tmp_path: pathlib.Path) -> None:
    """T21 a among them: line, path, reason and right place, one fault a line."""
    assert validate(tmp_path, "flags:\n  renameByDefault: true\n  migStrategy: x\n") == (
        1,
        [
            "f:2: flags.renameByDefault: unknown key (belongs under sharing.timeSlicing.renameByDefault)",
            "f:3: flags.migStrategy: 'x' is not valid here; valid: none, single, mixed",
        ],
    )


def test_two_counts_for_two_gpus_are_served(tmp_path: pathlib.Path) -> None:
    """T21 b: both renamed, and nothing left under the old name."""
    assert validate(tmp_path, TWO_COUNTS.format(second=1), "--sample", "l40s-pair") == (
        0,
        [
            "f: valid",
            "nvidia.com/gpu.batch: 1 device x 8 by time-slicing",
            "nvidia.com/gpu.lat: 1 device x 2 by time-slicing",
        ],
    )


def test_one_replica_is_exclusive(tmp_path: pathlib.Path) -> None:
    """T21 c."""
    text = "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}"
    assert validate(tmp_path, text, "--sample", "l40s-pair") == (0, ["f: valid", "nvidia.com/gpu: 2 devices"])


def test_a_device_that_is_not_there_is_a_fault_of_its_line(tmp_path: pathlib.Path) -> None:
    """T21 d: with the index and the valid range; without a machine the same file is valid."""
    text = TWO_COUNTS.format(second=9)
    assert validate(tmp_path, text) == (0, ["f: valid"])
    code, (line,) = validate(tmp_path, text, "--sample", "l40s-pair")
    assert code == 1
    assert line.startswith("f:6: sharing.timeSlicing.resources[1].devices[0]: ")
    assert "index 9" in line
    assert "0-1" in line


@pytest.mark.parametrize(
    ("more", "code", "word"),
    [
        ("", 0, "nvidia.com/gpu: "),
        ("gpuDiscovery: {unmatchedGpus: error}\n", 1, "resources.gpus"),
        ("gpuDiscovery: {unmatchedGpus: skip}\n", 0, "f: valid"),
    ],
)
def test_a_gpu_without_a_rule_is_a_matter_of_policy(tmp_path: pathlib.Path, more: str, code: int, word: str) -> None:
    """T21 e: served under the plain name, refused, or left out."""
    found, lines = validate(tmp_path, RULES + more, "--sample", "t4")
    assert found == code
    assert any(word in line for line in lines)
    assert any(line.startswith("nvidia.com/") for line in lines) is (not more)


def test_lenient_reading_warns(tmp_path: pathlib.Path) -> None:
    """The file is valid then."""
    code, lines = validate(tmp_path, "bogus: 1\n", "--config-lenient")
    assert code == 0
    assert lines[0].startswith("warning: f:1: bogus: unknown key")


def test_an_old_behaviour_can_be_assumed(tmp_path: pathlib.Path) -> None:
    """With ignore-customisation the rules of the file don't count, with a warning."""
    code, lines = validate(tmp_path, RULES, "--sample", "t4", "--reference-compat", "ignore-customisation")
    assert code == 0
    assert "resources: customising resources is ignored" in lines[0]
    assert lines[-1] == "nvidia.com/gpu: 1 device"


def test_the_mig_strategy_comes_from_the_file_or_the_option(tmp_path: pathlib.Path) -> None:
    """The option wins."""
    text = "flags: {migStrategy: mixed}\n"
    _, by_file = validate(tmp_path, text, "--sample", "dgx-h100-mig")
    _, by_option = validate(tmp_path, text, "--sample", "dgx-h100-mig", "--mig-strategy", "none")
    assert any("nvidia.com/mig-" in line for line in by_file)
    assert not any(line.startswith("nvidia.com/mig-") for line in by_option)


def test_the_schema_is_printed() -> None:
    """As JSON that is a JSON Schema."""
    found = testing.CliRunner().invoke(commands.main, ["validate", "--schema"])
    assert found.exit_code == 0
    jsonschema.Draft202012Validator.check_schema(json.loads(found.stdout))


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("gpuDiscovery: {nfdExpiry: 0}\n", "f:1: gpuDiscovery.nfdExpiry: must be at least 1s"),
        ("gpuDiscovery: {exitAfter: 10}\n", "f:1: gpuDiscovery.exitAfter: must be at least 1s"),
        ("gpuDiscovery: {publish: file}\nflags: {gfd: {outputFile: ''}}\n", "f:1: gpuDiscovery.publish: the output"),
        ("flags: {gfd: {sleepInterval: 10}}\n", "warning: f:1: flags.gfd.sleepInterval: 10ns is raised"),
        ("flags: {useNodeFeatureAPI: true}\n", "warning: f:1: flags.useNodeFeatureAPI: a NodeFeature object"),
    ],
)
def test_what_the_daemon_says_of_its_options_is_said_here(tmp_path: pathlib.Path, text: str, verdict: str) -> None:
    """T21: the same verdict, from the same code, as when the daemon starts with that file."""
    code, lines = validate(tmp_path, text)
    assert lines[0].startswith(verdict)
    assert code == (0 if verdict.startswith("warning") else 1)


def test_variables_count_as_they_do_for_the_daemon(tmp_path: pathlib.Path) -> None:
    """So that in its container the answer is the one that it gets."""
    file = tmp_path / "f"
    file.write_text("bogus: 1\n")
    found = testing.CliRunner(env={"GFD_CONFIG_LENIENT": "true"}).invoke(commands.main, ["validate", str(file)])
    assert found.exit_code == 0


@pytest.mark.parametrize("arguments", [[], [""], ["/nonexistent"], ["/"], ["/dev/null", "--sample", "nonexistent"]])
def test_a_question_that_cannot_be_answered_is_exit_code_2(arguments: list[str]) -> None:
    """No file, one that isn't there, no such machine."""
    found = testing.CliRunner().invoke(commands.main, ["validate", *arguments])
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr
