"""The strategy ``auto``: NVML, unless the probes tell a Tegra."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from gpu_discovery.core import model
from gpu_discovery.core.platforms import facts, nvml, probes

if TYPE_CHECKING:
    from gpu_discovery.core.platforms import tegra


class DetectedSource:
    """Asks NVML and decides by what came of it and by what the host shows.

    What the host shows is looked at once, and again with another driver load or as long as the platform is unknown.
    A Tegra that answered is not asked by NVML again in the same driver load.
    """

    def __init__(self, host_root: str, nvml_source: nvml.NvmlSource) -> None:
        self._host_root = host_root
        self._nvml = nvml_source
        self._tegra: tegra.TegraSource | None = None
        self._tegra_probes: tuple[model.Probe, ...] = ()
        self._host_probes: tuple[model.Probe, ...] = ()
        self._probed_load: model.DriverLoad | None = None

    @property
    def in_flight(self) -> facts.InFlight | None:
        """As ``facts.Source``."""
        return self._nvml.in_flight or (None if self._tegra is None else self._tegra.in_flight)

    def read(self, functions: facts.Functions, load: model.DriverLoad | None) -> facts.PlatformFacts:
        """As ``facts.Source``."""
        known = self._tegra.known(load) if self._tegra is not None else None
        if known is not None:
            return dataclasses.replace(known, probes=self._tegra_probes)
        read = self._nvml.read(functions, load)
        tried = (
            *self._probe_host(load),
            probes.nvml_probe(read.finding, read.library),
            probes.integrated_gpu_probe(gpu.name for gpu in read.gpus),
            probes.vfio_probe(functions),
        )
        platform = probes.platform_of(tried)
        if platform is model.Platform.TEGRA:
            return self._read_tegra(load, tried)
        if platform is model.Platform.UNKNOWN:
            self._host_probes = ()
            read = dataclasses.replace(read, detail=f"{read.detail}; tried: {probes.probes_text(tried)}")
        return dataclasses.replace(read, platform=platform, probes=tried)

    def _probe_host(self, load: model.DriverLoad | None) -> tuple[model.Probe, ...]:
        if not self._host_probes or self._probed_load != load:
            self._host_probes, self._probed_load = probes.probe_host(self._host_root), load
        return self._host_probes

    def _read_tegra(self, load: model.DriverLoad | None, tried: tuple[model.Probe, ...]) -> facts.PlatformFacts:
        if self._tegra is None:
            from gpu_discovery.core.platforms import tegra

            self._tegra = tegra.TegraSource()
        self._tegra_probes = tried
        return dataclasses.replace(self._tegra.read((), load), probes=tried)
