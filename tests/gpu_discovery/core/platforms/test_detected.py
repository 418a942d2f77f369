"""The strategy ``auto``."""

from __future__ import annotations

import pathlib

import pytest

from gpu_discovery.core import model
from gpu_discovery.core.platforms import detected, nvml as platform
from tests.fakes import host, nvml
from tests.fakes.cuda import libraries

LOAD = model.DriverLoad(boot_id="boot", version="540.3.0", inode=1)


@pytest.fixture
def fake_cuda(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> libraries.FakeCuda:
    """A libcuda with one Orin, found by child processes."""
    fake = libraries.FakeCuda(tmp_path / "cuda")
    for name, value in fake.environ().items():
        monkeypatch.setenv(name, value)
    return fake


@pytest.fixture
def root(tmp_path: pathlib.Path) -> host.HostRoot:
    """A machine with nothing special about it."""
    return host.make_host_root(tmp_path / "host")


def make_source(root: host.HostRoot, driver: nvml.FakeDriver) -> detected.DetectedSource:
    """Auto on this host, with this driver."""
    return detected.DetectedSource(root.path, platform.NvmlSource(driver.root))


def found(probes: tuple[model.Probe, ...]) -> dict[str, bool]:
    """Each probe's result."""
    return {probe.name: probe.found for probe in probes}


def test_nvml(root: host.HostRoot, fake_driver: nvml.FakeDriver) -> None:
    """A driver that answers is the platform NVML, and every probe is kept."""
    facts = make_source(root, fake_driver).read((), None)

    assert (facts.finding, facts.platform) == (model.Finding.OK, model.Platform.NVML)
    assert found(facts.probes) == {
        "dxcore": False,
        "tegra-files": False,
        "nvml": True,
        "integrated-gpu": False,
        "vfio": False,
    }


def test_nvml_library_without_a_driver_is_nvml(root: host.HostRoot, fake_driver: nvml.FakeDriver) -> None:
    """A library that is there decides, although the driver is not loaded yet, even on a Tegra."""
    root.set_tegra(family="Tegra")
    fake_driver.write(nvml.make_machine(init="DRIVER_NOT_LOADED"))

    facts = make_source(root, fake_driver).read((), None)

    assert (facts.finding, facts.platform) == (model.Finding.DRIVER_NOT_LOADED, model.Platform.NVML)


@pytest.mark.usefixtures("fake_cuda")
def test_tegra_files_without_nvml(root: host.HostRoot, fake_driver: nvml.FakeDriver) -> None:
    """Tegra's files without NVML: CUDA is asked."""
    root.set_tegra(release="# R36")
    fake_driver.write(nvml.make_machine(init="LIBRARY_NOT_FOUND"))

    facts = make_source(root, fake_driver).read((), None)

    assert (facts.finding, facts.platform) == (model.Finding.OK, model.Platform.TEGRA)
    assert [gpu.name for gpu in facts.gpus] == ["Orin"]
    assert found(facts.probes) == {
        "dxcore": False,
        "tegra-files": True,
        "nvml": False,
        "integrated-gpu": False,
        "vfio": False,
    }


@pytest.mark.parametrize("name", ["Orin (nvgpu)", "NVIDIA Thor"])
@pytest.mark.usefixtures("fake_cuda")
def test_integrated_gpu_by_its_name(root: host.HostRoot, fake_driver: nvml.FakeDriver, name: str) -> None:
    """An integrated GPU is asked through CUDA even where NVML is there."""
    fake_driver.write(nvml.make_machine([nvml.make_gpu(name=name)]))

    facts = make_source(root, fake_driver).read((), None)

    assert facts.platform is model.Platform.TEGRA
    assert found(facts.probes)["integrated-gpu"]
    assert [gpu.uuid for gpu in facts.gpus] == ["tegra"]


def test_tegra_that_answered_is_not_probed_again(
    root: host.HostRoot, fake_driver: nvml.FakeDriver, fake_cuda: libraries.FakeCuda
) -> None:
    """In one driver load NVML and CUDA are each asked once; another load is decided anew."""
    fake_driver.write(nvml.make_machine([nvml.make_gpu(name="NVIDIA Thor")]))
    source = make_source(root, fake_driver)
    first = source.read((), None)
    fake_driver.write(nvml.make_machine([nvml.make_gpu(1)]))
    fake_cuda.write([])

    assert source.read((), None) == first
    assert source.read((), LOAD).platform is model.Platform.NVML


def test_tegra_whose_cuda_fails_is_tried_again(
    root: host.HostRoot, fake_driver: nvml.FakeDriver, fake_cuda: libraries.FakeCuda
) -> None:
    """A Tegra without an answer keeps its finding and its probes, until CUDA answers."""
    root.set_tegra(release="# R36")
    fake_driver.write(nvml.make_machine(init="LIBRARY_NOT_FOUND"))
    fake_cuda.write(fail={"cuInit": 999})
    source = make_source(root, fake_driver)
    failed = source.read((), None)
    fake_cuda.write()

    assert (failed.finding, failed.platform) == (model.Finding.CUDA_FAILED, model.Platform.TEGRA)
    assert len(failed.probes) == 5
    assert source.read((), None).finding is model.Finding.OK


def test_nothing_found_names_every_probe(root: host.HostRoot, fake_driver: nvml.FakeDriver) -> None:
    """An unknown platform says what was tried, and is decided anew in the next pass."""
    fake_driver.write(nvml.make_machine(init="LIBRARY_NOT_FOUND"))
    source = make_source(root, fake_driver)
    facts = source.read((), None)
    fake_driver.write(nvml.make_machine())

    assert (facts.finding, facts.platform) == (model.Finding.NVML_MISSING, model.Platform.UNKNOWN)
    assert all(f"{name} no (" in facts.detail for name in ("dxcore", "tegra-files", "nvml", "integrated-gpu", "vfio"))
    assert source.read((), None).platform is model.Platform.NVML


@pytest.mark.usefixtures("fake_cuda")
def test_tegra_files_that_appear_while_the_platform_is_unknown(
    root: host.HostRoot, fake_driver: nvml.FakeDriver
) -> None:
    """As long as nothing is found the host is looked at again."""
    fake_driver.write(nvml.make_machine(init="LIBRARY_NOT_FOUND"))
    source = make_source(root, fake_driver)
    before = source.read((), None).platform
    root.set_tegra(release="# R36")

    assert before is model.Platform.UNKNOWN
    assert source.read((), None).platform is model.Platform.TEGRA
