"""Product names from the PCI id database.

Only GPUs that no driver of NVIDIA's drives are named by it. Device ids are looked up as device lines of NVIDIA's own
block: the same four digits stand elsewhere in the file as subsystems and as devices of other vendors. The database
weighs 1.5 MB, so it is read line by line and only up to the end of NVIDIA's block.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from typing import BinaryIO

from gpu_discovery.core.host import files, pci

SEARCH_PATHS = (
    "/usr/share/misc/pci.ids",
    "/usr/local/share/pci.ids",
    "/usr/share/hwdata/pci.ids",
    "/usr/share/pci.ids",
)
EMBEDDED = os.path.join(os.path.dirname(__file__), "nvidia.ids")
UNKNOWN_DEVICE = "UNKNOWN_DEVICE"

_LINE_LIMIT_BYTES = 1024
_FILE_LIMIT_LINES = 1_000_000


def read_names(root: str, device_ids: Collection[int]) -> dict[int, str]:
    """The name of each of NVIDIA's ``device_ids``: the host's first readable database, then ours, then UNKNOWN_DEVICE."""
    names = dict.fromkeys(device_ids, UNKNOWN_DEVICE)
    names |= _wanted(EMBEDDED, device_ids)
    for path in SEARCH_PATHS:
        try:
            return names | _wanted(files.host_path(root, path), device_ids)
        except OSError:
            continue
    return names


def parse_names(lines: Iterable[str], vendor_id: int = pci.NVIDIA_VENDOR_ID) -> Iterator[tuple[int, str]]:
    """(device id, name) of each device line in one vendor's block; lines that are neither are passed over."""
    in_block = False
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith("\t"):
            if in_block:
                return
            in_block = _hexadecimal(line) == vendor_id
        elif in_block and not line.startswith("\t\t"):
            device_id = _hexadecimal(line[1:])
            if device_id is not None:
                yield device_id, line[5:].strip()


def _wanted(path: str, device_ids: Collection[int]) -> dict[int, str]:
    with open(path, "rb", opener=files.open_unblocked) as database:
        return {
            device_id: name for device_id, name in parse_names(_lines(database)) if device_id in device_ids and name
        }


def _lines(database: BinaryIO) -> Iterator[str]:
    """Text lines; what is longer than any line of the database is cut into several, so that no file fills the memory."""
    for _ in range(_FILE_LIMIT_LINES):
        raw = database.readline(_LINE_LIMIT_BYTES)
        if not raw:
            return
        yield raw.decode("utf-8", "replace")


def _hexadecimal(line: str) -> int | None:
    """The four digits that start a vendor or device line, followed by white space."""
    digits, rest = line[:4], line[4:]
    try:
        return int(digits, 16) if rest[:1].isspace() else None
    except ValueError:
        return None
