"""``nvidia.com/gpu.clique``: which NVLink fabric partition the node's GPUs are in."""

from __future__ import annotations

from gpu_discovery.core import model, picture as pictures
from gpu_discovery.labels import names, values
from gpu_discovery.labels.family import LabelSet


def clique_labels(picture: pictures.Picture) -> LabelSet:
    """``<cluster UUID>.<clique id>`` when all attached GPUs agree; GPUs that are not attached have no say."""
    cliques = {
        (gpu.fabric.cluster_uuid, gpu.fabric.clique_id)
        for gpu in picture.gpus
        if gpu.fabric is not None and gpu.fabric.is_attached
    }
    if len(cliques) == 1:
        cluster, clique = next(iter(cliques))
        return LabelSet({names.CLIQUE: values.legal(f"{cluster}.{clique}")})
    if not cliques:
        return LabelSet({})
    told = ", ".join(f"{cluster}.{clique}" for cluster, clique in sorted(cliques))
    text = f"the GPUs are in several NVLink cliques, so {names.CLIQUE} is left out: {told}"
    return LabelSet({}, (model.Notice("clique-several", text),))
