"""``nvidia.com/gpu.machine``: which machine this is, by the firmware."""

from __future__ import annotations

from gpu_discovery.core import model, picture as pictures
from gpu_discovery.labels import names, values
from gpu_discovery.labels.family import LabelSet


def machine_labels(picture: pictures.Picture) -> LabelSet:
    """The machine type made legal; ``unknown`` where it can't be read."""
    host = picture.snapshot.host
    if host.machine is None:
        return LabelSet({names.MACHINE: "unknown"}, _notice(host))
    return LabelSet({names.MACHINE: values.legal(host.machine.strip())})


def _notice(host: model.Host) -> tuple[model.Notice, ...]:
    return tuple(
        model.Notice("machine-unknown", f"the machine type cannot be read from {failure.call}: {failure.reason}")
        for failure in host.failures
        if failure.fact == "machine"
    )
