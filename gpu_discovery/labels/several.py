"""What only some nodes need told: several models, and GPUs that can't be read.

The common labels describe one model; here stand that there are more, a block for each, and how many GPUs there are
in all. ``gpuDiscovery.extraLabels`` asks for them on a plain node.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu_discovery.core import model, picture as pictures
from gpu_discovery.labels import blocks, models, names, values
from gpu_discovery.labels.family import LabelSet, merged

_LONGEST_SLUG = values.MAX_LENGTH - len("gpu.model..mig-enabled.count")


def model_labels(picture: pictures.Picture) -> LabelSet:
    """A block per model, and the mark that there are several."""
    groups = models.by_model(gpu for gpu in picture.gpus if gpu.name)
    if len(groups) < 2 and "models" not in picture.config.own.extra_labels:
        return LabelSet({})
    slugs = values.slugs(groups, _LONGEST_SLUG)
    mark = LabelSet({names.HETEROGENEOUS: "true"} if len(groups) > 1 else {})
    return merged((mark, *(_block(slugs[name], gpus, picture) for name, gpus in groups.items())))


def count_labels(picture: pictures.Picture) -> LabelSet:
    """``physical`` is the sum of the other three; a GPU of no known model is unreadable."""
    known = [gpu for gpu in picture.gpus if gpu.name]
    unreadable = len(picture.gpus) - len(known) + sum(record.is_broken for record in picture.left_out)
    is_needed = unreadable or len(models.by_model(known)) > 1
    if not is_needed and "counts" not in picture.config.own.extra_labels:
        return LabelSet({})
    enabled = sum(gpu.is_mig_enabled for gpu in known)
    return LabelSet(
        {
            names.PHYSICAL_COUNT: str(len(known) + unreadable),
            names.FULL_COUNT: str(len(known) - enabled),
            names.MIG_ENABLED_COUNT: str(enabled),
            names.UNREADABLE_COUNT: str(unreadable),
        }
    )


def _block(slug: str, gpus: Sequence[model.Gpu], picture: pictures.Picture) -> LabelSet:
    prefix = f"{names.MODEL}.{slug}"
    product = blocks.product_label(f"{prefix}.product", gpus[0].name)
    memory = blocks.memory_label(f"{prefix}.memory", gpus, picture)
    enabled = sum(gpu.is_mig_enabled for gpu in gpus)
    labels = {
        **product.labels,
        f"{prefix}.count": str(len(gpus)),
        **memory.labels,
        **blocks.architecture(prefix, gpus),
    }
    if enabled:
        labels[f"{prefix}.mig-enabled.count"] = str(enabled)
    return LabelSet(labels, (*product.notices, *memory.notices))
