from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from gpu_discovery.core import errors, model
from gpu_discovery.core.nvml import reader
from tests.fakes import nvml
from tests.gpu_discovery.core.nvml import reading

NEWER = model.DriverLoad(boot_id="boot", version="550.54.15", inode=2)


def read_failing(
    subject: reader.NvmlReader,
    driver: nvml.FakeDriver,
    machine: nvml.Json,
    load: model.DriverLoad | None = reading.LOAD,
) -> errors.NvmlUnavailable:
    """A pass that cannot use NVML, and why."""
    with pytest.raises(errors.NvmlUnavailable) as caught:
        reading.read(subject, driver, machine, load=load)
    return caught.value


def make_unloadable(driver: nvml.FakeDriver) -> None:
    """A library that passes for one by its header and that the loader refuses."""
    header = pathlib.Path(driver.library_path).read_bytes()[:64]
    driver.uninstall()
    pathlib.Path(driver.library_path).write_bytes(header)


def replace_library(driver: nvml.FakeDriver) -> None:
    """The same library as another file at the same path, as a package update leaves it."""
    path = pathlib.Path(os.path.realpath(driver.library_path))
    new = path.with_suffix(".new")
    new.write_bytes(path.read_bytes())
    new.replace(path)


@pytest.mark.parametrize(
    ("init", "finding"),
    [
        ("LIBRARY_NOT_FOUND", model.Finding.NVML_MISSING),
        ("DRIVER_NOT_LOADED", model.Finding.DRIVER_NOT_LOADED),
        ("LIB_RM_VERSION_MISMATCH", model.Finding.VERSION_MISMATCH),
        ("NO_PERMISSION", model.Finding.NO_PERMISSION),
        ("GPU_NOT_FOUND", model.Finding.NO_GPUS),
        ("UNKNOWN", model.Finding.NVML_FAILED),
    ],
)
def test_each_way_in_which_nvml_is_unusable(fake_driver: nvml.FakeDriver, init: str, finding: model.Finding) -> None:
    """Every refusal is a finding of its own, with NVML's code, its name and what to do."""
    error = read_failing(reader.NvmlReader(fake_driver.root), fake_driver, nvml.make_machine(init=init))
    assert model.Finding(error.finding) is finding
    assert error.code is not None
    assert init in str(error)
    assert ": " in str(error).partition("; ")[2]


def test_a_missing_library(fake_driver: nvml.FakeDriver) -> None:
    """Nowhere a library: the finding, and where it was looked for."""
    fake_driver.uninstall()
    subject = reader.NvmlReader(fake_driver.root)
    with pytest.raises(errors.NvmlUnavailable, match=r"libnvidia-ml\.so\.1") as caught:
        subject.read(pci={}, driver_load=reading.LOAD)
    assert (caught.value.finding, caught.value.code) == ("nvml-missing", None)
    assert fake_driver.root in str(caught.value)
    assert subject.restart_token is None


def test_a_library_that_cannot_be_loaded(fake_driver: nvml.FakeDriver) -> None:
    """One that only looks like a library falls back to the loader's, which is not there either."""
    make_unloadable(fake_driver)
    with pytest.raises(errors.NvmlUnavailable) as caught:
        reader.NvmlReader(fake_driver.root).read(pci={}, driver_load=None)
    assert caught.value.finding == "nvml-missing"


def test_a_count_that_fails_makes_nvml_unusable(fake_driver: nvml.FakeDriver) -> None:
    """Without the number of GPUs nothing can be said, and the code decides the finding."""
    machine = nvml.make_machine(fail={"nvmlDeviceGetCount_v2": "DRIVER_NOT_LOADED"})
    error = read_failing(reader.NvmlReader(fake_driver.root), fake_driver, machine)
    assert (error.finding, error.code) == ("driver-not-loaded", 9)


def test_a_driver_that_arrives_late(fake_driver: nvml.FakeDriver) -> None:
    """Library missing, then driver not loaded, then all well: the same process reads it (T12)."""
    fake_driver.uninstall()
    subject = reader.NvmlReader(fake_driver.root)
    with pytest.raises(errors.NvmlUnavailable):
        subject.read(pci={}, driver_load=None)
    not_loaded = nvml.make_machine([nvml.make_gpu(0, "t4")], init="DRIVER_NOT_LOADED")
    for _ in range(2):
        assert read_failing(subject, fake_driver, not_loaded, None).finding == "driver-not-loaded"
    facts = reading.read(subject, fake_driver, nvml.make_machine([nvml.make_gpu(0, "t4")]))
    assert [gpu.name for gpu in facts.gpus] == ["Tesla T4"]
    assert subject.restart_token is None


def test_a_driver_that_goes_and_comes_back(fake_driver: nvml.FakeDriver) -> None:
    """Unloading and loading the same driver needs no new process (R125)."""
    subject = reader.NvmlReader(fake_driver.root)
    reading.read(subject, fake_driver)
    assert read_failing(subject, fake_driver, nvml.make_machine(init="DRIVER_NOT_LOADED"), None).code == 9
    assert len(reading.read(subject, fake_driver, load=reading.RELOAD).gpus) == 1
    assert subject.restart_token is None


def test_a_library_that_never_worked_gives_way(fake_driver: nvml.FakeDriver, tmp_path: pathlib.Path) -> None:
    """Another file that appears in the driver root later is loaded without a new process."""
    subject = reader.NvmlReader(fake_driver.root)
    read_failing(subject, fake_driver, nvml.make_machine(init="DRIVER_NOT_LOADED"))
    facts = reading.read(subject, fake_driver, nvml.make_machine(driver_version="550.54.15"), load=NEWER)
    assert facts.library.path.endswith("libnvidia-ml.so.550.54.15")
    assert subject.restart_token is None


