"""What all tests share: the fake driver, compiled once, and a clear word where it cannot be."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator

import pytest

from tests.fakes import nvml, nvml_library


def pytest_configure() -> None:
    """Compiles the fake library, or ends the run with one line: without a compiler nothing here means anything."""
    try:
        nvml_library.build()
    except nvml_library.CannotCompile as error:
        raise pytest.UsageError(str(error)) from error


@pytest.fixture
def fake_driver(tmp_path: pathlib.Path) -> Iterator[nvml.FakeDriver]:
    """A driver root with one A100; the environment of this process points the library at its machine."""
    driver = nvml.FakeDriver(tmp_path / "driver")
    before = os.environ.get("FAKE_NVML_MACHINE")
    os.environ.update(driver.environ())
    yield driver
    if before is None:
        del os.environ["FAKE_NVML_MACHINE"]
    else:
        os.environ["FAKE_NVML_MACHINE"] = before
