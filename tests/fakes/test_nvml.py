"""Machines that tests make up are possible ones, and the driver root holds what it should."""

from __future__ import annotations

import itertools
import math
import os
import pathlib
import subprocess
import sys

import pytest

from tests.fakes import boards, nvml, nvml_library

MIG_BOARDS = [name for name, board in boards.BOARDS.items() if board.profiles]
SLICES = {0: 1, 7: 1, 9: 1, 10: 1, 13: 1, 15: 1, 1: 2, 8: 2, 11: 2, 14: 2, 16: 2, 2: 3, 3: 4, 12: 4, 6: 6, 4: 7, 5: 8}
SUFFIXES = {7: "+me", 8: "+me", 15: "+me.all", 16: "+me.all", 10: "+gfx", 11: "+gfx", 12: "+gfx", 13: "-me", 14: "-me"}


def derived_name(board: boards.Board, profile: boards.Profile) -> str:
    """A profile's name from its index and size, by the rule that clients of NVML follow."""
    eighths = math.ceil(profile.memory_mib / board.memory_mib * 8)
    size = math.floor(eighths / 8 * math.ceil(board.memory_mib / 1024) + 0.5)
    return f"{SLICES[profile.index]}g.{size}gb{SUFFIXES.get(profile.index, '')}"


@pytest.mark.parametrize("board", MIG_BOARDS)
def test_profile_names_follow_from_sizes(board: str) -> None:
    """What a client works out from indices and sizes is the name that the profile goes by."""
    model = boards.BOARDS[board]
    assert [derived_name(model, row) for row in model.profiles] == [row.name for row in model.profiles]


@pytest.mark.parametrize("board", MIG_BOARDS)
def test_as_many_instances_as_a_profile_says_have_room(board: str) -> None:
    """Each profile's instances can be placed together, unless one stands in the other's way."""
    for row in boards.BOARDS[board].profiles:
        gpu = nvml.make_gpu(board=board, mig_devices=[row.name] * row.instances)
        places = [range(start, start + size) for start, size in (d["placement"] for d in gpu["mig"]["devices"])]
        assert all(not set(one) & set(other) for one, other in itertools.combinations(places, 2))


def test_devices_share_a_gpu_instance_while_it_has_slices() -> None:
    """Compute instances fill one GPU instance, then the next."""
    gpu = nvml.make_gpu(mig_devices=["1c.3g.20gb", "2c.3g.20gb", "1c.3g.20gb"])
    devices = gpu["mig"]["devices"]
    assert [(device["gi_id"], device["ci_id"]) for device in devices] == [(1, 0), (1, 1), (2, 0)]
    assert [device["placement"] for device in devices] == [[0, 4], [0, 4], [4, 4]]


def test_devices_that_do_not_fit_are_told() -> None:
    """No GPU has eight of seven slices."""
    with pytest.raises(ValueError, match="do not fit"):
        nvml.make_gpu(mig_devices=["7g.40gb", "1g.5gb"])


def test_unknown_profile_is_told_with_those_there_are() -> None:
    """Profiles go by the board."""
    with pytest.raises(ValueError, match=r"no MIG profile 1g.10gb\+me; it has 1g.5gb, 1g.5gb\+me"):
        nvml.make_mig_device("1g.10gb+me")


def test_identities_differ_and_repeat() -> None:
    """Two GPUs share nothing that tells them apart, and a test run twice sees the same ones."""
    first, second = (nvml.make_gpu(index, mig_devices=["1g.5gb"]) for index in range(2))
    for key in ("uuid", "pci_address", "serial", "minor"):
        assert first[key] != second[key]
    assert first["mig"]["devices"][0]["uuid"] != second["mig"]["devices"][0]["uuid"]
    assert first == nvml.make_gpu(0, mig_devices=["1g.5gb"])


def test_part_of_mig_can_be_changed() -> None:
    """The rest stays the board's; a board without MIG can be given it."""
    assert nvml.make_gpu(mig={"pending": 1})["mig"]["max_devices"] == 7
    assert nvml.make_gpu(board="t4", mig={"current": 0})["mig"]["profiles"] == []
    assert nvml.make_gpu(mig=None)["mig"] is None


