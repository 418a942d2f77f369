from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from gpu_discovery.core.nvml import profiles

MIB = 1 << 20
A100_40 = 42505273344
A100_80 = 85198045184
H200 = 143771 * MIB
B200 = 183359 * MIB
GH200_144 = 146831 * MIB


@pytest.mark.parametrize(
    ("total_bytes", "memory_mib", "gigabytes"),
    [
        pytest.param(A100_40, 4864, 5, id="A100 40 GB 1g"),
        pytest.param(A100_40, 20096, 20, id="A100 40 GB 3g, which its memory alone would make 21"),
        pytest.param(A100_40, 40192, 40, id="A100 40 GB 7g"),
        pytest.param(A100_80, 9728, 10, id="A100 80 GB 1g"),
        pytest.param(A100_80, 40448, 40, id="A100 80 GB 3g"),
        pytest.param(A100_80, 80896, 80, id="A100 80 GB 7g, which rounding down would make 79"),
        pytest.param(H200, 16384, 18, id="H200 1g"),
        pytest.param(H200, 33280, 35, id="H200 2g"),
        pytest.param(H200, 71424, 71, id="H200 3g, a half rounded up"),
        pytest.param(H200, 143360, 141, id="H200 7g"),
        pytest.param(B200, 22528, 23, id="B200 1g, a half rounded up"),
        pytest.param(B200, 45568, 45, id="B200 2g"),
        pytest.param(B200, 91136, 90, id="B200 4g"),
        pytest.param(GH200_144, 16896, 18, id="GH200 144 GB 1g"),
        pytest.param(GH200_144, 34048, 36, id="GH200 144 GB 1g with twice the memory"),
        pytest.param(189471 * MIB, 22528, 23, id="GB200 as sold first"),
        pytest.param(196608 * MIB, 20480, 24, id="GB200 as in the earlier listing"),
    ],
)
def test_sizes_of_known_boards(total_bytes: int, memory_mib: int, gigabytes: int) -> None:
    """The size in a name is the board's share in eighths, as nvidia-smi names it."""
    assert profiles.memory_gb(memory_mib, total_bytes) == gigabytes


@given(total_gib=st.integers(1, 2000), eighths=st.integers(1, 8))
def test_a_half_is_rounded_up(total_gib: int, eighths: int) -> None:
    """An exact share of a whole number of GiB is rounded half away from zero."""
    memory_mib = total_gib * 1024 * eighths // 8
    assert profiles.memory_gb(memory_mib, total_gib << 30) == int(total_gib * eighths / 8 + 0.5)


@pytest.mark.parametrize(
    ("index", "name"),
    [
        (0, "1g.5gb"),
        (1, "2g.5gb"),
        (2, "3g.5gb"),
        (3, "4g.5gb"),
        (4, "7g.5gb"),
        (5, "8g.5gb"),
        (6, "6g.5gb"),
        (7, "1g.5gb+me"),
        (8, "2g.5gb+me"),
        (9, "1g.5gb"),
        (10, "1g.5gb+gfx"),
        (11, "2g.5gb+gfx"),
        (12, "4g.5gb+gfx"),
        (13, "1g.5gb-me"),
        (14, "2g.5gb-me"),
        (15, "1g.5gb+me.all"),
        (16, "2g.5gb+me.all"),
        (17, "3g.5gb+gfx"),
    ],
)
def test_every_index_has_its_slices_and_suffix(index: int, name: str) -> None:
    """All of NVML's GPU-instance profile indices are named, 17 included."""
    slices = profiles.gpu_slices(index, counted=99)
    assert name == profiles.profile_name(
        gpu_slices=slices, compute_slices=slices, memory_gb=5, suffix=profiles.suffix(index, "MIG 9g.9gb+x")
    )


def test_fewer_compute_slices_stand_in_front() -> None:
    """A part of a GPU instance names its compute slices first."""
    name = profiles.profile_name(gpu_slices=3, compute_slices=1, memory_gb=20, suffix="+me")
    assert name == "1c.3g.20gb+me"


@pytest.mark.parametrize(("index", "slices"), [(0, 1), (1, 2), (2, 3), (3, 4), (4, 7), (5, 8), (6, 6), (7, 1), (8, 7)])
def test_every_compute_index_has_its_slices(index: int, slices: int) -> None:
    """All of NVML's compute-instance profile indices are known."""
    assert profiles.compute_slices(index, counted=99) == slices


@pytest.mark.parametrize(
    ("nvml_name", "suffix"), [("MIG 3g.48gb+gfx", "+gfx"), ("MIG 1g.24gb-me", "-me"), ("MIG 5g.60gb", ""), ("", "")]
)
def test_an_index_from_the_future_is_told_by_nvml(nvml_name: str, suffix: str) -> None:
    """An unknown index takes the slices that NVML counts and the attribute in NVML's name."""
    assert (profiles.gpu_slices(40, counted=5), profiles.suffix(40, nvml_name)) == (5, suffix)
    assert profiles.compute_slices(40, counted=5) == 5
