"""Sessions: init and how often, the description that init finds, device nodes, the loader."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pynvml
import pytest

from tests.fakes import nvml

READ_NAME = "import pynvml as n; n.nvmlInit(); print(n.nvmlDeviceGetName(n.nvmlDeviceGetHandleByIndex(0)))"


def open_files(folder: pathlib.Path) -> list[str]:
    """Names of the files in ``folder`` that this process has open."""
    found = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except FileNotFoundError:
            continue
        if os.path.dirname(target) == os.fspath(folder):
            found.append(os.path.basename(target))
    return sorted(found)


def make_dev(folder: pathlib.Path, *names: str) -> str:
    """A folder with these device nodes."""
    folder.mkdir()
    for name in names:
        (folder / name).touch()
    return os.fspath(folder)


def test_shutdown_counts(library: ctypes.CDLL) -> None:
    """As many shutdowns as inits end the session, one more is refused."""
    pynvml.nvmlInit()
    pynvml.nvmlInit()
    pynvml.nvmlShutdown()
    assert pynvml.nvmlDeviceGetCount() == 1
    pynvml.nvmlShutdown()
    assert library.nvmlShutdown() == pynvml.NVML_ERROR_UNINITIALIZED


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("name", ["DRIVER_NOT_LOADED", "LIB_RM_VERSION_MISMATCH", "NO_PERMISSION", "GPU_NOT_FOUND"])
def test_init_answers_what_the_machine_says(fake_driver: nvml.FakeDriver, name: str) -> None:
    """A driver in trouble refuses the session; once it is well, init works."""
    fake_driver.write(nvml.make_machine(init=name))
    with pytest.raises(pynvml.NVMLError) as caught:
        pynvml.nvmlInit()
    assert caught.value.value == getattr(pynvml, f"NVML_ERROR_{name}")
    fake_driver.write(nvml.make_machine())
    pynvml.nvmlInit()


@pytest.mark.usefixtures("session")
def test_open_session_outlives_trouble_at_init(fake_driver: nvml.FakeDriver) -> None:
    """What init would answer now does not touch a session that is open."""
    fake_driver.write(nvml.make_machine(init="LIB_RM_VERSION_MISMATCH"))
    pynvml.nvmlInit()
    assert pynvml.nvmlDeviceGetCount() == 1


def test_init_without_a_description(library: ctypes.CDLL, capfd: pytest.CaptureFixture[str]) -> None:
    """No variable and no file are a driver that is not loaded, with a word on standard error."""
    os.environ["FAKE_NVML_MACHINE"] = "/nowhere.json"
    assert library.nvmlInit_v2() == pynvml.NVML_ERROR_DRIVER_NOT_LOADED
    assert "/nowhere.json" in capfd.readouterr().err


@pytest.mark.parametrize("text", ["", "{", '{"gpus": [}', '{"a": 1} x', '{"a": "\\u12"}', '"' + "x" * 100, "[" * 1000])
def test_description_that_is_not_json(
    fake_driver: nvml.FakeDriver, library: ctypes.CDLL, capfd: pytest.CaptureFixture[str], text: str
) -> None:
    """Told on standard error, with the place; the call fails and nothing crashes."""
    pathlib.Path(fake_driver.machine_path).write_text(text, encoding="utf-8")
    assert library.nvmlInit_v2() == pynvml.NVML_ERROR_UNKNOWN
    assert f"{fake_driver.machine_path}, byte" in capfd.readouterr().err


def test_device_nodes_are_open_while_the_session_is(
    fake_driver: nvml.FakeDriver, library: ctypes.CDLL, tmp_path: pathlib.Path
) -> None:
    """The control node and one per GPU, by minor number, until the last shutdown."""
    dev = make_dev(tmp_path / "dev", "nvidiactl", "nvidia0", "nvidia4", "nvidia5")
    gpus = [nvml.make_gpu(0), nvml.make_gpu(1, minor=4)]
    fake_driver.write(nvml.make_machine(gpus, open_device_nodes=dev))
    assert open_files(tmp_path / "dev") == []
    pynvml.nvmlInit()
    pynvml.nvmlInit()
    assert open_files(tmp_path / "dev") == ["nvidia0", "nvidia4", "nvidiactl"]
    pynvml.nvmlShutdown()
    assert open_files(tmp_path / "dev") == ["nvidia0", "nvidia4", "nvidiactl"]
    pynvml.nvmlShutdown()
    assert open_files(tmp_path / "dev") == []


def test_unattached_session_opens_nodes_on_demand(
    fake_driver: nvml.FakeDriver, library: ctypes.CDLL, tmp_path: pathlib.Path
) -> None:
    """With the flag for it, a GPU's node is opened when its handle is asked for."""
    dev = make_dev(tmp_path / "dev", "nvidiactl", "nvidia0")
    fake_driver.write(nvml.make_machine(open_device_nodes=dev))
    pynvml.nvmlInitWithFlags(pynvml.NVML_INIT_FLAG_NO_ATTACH)
    assert open_files(tmp_path / "dev") == ["nvidiactl"]
    pynvml.nvmlDeviceGetHandleByIndex(0)
    assert open_files(tmp_path / "dev") == ["nvidia0", "nvidiactl"]


