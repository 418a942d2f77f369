"""What is asked of a GPU, one line per fact in two explicit tables, and the GPU made of the answers.

``STATIC`` cannot change while the driver is loaded and is read once for each GPU, again only where it failed.
``EACH_PASS`` can. When nothing changed the very same ``Gpu`` is handed out again, so an unchanged pass is cheap here
and for whoever compares.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pynvml

from gpu_discovery.core import errors, model
from gpu_discovery.core.nvml import calls, facts, gateway as gateways, links, migs

_BRANDS: Mapping[int, str] = {
    1: "quadro",
    2: "tesla",
    3: "nvs",
    4: "grid",
    5: "geforce",
    6: "titan",
    7: "nvidia-vapps",
    8: "nvidia-vpc",
    9: "nvidia-vcs",
    10: "nvidia-vws",
    11: "nvidia-cloud-gaming",
    12: "quadro-rtx",
    13: "nvidia-rtx",
    14: "nvidia",
    15: "geforce-rtx",
    16: "titan-rtx",
    17: "nvidia-dla",
    18: "nvidia-vgamedev",
    19: "nvidia-npu",
}
_ARCHITECTURES: Mapping[int, str] = {
    2: "kepler",
    3: "maxwell",
    4: "pascal",
    5: "volta",
    6: "turing",
    7: "ampere",
    8: "ada",
    9: "hopper",
    10: "blackwell",
    11: "dla",
    12: "dla2",
    13: "rubin",
    15: "npu3",
}
_COMPUTE_MODES: Mapping[int, str] = {0: "default", 1: "exclusive-thread", 2: "prohibited", 3: "exclusive-process"}
_VIRTUALIZATION_MODES: Mapping[int, str] = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host-vgpu", 4: "host-vsga"}


def _fabric(info: Any) -> model.Fabric:
    digits = bytes(info.clusterUuid).hex()
    cluster = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return model.Fabric(info.state, info.status, cluster, info.cliqueId, getattr(info, "healthMask", None))


def _row_remap(answer: tuple[int, int, int, int]) -> model.RowRemap:
    correctable, uncorrectable, is_pending, has_failed = answer
    return model.RowRemap(correctable, uncorrectable, bool(is_pending), bool(has_failed))


STATIC: tuple[facts.Fact, ...] = (
    facts.Fact("name", (pynvml.nvmlDeviceGetName,), str),
    facts.Fact("pci_address", calls.PCI_ADDRESS, str),
    facts.Fact("minor", (pynvml.nvmlDeviceGetMinorNumber,), int),
    facts.Fact("brand", (pynvml.nvmlDeviceGetBrand,), _BRANDS.get),
    facts.Fact("architecture", (pynvml.nvmlDeviceGetArchitecture,), _ARCHITECTURES.get),
    facts.Fact("memory_bytes", (pynvml.nvmlDeviceGetMemoryInfo,), lambda memory: memory.total),
    facts.Fact("compute_capability", (pynvml.nvmlDeviceGetCudaComputeCapability,), tuple),
    facts.Fact("virtualization_mode", (pynvml.nvmlDeviceGetVirtualizationMode,), _VIRTUALIZATION_MODES.get),
)

EACH_PASS: tuple[facts.Fact, ...] = (
    facts.Fact("compute_mode", (pynvml.nvmlDeviceGetComputeMode,), _COMPUTE_MODES.get),
    facts.Fact("persistence", (pynvml.nvmlDeviceGetPersistenceMode,), bool),
    facts.Fact("ecc", (pynvml.nvmlDeviceGetEccMode,), lambda modes: model.Ecc(bool(modes[0]), bool(modes[1]))),
    facts.Fact("row_remap", (pynvml.nvmlDeviceGetRemappedRows,), _row_remap),
    facts.Fact("fabric", calls.FABRIC, _fabric),
    facts.Fact("display_mode", (pynvml.nvmlDeviceGetDisplayMode,), bool),
    facts.Fact("display_active", (pynvml.nvmlDeviceGetDisplayActive,), bool),
)


class GpuReader:
    """Reads one GPU pass after pass and remembers of it what holds for the driver load."""

    def __init__(self, gateway: gateways.Gateway, uuid: model.GpuUuid) -> None:
        self.uuid = uuid
        self.index = -1
        """Where it answered last."""
        self._gateway = gateway
        self._static: dict[str, Any] = {}
        self._unread = STATIC
        self._migs = migs.MigReader(gateway)
        self._last: model.Gpu | None = None
        self._last_facts: tuple[Any, ...] = ()

    @property
    def pci_address(self) -> str | None:
        """As in sysfs, once it was read."""
        address: str | None = self._static.get("pci_address")
        return address

    def read(self, index: int, handle: Any, pci: Mapping[str, model.PciFunction], *, topology: bool) -> model.Gpu:
        """The GPU as it is now, ``LOST`` when it stops answering."""
        self.index = index
        gpu = f"{index} ({self.uuid})"
        handles = (handle,)
        try:
            failures, self._unread = facts.read_missing(self._gateway, self._unread, handles, gpu, self._static)
            values: dict[str, Any] = {}
            failures += facts.read_facts(self._gateway, EACH_PASS, handles, gpu, values)
            values["mig"], mig_failures = self._migs.read(handle, gpu, self._static["memory_bytes"])
            values["nvlinks"], link_failures = (
                links.read_nvlinks(self._gateway, handle, gpu) if topology else (None, ())
            )
        except errors.GpuLost as error:
            return self.lost(index, facts.read_failure("state", error), pci)
        return self._gpu(index, values, failures + mig_failures + link_failures, pci)

    def lost(self, index: int, failure: model.ReadFailure, pci: Mapping[str, model.PciFunction]) -> model.Gpu:
        """The GPU as it was when it last answered in this driver load, and why it no longer does."""
        gpu = self._last or self._gpu(index, {}, (), pci)
        return dataclasses.replace(gpu, index=index, state=model.GpuState.LOST, failures=(failure,))

    def _gpu(
        self,
        index: int,
        values: dict[str, Any],
        failures: tuple[model.ReadFailure, ...],
        pci: Mapping[str, model.PciFunction],
    ) -> model.Gpu:
        function = pci.get(self.pci_address or "")
        read = (index, tuple(self._static.values()), tuple(values.values()), failures, function)
        if self._last is None or read != self._last_facts:
            self._last_facts = read
            self._last = model.Gpu(
                index=index,
                uuid=self.uuid,
                pci_class=None if function is None else function.class_code,
                numa_node=_numa_node(function),
                failures=failures,
                **{"pci_address": None, **self._static, **values, "name": self._static.get("name") or ""},
            )
        return self._last


def _numa_node(function: model.PciFunction | None) -> int | None:
    """The kernel writes -1 where the machine does not tell."""
    if function is None or function.numa_node is None or function.numa_node < 0:
        return None
    return function.numa_node
