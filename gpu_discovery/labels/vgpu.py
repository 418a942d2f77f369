"""``nvidia.com/vgpu.*``: whether this machine is the guest of a vGPU host, and which driver that host runs.

Read from the PCI functions, so it is told without a driver too, and of every function that the rules let in.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu_discovery.core import model, picture as pictures
from gpu_discovery.labels import names, values
from gpu_discovery.labels.family import LabelSet


def vgpu_labels(picture: pictures.Picture) -> LabelSet:
    """Nothing where it can't be told."""
    functions = picture.functions
    if functions is None:
        return _untold("the PCI bus cannot be listed")
    vgpus = [function for function in functions if function.is_vgpu]
    if vgpus:
        return _present(vgpus)
    unread = [function.address for function in functions if function.is_vgpu is None]
    if unread:
        return _untold(f"the PCI configuration of {', '.join(unread)} cannot be read whole, which needs privileges")
    return LabelSet({names.VGPU_PRESENT: "false"})


def _untold(reason: str) -> LabelSet:
    return LabelSet({}, (model.Notice("vgpu-unknown", f"{reason}: no {names.VGPU_PRESENT} label"),))


def _present(vgpus: Sequence[model.PciFunction]) -> LabelSet:
    records = {function.vgpu for function in vgpus}
    labels = {names.VGPU_PRESENT: "true"}
    if len(records) > 1:
        text = "the vGPUs of this machine tell of different host drivers: the labels of the host driver are left out"
        return LabelSet(labels, (model.Notice("vgpu-several", text),))
    record = next(iter(records))
    if record is None or record.host_driver_version is None or record.host_driver_branch is None:
        text = "the vGPU does not tell its host driver's version: the labels of the host driver are left out"
        return LabelSet(labels, (model.Notice("vgpu-no-version", text),))
    labels[names.VGPU_HOST_VERSION] = values.legal(record.host_driver_version)
    labels[names.VGPU_HOST_BRANCH] = values.legal(record.host_driver_branch)
    return LabelSet(labels)
