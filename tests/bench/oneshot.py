"""What one run costs, from exec to exit with the feature file written, beside what Python alone costs.

The commands take turns, so that a machine whose clock speed drifts slows all of them alike and their ratios hold.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.bench import figures, node

SPAWN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spawn.py")
LIBRARIES = "import click, yaml, pynvml, logging"


@dataclass(frozen=True, slots=True)
class Cost:
    """One run of one command."""

    wall_ms: float
    cpu_ms: float
    peak_mib: float


def measure(machine: node.Node, rounds: int) -> list[figures.Figure]:
    """Medians over ``rounds`` runs of each command, in turns."""
    commands = {
        "oneshot": machine.labeler("--oneshot"),
        "empty": [sys.executable, "-c", "pass"],
        "libraries": [sys.executable, "-c", LIBRARIES],
        "imports": [sys.executable, "-c", "import gpu_discovery.cli"],
    }
    for command in commands.values():
        run(command, machine.environ)  # Byte code is written and files are cached.
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            costs[name].append(run(command, machine.environ))
    wall = {name: statistics.median(cost.wall_ms for cost in runs) for name, runs in costs.items()}
    peak = {name: max(cost.peak_mib for cost in runs) for name, runs in costs.items()}
    return [
        figures.Figure("oneshot, exec to exit", wall["oneshot"], "ms", limit=170),
        figures.Figure("oneshot, the quickest run", min(cost.wall_ms for cost in costs["oneshot"]), "ms"),
        figures.Figure("oneshot, peak resident", peak["oneshot"], "MiB", limit=26),
        figures.Figure("oneshot, CPU", statistics.median(cost.cpu_ms for cost in costs["oneshot"]), "ms"),
        figures.Figure("`python -c pass`", wall["empty"], "ms"),
        figures.Figure(f"`{LIBRARIES}`", wall["libraries"], "ms"),
        figures.Figure("the same, peak resident", peak["libraries"], "MiB"),
        figures.Figure("`import gpu_discovery.cli`", wall["imports"], "ms"),
        figures.Figure("oneshot ÷ `python -c pass`", wall["oneshot"] / wall["empty"], "times"),
    ]


def run(command: Sequence[str], environ: Mapping[str, str]) -> Cost:
    """Run a command to its end; a failure ends the measurement with what it said."""
    spawned = subprocess.run(
        [sys.executable, "-I", "-S", SPAWN, *command], env=environ, capture_output=True, text=True, check=True
    )
    exit_code, wall_ns, cpu_us, peak_kib = map(int, spawned.stdout.split())
    if exit_code:
        sys.exit(f"{' '.join(command)} ended with {exit_code}:\n{spawned.stderr}")
    return Cost(wall_ms=wall_ns / 1e6, cpu_ms=cpu_us / 1e3, peak_mib=peak_kib / 1024)
