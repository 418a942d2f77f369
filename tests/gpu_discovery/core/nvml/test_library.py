from __future__ import annotations

import os
import pathlib

import pytest

from gpu_discovery.core import model
from gpu_discovery.core.nvml import library

MACHINES = {"x86_64": 62, "aarch64": 183}
FOLDER = "usr/lib/x86_64-linux-gnu"


def make_elf(path: pathlib.Path, *, bits: int = 2, kind: int = 3, machine: int | None = None) -> pathlib.Path:
    """A file with the ELF header of a shared object for this machine, or of something else."""
    number = MACHINES[os.uname().machine] if machine is None else machine
    header = b"\x7fELF" + bytes((bits, 1, 1)) + bytes(9) + kind.to_bytes(2, "little") + number.to_bytes(2, "little")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(header.ljust(64, b"\0"))
    return path


def make_link(path: pathlib.Path, target: str) -> pathlib.Path:
    """A symbolic link with exactly this target."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return path


@pytest.mark.parametrize("root", ["", "/", "//"])
def test_no_driver_root_means_the_loader_path(root: str) -> None:
    """An empty root and ``/`` name the bare SONAME, which the loader resolves."""
    assert library.find_library(root) == model.Library("libnvidia-ml.so.1", "loader")


def test_an_empty_driver_root_means_the_loader_path(tmp_path: pathlib.Path) -> None:
    """A driver root without the library falls back to the loader."""
    assert library.find_library(str(tmp_path)).origin == "loader"


@pytest.mark.parametrize("folder", ["usr/lib64", FOLDER, "usr/lib/aarch64-linux-gnu", "lib64", "lib/x86_64-linux-gnu"])
def test_the_library_is_found_in_each_folder(tmp_path: pathlib.Path, folder: str) -> None:
    """Every folder where distributions put the driver's libraries is looked at."""
    found = make_elf(tmp_path / folder / "libnvidia-ml.so.1")
    assert library.find_library(str(tmp_path)) == model.Library(str(found), "driver-root")


def test_the_first_folder_wins(tmp_path: pathlib.Path) -> None:
    """With two libraries the order of folders decides, as in the reference."""
    make_elf(tmp_path / "lib64/libnvidia-ml.so.1")
    first = make_elf(tmp_path / "usr/lib64/libnvidia-ml.so.1")
    assert library.find_library(str(tmp_path)).path == str(first)


def test_a_relative_link_is_followed(tmp_path: pathlib.Path) -> None:
    """The usual link to the versioned file gives the file's path."""
    real = make_elf(tmp_path / FOLDER / "libnvidia-ml.so.535.129.03")
    make_link(tmp_path / FOLDER / "libnvidia-ml.so.1", "libnvidia-ml.so.535.129.03")
    assert library.find_library(str(tmp_path)).path == str(real)


def test_an_absolute_link_is_followed_inside_the_root(tmp_path: pathlib.Path) -> None:
    """An absolute target starts at the driver root, not at the container's own root."""
    real = make_elf(tmp_path / "opt/nvidia/libnvidia-ml.so.550")
    make_link(tmp_path / FOLDER / "libnvidia-ml.so.1", "/opt/nvidia/libnvidia-ml.so.550")
    assert library.find_library(str(tmp_path)).path == str(real)


def test_a_linked_folder_is_followed_inside_the_root(tmp_path: pathlib.Path) -> None:
    """``lib64`` being an absolute link to ``/usr/lib`` stays inside the root."""
    real = make_elf(tmp_path / "usr/lib/libnvidia-ml.so.1")
    make_link(tmp_path / "lib64", "/usr/lib")
    assert library.find_library(str(tmp_path)).path == str(real)


def test_a_link_cannot_leave_the_root(tmp_path: pathlib.Path) -> None:
    """``..`` stops at the root, so that a driver root can't make us load a file of the container."""
    root = tmp_path / "root"
    make_elf(tmp_path / "outside.so")
    make_link(root / FOLDER / "libnvidia-ml.so.1", "../../../../outside.so")
    assert library.find_library(str(root)).origin == "loader"


@pytest.mark.parametrize("target", ["nowhere.so", "/nowhere.so", "libnvidia-ml.so.1"])
def test_a_link_to_nothing_counts_for_nothing(tmp_path: pathlib.Path, target: str) -> None:
    """A dangling link and one in a circle do not hide the loader's library."""
    make_link(tmp_path / FOLDER / "libnvidia-ml.so.1", target)
    assert library.find_library(str(tmp_path)).origin == "loader"


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"bits": 1}, id="32 bits"),
        pytest.param({"kind": 2}, id="a program"),
        pytest.param({"machine": 8}, id="another machine"),
    ],
)
def test_only_a_loadable_elf_file_counts(tmp_path: pathlib.Path, fault: dict[str, int]) -> None:
    """What the loader could not load here is passed over, and a later folder's good library is used."""
    make_elf(tmp_path / "usr/lib64/libnvidia-ml.so.1", **fault)
    good = make_elf(tmp_path / "lib64/libnvidia-ml.so.1")
    assert library.find_library(str(tmp_path)).path == str(good)


@pytest.mark.parametrize("content", [b"", b"#!/bin/sh\n", b"\x7fELF"])
def test_a_place_holder_does_not_count(tmp_path: pathlib.Path, content: bytes) -> None:
    """An empty file, as some container images ship for mounts, is no library."""
    path = tmp_path / FOLDER / "libnvidia-ml.so.1"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert library.find_library(str(tmp_path)).origin == "loader"


def test_a_folder_of_that_name_does_not_count(tmp_path: pathlib.Path) -> None:
    """Docker makes a folder where a bind mount's source is missing."""
    (tmp_path / FOLDER / "libnvidia-ml.so.1").mkdir(parents=True)
    assert library.find_library(str(tmp_path)).origin == "loader"


def test_a_fifo_of_that_name_does_not_count(tmp_path: pathlib.Path) -> None:
    """Nobody may ever write to it: it is passed over, not waited for."""
    path = tmp_path / FOLDER / "libnvidia-ml.so.1"
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    assert library.find_library(str(tmp_path)).origin == "loader"
