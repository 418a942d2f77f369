"""How the GPUs of a node are joined: NVLinks, and the nearest common ancestor on the PCI tree; read when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pynvml

from gpu_discovery.core import errors, model
from gpu_discovery.core.nvml import calls, facts, gateway as gateways

_REMOTE_KINDS: Mapping[int, str] = {0: "gpu", 1: "ibmnpu", 2: "switch"}


def read_nvlinks(
    gateway: gateways.Gateway, handle: Any, gpu: str
) -> tuple[tuple[model.NvLink, ...], tuple[model.ReadFailure, ...]]:
    """The active NVLinks of a GPU and the failures on the way; raises ``errors.GpuLost`` only."""
    links: list[model.NvLink] = []
    failures: list[model.ReadFailure] = []
    for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
        try:
            if gateway.call(pynvml.nvmlDeviceGetNvLinkState, handle, link, gpu=gpu):
                links.append(_read_nvlink(gateway, handle, link, gpu))
        except errors.NotSupported:
            continue
        except errors.GpuLost:
            raise
        except errors.NvmlCallFailed as error:
            if error.code == gateways.INVALID_ARGUMENT:  # This GPU has no link of so high a number.
                break
            failures.append(facts.read_failure(f"nvlinks[{link}]", error))
    return tuple(links), tuple(failures)


def _read_nvlink(gateway: gateways.Gateway, handle: Any, link: int, gpu: str) -> model.NvLink:
    remote = gateway.call_newest(calls.REMOTE_PCI_ADDRESS, handle, link, gpu=gpu)
    try:
        kind = gateway.call(pynvml.nvmlDeviceGetNvLinkRemoteDeviceType, handle, link, gpu=gpu)
    except errors.NotSupported:
        kind = None
    return model.NvLink(link, remote, _REMOTE_KINDS.get(kind, "unknown"))


def read_pairs(
    gateway: gateways.Gateway, handles: Sequence[tuple[int, Any]]
) -> tuple[tuple[model.GpuPair, ...], tuple[model.ReadFailure, ...]]:
    """The common ancestor of every two GPUs, of ``(index, handle)`` by index, and what failed; raises nothing."""
    pairs: list[model.GpuPair] = []
    failures: list[model.ReadFailure] = []
    for position, (first, first_handle) in enumerate(handles):
        for second, second_handle in handles[position + 1 :]:
            try:
                level = gateway.call(
                    pynvml.nvmlDeviceGetTopologyCommonAncestor, first_handle, second_handle, gpu=f"{first} and {second}"
                )
            except errors.NotSupported:
                continue
            except errors.NvmlCallFailed as error:
                failures.append(facts.read_failure(f"pairs[{first},{second}]", error))
                continue
            pairs.append(model.GpuPair(first, second, level))
    return tuple(pairs), tuple(failures)
