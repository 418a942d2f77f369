"""Facts of the machine: its type, its kernel, this boot and the driver that is loaded.

The machine type file lies under the host root whether it is the default or was given by a person: with the root ``/``
that programs run with, a given path is used exactly as it stands.
"""

from __future__ import annotations

import os

from gpu_discovery.core import model
from gpu_discovery.core.config import values
from gpu_discovery.core.host import driver, files

BOOT_ID = "/proc/sys/kernel/random/boot_id"


def read_host(root: str, machine_type_file: str = values.DEFAULT_MACHINE_TYPE_FILE) -> model.Host:
    """The host's facts; an empty ``machine_type_file`` means that no machine type is wanted."""
    failures: list[model.ReadFailure] = []
    machine = _read_fact("machine", root, machine_type_file, failures) if machine_type_file else None
    boot_id = _read_fact("boot_id", root, BOOT_ID, failures) or ""
    return model.Host(
        machine=machine,
        kernel=os.uname().release,
        boot_id=boot_id,
        driver_load=driver.read_driver_load(root, boot_id),
        failures=tuple(failures),
    )


def _read_fact(fact: str, root: str, path: str, failures: list[model.ReadFailure]) -> str | None:
    absolute = path if path.startswith("/") else f"/{path}"
    try:
        return files.read_text(files.host_path(root, absolute))
    except OSError as error:
        failures.append(files.read_failure(fact, absolute, error))
        return None
