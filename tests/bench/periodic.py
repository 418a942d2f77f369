"""What the running labeler costs in a pass that finds nothing changed, and whether it grows.

Passes and writes are counted from outside, by watching the feature file: every pass reads it once to compare, and
must not write it. The interval between passes is the shortest that the labeler takes. CPU is the process's own, so it
holds all that goes on between two passes as well.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.bench import events, figures, node

WARM_PASSES = 20
INTERVAL = "100ms"
STALL_S = 30


@dataclass(frozen=True, slots=True)
class Sample:
    """The process at one moment."""

    cpu_ms: float
    resident_mib: float
    log_lines: int


class Labeler:
    """A running labeler, seen from outside."""

    def __init__(self, process: subprocess.Popen[bytes], machine: node.Node, log: str) -> None:
        self._process = process
        self._log = log
        self._events = events.FolderEvents(os.path.dirname(machine.feature_file))
        self._name = os.path.basename(machine.feature_file)

    def await_passes(self, count: int) -> int:
        """Wait for so many passes; how many changes of the feature file there were meanwhile."""
        passes = changes = 0
        while passes < count:
            happened = self._events.read(STALL_S)
            if not happened or self._process.poll() is not None:
                raise SystemExit(f"the labeler stopped after {passes} passes:\n{self.log_text()}")
            changes += sum(event.is_change for event in happened)
            passes += sum(event.name == self._name and not event.is_change for event in happened)
        return changes

    def sample(self) -> Sample:
        """Read the process's account from /proc."""
        with open(f"/proc/{self._process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        with open(f"/proc/{self._process.pid}/status", encoding="ascii") as file:
            resident_kib = next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
        return Sample(
            cpu_ms=ticks * 1000 / os.sysconf("SC_CLK_TCK"),
            resident_mib=resident_kib / 1024,
            log_lines=self.log_text().count("\n"),
        )

    def log_text(self) -> str:
        """Everything the labeler has logged."""
        with open(self._log, encoding="utf-8") as file:
            return file.read()


def measure(machine: node.Node, passes: int, *, with_http: bool) -> list[figures.Figure]:
    """Run the labeler for so many passes over an unchanged node."""
    address = f"127.0.0.1:{_free_port()}"
    prefix, arguments = ("with HTTP port", [f"--http-address={address}"]) if with_http else ("periodic", [])
    with _running(machine, machine.labeler(f"--sleep-interval={INTERVAL}", *arguments)) as labeler:
        labeler.await_passes(WARM_PASSES)
        if with_http:
            _check_count(labeler, address)
        before = labeler.sample()
        writes = labeler.await_passes(passes)
        after = labeler.sample()
    return [
        figures.Figure(f"{prefix}, resident after {passes} passes", after.resident_mib, "MiB", 34 if with_http else 26),
        figures.Figure(f"{prefix}, CPU per unchanged pass, one each {INTERVAL}", _cpu_ms(before, after, passes), "ms"),
        figures.Figure(f"{prefix}, writes in them", writes, "", 0),
        figures.Figure(f"{prefix}, log lines in them", after.log_lines - before.log_lines, "", 0),
    ]


def measure_growth(machine: node.Node, passes: int, *, with_http: bool) -> list[figures.Figure]:
    """Whether the labeler is larger after thousands of passes more; the allocator takes its last piece in the first ones."""
    prefix, address = ("with HTTP port", f"127.0.0.1:{_free_port()}") if with_http else ("periodic", "")
    command = [sys.executable, "-m", "tests.bench.hurried", machine.root, machine.feature_file, address]
    with _running(machine, command) as labeler:
        labeler.await_passes(5 * passes)
        before = labeler.sample()
        labeler.await_passes(10 * passes)
        after = labeler.sample()
    name = f"{prefix}, growth from pass {5 * passes} to pass {15 * passes}"
    return [figures.Figure(name, after.resident_mib - before.resident_mib, "MiB", 0.1)]


def measure_back_to_back(machine: node.Node, passes: int) -> list[figures.Figure]:
    """What a pass costs by itself."""
    command = [sys.executable, "-m", "tests.bench.back_to_back", machine.root, machine.feature_file, str(passes)]
    ran = subprocess.run(command, env=machine.environ, stdout=subprocess.PIPE, text=True, check=True)
    return [figures.Figure("unchanged passes back to back, CPU of one", float(ran.stdout), "ms", 1.5)]


def measure_idle(machine: node.Node, seconds: float) -> list[figures.Figure]:
    """What looking for changes between two passes costs, with the default interval."""
    with _running(machine, machine.labeler("--sleep-interval=60s")) as labeler:
        time.sleep(1)
        before = labeler.sample()
        time.sleep(seconds)
        after = labeler.sample()
    return [figures.Figure("between passes, CPU per second", (after.cpu_ms - before.cpu_ms) / seconds, "ms")]


@contextmanager
def _running(machine: node.Node, command: list[str]) -> Iterator[Labeler]:
    log = os.path.join(machine.root, "labeler.log")
    with open(log, "wb") as stderr:
        process = subprocess.Popen(command, env=machine.environ, stdout=stderr, stderr=stderr)
    try:
        yield Labeler(process, machine, log)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=STALL_S)


def _cpu_ms(before: Sample, after: Sample, passes: int) -> float:
    return (after.cpu_ms - before.cpu_ms) / passes


def _check_count(labeler: Labeler, address: str) -> None:
    """See that the labeler counts as many passes as we do, so that a figure per pass is one."""
    before = _passes_total(address)
    labeler.await_passes(WARM_PASSES)
    told = _passes_total(address) - before
    if abs(told - WARM_PASSES) > 1:
        raise SystemExit(f"the labeler counts {told} passes where {WARM_PASSES} were seen")


def _passes_total(address: str) -> int:
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=STALL_S) as answer:
        lines = answer.read().decode().splitlines()
    return sum(int(float(line.split()[-1])) for line in lines if line.startswith("gpu_discovery_passes_total{"))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