@pytest.mark.usefixtures("library")
def test_missing_control_node_fails_init(fake_driver: nvml.FakeDriver, tmp_path: pathlib.Path) -> None:
    """Without nvidiactl there is no driver to talk to, and nothing stays open."""
    fake_driver.write(nvml.make_machine(open_device_nodes=make_dev(tmp_path / "dev", "nvidia0")))
    with pytest.raises(pynvml.NVMLError_DriverNotLoaded):
        pynvml.nvmlInit()
    assert open_files(tmp_path / "dev") == []


@pytest.mark.usefixtures("library")
def test_missing_gpu_node_fails_the_gpu(fake_driver: nvml.FakeDriver, tmp_path: pathlib.Path) -> None:
    """The GPU is counted, its handle is refused, its neighbour works."""
    dev = make_dev(tmp_path / "dev", "nvidiactl", "nvidia1")
    fake_driver.write(nvml.make_machine([nvml.make_gpu(0), nvml.make_gpu(1)], open_device_nodes=dev))
    pynvml.nvmlInit()
    assert pynvml.nvmlDeviceGetCount() == 2
    with pytest.raises(pynvml.NVMLError_DriverNotLoaded):
        pynvml.nvmlDeviceGetHandleByIndex(0)
    pynvml.nvmlDeviceGetHandleByIndex(1)


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Without root's way past permissions, where the tests run as root."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    yield
    if is_root:
        os.seteuid(0)


@pytest.mark.usefixtures("library")
def test_forbidden_node_is_no_permission(fake_driver: nvml.FakeDriver, tmp_path: pathlib.Path) -> None:
    """A node that is there and may not be opened."""
    dev = make_dev(tmp_path / "dev", "nvidiactl", "nvidia0")
    (tmp_path / "dev" / "nvidia0").chmod(0)
    fake_driver.write(nvml.make_machine(open_device_nodes=dev))
    pynvml.nvmlInitWithFlags(pynvml.NVML_INIT_FLAG_NO_ATTACH)
    with as_nobody(), pytest.raises(pynvml.NVMLError_NoPermission):
        pynvml.nvmlDeviceGetHandleByIndex(0)


def test_process_finds_the_library_on_the_loader_path(fake_driver: nvml.FakeDriver) -> None:
    """A process that knows nothing of the fake runs on it."""
    environ = os.environ | fake_driver.loader_environ()
    found = subprocess.run(
        [sys.executable, "-c", READ_NAME], env=environ, capture_output=True, text=True, check=True, timeout=60
    )
    assert found.stdout == "NVIDIA A100-SXM4-40GB\n"


def test_static_description_changes_at_init_only(fake_driver: nvml.FakeDriver) -> None:
    """For benchmarks: no look at the file in between."""
    script = f"{READ_NAME}; input(); print(n.nvmlDeviceGetCount()); n.nvmlInit(); print(n.nvmlDeviceGetCount())"
    environ = os.environ | fake_driver.loader_environ() | {"FAKE_NVML_STATIC": "1"}
    with subprocess.Popen(
        [sys.executable, "-u", "-c", script], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "NVIDIA A100-SXM4-40GB\n"
        fake_driver.write(nvml.make_machine([]))
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.read().split() == ["1", "0"]
