"""A block of labels for every resource that ``nvidia.com/gpu.*`` does not describe.

MIG profiles under strategy mixed are the reference's own case. Resources out of the config (``resources``, ``rename``,
sharing of some devices only) get the same block under the name they are advertised by. A whole resource renamed to
``<name>.shared`` keeps its labels under ``<name>``, again as the reference does.
"""

from __future__ import annotations

from collections import Counter

from gpu_discovery.core import model, picture as pictures
from gpu_discovery.labels import blocks, models, names
from gpu_discovery.labels.family import LabelSet, merged


def resource_labels(picture: pictures.Picture) -> LabelSet:
    """One block per resource."""
    parts = Counter(resource.base_name for resource in picture.resources)
    found = []
    for resource in picture.resources:
        is_whole = parts[resource.base_name] == 1 and resource.name == f"{resource.base_name}.shared"
        name = resource.base_name if is_whole else resource.name
        if name != names.GPU:
            found.append(_block(blocks.prefix_of(name), resource, picture))
    return merged(found)


def _block(prefix: str, resource: model.Resource, picture: pictures.Picture) -> LabelSet:
    sharing = blocks.sharing_facts(resource)
    count = len(resource.devices)
    if resource.devices[0].mig is None:
        gpus = models.primary(device.gpu for device in resource.devices)
        return blocks.gpu_block(prefix, gpus, sharing, picture, count=count)
    return blocks.mig_block(prefix, _of_one_profile(resource), sharing, count=count)


def _of_one_profile(resource: model.Resource) -> list[model.Device]:
    """A rule may put several profiles behind one name; the most numerous is described, then the first by name."""
    counts = Counter(_profile(device) for device in resource.devices)
    chosen = min(counts, key=lambda profile: (-counts[profile], profile))
    return [device for device in resource.devices if _profile(device) == chosen]


def _profile(device: model.Device) -> str:
    return (device.mig.profile or "") if device.mig is not None else ""
