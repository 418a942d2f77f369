"""One load of the nvidia kernel module.

sysfs gives ``/sys/module/nvidia`` a new inode each time the module is loaded, also when the version stays the same,
so boot id, version and inode together tell one load from the next.
"""

from __future__ import annotations

import os

from gpu_discovery.core import model
from gpu_discovery.core.host import files

MODULE = "/sys/module/nvidia"


def read_driver_load(root: str, boot_id: str) -> model.DriverLoad | None:
    """The load that is there now, None when the module is not loaded; an unreadable version is empty."""
    module = files.host_path(root, MODULE)
    try:
        inode = os.stat(module).st_ino
    except OSError:
        return None
    try:
        version = files.read_text(f"{module}/version")
    except OSError:
        version = ""
    return model.DriverLoad(boot_id=boot_id, version=version, inode=inode)