def test_a_mismatched_library_that_never_worked_gives_way(fake_driver: nvml.FakeDriver) -> None:
    """A process that waits for the right library takes it from the same path, too."""
    subject = reader.NvmlReader(fake_driver.root)
    read_failing(subject, fake_driver, nvml.make_machine(init="LIB_RM_VERSION_MISMATCH"))
    assert subject.restart_token is not None
    replace_library(fake_driver)
    assert len(reading.read(subject, fake_driver).gpus) == 1
    assert subject.restart_token is None


def test_another_library_is_asked_for_what_the_last_one_lacked(fake_driver: nvml.FakeDriver) -> None:
    """Missing symbols are those of one library."""
    subject = reader.NvmlReader(fake_driver.root)
    old = nvml.make_machine(init="DRIVER_NOT_LOADED", missing_symbols=["nvmlInitWithFlags"])
    read_failing(subject, fake_driver, old)
    new = nvml.make_machine(missing_symbols=["nvmlInit_v2", "nvmlInit"])
    assert len(reading.read(subject, fake_driver, new).gpus) == 1


def test_a_version_mismatch_needs_a_new_process(fake_driver: nvml.FakeDriver) -> None:
    """The token names library and driver version, is the same in each pass, and goes when NVML works again."""
    subject = reader.NvmlReader(fake_driver.root)
    reading.read(subject, fake_driver)
    tokens = set()
    for _ in range(2):
        read_failing(subject, fake_driver, nvml.make_machine(init="LIB_RM_VERSION_MISMATCH"), NEWER)
        tokens.add(subject.restart_token)
    (token,) = tokens
    assert token is not None
    assert "550.54.15" in token
    read_failing(subject, fake_driver, nvml.make_machine(init="LIB_RM_VERSION_MISMATCH"), reading.LOAD)
    assert subject.restart_token not in {None, token}
    reading.read(subject, fake_driver)
    assert subject.restart_token is None


def test_a_replaced_library_needs_a_new_process(fake_driver: nvml.FakeDriver) -> None:
    """What is mapped is the old file; it still answers, and the token says that a newer one is there."""
    subject = reader.NvmlReader(fake_driver.root)
    reading.read(subject, fake_driver)
    assert subject.restart_token is None
    replace_library(fake_driver)
    assert len(reading.read(subject, fake_driver).gpus) == 1
    token = subject.restart_token
    assert token is not None
    replace_library(fake_driver)
    reading.read(subject, fake_driver)
    assert subject.restart_token not in {None, token}


def test_a_library_replaced_while_the_driver_is_gone(fake_driver: nvml.FakeDriver) -> None:
    """A process that has the old library mapped cannot use the driver that comes."""
    subject = reader.NvmlReader(fake_driver.root)
    reading.read(subject, fake_driver)
    replace_library(fake_driver)
    read_failing(subject, fake_driver, nvml.make_machine(init="DRIVER_NOT_LOADED"), None)
    assert subject.restart_token is not None


def test_a_newer_library_beside_the_running_driver_is_left_alone(fake_driver: nvml.FakeDriver) -> None:
    """A package update before the reboot: the old library works, a new process with the new one would not."""
    subject = reader.NvmlReader(fake_driver.root)
    reading.read(subject, fake_driver)
    updated = nvml.make_machine(driver_version="550.54.15")
    assert len(reading.read(subject, fake_driver, updated, load=reading.LOAD).gpus) == 1
    assert subject.restart_token is None
    reading.read(subject, fake_driver, updated, load=NEWER)
    assert subject.restart_token is not None


def test_a_library_that_is_gone_is_not_replaced(fake_driver: nvml.FakeDriver) -> None:
    """While a driver container restarts its root is empty: that is no reason for a new process."""
    subject = reader.NvmlReader(fake_driver.root)
    reading.read(subject, fake_driver)
    fake_driver.uninstall()
    assert len(subject.read(pci={}, driver_load=reading.LOAD).gpus) == 1
    assert subject.restart_token is None


def test_readers_in_one_process_share_the_loaded_library(fake_driver: nvml.FakeDriver) -> None:
    """A reader made after a reload of the settings still knows that the library was replaced."""
    reading.read(reader.NvmlReader(fake_driver.root), fake_driver)
    replace_library(fake_driver)
    second = reader.NvmlReader(fake_driver.root)
    reading.read(second, fake_driver)
    assert second.restart_token is not None


def test_another_driver_root_has_its_own_library(fake_driver: nvml.FakeDriver, tmp_path: pathlib.Path) -> None:
    """Settings that name another root get that root's library."""
    machine = nvml.make_machine(driver_version="550.54.15")
    other = nvml.FakeDriver(tmp_path / "other", machine)
    assert reading.read(reader.NvmlReader(fake_driver.root), fake_driver).library.path.startswith(fake_driver.root)
    facts = reader.NvmlReader(other.root).read(pci={}, driver_load=NEWER)
    assert facts.library.path.startswith(other.root)


@pytest.mark.parametrize("root", ["", "/", "/nowhere"])
def test_the_loaders_library_is_named_by_its_file(fake_driver: nvml.FakeDriver, root: str) -> None:
    """Without a library in the driver root the loader's is used, and the file it chose is told."""
    program = (
        "import sys; from gpu_discovery.core.nvml import reader\n"
        "facts = reader.NvmlReader(sys.argv[1]).read(pci={}, driver_load=None)\n"
        "print(facts.library.origin, facts.library.path, len(facts.gpus))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, root],
        env=os.environ | fake_driver.loader_environ(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.split() == ["loader", os.path.realpath(fake_driver.library_path), "1"]
