from __future__ import annotations

import threading

import pynvml
import pytest

from gpu_discovery.core import errors
from gpu_discovery.core.nvml import gateway


def make_failing(name: str, code: int):
    """A pynvml function that fails with ``code`` and counts how often it was called."""

    def call(*args: object) -> None:
        call.times += 1
        raise pynvml.NVMLError(code)

    call.times = 0
    call.__name__ = name
    return call


def test_every_error_of_pynvml_is_in_the_table() -> None:
    """The table names every return code that pynvml knows, and names it as NVML does."""
    known = {getattr(pynvml, name): name for name in dir(pynvml) if name.startswith("NVML_ERROR_")}
    assert {code: f"NVML_ERROR_{name}" for code, (name, _) in gateway.OUTCOMES.items()} == known


@pytest.mark.parametrize(("code", "outcome"), gateway.OUTCOMES.items())
def test_a_code_becomes_our_error(code: int, outcome: tuple[str, type[errors.NvmlCallFailed]]) -> None:
    """Each code raises its kind, with call, GPU, code and name."""
    name, kind = outcome
    with pytest.raises(errors.NvmlCallFailed) as caught:
        gateway.Gateway().call(make_failing("nvmlDeviceGetName", code), gpu="3")
    error = caught.value
    assert (type(error), error.call, error.gpu, error.code, error.name) == (kind, "nvmlDeviceGetName", "3", code, name)


def test_an_unknown_code_is_a_failure_with_its_number() -> None:
    """A code of a newer driver is neither lost nor unsupported."""
    with pytest.raises(errors.NvmlCallFailed, match="CODE_77") as caught:
        gateway.Gateway().call(make_failing("nvmlInit", 77))
    assert type(caught.value) is errors.NvmlCallFailed


def test_text_that_is_not_utf8_is_a_failure() -> None:
    """A garbled name is a failed call and no crash."""

    def nvml_device_get_name() -> str:
        return b"\xff".decode()

    with pytest.raises(errors.NvmlCallFailed, match="NOT_UTF8"):
        gateway.Gateway().call(nvml_device_get_name)


def test_a_missing_function_is_looked_up_once() -> None:
    """What the library lacks is remembered, until another library is loaded."""
    subject = gateway.Gateway()
    function = make_failing("nvmlDeviceGetGpuFabricInfoV", gateway.FUNCTION_NOT_FOUND)
    for _ in range(3):
        with pytest.raises(errors.NotSupported):
            subject.call(function)
    assert function.times == 1
    subject.forget_missing()
    with pytest.raises(errors.NotSupported):
        subject.call(function)
    assert function.times == 2


@pytest.mark.parametrize("code", [gateway.FUNCTION_NOT_FOUND, gateway.ARGUMENT_VERSION_MISMATCH])
def test_the_older_function_is_called_where_the_newer_is_missing(code: int) -> None:
    """A driver without the newest version answers with the one before."""
    newest = make_failing("v2", code)

    def older(number: int) -> int:
        return number + 1

    assert gateway.Gateway().call_newest((newest, older), 1) == 2


def test_the_older_function_is_not_called_for_an_unsupported_fact() -> None:
    """Not supported by the device is the answer."""
    older = make_failing("v1", 999)
    with pytest.raises(errors.NotSupported):
        gateway.Gateway().call_newest((make_failing("v2", 3), older))
    assert older.times == 0


def test_a_call_in_flight_is_named_from_another_thread() -> None:
    """While a call hangs its name, GPU and start can be read; afterwards there is none."""
    subject = gateway.Gateway(clock=lambda: 12.5)
    entered, release = threading.Event(), threading.Event()

    def nvml_device_get_name() -> None:
        entered.set()
        release.wait(10)

    thread = threading.Thread(target=subject.call, args=(nvml_device_get_name,), kwargs={"gpu": "3 (GPU-x)"})
    thread.start()
    try:
        assert entered.wait(10)
        assert subject.in_flight == gateway.InFlight("nvml_device_get_name", "3 (GPU-x)", 12.5)
    finally:
        release.set()
        thread.join(10)
    assert subject.in_flight is None


def test_nothing_is_in_flight_after_a_failure() -> None:
    """A failed call is over."""
    subject = gateway.Gateway()
    with pytest.raises(errors.NvmlCallFailed):
        subject.call(make_failing("nvmlInit", 999))
    assert subject.in_flight is None
