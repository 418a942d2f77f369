"""CUDA's GPUs, read from a small libcuda of the tests by a real child process."""

from __future__ import annotations

import pathlib
import time

import pytest
from hypothesis import given, strategies as st

from gpu_discovery.core import errors, model
from gpu_discovery.core.cuda import reader
from tests.fakes.cuda import libraries

THOR = "gpu 11 0 131583827968 NVIDIA Thor"


@pytest.fixture
def fake_cuda(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> libraries.FakeCuda:
    """A libcuda with one Orin, found by child processes."""
    fake = libraries.FakeCuda(tmp_path / "cuda")
    for name, value in fake.environ().items():
        monkeypatch.setenv(name, value)
    return fake


def call_that_failed() -> tuple[str, int, str]:
    """Call, code and name of the error that reading gives."""
    with pytest.raises(errors.CudaCallFailed) as raised:
        reader.read_cuda()
    return raised.value.call, raised.value.code, raised.value.name


@pytest.mark.usefixtures("fake_cuda")
def test_orin() -> None:
    """One GPU: its name, bytes, compute capability and CUDA version, although the library prints of its own."""
    facts = reader.read_cuda()

    assert facts == reader.CudaFacts(
        cuda_version=(12, 2),
        gpus=(
            model.Gpu(
                index=0,
                uuid=model.GpuUuid("tegra"),
                pci_address=None,
                name="Orin",
                memory_bytes=32885104640,
                compute_capability=(8, 7),
            ),
        ),
    )


def test_further_gpus_are_numbered(fake_cuda: libraries.FakeCuda) -> None:
    """The first GPU is ``tegra``, the others carry their index."""
    fake_cuda.write([libraries.ORIN, THOR, THOR], version=13000)

    facts = reader.read_cuda()

    assert [gpu.uuid for gpu in facts.gpus] == ["tegra", "tegra-1", "tegra-2"]
    assert [gpu.memory_bytes for gpu in facts.gpus] == [32885104640, 131583827968, 131583827968]
    assert facts.cuda_version == (13, 0)


def test_oldest_memory_call(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library without the newer memory call is asked by the oldest."""
    fake = libraries.FakeCuda(tmp_path, has_v2_symbols=False)
    fake.write(["gpu 5 3 4156780544 Nano"])
    for name, value in fake.environ().items():
        monkeypatch.setenv(name, value)

    assert [gpu.memory_bytes for gpu in reader.read_cuda().gpus] == [4156780544]


def test_no_library(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without libcuda the error says that the library is missing."""
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))

    assert call_that_failed() == ("loading libcuda.so.1", -1, "LIBRARY_NOT_FOUND")


@pytest.mark.parametrize(("call", "code", "name"), [("cuInit", 100, "NO_DEVICE"), ("cuDeviceGetCount", 7, "CODE_7")])
def test_call_that_everything_needs(fake_cuda: libraries.FakeCuda, call: str, code: int, name: str) -> None:
    """A failure of the first calls is the whole answer, with its name, or its number where there is none."""
    fake_cuda.write(fail={call: code})

    assert call_that_failed() == (call, code, name)


@pytest.mark.parametrize(
    ("call", "fact", "missing"),
    [
        ("cuDeviceTotalMem_v2", "memory_bytes", "memory_bytes"),
        ("cuDeviceGetAttribute", "compute_capability", "compute_capability"),
    ],
)
def test_fact_that_fails(fake_cuda: libraries.FakeCuda, call: str, fact: str, missing: str) -> None:
    """One fact that fails is None with the failure beside it; the GPU stays."""
    fake_cuda.write(fail={call: 999})

    (gpu,) = reader.read_cuda().gpus

    assert getattr(gpu, missing) is None
    assert gpu.failures == (model.ReadFailure(fact=fact, call=call, reason="UNKNOWN", code=999),)


def test_cuda_version_that_fails(fake_cuda: libraries.FakeCuda) -> None:
    """The version is a fact of the whole node."""
    fake_cuda.write(fail={"cuDriverGetVersion": 1})

    facts = reader.read_cuda()

    assert facts.cuda_version is None
    assert [failure.fact for failure in facts.failures] == ["cuda_version"]
    assert len(facts.gpus) == 1


@pytest.mark.parametrize(("call", "fact"), [("cuDeviceGet", "handle"), ("cuDeviceGetName", "name")])
def test_gpu_that_cannot_be_told(fake_cuda: libraries.FakeCuda, call: str, fact: str) -> None:
    """A GPU without handle or name is an unreadable one, not none."""
    fake_cuda.write(fail={call: 46})

    facts = reader.read_cuda()

    assert facts.gpus == ()
    assert [(gpu.index, gpu.failures[0].fact, gpu.failures[0].reason) for gpu in facts.unreadable] == [
        (0, fact, "DEVICE_UNAVAILABLE")
    ]


def test_failure_does_not_stick(fake_cuda: libraries.FakeCuda) -> None:
    """After a failed cuInit the next reading is as good as the first."""
    fake_cuda.write(fail={"cuInit": 999})
    call_that_failed()
    fake_cuda.write()

    assert len(reader.read_cuda().gpus) == 1


def test_call_that_hangs(fake_cuda: libraries.FakeCuda) -> None:
    """A library that hangs is given up after the time-out."""
    fake_cuda.write(hang={"cuInit": 60})
    started = time.monotonic()

    with pytest.raises(errors.CudaCallFailed) as raised:
        reader.read_cuda(timeout_s=0.3)

    assert raised.value.name == "TIMEOUT"
    assert time.monotonic() - started < 10


def test_library_that_ends_the_process(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that kills whoever loads it kills the child only, and the exit code is told."""
    source = tmp_path / "bad.c"
    source.write_text("#include <unistd.h>\n__attribute__((constructor)) static void bad(void) { _exit(42); }\n")
    libraries.compile_library(tmp_path / "libcuda.so.1", str(source))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))

    assert call_that_failed() == ("asking libcuda.so.1", 42, "CHILD_FAILED")


@given(st.text() | st.sampled_from(["{}", "[]", "null", '{"error": 1}', '{"gpus": [1], "cuda_version": null}']))
def test_any_output_of_the_child(output: str) -> None:
    """Whatever the child prints, it is facts or a clean error."""
    with pytest.raises(ValueError, match=r"."):
        reader.parse_facts(output)
