"""``nvidia.com/mig.strategy`` and why a strategy can't serve all; the MIG devices' own labels are ``resource``'s."""

from __future__ import annotations

from gpu_discovery.core import picture as pictures
from gpu_discovery.labels import mig_invalid, names
from gpu_discovery.labels.family import LabelSet, merged


def mig_labels(picture: pictures.Picture) -> LabelSet:
    """Nothing under strategy none, as the reference."""
    if picture.mig_strategy == "none":
        return LabelSet({})
    strategy = LabelSet({names.MIG_STRATEGY: picture.mig_strategy})
    if picture.mig_strategy == "mixed" or mig_invalid.is_asked_for(picture):
        return strategy
    return merged((strategy, mig_invalid.reason_labels(picture)))
