"""A cheap value that changes when something happens that asks for a new pass.

sysfs and procfs do not tell their watchers of driver loads, functions that come, go or change driver, or MIG layout,
so those are polled: two fingerprints of an unchanged node are equal. What NVIDIA's entries on the bus are is kept from
one call to the next, so a call costs the bus listing, a readlink per NVIDIA function and a listing per MIG folder.
"""

from __future__ import annotations

import functools
import os

from gpu_discovery.core import errors
from gpu_discovery.core.host import driver, files, pci
from gpu_discovery.core.kit.frozen import frozen

CAPABILITIES = "/proc/driver/nvidia/capabilities"


@frozen
class Fingerprint:
    """Compared as a whole; the fields are for messages that say what changed."""

    driver: tuple[str, int] | None
    """Version and inode of the nvidia module; None when it is not loaded."""
    functions: tuple[tuple[str, int, str | None], ...] | None
    """(address, inode, bound driver) of each NVIDIA function; None when the bus cannot be listed."""
    mig_tree: tuple[str, ...] | None
    """``gpu0/gi1/ci0`` and the folders above; None when it is not visible here."""

    @property
    def mig_tree_visible(self) -> bool:
        """Whether a change of MIG layout shows; where not, only NVML can tell."""
        return self.mig_tree is not None


def read_fingerprint(root: str) -> Fingerprint:
    """The node's fingerprint now. Never raises."""
    load = driver.read_driver_load(root, boot_id="")
    return Fingerprint(
        driver=None if load is None else (load.version, load.inode),
        functions=_read_functions(root),
        mig_tree=_read_mig_tree(files.host_path(root, CAPABILITIES)),
    )


@functools.lru_cache(maxsize=4)
def _bus(root: str) -> pci.PciBus:
    return pci.PciBus(root)


def _read_functions(root: str) -> tuple[tuple[str, int, str | None], ...] | None:
    try:
        return _bus(root).read_bindings()
    except errors.HostFileUnreadable:
        return None


def _read_mig_tree(directory: str) -> tuple[str, ...] | None:
    try:
        gpus = _listing(directory, "gpu")
    except OSError:
        return None
    tree: list[str] = []
    for gpu in gpus:
        tree.append(gpu)
        for gpu_instance in _listing_or_nothing(f"{directory}/{gpu}/mig", "gi"):
            tree.append(f"{gpu}/{gpu_instance}")
            compute_instances = _listing_or_nothing(f"{directory}/{gpu}/mig/{gpu_instance}", "ci")
            tree += [f"{gpu}/{gpu_instance}/{compute_instance}" for compute_instance in compute_instances]
    return tuple(tree)


def _listing(directory: str, prefix: str) -> list[str]:
    return sorted(name for name in os.listdir(directory) if name.startswith(prefix))


def _listing_or_nothing(directory: str, prefix: str) -> list[str]:
    """As ``_listing``; an instance that is destroyed meanwhile has nothing in it."""
    try:
        return _listing(directory, prefix)
    except OSError:
        return []
