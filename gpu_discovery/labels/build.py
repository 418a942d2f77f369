"""All label families, in the order of the reference's merge: where two have a key the later one holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from gpu_discovery.core import model, picture as pictures
from gpu_discovery.labels import (
    capability,
    clique,
    device,
    gpu,
    machine,
    mig,
    mode,
    names,
    resource,
    several,
    values,
    versions,
    vgpu,
)
from gpu_discovery.labels.family import LabelSet, merged

Family = Callable[[pictures.Picture], LabelSet]

FAMILIES: tuple[Family, ...] = (
    machine.machine_labels,
    versions.version_labels,
    capability.capability_labels,
    device.device_labels,
    gpu.gpu_labels,
    mig.mig_labels,
    mode.mode_labels,
    clique.clique_labels,
    several.model_labels,
    several.count_labels,
    vgpu.vgpu_labels,
)
FAMILIES_WITHOUT_GPUS: tuple[Family, ...] = (vgpu.vgpu_labels,)
"""Those that have something to say of a node of which no GPU is known."""


def make_labels(picture: pictures.Picture) -> LabelSet:
    """Every label but the timestamp, by key.

    Resources from the config have names of the user's choice: where a label of such a block would have the key of
    another label, whether this node has that one or not, it is left out.
    """
    families = FAMILIES if picture.gpus else FAMILIES_WITHOUT_GPUS
    node = merged(family(picture) for family in families)
    blocks = resource.resource_labels(picture)
    taken = {key for key in blocks.labels if key in node.labels or not names.may_be_of_resource(key)}
    own = {key: value for key, value in blocks.labels.items() if key not in taken}
    everything = merged((LabelSet(own, blocks.notices), node))
    legal = {key: value for key, value in sorted(everything.labels.items()) if _is_legal(key, value)}
    return LabelSet(legal, (*everything.notices, *_taken(taken), *_illegal(everything.labels, legal)))


def _is_legal(key: str, value: str) -> bool:
    return values.is_legal(value) and values.is_legal_key(key)


def _illegal(labels: Mapping[str, str], legal: Mapping[str, str]) -> Iterator[model.Notice]:
    """What would cost the node all its labels if it were sent: a number below zero, say, out of an odd snapshot."""
    for key in sorted(labels.keys() - legal.keys()):
        yield model.Notice(f"illegal:{key}", f"label {key}={labels[key]!r} is not legal and is left out")


def _taken(keys: Iterable[str]) -> Iterator[model.Notice]:
    told = ", ".join(sorted(keys))
    if told:
        text = f"{told}: this has another meaning already and is left out, rename the resource of that name"
        yield model.Notice("keys-taken", text)
