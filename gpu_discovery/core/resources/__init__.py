"""Which resources a node has and what backs each: snapshot, config and health in, values out, nothing else.

Everything here is pure. ``selection`` lets GPUs in or leaves them out, ``assignment`` gives each whole GPU or MIG
device its resource under a MIG strategy, ``sharing`` cuts resources by the config's sharing entries, ``resolve`` joins
the three. ``core.picture`` imports it, and tests; labels, devices and metrics read the picture instead.
"""

from __future__ import annotations

from gpu_discovery.core.resources.resolve import ResourceSet as ResourceSet, resources as resources
