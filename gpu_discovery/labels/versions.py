"""Driver and CUDA versions, each under the old and the new family of keys.

A driver version that is not ``X.Y`` or ``X.Y.Z`` costs the labels of its parts and nothing else. On platforms without
one the snapshot says ``unknown.unknown.unknown``, which has three parts like any other.
"""

from __future__ import annotations

from gpu_discovery.core import model, picture as pictures
from gpu_discovery.labels import names, values
from gpu_discovery.labels.family import LabelSet, merged


def version_labels(picture: pictures.Picture) -> LabelSet:
    """Up to twelve labels."""
    snapshot = picture.snapshot
    return merged((_driver(snapshot.driver_version), _cuda(snapshot.cuda_version)))


def parse_driver_version(text: str) -> tuple[str, str, str] | None:
    """Major, minor and revision as written, the last empty in ``X.Y``; None when the text is of another form."""
    parts = text.split(".")
    if len(parts) not in (2, 3) or not all(part and values.is_legal(part) for part in parts):
        return None
    return parts[0], parts[1], parts[2] if len(parts) == 3 else ""


def _driver(text: str | None) -> LabelSet:
    if text is None:
        return LabelSet({}, (model.Notice("driver-version", "the driver version cannot be read"),))
    parts = parse_driver_version(text)
    if parts is None:
        notice = model.Notice(
            "driver-version", f"driver version {text!r} is not X.Y or X.Y.Z: its parts are not labelled"
        )
        return LabelSet({names.DRIVER_FULL: text} if text and values.is_legal(text) else {}, (notice,))
    major, minor, revision = parts
    return LabelSet(
        {
            names.DRIVER_MAJOR_OLD: major,
            names.DRIVER_MINOR_OLD: minor,
            names.DRIVER_REVISION_OLD: revision,
            names.DRIVER_MAJOR: major,
            names.DRIVER_MINOR: minor,
            names.DRIVER_REVISION: revision,
            names.DRIVER_FULL: text,
        }
        if values.is_legal(text)
        else {}
    )


def _cuda(version: tuple[int, int] | None) -> LabelSet:
    if version is None:
        return LabelSet({}, (model.Notice("cuda-version", "the CUDA version of the driver cannot be read"),))
    major, minor = map(str, version)
    return LabelSet(
        {
            names.CUDA_MAJOR_OLD: major,
            names.CUDA_MINOR_OLD: minor,
            names.CUDA_MAJOR: major,
            names.CUDA_MINOR: minor,
            names.CUDA_FULL: f"{major}.{minor}",
        }
    )
