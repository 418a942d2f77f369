"""Labels per GPU, for those who ask: a comma-joined list of UUIDs would be no legal value, so the index is in the key."""

from __future__ import annotations

from gpu_discovery.core import picture as pictures
from gpu_discovery.labels import names, values
from gpu_discovery.labels.family import LabelSet


def device_labels(picture: pictures.Picture) -> LabelSet:
    """UUID, product and PCI address of every GPU."""
    if "devices" not in picture.config.own.extra_labels:
        return LabelSet({})
    labels: dict[str, str] = {}
    for gpu in picture.gpus:
        prefix = f"{names.GPU}-{gpu.index}"
        labels[f"{prefix}.uuid"] = values.legal(gpu.uuid)
        if gpu.name:
            labels[f"{prefix}.product"] = values.product(gpu.name)
        if gpu.pci_address is not None:
            labels[f"{prefix}.pci-address"] = values.address(gpu.pci_address)
    return LabelSet(labels)
