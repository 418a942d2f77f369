"""Which platform this node is, from what was tried and what came of it.

Each probe is kept with its result, because "auto found nothing" helps nobody. Two of them look at the host; NVML and the
integrated GPU are told by the pass over NVML that has happened anyway, so that probing opens no session of its own.
GPUs that are handed to virtual machines are told too, although they decide nothing: vfio is never chosen by itself.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Sequence

from gpu_discovery.core import model
from gpu_discovery.core.host import files, vfio

DXCORE = "dxcore"
NVML = "nvml"
TEGRA_FILES = "tegra-files"
INTEGRATED_GPU = "integrated-gpu"
VFIO = "vfio"

DXCORE_LIBRARY = "libdxcore.so"
TEGRA_RELEASE = "/etc/nv_tegra_release"
SOC_FAMILY = "/sys/devices/soc0/family"
INTEGRATED_NAMES = ("(nvgpu)", "NVIDIA Thor")
"""Parts of the names that NVML gives to GPUs which are one chip with the processor."""


def probe_host(root: str) -> tuple[model.Probe, ...]:
    """What the host shows without NVML: DXCore (WSL) and Tegra's files."""
    return probe_dxcore(), probe_tegra_files(root)


def probe_dxcore(library: str = DXCORE_LIBRARY) -> model.Probe:
    """Whether the loader finds DXCore, which Windows puts into its Linux guests."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return model.Probe(DXCORE, False, f"{library} cannot be loaded")
    return model.Probe(DXCORE, True, f"{library} is there")


def probe_tegra_files(root: str) -> model.Probe:
    """Whether Tegra's release file is there or the SoC calls itself a Tegra."""
    if os.path.isfile(files.host_path(root, TEGRA_RELEASE)):
        return model.Probe(TEGRA_FILES, True, f"{TEGRA_RELEASE} is there")
    try:
        family = files.read_text(files.host_path(root, SOC_FAMILY))
    except OSError as error:
        return model.Probe(TEGRA_FILES, False, f"no {TEGRA_RELEASE}; {SOC_FAMILY}: {files.error_name(error)}")
    return model.Probe(TEGRA_FILES, family.lower().startswith("tegra"), f"{SOC_FAMILY} says {family!r}")


def nvml_probe(finding: model.Finding, library: model.Library | None) -> model.Probe:
    """Whether NVML's library is there, whatever it answers."""
    if finding is model.Finding.NVML_MISSING:
        return model.Probe(NVML, False, "libnvidia-ml.so.1 cannot be loaded")
    return model.Probe(NVML, True, library.path if library is not None else "libnvidia-ml.so.1")


def integrated_gpu_probe(names: Iterable[str]) -> model.Probe:
    """Whether one of the names that NVML gave is that of an integrated GPU."""
    for name in names:
        if any(part in name for part in INTEGRATED_NAMES):
            return model.Probe(INTEGRATED_GPU, True, name)
    return model.Probe(INTEGRATED_GPU, False, "NVML names none")


def vfio_probe(functions: Iterable[model.PciFunction] | None) -> model.Probe:
    """Whether GPUs on the bus are bound to vfio."""
    bound = [function.address for function in functions or () if vfio.is_vfio_gpu(function)]
    return model.Probe(VFIO, bool(bound), ", ".join(bound) or "no GPU on the PCI bus is bound to vfio-pci")


def platform_of(probes: Sequence[model.Probe]) -> model.Platform:
    """The platform that the probes tell, in the reference's order."""
    found = {probe.name for probe in probes if probe.found}
    if DXCORE in found:
        return model.Platform.WSL
    if INTEGRATED_GPU in found or (TEGRA_FILES in found and NVML not in found):
        return model.Platform.TEGRA
    return model.Platform.NVML if NVML in found else model.Platform.UNKNOWN


def probes_text(probes: Iterable[model.Probe]) -> str:
    """What was tried, for people: ``dxcore no (…), nvml yes (…)``."""
    return ", ".join(f"{probe.name} {'yes' if probe.found else 'no'} ({probe.detail})" for probe in probes)
