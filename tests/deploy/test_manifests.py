"""The manifests ask the program for what it has: its flags, its port's pages, the folder it writes to."""

from __future__ import annotations

import os
from typing import Any

import yaml

from gpu_discovery import flags
from gpu_discovery.core import telemetry
from gpu_discovery.core.kit import goflags

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "static")


def read_pod() -> dict[str, Any]:
    """The pod's specification in the labeler's DaemonSet."""
    with open(os.path.join(FOLDER, "gpu-feature-discovery-daemonset.yaml"), encoding="utf-8") as file:
        pod: dict[str, Any] = yaml.safe_load(file)["spec"]["template"]["spec"]
    return pod


def test_the_labeler_takes_the_arguments() -> None:
    """They are all read, and the feature file's folder is a mount of the folder that Node Feature Discovery reads."""
    pod = read_pod()
    (container,) = pod["containers"]
    parsed = goflags.parse(container["args"], flags.COMMAND_LINE)
    read = flags.load_labeler_settings(parsed.values, {entry["name"]: entry["value"] for entry in container["env"]})

    assert (container["command"], parsed.ignored) == ([flags.PROGRAM], ())
    assert (read.publish, read.fail_on_init_error) == (("file",), False)
    folder = os.path.dirname(read.output_file)
    (mount,) = container["volumeMounts"]
    (volume,) = pod["volumes"]
    assert mount == {"name": volume["name"], "mountPath": folder}
    assert volume["hostPath"] == {"path": folder, "type": "DirectoryOrCreate"}


def test_the_probes_ask_for_pages_that_there_are() -> None:
    """On the port that the labeler opens."""
    (container,) = read_pod()["containers"]
    (port,) = container["ports"]
    port_pages = telemetry.Telemetry(flags.PROGRAM, "1.2.3")
    probes = [container[probe]["httpGet"] for probe in ("livenessProbe", "readinessProbe")]

    assert f"--http-address=:{port['containerPort']}" in container["args"]
    assert [probe["port"] for probe in probes] == [port["name"]] * 2
    assert all(port_pages.answer(probe["path"])[0] != 404 for probe in probes)
