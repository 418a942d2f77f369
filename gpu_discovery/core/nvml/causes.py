"""Why NVML cannot be used and what to do, in one line, from what this container sees; pure.

The same return code has different causes: without a driver on the node nothing in the pod can help, while with one
loaded it is the pod that was not given the library or the device nodes.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_discovery.core.kit.frozen import frozen

FINDINGS: Mapping[int, str] = {
    4: "no-permission",
    9: "driver-not-loaded",
    12: "nvml-missing",
    18: "version-mismatch",
    28: "no-gpus",
}
"""NVML's return code → the ``model.Finding`` value; every other code is ``nvml-failed``."""

CONTROL_NODE = "/dev/nvidiactl"

_GIVE_ACCESS = "run the pod with the nvidia runtime class, or privileged with the host's driver root mounted"


@frozen
class Surroundings:
    """What this container sees of the driver without NVML."""

    driver_version: str | None
    """Of the loaded kernel module, empty when unknown; None when it is not loaded."""
    gpus_on_bus: int
    has_control_node: bool
    """``CONTROL_NODE`` is there."""
    driver_root: str
    """Where a driver root was looked for; empty for nowhere."""


def finding(code: int) -> str:
    """The ``model.Finding`` value that a return code of NVML as a whole means."""
    return FINDINGS.get(code, "nvml-failed")


def explanation(found: str, around: Surroundings) -> str:
    """The probable cause and the remedy, without the failure itself."""
    if found == "version-mismatch":
        return (
            f"the library is not of the loaded kernel module's version ({around.driver_version or 'unknown'}): finish "
            "the driver update by reloading the module or rebooting, and recreate the pod if the library was injected "
            "when it started"
        )
    if found == "no-gpus":
        return "the driver is loaded and finds no GPU: look for NVRM lines in the node's kernel log"
    if around.driver_version is None and found in ("nvml-missing", "driver-not-loaded"):
        return _without_driver(around)
    if found == "nvml-missing":
        looked = f" or in {around.driver_root}" if around.driver_root.strip("/") else ""
        return (
            f"the node has driver {around.driver_version or 'unknown'} loaded, but its library is not on this "
            f"container's loader path{looked}: {_GIVE_ACCESS}"
        )
    if not around.has_control_node:
        return f"this container has no {CONTROL_NODE}: {_GIVE_ACCESS}"
    if found in ("no-permission", "driver-not-loaded"):
        return f"this container may not use {CONTROL_NODE}: {_GIVE_ACCESS}"
    return "run nvidia-smi on the node and look for NVRM lines in its kernel log"


def _without_driver(around: Surroundings) -> str:
    if not around.gpus_on_bus:
        return "the PCI bus shows no NVIDIA GPU and no driver is loaded: keep this pod off nodes without GPUs"
    gpus = "1 NVIDIA GPU" if around.gpus_on_bus == 1 else f"{around.gpus_on_bus} NVIDIA GPUs"
    return (
        f"the PCI bus shows {gpus}, but no driver is loaded: install the driver or wait for the driver container; it "
        "is noticed without a restart"
    )
