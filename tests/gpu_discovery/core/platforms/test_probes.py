"""What tells the platform."""

from __future__ import annotations

import pathlib

import pytest

from gpu_discovery.core import model
from gpu_discovery.core.host import pci
from gpu_discovery.core.platforms import probes
from tests.fakes import host
from tests.fakes.cuda import libraries


def make_probes(*found: str) -> list[model.Probe]:
    """All four probes, those named found."""
    names = (probes.DXCORE, probes.TEGRA_FILES, probes.NVML, probes.INTEGRATED_GPU)
    return [model.Probe(name, name in found, "…") for name in names]


@pytest.mark.parametrize(
    ("found", "platform"),
    [
        ((), model.Platform.UNKNOWN),
        (("nvml",), model.Platform.NVML),
        (("tegra-files",), model.Platform.TEGRA),
        (("tegra-files", "nvml"), model.Platform.NVML),
        (("nvml", "integrated-gpu"), model.Platform.TEGRA),
        (("tegra-files", "nvml", "integrated-gpu"), model.Platform.TEGRA),
        (("dxcore",), model.Platform.WSL),
        (("dxcore", "nvml"), model.Platform.WSL),
        (("dxcore", "tegra-files"), model.Platform.WSL),
    ],
)
def test_decision(found: tuple[str, ...], platform: model.Platform) -> None:
    """DXCore before Tegra's files without NVML or an integrated GPU, before NVML, before nothing."""
    assert probes.platform_of(make_probes(*found)) is platform


def test_dxcore(tmp_path: pathlib.Path) -> None:
    """A DXCore library that can be loaded is found; one that is missing or no library is not."""
    there = libraries.make_dxcore(tmp_path)
    junk = tmp_path / "junk.so"
    junk.write_bytes(b"no ELF")

    assert probes.probe_dxcore(str(there)).found
    assert not probes.probe_dxcore(str(junk)).found
    assert not probes.probe_dxcore(str(tmp_path / "missing.so")).found


@pytest.mark.parametrize(
    ("family", "release", "found"),
    [
        (None, None, False),
        ("Tegra", None, True),
        ("tegra234", None, True),
        ("TEGRA", None, True),
        ("Snapdragon", None, False),
        ("Not a Tegra", None, False),
        ("", None, False),
        (None, "# R36 (release)", True),
        ("Snapdragon", "", True),
    ],
)
def test_tegra_files(tmp_path: pathlib.Path, family: str | None, release: str | None, found: bool) -> None:
    """The release file, or a family that starts with tegra in any case."""
    host.make_host_root(tmp_path, tegra_family=family, tegra_release=release)

    assert probes.probe_tegra_files(str(tmp_path)).found is found


def test_tegra_release_folder_is_no_release_file(tmp_path: pathlib.Path) -> None:
    """A folder of that name tells nothing."""
    host.make_host_root(tmp_path).file("/etc/nv_tegra_release").mkdir(parents=True)

    assert not probes.probe_tegra_files(str(tmp_path)).found


@pytest.mark.parametrize("finding", [finding for finding in model.Finding if finding is not model.Finding.NVML_MISSING])
def test_nvml_library_is_there_whatever_it_answers(finding: model.Finding) -> None:
    """A driver that is not loaded still has its library there; only a missing library is not found."""
    assert probes.nvml_probe(finding, None).found
    assert not probes.nvml_probe(model.Finding.NVML_MISSING, None).found


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ((), False),
        (("NVIDIA A100-SXM4-40GB",), False),
        (("NVIDIA A100-SXM4-40GB", "Orin (nvgpu)"), True),
        (("NVIDIA Thor",), True),
        (("Orin",), False),
    ],
)
def test_integrated_gpu(names: tuple[str, ...], found: bool) -> None:
    """A part of any name tells an integrated GPU."""
    assert probes.integrated_gpu_probe(names).found is found


def test_gpus_on_vfio_are_told_and_decide_nothing(tmp_path: pathlib.Path) -> None:
    """A GPU that is bound to vfio is found, and the platform stays unknown."""
    host.make_host_root(tmp_path, pci=[host.make_function("0000:07:00.0", driver="vfio-pci")])
    probe = probes.vfio_probe(pci.PciBus(str(tmp_path)).read())

    assert (probe.found, probe.detail) == (True, "0000:07:00.0")
    assert not probes.vfio_probe(None).found
    assert probes.platform_of([probe]) is model.Platform.UNKNOWN


def test_text_names_every_probe_and_its_result() -> None:
    """What was tried can be read in one line."""
    assert probes.probes_text([model.Probe("nvml", True, "a"), model.Probe("dxcore", False, "b")]) == (
        "nvml yes (a), dxcore no (b)"
    )
