"""Facts of real GPU boards, from their data sheets and the MIG user guide, for machines that tests make up.

Sizes of MIG profiles are what the driver reports (MiB), so that names like ``1g.5gb`` follow from them by the
driver's own rounding. A profile's ``index`` is NVML's profile constant; ``profile_id`` the number that instances carry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """One GPU instance profile of a board."""

    name: str
    index: int
    profile_id: int
    instances: int
    memory_mib: int
    multiprocessors: int
    engines: tuple[int, int, int, int]
    """Copy engines, decoders, JPEG engines, optical-flow engines."""
    placements: tuple[tuple[int, int], ...]
    """Possible (start, size), in memory slices."""

    @property
    def slices(self) -> int:
        """GPU slices: ``3`` of ``3g.20gb``."""
        return int(self.name.partition("g")[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One product as its driver tells of it."""

    name: str
    architecture: int
    compute_capability: tuple[int, int]
    memory_mib: int
    pci_device_id: int
    brand: int = 14
    pci_class: int = 0x030200
    nvlinks: int = 0
    has_ecc: bool = True
    has_remap: bool = True
    has_fabric: bool = False
    mig_slices: int = 0
    """Most MIG devices at once; 0: not MIG capable."""
    profiles: tuple[Profile, ...] = ()


def _every(starts: range, size: int) -> tuple[tuple[int, int], ...]:
    return tuple((start, size) for start in starts)


_ONE, _PAIR = _every(range(7), 1), _every(range(0, 8, 2), 2)
_TWO, _THREE, _FOUR, _SEVEN = _every(range(0, 6, 2), 2), _every(range(0, 8, 4), 4), ((0, 4),), ((0, 8),)
_QUARTER, _HALF, _WHOLE = _every(range(0, 12, 3), 3), _every(range(0, 12, 6), 6), ((0, 12),)


def _seven_slices(
    gib: tuple[int, int, int, int], mib: tuple[int, int, int, int], multiprocessors: tuple[int, ...], decoders: bool
) -> tuple[Profile, ...]:
    """The profiles of a board with seven slices: nominal sizes and real ones of an eighth, quarter, half and whole."""
    eighth, quarter, half, whole = gib
    one, pair, two, three, four, seven = multiprocessors
    many = 1 if decoders else 0
    return (
        Profile(f"1g.{eighth}gb", 0, 19, 7, mib[0], one, (1, many, many, 0), _ONE),
        Profile(f"1g.{eighth}gb+me", 7, 20, 1, mib[0], one, (1, 1, 1, 1), _ONE),
        Profile(f"1g.{quarter}gb", 9, 15, 4, mib[1], pair, (1, 1, many, 0), _PAIR),
        Profile(f"2g.{quarter}gb", 1, 14, 3, mib[1], two, (2, 1 + many, 2 * many, 0), _TWO),
        Profile(f"3g.{half}gb", 2, 9, 2, mib[2], three, (3, 2 + many, 3 * many, 0), _THREE),
        Profile(f"4g.{half}gb", 3, 5, 1, mib[2], four, (4, 2 + 2 * many, 4 * many, 0), _FOUR),
        Profile(f"7g.{whole}gb", 4, 0, 1, mib[3], seven, (7, 5 + 2 * many, 1 + 6 * many, 1), _SEVEN),
    )


_A30 = (
    Profile("1g.6gb", 0, 14, 4, 5952, 14, (1, 0, 0, 0), _every(range(4), 1)),
    Profile("1g.6gb+me", 7, 21, 1, 5952, 14, (1, 1, 1, 1), _every(range(4), 1)),
    Profile("2g.12gb", 1, 5, 2, 11968, 28, (2, 2, 0, 0), _every(range(0, 4, 2), 2)),
    Profile("2g.12gb+me", 8, 6, 1, 11968, 28, (2, 2, 1, 1), _every(range(0, 4, 2), 2)),
    Profile("4g.24gb", 3, 0, 1, 24000, 56, (4, 4, 1, 1), ((0, 4),)),
)

_RTX_PRO_6000 = (
    Profile("1g.24gb", 0, 14, 4, 24192, 46, (1, 1, 1, 0), _QUARTER),
    Profile("1g.24gb+me", 7, 21, 1, 24192, 46, (1, 1, 1, 1), _QUARTER),
    Profile("1g.24gb+gfx", 10, 47, 4, 24192, 46, (1, 1, 1, 0), _QUARTER),
    Profile("1g.24gb+me.all", 15, 65, 1, 24192, 46, (1, 4, 4, 1), _QUARTER),
    Profile("1g.24gb-me", 13, 67, 4, 24192, 46, (1, 0, 0, 0), _QUARTER),
    Profile("2g.48gb", 1, 5, 2, 48512, 94, (2, 2, 2, 0), _HALF),
    Profile("2g.48gb+gfx", 11, 35, 2, 48512, 94, (2, 2, 2, 0), _HALF),
    Profile("2g.48gb+me.all", 16, 64, 1, 48512, 94, (2, 4, 4, 1), _HALF),
    Profile("2g.48gb-me", 14, 66, 2, 48512, 94, (2, 0, 0, 0), _HALF),
    Profile("4g.96gb", 3, 0, 1, 97280, 188, (4, 4, 4, 1), _WHOLE),
    Profile("4g.96gb+gfx", 12, 32, 1, 97280, 188, (4, 4, 4, 1), _WHOLE),
)

