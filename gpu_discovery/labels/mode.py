"""``nvidia.com/gpu.mode``: whether the GPUs show themselves on the bus as graphics cards or as compute cards."""

from __future__ import annotations

from gpu_discovery.core import model, picture as pictures
from gpu_discovery.labels import names
from gpu_discovery.labels.family import LabelSet

_MODES = {0x030000: "graphics", 0x030200: "compute"}
"""By the whole PCI class: VGA controller, 3D controller."""


def mode_labels(picture: pictures.Picture) -> LabelSet:
    """``unknown`` when a class can't be read, is another one, or differs among the GPUs."""
    classes = {gpu.pci_class for gpu in picture.gpus}
    only = next(iter(classes)) if len(classes) == 1 else None
    mode = _MODES.get(only, "unknown") if only is not None else "unknown"
    known = sorted(found for found in classes if found is not None)
    if len(known) < 2:
        return LabelSet({names.MODE: mode})
    text = f"the GPUs are not of one PCI class: {', '.join(f'0x{found:06x}' for found in known)}"
    return LabelSet({names.MODE: mode}, (model.Notice("mode-mixed", text),))
