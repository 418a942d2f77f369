"""One pass over the node: everything that is known of its GPUs as one frozen value.

``read_snapshot`` composes the host's facts with those of the platform's one source (NVML, CUDA on Tegra, the bus alone
for vfio). What fails becomes a finding, a failure and a line for people; it raises for nothing that the node does.
``SnapshotCache`` is what lasts from one pass to the next: values only, no session and no device node, and an unchanged
node gives the very objects of the pass before.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from gpu_discovery.core import errors, model
from gpu_discovery.core.config import values
from gpu_discovery.core.host import machine, pci
from gpu_discovery.core.kit.frozen import frozen
from gpu_discovery.core.platforms import facts

if TYPE_CHECKING:
    from gpu_discovery.core.platforms import nvml


@frozen(kw_only=True)
class ReadOptions:
    """What to read, and from where."""

    host_root: str = "/"
    driver_root_ctr_path: str = values.DEFAULT_DRIVER_ROOT_CTR_PATH
    machine_type_file: str = values.DEFAULT_MACHINE_TYPE_FILE
    """Under ``host_root``; empty: none wanted."""
    discovery_strategy: str = "auto"
    """One of ``values.DISCOVERY_STRATEGIES``."""
    topology: bool = False
    """Read how near the GPUs are to each other as well."""
    keep_nvml_open: bool = False


def read_snapshot(
    options: ReadOptions, cache: SnapshotCache | None = None, *, clock: Callable[[], float] = time.time
) -> model.Snapshot:
    """Read the node once. ``cache`` is one made with the same options; without it nothing is kept.

    Raises ValueError for a strategy that there is not, and for nothing else.
    """
    if cache is not None:
        return cache.read(clock)
    cache = SnapshotCache(options)
    try:
        return cache.read(clock)
    finally:
        cache.close()


class SnapshotCache:
    """What is kept between passes. One thread reads; ``in_flight`` may be looked at from any."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._bus = pci.PciBus(options.host_root)
        self._host: model.Host | None = None
        self._nvml: nvml.NvmlSource | None = None
        self._source = self._make_source()

    @property
    def in_flight(self) -> facts.InFlight | None:
        """The call into NVIDIA's code that a pass is waiting for now."""
        return self._source.in_flight

    @property
    def restart_token(self) -> str | None:
        """Set when only a new process can go on: it names the library and the driver's version."""
        return None if self._nvml is None else self._nvml.restart_token

    def close(self) -> None:
        """End a session that was to be kept open."""
        if self._nvml is not None:
            self._nvml.close()

    def read(self, clock: Callable[[], float]) -> model.Snapshot:
        """One pass, as ``read_snapshot``."""
        host = self._read_host()
        functions, failures = self._read_functions()
        gpus = self._source.read(functions, host.driver_load)
        return model.Snapshot(
            taken_at_s=clock(),
            finding=gpus.finding,
            detail=gpus.detail,
            platform=gpus.platform,
            probes=gpus.probes,
            library=gpus.library,
            driver_version=gpus.driver_version,
            cuda_version=gpus.cuda_version,
            gpus=gpus.gpus,
            unreadable=gpus.unreadable,
            host=host,
            pci=functions,
            pairs=gpus.pairs,
            failures=gpus.failures + failures,
        )

    def _make_source(self) -> facts.Source:
        strategy = self._options.discovery_strategy
        if strategy == "vfio":
            from gpu_discovery.core.platforms import vfio

            return vfio.VfioSource(self._options.host_root)
        if strategy == "tegra":
            from gpu_discovery.core.platforms import tegra

            return tegra.TegraSource()
        if strategy not in values.DISCOVERY_STRATEGIES:
            valid = ", ".join(values.DISCOVERY_STRATEGIES)
            raise ValueError(f"choosing a discovery strategy failed: {strategy!r} is none of {valid}")
        from gpu_discovery.core.platforms import detected, nvml

        self._nvml = nvml.NvmlSource(
            self._options.driver_root_ctr_path,
            topology=self._options.topology,
            keep_open=self._options.keep_nvml_open,
        )
        return self._nvml if strategy == "nvml" else detected.DetectedSource(self._options.host_root, self._nvml)

    def _read_host(self) -> model.Host:
        host = machine.read_host(self._options.host_root, self._options.machine_type_file)
        if self._host is None or self._host != host:
            self._host = host
        return self._host

    def _read_functions(self) -> tuple[tuple[model.PciFunction, ...] | None, tuple[model.ReadFailure, ...]]:
        """The bus; None with a failure where it cannot be listed."""
        try:
            return self._bus.read(), ()
        except errors.HostFileUnreadable as error:
            return None, (model.ReadFailure(fact="pci", call=error.path, reason=error.reason),)
