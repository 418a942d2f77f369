"""``nvidia.com/mig.capable`` and ``nvidia.com/mps.capable``: what the node can do, and what the config makes it do."""

from __future__ import annotations

from gpu_discovery.core import model, picture as pictures
from gpu_discovery.labels import names
from gpu_discovery.labels.family import LabelSet


def capability_labels(picture: pictures.Picture) -> LabelSet:
    """MIG: some GPU has it, on or off. MPS: some device is served through it, so its daemon is wanted here."""
    has_mig = any(gpu.mig is not None for gpu in picture.gpus)
    has_mps = any(resource.sharing is model.SharingStrategy.MPS for resource in picture.resources)
    return LabelSet({names.MIG_CAPABLE: _said(has_mig), names.MPS_CAPABLE: _said(has_mps)})


def _said(fact: bool) -> str:
    return "true" if fact else "false"
