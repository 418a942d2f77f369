from __future__ import annotations

import json
import os
import pathlib

import pytest
from click import testing

from gpu_discovery import commands
from gpu_discovery.core import codec, samples
from tests.fakes import host, nvml


def run(*arguments: object) -> testing.Result:
    return testing.CliRunner().invoke(commands.main, list(map(str, arguments)))


def make_node(tmp_path: pathlib.Path, fake_driver: nvml.FakeDriver) -> tuple[str, ...]:
    """A node with two A100, one of them in MIG mode, and the options by which a command finds it."""
    gpus = [nvml.make_gpu(0), nvml.make_gpu(1, mig_devices=["3g.20gb", "1g.5gb"])]
    fake_driver.write(nvml.make_machine(gpus))
    host.make_host_root(tmp_path / "host", gpus=gpus)
    return ("--host-root", str(tmp_path / "host"), "--driver-root-ctr-path", str(tmp_path / "driver"))


def test_a_recorded_node_replays_as_the_node(tmp_path: pathlib.Path, fake_driver: nvml.FakeDriver) -> None:
    """Labels, remarks and explanations from the recording are those from the node itself."""
    source = make_node(tmp_path, fake_driver)
    recording = tmp_path / "node.json"
    assert run("snapshot", *source, "--output", recording).exit_code == 0

    for command in (
        ("labels", "--mig-strategy", "mixed"),
        ("explain", "mig-3g.20gb.product", "--mig-strategy", "mixed"),
    ):
        live, replayed = run(*command, *source), run(*command, "--snapshot", recording)
        assert (live.exit_code, live.output) == (replayed.exit_code, replayed.output)
        assert "NVIDIA-A100-SXM4-40GB" in live.stdout


def test_topology_is_read_when_asked_for(tmp_path: pathlib.Path, fake_driver: nvml.FakeDriver) -> None:
    """Pairs and NVLinks are in the recording only with --topology."""
    source = make_node(tmp_path, fake_driver)

    assert json.loads(run("snapshot", *source).stdout)["pairs"] is None
    recorded = json.loads(run("snapshot", *source, "--topology").stdout)
    assert [(pair["first"], pair["second"]) for pair in recorded["pairs"]] == [(0, 1)]
    assert recorded["gpus"][0]["nvlinks"]


def test_where_to_look_is_the_daemons_choice(tmp_path: pathlib.Path) -> None:
    """Another machine type file and another discovery strategy count as they do for the daemon."""
    root = host.make_host_root(
        tmp_path, driver_version=None, pci=[host.make_function("0000:07:00.0", driver="vfio-pci")]
    )
    root.write("/etc/machine-type", "Box 1")
    recorded = json.loads(
        run(
            *("snapshot", "--host-root", tmp_path, "--machine-type-file", "/etc/machine-type"),
            *("--device-discovery-strategy", "vfio"),
        ).stdout
    )

    assert recorded["host"]["machine"] == "Box 1"
    assert (recorded["platform"], len(recorded["gpus"])) == ("vfio", 1)


def test_standard_output_is_the_file(tmp_path: pathlib.Path) -> None:
    """Without a file the recording goes to standard output, with one exactly the same bytes go there."""
    path = tmp_path / "node.json"
    written = run("snapshot", "--sample", "dgx-h100-mig", "-o", path)

    assert (written.exit_code, written.stdout) == (0, "")
    assert path.read_text() == run("snapshot", "--sample", "dgx-h100-mig").stdout
    assert codec.loads(path.read_bytes()) == samples.read_recorded(sample="dgx-h100-mig")


def test_a_recording_can_be_redacted_later(tmp_path: pathlib.Path) -> None:
    """--redact works on a recording too, and the labels of the redacted node are the same but for the clique."""
    path = tmp_path / "node.json"
    run("snapshot", "--sample", "dgx-a100", "--redact", "-o", path)

    assert codec.loads(path.read_bytes()) == codec.redacted(samples.read_recorded(sample="dgx-a100"))
    assert run("labels", "--snapshot", path).stdout == run("labels", "--sample", "dgx-a100").stdout


def test_a_node_without_gpus_is_recorded_too() -> None:
    """What was not found is on standard error, the recording is whole."""
    result = run("snapshot", "--sample", "gpu-less")

    assert result.exit_code == 0
    assert "gpu-discovery: nvml-missing: " in result.stderr
    assert codec.loads(result.stdout) == samples.read_recorded(sample="gpu-less")


@pytest.mark.parametrize("path", ["/nowhere/node.json", os.path.dirname(__file__)])
def test_a_file_that_cannot_be_written_is_named(path: str) -> None:
    """The message has the path and the reason; the exit code is 2."""
    result = run("snapshot", "--sample", "t4", "-o", path)

    assert result.exit_code == 2
    assert f"writing {path} failed: " in result.stderr
