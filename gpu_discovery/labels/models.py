"""GPUs by model, the model that the common labels describe, and the facts of one model.

A model is a product name. A GPU whose name could not be read is of no model, and is passed over beside others that
have one. Every choice is by content and none by index, so that the order in which the driver lists the GPUs never
shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpu_discovery.core import model

MIB = 2**20
_UNKNOWN_MEMORY = 2**63
"""Sorts after every real size."""

_FAMILIES = {
    1: "tesla",
    2: "fermi",
    3: "kepler",
    5: "maxwell",
    6: "pascal",
    9: "hopper",
    10: "blackwell",
    12: "blackwell",
    13: "rubin",
}


def by_model(gpus: Iterable[model.Gpu]) -> Mapping[str, tuple[model.Gpu, ...]]:
    """Product name to its GPUs, by name; the empty name only where no GPU has another."""
    found: dict[str, list[model.Gpu]] = {}
    for gpu in gpus:
        found.setdefault(gpu.name, []).append(gpu)
    if len(found) > 1:
        found.pop("", None)
    return {name: tuple(found[name]) for name in sorted(found)}


def primary(gpus: Iterable[model.Gpu]) -> tuple[model.Gpu, ...]:
    """The GPUs of the most numerous model; of equally many the one with least memory, then the first by name."""
    groups = by_model(gpus)
    if not groups:
        return ()
    name = min(groups, key=lambda name: (-len(groups[name]), least_memory(groups[name]) or _UNKNOWN_MEMORY, name))
    return groups[name]


def least_memory(gpus: Iterable[model.Gpu]) -> int | None:
    """Bytes that each of ``gpus`` has at least, of those that tell; None when none does."""
    return min((gpu.memory_bytes for gpu in gpus if gpu.memory_bytes), default=None)


def compute_capability(gpus: Sequence[model.Gpu]) -> tuple[int, int] | None:
    """That of one model; the lowest if they should ever differ."""
    return min((gpu.compute_capability for gpu in gpus if gpu.compute_capability is not None), default=None)


def family(capability: tuple[int, int]) -> str:
    """The architecture's name by compute capability, as the reference has it; ``undefined`` for others."""
    major, minor = capability
    if major == 7:
        return "volta" if minor < 5 else "turing"
    if major == 8:
        return "ampere" if minor < 9 else "ada-lovelace"
    return _FAMILIES.get(major, "undefined")
