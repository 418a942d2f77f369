"""What strategy single says where it can't serve everything.

Ours: a label with the reasons, beside labels of what is served. The reference's, brought back by
``mig-invalid-labels``: one broken GPU turns the whole node's product into ``…-MIG-INVALID`` with count 0.
"""

from __future__ import annotations

from gpu_discovery.core import picture as pictures
from gpu_discovery.core.config import compat
from gpu_discovery.labels import blocks, models, names
from gpu_discovery.labels.family import LabelSet, merged

_REASONS = {
    "mig-empty": "empty",
    "mig-mixed-modes": "mixed-modes",
    "mig-mixed-profiles": "mixed-profiles",
    "mig-unreadable": "unreadable",
}


def reason_labels(picture: pictures.Picture) -> LabelSet:
    """``nvidia.com/mig.invalid-reason``, the reasons by name with ``_`` between them."""
    reasons = sorted({_REASONS[record.code] for record in picture.left_out if record.code in _REASONS})
    return LabelSet({names.MIG_INVALID_REASON: "_".join(reasons)} if reasons else {})


def is_asked_for(picture: pictures.Picture) -> bool:
    """Whether the reference would call this node invalid, and its word is asked for."""
    return compat.MIG_INVALID_LABELS in picture.config.own.reference_compat and _is_invalid(picture)


def invalid_labels(picture: pictures.Picture) -> LabelSet:
    """The reference's set, to be laid over the labels of the physical GPUs."""
    parents = models.primary(gpu for gpu in picture.gpus if gpu.is_mig_enabled)
    rest = {
        names.GPU + ".count": "0",
        names.GPU + ".replicas": "0",
        names.GPU + ".sharing-strategy": "",
        names.GPU + ".memory": "0",
    }
    return merged((LabelSet(rest), blocks.product_label(names.GPU + ".product", parents[0].name, "MIG", "INVALID")))


def _is_invalid(picture: pictures.Picture) -> bool:
    enabled = [gpu.mig for gpu in picture.gpus if gpu.mig is not None and gpu.mig.enabled]
    profiles = {device.profile for mig in enabled for device in mig.devices}
    is_empty = any(not mig.devices for mig in enabled)
    return is_empty or len(enabled) < len(picture.gpus) or len(profiles) > 1
