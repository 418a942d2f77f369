"""Sample machines: recorded snapshots of nodes that users will recognise, and the way to any recorded snapshot.

Here live JSON files in the form that ``codec`` writes, put together from public data sheets and public tool output
(identifiers are made up), and ``read_recorded``. Every command that reads GPUs takes one of them instead of the
machine, and the tests' golden machines are the same files. No code about GPUs lives here. May be imported by
``core.options`` and everything above it.
"""

from __future__ import annotations

import os.path

from gpu_discovery.core import codec, errors, model

NAMES = (
    "desktop-display",
    "dgx-a100",
    "dgx-h100-mig",
    "gb200-nvl72",
    "gpu-less",
    "l40s-pair",
    "rtx-pro-6000-mig",
    "t4",
    "workstation-3-models",
)


def read_recorded(*, snapshot_file: str | None = None, sample: str | None = None) -> model.Snapshot:
    """The snapshot in a file, or the sample machine of that name; exactly one of both must be given.

    Raises:
        errors.SettingsError: none or both are given, or there is no such sample.
        errors.SnapshotError: the file cannot be read or is not a snapshot; names the file.
    """
    if (snapshot_file is None) == (sample is None):
        raise errors.SettingsError("give either a snapshot file or the name of a sample machine")
    if sample is not None and sample not in NAMES:
        raise errors.SettingsError(f"there is no sample machine {sample!r}; there are {', '.join(NAMES)}")
    return _read(snapshot_file or os.path.join(os.path.dirname(__file__), f"{sample}.json"))


def _read(path: str) -> model.Snapshot:
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError as error:
        raise errors.SnapshotError(f"reading the snapshot {path} failed: {error.strerror}") from error
    try:
        return codec.loads(text)
    except errors.SnapshotError as error:
        raise errors.SnapshotError(f"{path}: {error}") from error
