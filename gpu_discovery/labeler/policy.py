"""What to publish after a pass: what was read, what was published before, or nothing.

A failed read changes nothing outside. Labels of GPUs that are published, by this process or an earlier one, stay
until the node positively has none to label: the bus shows no NVIDIA GPU, or the driver answers that it has none
while every GPU on the bus is bound to another driver, or all there are were left out on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_discovery.core import model, picture as pictures
from gpu_discovery.core.kit.frozen import frozen
from gpu_discovery.labels import names

Labels = Mapping[str, str]


@frozen
class Choice:
    """What to publish, and what is wrong with it."""

    labels: Labels | None
    """None: leave alone what is there."""
    failure: str = ""
    """Why the pass failed: the driver gave no answer."""
    unready: str = ""
    """Why what is published may not be what the node is."""
    is_stale: bool = False
    """What is published was read in an earlier pass."""


def choice(picture: pictures.Picture, made: Labels, published: Labels | None, *, fails_without_answer: bool) -> Choice:
    """``made`` are the labels of this picture, ``published`` those that are out, both with or without timestamp.

    With ``fails_without_answer`` the process ends when the driver gives no answer, so nothing new is published then.
    """
    snapshot = picture.snapshot
    if snapshot.finding is model.Finding.OK and (picture.gpus or not _broken(picture)):
        return Choice(made)
    reason = _reason(picture)
    has_answer = snapshot.finding is model.Finding.NO_GPUS
    is_kept = published is not None and _has_gpu_labels(published, made)
    if _has_none_to_label(snapshot):
        if has_answer:
            return Choice(made)
        return Choice(made if is_kept or not fails_without_answer else None, reason, reason)
    failure = "" if has_answer else reason
    if is_kept:
        return Choice(published, failure, f"{reason}; the labels published before are kept", is_stale=True)
    return Choice(made if has_answer or not fails_without_answer else None, failure, reason)


def _broken(picture: pictures.Picture) -> int:
    return sum(record.is_broken for record in picture.left_out)


def _reason(picture: pictures.Picture) -> str:
    snapshot = picture.snapshot
    if snapshot.finding is model.Finding.OK:
        return f"none of {_broken(picture)} GPUs could be read"
    if snapshot.finding is model.Finding.NO_GPUS:
        return snapshot.detail or "the driver lists no GPU"
    return f"{snapshot.finding.value}: {snapshot.detail}" if snapshot.detail else snapshot.finding.value


def _has_none_to_label(snapshot: model.Snapshot) -> bool:
    """The node positively has no GPU that this platform could label."""
    has_answer = snapshot.finding is model.Finding.NO_GPUS
    if snapshot.platform in (model.Platform.TEGRA, model.Platform.WSL):
        return has_answer  # Their GPUs are not on the bus.
    if snapshot.pci is None:
        return False
    own_driver = "vfio-pci" if snapshot.platform is model.Platform.VFIO else "nvidia"
    gpus = [function for function in snapshot.pci if function.may_be_gpu and not function.is_virtual_function]
    return not gpus or (has_answer and all(gpu.driver not in (None, own_driver) for gpu in gpus))


def _has_gpu_labels(published: Labels, minimum: Labels) -> bool:
    """More is published than a node without GPUs has."""
    return any(key not in minimum and key != names.TIMESTAMP for key in published)