@pytest.mark.parametrize(
    ("machine", "fault"),
    [
        (nvml.make_machine(driver="535"), "driver"),
        (nvml.make_machine([nvml.make_gpu(memory=1)]), "memory"),
        (nvml.make_machine(fail={"nvmlDeviceGetNames": "UNKNOWN"}), "nvmlDeviceGetNames"),
        (nvml.make_machine([nvml.make_gpu(hang={"nvmlWait": 1})]), "nvmlWait"),
        (nvml.make_machine([nvml.make_gpu(fail={"*": "LOST"})]), "LOST"),
        (nvml.make_machine([nvml.make_gpu(mig_devices=[nvml.make_mig_device(fail={"x": "UNKNOWN"})])]), "x"),
        (nvml.make_machine(missing_symbols=["nvmlNothing"]), "nvmlNothing"),
    ],
)
def test_description_that_would_not_be_understood_is_told(
    tmp_path: pathlib.Path, machine: nvml.Json, fault: str
) -> None:
    """A misspelt key or call would otherwise disturb nothing, and its test pass for no reason."""
    with pytest.raises(ValueError, match=fault):
        nvml.FakeDriver(tmp_path, machine)


def test_driver_root_looks_like_one(tmp_path: pathlib.Path) -> None:
    """A link of the SONAME to a file of the driver's version, replaced with it, gone with the driver."""
    driver = nvml.FakeDriver(tmp_path)
    assert os.readlink(driver.library_path) == "libnvidia-ml.so.535.129.03"
    inode = os.stat(driver.library_path).st_ino
    driver.write(nvml.make_machine([]))
    assert os.stat(driver.library_path).st_ino == inode
    driver.write(nvml.make_machine(driver_version="550.54.15"))
    assert sorted(os.listdir(driver.library_dir)) == [nvml_library.SONAME, "libnvidia-ml.so.550.54.15"]
    driver.uninstall()
    assert os.listdir(driver.library_dir) == []
    driver.write(nvml.make_machine())
    assert os.path.exists(driver.library_path)


def test_two_drivers_have_a_library_each(tmp_path: pathlib.Path) -> None:
    """The dynamic loader takes them for different ones, so their sessions do not mix."""
    one, other = nvml.FakeDriver(tmp_path / "one"), nvml.FakeDriver(tmp_path / "other")
    assert os.stat(one.library_path).st_ino != os.stat(other.library_path).st_ino


def test_sources_compile_without_a_warning(tmp_path: pathlib.Path) -> None:
    """Warnings are errors here, and here only: a newer compiler's must not keep the other tests from running."""
    command = [*nvml_library.compiler(), "-c", *nvml_library.COMPILE, "-Werror", *nvml_library.sources(".c")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_missing_compiler_ends_the_run_with_one_line(tmp_path: pathlib.Path) -> None:
    """Not a skip and not a traceback per test."""
    environ = os.environ | {"CC": "no-such-compiler", "TMPDIR": os.fspath(tmp_path)}
    command = [sys.executable, "-m", "pytest", "-q", __file__]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 4
    assert done.stderr.strip() == (
        "ERROR: the tests need a C compiler and no-such-compiler is not there: install gcc or clang, or set CC"
    )


def test_refused_sources_end_the_run_with_one_line(tmp_path: pathlib.Path) -> None:
    """After what the compiler itself says."""
    compiler = tmp_path / "broken-compiler"
    compiler.write_text("#!/bin/sh\necho no such type >&2\nexit 1\n")
    compiler.chmod(0o755)
    environ = os.environ | {"CC": os.fspath(compiler), "TMPDIR": os.fspath(tmp_path)}
    command = [sys.executable, "-m", "pytest", "-q", __file__]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 4
    first, last = done.stderr.strip().splitlines()
    assert first == "no such type"
    assert last.startswith(f"ERROR: {compiler} does not compile the fake NVML library")
