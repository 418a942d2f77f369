"""Names from the PCI id database."""

from __future__ import annotations

import os
import pathlib

from hypothesis import given, strategies as st

from gpu_discovery.core.host import pciids
from tests.fakes import host

DATABASE = """\
# A comment.
1000  Broadcom / LSI
\t1f08  Not this RAID controller
\t0016  MegaRAID
\t\t10de 1f08  Nor this subsystem
10de  NVIDIA Corporation
\t1f08  TU106 [GeForce RTX 2060 Rev. A]
# Another comment.

\t20b0  GA100 [A100 SXM4 40GB]
\t\t1028 20b1  A subsystem, no device
\t\t20b  A subsystem line that is cut short
\tffff
\tzzzz  Nonsense
\t20b2\tGA100 by a tab
10df  Emulex Corporation
\t20b5  Not this one
C 03  Display controller
\t02  3D controller
"""


def names(text: str) -> dict[int, str]:
    """All devices of NVIDIA's block."""
    return dict(pciids.parse_names(text.splitlines(keepends=True)))


def test_only_device_lines_of_nvidias_block() -> None:
    """The same digits as another vendor's device or as a subsystem name nothing."""
    assert names(DATABASE) == {
        0x1F08: "TU106 [GeForce RTX 2060 Rev. A]",
        0x20B0: "GA100 [A100 SXM4 40GB]",
        0xFFFF: "",
        0x20B2: "GA100 by a tab",
    }


def test_vendor_line_needs_its_digits_whole() -> None:
    """A class line or a longer number does not start NVIDIA's block."""
    assert names("C 10de  x\n\t20b0  A\n10deff  y\n\t20b0  B\n") == {}


def test_reading_ends_with_the_block() -> None:
    """What follows NVIDIA's block, most of the file, is not read."""
    lines = iter(["10de  NVIDIA\n", "\t20b0  A\n", "10df  Emulex\n", "\t0001  B\n"])

    assert list(pciids.parse_names(lines)) == [(0x20B0, "A")]
    assert list(lines) == ["\t0001  B\n"]


@given(st.text())
def test_any_text_parses(text: str) -> None:
    """Any text gives names or none."""
    assert all(0 <= device_id <= 0xFFFF for device_id in names(text))


def test_first_readable_database_of_the_host_wins(tmp_path: pathlib.Path) -> None:
    """The search path is gone through in order; what is no file is passed over."""
    root = host.make_host_root(tmp_path)
    root.file("/usr/share/misc/pci.ids").mkdir(parents=True)
    root.write_pci_ids("10de  NVIDIA\n\t20b0  first\n", "/usr/share/hwdata/pci.ids")
    root.write_pci_ids("10de  NVIDIA\n\t20b0  second\n", "/usr/share/pci.ids")

    assert pciids.read_names(str(tmp_path), {0x20B0}) == {0x20B0: "first"}


def test_own_table_fills_what_the_hosts_database_lacks(tmp_path: pathlib.Path) -> None:
    """An old database does not hide a name that we know, and what nobody knows is UNKNOWN_DEVICE."""
    host.make_host_root(tmp_path, pci_ids="10de  NVIDIA\n\t20b0  Mine\n")

    assert pciids.read_names(str(tmp_path), {0x20B0, 0x1EB8, 0x0001}) == {
        0x20B0: "Mine",
        0x1EB8: "TU104GL [Tesla T4]",
        0x0001: "UNKNOWN_DEVICE",
    }


def test_own_table_without_a_database(tmp_path: pathlib.Path) -> None:
    """Without any database on the host our table answers."""
    host.make_host_root(tmp_path)

    assert pciids.read_names(str(tmp_path), [0x2330]) == {0x2330: "GH100 [H100 SXM5 80GB]"}


def test_binary_database(tmp_path: pathlib.Path) -> None:
    """A file that is no text names nothing and breaks nothing."""
    root = host.make_host_root(tmp_path)
    root.write_pci_ids(b"\xff\x00" * 100_000)

    assert pciids.read_names(str(tmp_path), {0x20B0}) == {0x20B0: "GA100 [A100 SXM4 40GB]"}


def test_own_table_is_sorted_and_whole() -> None:
    """Each line of our table is read, has a name, and stands in order, once."""
    with open(pciids.EMBEDDED, encoding="ascii") as file:
        lines = file.read().splitlines()
    devices = list(pciids.parse_names(lines))

    assert len(devices) == sum(line.startswith("\t") for line in lines) > 100
    assert [device_id for device_id, _ in devices] == sorted({device_id for device_id, _ in devices})
    assert all("[" in name and name.endswith("]") for _, name in devices)


def test_fifo_in_place_of_the_database(tmp_path: pathlib.Path) -> None:
    """It is not waited for, and the names are those that we ship."""
    path = tmp_path / "usr/share/misc/pci.ids"
    path.parent.mkdir(parents=True)
    os.mkfifo(path)

    assert pciids.read_names(str(tmp_path), [0x20B0]) == {0x20B0: "GA100 [A100 SXM4 40GB]"}
