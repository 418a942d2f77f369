"""A block of labels for every resource that ``nvidia.com/gpu.*`` does not describe.

MIG profiles under strategy mixed are the reference's own case. Resources out of the config (``resources``, ``rename``,
sharing of some devices only) get the same block under the name they are advertised by. A whole resource renamed to
``<name>.shared`` keeps its labels under ``<name>``, again as the reference does.
"""

from __future__ import annotations

from gpu_discovery.core import model, picture as pictures
from gpu_discovery.labels import blocks, models, names
from gpu_discovery.labels.family import LabelSet, merged


def resource_labels(picture: pictures.Picture) -> LabelSet:
    """One block per resource."""
    named = [(_name(resource, picture), resource) for resource in picture.resources]
    return merged(_block(blocks.prefix_of(name), resource, picture) for name, resource in named if name != names.GPU)


def _name(resource: model.Resource, picture: pictures.Picture) -> str:
    """What the labels are under: the name before the rename where that stands for the same devices."""
    base = resource.base_name
    others = [other for other in picture.resources if other is not resource and base in (other.name, other.base_name)]
    return base if resource.name == f"{base}.shared" and not others else resource.name


def _block(prefix: str, resource: model.Resource, picture: pictures.Picture) -> LabelSet:
    sharing = blocks.sharing_facts(resource)
    count = len(resource.devices)
    if resource.devices[0].mig is None:
        gpus = models.primary(device.gpu for device in resource.devices)
        return blocks.gpu_block(prefix, gpus, sharing, picture, count=count)
    return blocks.mig_block(prefix, resource.devices, sharing, count=count)
