"""One load of the kernel module."""

from __future__ import annotations

import pathlib

from gpu_discovery.core.host import driver
from tests.fakes import host


def test_no_module_is_no_load(tmp_path: pathlib.Path) -> None:
    """None when the nvidia module is not loaded."""
    host.make_host_root(tmp_path, driver_version=None)

    assert driver.read_driver_load(str(tmp_path), "boot") is None


def test_reload_of_one_version_is_another_load(tmp_path: pathlib.Path) -> None:
    """Two loads of the same version differ, two looks at one load do not."""
    root = host.make_host_root(tmp_path, driver_version="535.129.03")
    first = driver.read_driver_load(str(tmp_path), "boot")
    again = driver.read_driver_load(str(tmp_path), "boot")
    root.load_driver("535.129.03")
    second = driver.read_driver_load(str(tmp_path), "boot")

    assert first is not None
    assert second is not None
    assert first == again
    assert first != second
    assert (first.version, first.boot_id) == (second.version, second.boot_id) == ("535.129.03", "boot")


def test_module_without_a_version_is_loaded(tmp_path: pathlib.Path) -> None:
    """A module whose version cannot be read counts as loaded, with an empty version."""
    root = host.make_host_root(tmp_path)
    root.remove("/sys/module/nvidia/version")

    load = driver.read_driver_load(str(tmp_path), "boot")

    assert load is not None
    assert load.version == ""