BOARDS: Mapping[str, Board] = {
    "a100-40": Board(
        name="NVIDIA A100-SXM4-40GB",
        architecture=7,
        compute_capability=(8, 0),
        memory_mib=40960,
        pci_device_id=0x20B010DE,
        nvlinks=12,
        mig_slices=7,
        profiles=_seven_slices((5, 10, 20, 40), (4864, 9984, 20096, 40448), (14, 14, 28, 42, 56, 98), decoders=False),
    ),
    "a100-80": Board(
        name="NVIDIA A100-SXM4-80GB",
        architecture=7,
        compute_capability=(8, 0),
        memory_mib=81920,
        pci_device_id=0x20B210DE,
        nvlinks=12,
        mig_slices=7,
        profiles=_seven_slices((10, 20, 40, 80), (9728, 19968, 40192, 80640), (14, 14, 28, 42, 56, 98), decoders=False),
    ),
    "a30": Board(
        name="NVIDIA A30",
        architecture=7,
        compute_capability=(8, 0),
        memory_mib=24576,
        pci_device_id=0x20B710DE,
        nvlinks=4,
        mig_slices=4,
        profiles=_A30,
    ),
    "h100-80": Board(
        name="NVIDIA H100 80GB HBM3",
        architecture=9,
        compute_capability=(9, 0),
        memory_mib=81559,
        pci_device_id=0x233010DE,
        nvlinks=18,
        mig_slices=7,
        profiles=_seven_slices((10, 20, 40, 80), (9984, 20096, 40448, 81152), (16, 26, 32, 60, 64, 132), decoders=True),
    ),
    "h200": Board(
        name="NVIDIA H200",
        architecture=9,
        compute_capability=(9, 0),
        memory_mib=143771,
        pci_device_id=0x233510DE,
        nvlinks=18,
        mig_slices=7,
        profiles=_seven_slices(
            (18, 35, 71, 141), (16896, 33792, 71424, 143104), (16, 26, 32, 60, 64, 132), decoders=True
        ),
    ),
    "b200": Board(
        name="NVIDIA B200",
        architecture=10,
        compute_capability=(10, 0),
        memory_mib=183359,
        pci_device_id=0x290110DE,
        nvlinks=18,
        has_fabric=True,
        mig_slices=7,
        profiles=_seven_slices(
            (23, 45, 90, 180), (22144, 44672, 90624, 182784), (18, 30, 36, 70, 74, 148), decoders=True
        ),
    ),
    "gb200": Board(
        name="NVIDIA GB200",
        architecture=10,
        compute_capability=(10, 0),
        memory_mib=189471,
        pci_device_id=0x294110DE,
        nvlinks=18,
        has_fabric=True,
        mig_slices=7,
        profiles=_seven_slices(
            (23, 47, 93, 186), (22912, 46208, 93696, 188928), (20, 30, 38, 72, 76, 152), decoders=True
        ),
    ),
    "rtx-pro-6000": Board(
        name="NVIDIA RTX PRO 6000 Blackwell Server Edition",
        architecture=10,
        compute_capability=(12, 0),
        memory_mib=97887,
        pci_device_id=0x2BB510DE,
        mig_slices=4,
        profiles=_RTX_PRO_6000,
    ),
    "l40s": Board(
        name="NVIDIA L40S",
        architecture=8,
        compute_capability=(8, 9),
        memory_mib=46068,
        pci_device_id=0x26B910DE,
    ),
    "t4": Board(
        name="Tesla T4",
        architecture=6,
        compute_capability=(7, 5),
        memory_mib=15360,
        pci_device_id=0x1EB810DE,
        has_remap=False,
    ),
    "v100": Board(
        name="Tesla V100-SXM2-16GB",
        architecture=5,
        compute_capability=(7, 0),
        memory_mib=16384,
        pci_device_id=0x1DB110DE,
        brand=2,
        nvlinks=6,
        has_remap=False,
    ),
    "rtx-4090": Board(
        name="NVIDIA GeForce RTX 4090",
        architecture=8,
        compute_capability=(8, 9),
        memory_mib=24564,
        pci_device_id=0x268410DE,
        brand=5,
        pci_class=0x030000,
        has_ecc=False,
        has_remap=False,
    ),
}
