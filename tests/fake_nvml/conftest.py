"""A loaded library: pynvml bound to one driver's copy for one test."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pynvml
import pytest

from tests.fakes import nvml, nvml_library


@pytest.fixture
def library(fake_driver: nvml.FakeDriver) -> Iterator[ctypes.CDLL]:
    """The driver's library, as pynvml has it; no session is open yet, and none is left."""
    with nvml_library.loaded(fake_driver.library_path) as bound:
        pynvml.nvmlLib = bound
        pynvml._nvmlGetFunctionPointer_cache.clear()
        yield bound
        pynvml.nvmlLib = None
        pynvml._nvmlGetFunctionPointer_cache.clear()
        fake_driver.write(nvml.make_machine())
        while not bound.nvmlShutdown():
            pass


@pytest.fixture
def session(library: ctypes.CDLL) -> ctypes.CDLL:
    """The same with an open session."""
    pynvml.nvmlInit()
    return library
