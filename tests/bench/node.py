"""The node that is measured: eight GPUs behind the fake driver, and the /sys and /proc that go with them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from tests.fakes import host, nvml

GPUS = 8
BOARD = "h100-80"


@dataclass(frozen=True, slots=True)
class Node:
    """Where its files are, and how a program is told to look there."""

    root: str
    environ: Mapping[str, str]

    @property
    def feature_file(self) -> str:
        """The published labels; alone in their folder, so that every write to it can be counted."""
        return os.path.join(self.root, "features.d", "gfd")

    def labeler(self, *arguments: str) -> list[str]:
        """The labeler's command line on this node."""
        return [
            program("gpu-feature-discovery"),
            f"--host-root={self.root}",
            f"--driver-root-ctr-path={self.root}",
            f"--output-file={self.feature_file}",
            *arguments,
        ]


def program(name: str) -> str:
    """The installed script beside the interpreter that runs this."""
    return os.path.join(os.path.dirname(sys.executable), name)


def make_node(root: str) -> Node:
    """Write everything under ``root``; the description never changes, so the fake reads it once per process."""
    gpus = [nvml.make_gpu(index, BOARD) for index in range(GPUS)]
    driver = nvml.FakeDriver(root)
    driver.write(nvml.make_machine(gpus=gpus))
    host.make_host_root(root, gpus=gpus)
    os.makedirs(os.path.join(root, "features.d"))
    # Nothing of the caller's Python: without byte code on disk, for one, every start would compile all modules.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return Node(root=root, environ={**inherited, **driver.environ(), "FAKE_NVML_STATIC": "1"})
