"""How MIG profiles are named: ``3g.20gb``, ``1c.3g.20gb``, ``1g.10gb+me``; one rule for labels and resources.

A name is computed from what this board reports, never looked up in a list of known boards: new memory sizes bring
new names every year, and one product has been sold with two sizes. Only the meaning of NVML's profile indices is
fixed: some have the same slices and size and differ in their engines, which the suffix tells. An index newer than
these tables takes the slices that NVML counts and the suffix of NVML's own name for it.
"""

from __future__ import annotations

from collections.abc import Mapping

_MIB = 1 << 20
_GIB = 1 << 30

# NVML_GPU_INSTANCE_PROFILE_*: index → slices.
_GPU_SLICES: Mapping[int, int] = {
    0: 1,
    1: 2,
    2: 3,
    3: 4,
    4: 7,
    5: 8,
    6: 6,
    7: 1,
    8: 2,
    9: 1,
    10: 1,
    11: 2,
    12: 4,
    13: 1,
    14: 2,
    15: 1,
    16: 2,
    17: 3,
}

# NVML_COMPUTE_INSTANCE_PROFILE_*: index → slices.
_COMPUTE_SLICES: Mapping[int, int] = {0: 1, 1: 2, 2: 3, 3: 4, 4: 7, 5: 8, 6: 6, 7: 1, 8: 7}

_SUFFIXES: Mapping[int, str] = {
    7: "+me",
    8: "+me",
    10: "+gfx",
    11: "+gfx",
    12: "+gfx",
    13: "-me",
    14: "-me",
    15: "+me.all",
    16: "+me.all",
    17: "+gfx",
}


def is_known(gpu_instance_profile_index: int) -> bool:
    """Whether the index is one whose suffix stands here."""
    return gpu_instance_profile_index in _GPU_SLICES


def gpu_slices(index: int, counted: int) -> int:
    """GPU slices of a GPU-instance profile; ``counted`` is NVML's own slice count."""
    return _GPU_SLICES.get(index, counted)


def compute_slices(index: int, counted: int) -> int:
    """Compute slices of a compute-instance profile; ``counted`` is NVML's own slice count."""
    return _COMPUTE_SLICES.get(index, counted)


def suffix(index: int, nvml_name: str) -> str:
    """The profile's attribute, ``+me``; ``nvml_name`` (``MIG 1g.24gb+me``) is asked for an unknown index only."""
    if is_known(index):
        return _SUFFIXES.get(index, "")
    attributes = nvml_name.rpartition("gb")[2]
    return attributes if attributes.startswith(("+", "-")) else ""


def memory_gb(memory_mib: int, total_bytes: int) -> int:
    """The size in a profile's name: the GPU's size in whole GiB, rounded up, times the eighths that the instance has.

    Rounded half up, in integers. The instance's own memory alone would be off by one, because some of it is reserved.
    """
    eighths = -(-memory_mib * _MIB * 8 // total_bytes)
    total_gib = -(-total_bytes // _GIB)
    return (2 * eighths * total_gib + 8) // 16


def profile_name(*, gpu_slices: int, compute_slices: int, memory_gb: int, suffix: str) -> str:
    """``<G>g.<M>gb<suffix>``, with ``<C>c.`` before it where the compute instance has not all slices."""
    name = f"{gpu_slices}g.{memory_gb}gb{suffix}"
    return name if compute_slices == gpu_slices else f"{compute_slices}c.{name}"
