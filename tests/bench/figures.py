"""Measured figures and the machine they were measured on, as a Markdown table."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LIBRARIES = ("click", "PyYAML", "nvidia-ml-py", "prometheus_client", "setproctitle")


@dataclass(frozen=True, slots=True)
class Figure:
    """One row."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    """What it may be at most; None where it only gives scale."""

    @property
    def is_over(self) -> bool:
        """Whether the limit is missed."""
        return self.limit is not None and self.value > self.limit


def table(rows: Iterable[Figure]) -> str:
    """The figures with their limits; what is missed is marked."""
    lines = ["| Figure | Measured | Limit |", "| --- | ---: | ---: |"]
    for row in rows:
        limit = "" if row.limit is None else f"{row.limit:g} {row.unit}" + (" **missed**" if row.is_over else "")
        lines.append(
            f"| {row.name} | {row.value:.{0 if row.unit == '' else 2 if row.value < 10 else 1}f} {row.unit} | {limit} |"
        )
    return "\n".join(lines)


def machine_lines() -> Iterator[str]:
    """What has to be known to compare with another machine."""
    yield f"- CPU: {_cpu_model()}, {os.cpu_count()} cores"
    yield f"- kernel: {platform.release()}, {' '.join(platform.libc_ver())}"
    yield f"- Python {platform.python_version()}, " + ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES
    )


def _cpu_model() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return models[0] if models else platform.machine()
