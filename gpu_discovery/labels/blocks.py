"""The two blocks of labels that a resource can have: one for whole GPUs, one for MIG devices.

Both begin with a prefix (``nvidia.com/gpu``, ``nvidia.com/mig-1g.5gb``, a name out of the config) and say product,
count, replicas, sharing strategy and memory; then the architecture, or the engines and slices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from gpu_discovery.core import model, picture as pictures
from gpu_discovery.core.config import compat
from gpu_discovery.labels import models, names, values
from gpu_discovery.labels.family import LabelSet

LONGEST_PREFIX = values.MAX_LENGTH - len(".sharing-strategy")
SHARED = "SHARED"


class SharingFacts(NamedTuple):
    """What a block says of sharing."""

    replicas: int
    strategy: model.SharingStrategy
    suffixes: tuple[str, ...] = ()
    """``SHARED`` where the product has to tell that the resource's name doesn't."""


NOT_SERVED = SharingFacts(0, model.SharingStrategy.NONE)


def sharing_facts(resource: model.Resource) -> SharingFacts:
    """With one replica nobody shares, whatever the mode."""
    if resource.replicas == 1:
        return SharingFacts(1, model.SharingStrategy.NONE)
    return SharingFacts(resource.replicas, resource.sharing, () if resource.is_renamed else (SHARED,))


def prefix_of(name: str) -> str:
    """What the keys of a resource's block begin with: its name, or a shorter one that leaves room for the rest."""
    return names.PREFIX + values.key_part(name.removeprefix(names.PREFIX), LONGEST_PREFIX)


def gpu_block(
    prefix: str, gpus: Sequence[model.Gpu], sharing: SharingFacts, picture: pictures.Picture, *, count: int
) -> LabelSet:
    """Labels of whole GPUs of one model."""
    name = gpus[0].name
    product = product_label(f"{prefix}.product", name, *sharing.suffixes)
    memory = memory_label(f"{prefix}.memory", gpus, picture)
    labels = {
        **product.labels,
        f"{prefix}.count": str(count),
        f"{prefix}.replicas": str(sharing.replicas),
        f"{prefix}.sharing-strategy": sharing.strategy.value,
        **memory.labels,
        **share_label(prefix, models.least_memory(gpus), sharing, picture),
        **architecture(prefix, gpus),
    }
    return LabelSet(labels, (*product.notices, *memory.notices))


def mig_block(prefix: str, devices: Sequence[model.Device], sharing: SharingFacts, *, count: int) -> LabelSet:
    """Labels of MIG devices.

    A rule may put several profiles behind one name, and the parents may be of several models: the most numerous of each
    is described, of equally many the first by name.
    """
    counts = Counter(map(_profile, devices))
    profile = min(counts, key=lambda profile: (-counts[profile], profile))
    devices = [device for device in devices if _profile(device) == profile]
    attributes = _attributes(devices)
    parents = models.primary(device.gpu for device in devices)
    product = product_label(f"{prefix}.product", parents[0].name, "MIG", profile.replace("+", "."), *sharing.suffixes)
    labels = {
        **product.labels,
        f"{prefix}.count": str(count),
        f"{prefix}.replicas": str(sharing.replicas),
        f"{prefix}.sharing-strategy": sharing.strategy.value,
    }
    if attributes is not None:
        labels |= _attribute_labels(prefix, attributes)
    return LabelSet(labels, product.notices)


def product_label(key: str, name: str, *suffixes: str) -> LabelSet:
    """The product, cut where it is too long; the notice says so once per value. No label for a name that is not known."""
    if not name:
        return LabelSet({}, (model.Notice(f"product-unknown:{key}", f"{key}: the name cannot be read, no label"),))
    value = values.product(name, *suffixes)
    whole = "-".join(part for part in map(values.sanitised, (name, *suffixes)) if part)
    if value == whole:
        return LabelSet({key: value})
    text = f"{key}: {whole!r} is no legal label value, it becomes {value!r}"
    return LabelSet({key: value}, (model.Notice(f"shortened:{key}:{value}", text),))


def memory_label(key: str, gpus: Sequence[model.Gpu], picture: pictures.Picture) -> LabelSet:
    """MiB, the least of ``gpus``; left out where the driver does not tell, never 0."""
    memory_bytes = models.least_memory(gpus)
    if memory_bytes is None or memory_bytes < models.MIB:
        text = f"{key}: the memory of {gpus[0].name} is not known, the label is left out"
        return LabelSet({}, (model.Notice(f"memory-unknown:{gpus[0].name}", text),))
    is_vfio = picture.snapshot.platform is model.Platform.VFIO
    in_bytes = is_vfio and compat.VFIO_MEMORY_BYTES in picture.config.own.reference_compat
    return LabelSet({key: str(memory_bytes if in_bytes else memory_bytes // models.MIB)})


def architecture(prefix: str, gpus: Sequence[model.Gpu]) -> dict[str, str]:
    """Family and compute capability; a negative one, as of a GPU that is kept for a virtual machine, is no label."""
    capability = models.compute_capability(gpus)
    if capability is None or capability[0] == 0:
        return {}
    labels = {f"{prefix}.family": models.family(capability)}
    if min(capability) >= 0:
        labels |= {f"{prefix}.compute.major": str(capability[0]), f"{prefix}.compute.minor": str(capability[1])}
    return labels


def share_label(
    prefix: str, memory_bytes: int | None, sharing: SharingFacts, picture: pictures.Picture
) -> dict[str, str]:
    """What MPS lets one client have at most, in MiB; only when asked for."""
    is_asked = "share-memory" in picture.config.own.extra_labels
    if not is_asked or sharing.strategy is not model.SharingStrategy.MPS or memory_bytes is None:
        return {}
    return {f"{prefix}.share-memory": str(memory_bytes // sharing.replicas // models.MIB)}


def _profile(device: model.Device) -> str:
    return (device.mig.profile or "") if device.mig is not None else ""


def _attributes(devices: Sequence[model.Device]) -> model.MigAttributes | None:
    """Those of the smallest device, should devices of one profile ever differ."""
    told = [device.mig.attributes for device in devices if device.mig is not None and device.mig.attributes is not None]
    return min(told, key=_attribute_order, default=None)


def _attribute_order(attributes: model.MigAttributes) -> tuple[int, ...]:
    return tuple(getattr(attributes, field) for _, field in names.MIG_ATTRIBUTES)


def _attribute_labels(prefix: str, attributes: model.MigAttributes) -> dict[str, str]:
    return {f"{prefix}.{key}": str(getattr(attributes, field)) for key, field in names.MIG_ATTRIBUTES}
