"""``nvidia.com/mig.capable`` and ``nvidia.com/mps.capable``: what the node can do, and what the config makes it do."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_discovery.core import model, picture as pictures
from gpu_discovery.labels import names
from gpu_discovery.labels.family import LabelSet, merged


def capability_labels(picture: pictures.Picture) -> LabelSet:
    """MPS: some device is served through it, so its daemon is wanted here."""
    has_mps = any(resource.sharing is model.SharingStrategy.MPS for resource in picture.resources)
    return merged((_mig(picture.gpus), LabelSet({names.MPS_CAPABLE: _said(has_mps)})))


def _mig(gpus: Sequence[model.Gpu]) -> LabelSet:
    """Some GPU has it, on or off. No label where only such a one may have it as does not tell."""
    has_mig = any(gpu.mig is not None for gpu in gpus)
    unknown = [str(gpu.index) for gpu in gpus if any(failure.fact == "mig" for failure in gpu.failures)]
    if has_mig or not unknown:
        return LabelSet({names.MIG_CAPABLE: _said(has_mig)})
    text = f"{names.MIG_CAPABLE}: GPU {', '.join(unknown)} does not tell whether it is capable, the label is left out"
    return LabelSet({}, (model.Notice("mig-unknown", text),))


def _said(fact: bool) -> str:
    return "true" if fact else "false"
