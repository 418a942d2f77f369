"""The facts of the machine."""

from __future__ import annotations

import os
import pathlib

import pytest

from gpu_discovery.core.host import machine
from tests.fakes import host


def test_reads_machine_kernel_boot_and_driver(tmp_path: pathlib.Path) -> None:
    """A whole machine is told without failures, white space at the ends of its type left out."""
    host.make_host_root(tmp_path, machine=" HP  Z820 Workstation \n", driver_version="525.125.06")

    read = machine.read_host(str(tmp_path))

    assert read.machine == "HP  Z820 Workstation"
    assert read.kernel == os.uname().release
    assert read.boot_id == host.BOOT_ID
    assert read.driver_load is not None
    assert read.driver_load.version == "525.125.06"
    assert read.failures == ()


@pytest.mark.parametrize("given", ["/etc/machine-type", "etc/machine-type"])
def test_given_machine_type_file_lies_under_the_root(tmp_path: pathlib.Path, given: str) -> None:
    """A machine type file that a person gave is looked for under the host root as the default is."""
    root = host.make_host_root(tmp_path)
    root.write("/etc/machine-type", "rack 7\n")

    assert machine.read_host(str(tmp_path), given).machine == "rack 7"


def test_no_machine_type_file_wanted(tmp_path: pathlib.Path) -> None:
    """An empty path is no failure: nothing was asked for."""
    host.make_host_root(tmp_path)

    read = machine.read_host(str(tmp_path), "")

    assert (read.machine, read.failures) == (None, ())


def test_empty_machine_type_file_is_an_empty_machine(tmp_path: pathlib.Path) -> None:
    """An empty file is told apart from one that is missing."""
    host.make_host_root(tmp_path, machine="\n")

    assert machine.read_host(str(tmp_path)).machine == ""


def test_machine_without_dmi(tmp_path: pathlib.Path) -> None:
    """Where there is no DMI the machine is None with the file and the reason beside it."""
    host.make_host_root(tmp_path, machine=None)

    read = machine.read_host(str(tmp_path))

    assert read.machine is None
    assert [(failure.fact, failure.call, failure.reason) for failure in read.failures] == [
        ("machine", "/sys/class/dmi/id/product_name", "ENOENT")
    ]


def test_hostile_machine_type_file(tmp_path: pathlib.Path) -> None:
    """A huge binary file is cut to a page and decoded, whatever it holds."""
    host.make_host_root(tmp_path, machine=b"\xff\x00" * 1_000_000)

    read = machine.read_host(str(tmp_path))

    assert read.machine is not None
    assert len(read.machine) <= 4096
    assert read.machine.encode() != b""


def test_fifo_in_place_of_the_machine_type_file(tmp_path: pathlib.Path) -> None:
    """A FIFO that nobody writes to does not block the pass."""
    root = host.make_host_root(tmp_path)
    root.remove("/sys/class/dmi/id/product_name")
    os.mkfifo(root.file("/sys/class/dmi/id/product_name"))

    assert machine.read_host(str(tmp_path)).machine == ""


def test_missing_boot_id_is_a_failure(tmp_path: pathlib.Path) -> None:
    """Without a boot id it is empty, and the failure names its file."""
    root = host.make_host_root(tmp_path)
    root.remove("/proc/sys/kernel/random/boot_id")

    read = machine.read_host(str(tmp_path))

    assert read.boot_id == ""
    assert [failure.fact for failure in read.failures] == ["boot_id"]
