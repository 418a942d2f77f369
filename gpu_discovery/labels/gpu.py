"""``nvidia.com/gpu.*``: the labels that everyone selects by.

They describe the physical GPUs of one model, the node's only one or its most numerous. What they say of sharing is
how whole GPUs of that model are served: as ``nvidia.com/gpu`` where that exists, else as the first resource by name;
0 replicas when none of them is, because MIG is on for all.

MIG devices that are served as ``nvidia.com/gpu`` are the exception: by strategy single, or by a rule or rename that
calls them so. Then they are described instead. Under strategy single, once a GPU has MIG on, it is what is served that
is described: those, or whole GPUs, or nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu_discovery.core import model, picture as pictures
from gpu_discovery.labels import blocks, mig_invalid, models, names
from gpu_discovery.labels.family import LabelSet, merged


def gpu_labels(picture: pictures.Picture) -> LabelSet:
    """The block of ``nvidia.com/gpu``."""
    is_single = picture.mig_strategy == "single" and any(gpu.is_mig_enabled for gpu in picture.gpus)
    if is_single and mig_invalid.is_asked_for(picture):
        return merged((_physical(picture, picture.gpus), mig_invalid.invalid_labels(picture)))
    served = _mig_served(picture.resources)
    if served:
        return _mig(served)
    if not is_single:
        return _physical(picture, picture.gpus)
    if not picture.resources:
        return _nothing(picture)
    whole = [device.gpu for resource in picture.resources for device in resource.devices if device.mig is None]
    return _physical(picture, whole or picture.gpus)


def _mig_served(resources: Sequence[model.Resource]) -> list[model.Resource]:
    """Those of MIG devices that are called ``nvidia.com/gpu``, or were before sharing gave them another name."""
    called = [resource for resource in resources if names.GPU in (resource.name, resource.base_name)]
    if any(resource.name == names.GPU and resource.devices[0].mig is None for resource in called):
        return []
    return [resource for resource in called if resource.devices[0].mig is not None]


def _physical(picture: pictures.Picture, gpus: Sequence[model.Gpu]) -> LabelSet:
    of_model = models.primary(gpus)
    sharing = _sharing(picture.resources, of_model[0].name)
    return blocks.gpu_block(names.GPU, of_model, sharing, picture, count=len(of_model))


def _sharing(resources: Sequence[model.Resource], name: str) -> blocks.SharingFacts:
    serving = [resource for resource in resources if any(_is_whole(device, name) for device in resource.devices)]
    chosen = next((resource for resource in serving if resource.name == names.GPU), serving[0] if serving else None)
    if chosen is None:
        return blocks.NOT_SERVED
    facts = blocks.sharing_facts(chosen)
    return facts if chosen.name == names.GPU else facts._replace(suffixes=())


def _is_whole(device: model.Device, name: str) -> bool:
    return device.mig is None and device.gpu.name == name and not device.gpu.is_mig_enabled


def _mig(resources: Sequence[model.Resource]) -> LabelSet:
    """MIG devices served as GPUs, under this name or renamed by sharing."""
    chosen = next((resource for resource in resources if resource.name == names.GPU), resources[0])
    devices = [device for resource in resources for device in resource.devices]
    block = blocks.mig_block(names.GPU, devices, blocks.sharing_facts(chosen), count=len(devices))
    parents = models.primary(device.gpu for device in devices)
    return merged((LabelSet(blocks.architecture(names.GPU, parents)), block))


def _nothing(picture: pictures.Picture) -> LabelSet:
    """The product stays, so that selectors keep matching; the counts say that there is nothing to be had."""
    block = _physical(picture, picture.gpus)
    return LabelSet({**block.labels, names.GPU + ".count": "0", names.GPU + ".replicas": "0"}, block.notices)
