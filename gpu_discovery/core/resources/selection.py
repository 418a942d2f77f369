"""Which GPUs take part: the rules of ``gpuDiscovery.gpus``, and what the bus shows but NVML can't tell about.

A rule is applied to whatever is known of a GPU. Of one that could not be read little is known; then ``include`` gets
the benefit of the doubt and ``exclude`` does not, so that a broken GPU is reported rather than lost from sight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpu_discovery.core import model
from gpu_discovery.core.config import types as config_types
from gpu_discovery.core.kit import globs


class Selection(NamedTuple):
    """The GPUs let in, those left out, and what to say of it."""

    gpus: tuple[model.Gpu, ...]
    functions: tuple[model.PciFunction, ...] | None
    """What is on the bus, without that of excluded GPUs."""
    left_out: tuple[model.LeftOut, ...]
    notices: tuple[model.Notice, ...]


class _Identity(NamedTuple):
    """What is known of a GPU; None: not known."""

    gpu_index: int | None
    uuid: str | None
    pci_address: str | None
    name: str | None


def describe(gpu: model.Gpu) -> str:
    """A GPU as messages name it: index, product, UUID and PCI address."""
    address = f", {gpu.pci_address}" if gpu.pci_address else ""
    return f"GPU {gpu.index} ({gpu.name or 'name unknown'}, {gpu.uuid}{address})"


def leave_out(gpu: model.Gpu, code: str, text: str) -> model.LeftOut:
    """The record of a whole GPU that no resource serves."""
    return model.LeftOut(str(gpu.index), gpu.uuid, gpu.pci_address or "", code, text)


def notice_of(left_out: model.LeftOut) -> model.Notice:
    """The same thing, to be said once."""
    return model.Notice(f"{left_out.code}:{left_out.uuid or left_out.pci_address or left_out.index}", left_out.text)


def select(snapshot: model.Snapshot, own: config_types.OwnOptions) -> Selection:
    """Sort the GPUs of ``snapshot`` by the rules; ``left_out`` holds the unreadable ones too."""
    gpus: list[model.Gpu] = []
    left_out: list[model.LeftOut] = []
    for gpu in snapshot.gpus:
        if gpu.is_display_adapter:
            left_out.append(leave_out(gpu, "display-adapter", f"{describe(gpu)} computes nothing"))
        elif excluded_by := _refusal(_identity(gpu), own):
            left_out.append(leave_out(gpu, "excluded", f"{describe(gpu)} is left out by {excluded_by}"))
        else:
            gpus.append(gpu)
    functions = _functions(snapshot, own, left_out)
    broken = _broken(snapshot, own)
    notices = [notice_of(record) for record in broken] + _unused_rules(snapshot, own)
    return Selection(tuple(gpus), functions, (*left_out, *broken), tuple(notices))


def _functions(
    snapshot: model.Snapshot, own: config_types.OwnOptions, left_out: Sequence[model.LeftOut]
) -> tuple[model.PciFunction, ...] | None:
    """A rule by address holds without a driver too, when nothing else is known."""
    if snapshot.pci is None:
        return None
    excluded = {record.pci_address for record in left_out if record.code == "excluded"}
    return tuple(
        function
        for function in snapshot.pci
        if function.address not in excluded and not _refusal(_Identity(None, None, function.address, None), own)
    )


def _identity(gpu: model.Gpu) -> _Identity:
    return _Identity(gpu.index, gpu.uuid, gpu.pci_address or "", gpu.name or None)


def _refusal(identity: _Identity, own: config_types.OwnOptions) -> str:
    """The path of the rule that keeps a GPU out; empty when it is let in."""
    if own.include and not any(_matches(rule, identity, unknown=True) for rule in own.include):
        return "gpuDiscovery.gpus.include"
    for rule in own.exclude:
        if _matches(rule, identity, unknown=False):
            return rule.path or "gpuDiscovery.gpus.exclude"
    return ""


def _matches(rule: config_types.GpuSelector, identity: _Identity, *, unknown: bool) -> bool:
    """Whether every field that is set matches; ``unknown`` stands for the answer on a fact that is not known."""
    facts = (
        (rule.index, identity.gpu_index),
        (rule.uuid, identity.uuid),
        (rule.pci_address, identity.pci_address),
    )
    verdicts = [unknown if known is None else wanted == known for wanted, known in facts if wanted is not None]
    if rule.model is not None:
        verdicts.append(unknown if identity.name is None else globs.matches(rule.model, identity.name))
    return all(verdicts)


def _broken(snapshot: model.Snapshot, own: config_types.OwnOptions) -> list[model.LeftOut]:
    found = [(_Identity(gpu.index, None, gpu.pci_address, None), _unreadable(gpu)) for gpu in snapshot.unreadable] + [
        (_Identity(None, None, function.address, None), _not_in_nvml(function)) for function in _missing(snapshot)
    ]
    return [record for identity, record in found if not _refusal(identity, own)]


def _unreadable(gpu: model.UnreadableGpu) -> model.LeftOut:
    address = gpu.pci_address or ""
    causes = ", ".join(f"{failure.call}: {failure.reason}" for failure in gpu.failures) or "no cause given"
    named = f"GPU {gpu.index}" + (f" ({address})" if address else "")
    return model.LeftOut(str(gpu.index), "", address, "unreadable", f"{named} cannot be read ({causes})")


def _not_in_nvml(function: model.PciFunction) -> model.LeftOut:
    held = f"bound to {function.driver}" if function.driver else "bound to no driver"
    text = f"the GPU at {function.address} is on the PCI bus ({held}) but NVML does not list it"
    return model.LeftOut(function.address, "", function.address, "not-in-nvml", text)


def _missing(snapshot: model.Snapshot) -> Sequence[model.PciFunction]:
    """GPUs on the bus that NVML should list and does not.

    One that another driver holds, or a virtual function, is nobody's loss. An unreadable GPU without an address is
    one of those that look missing, so as many are taken off.
    """
    if snapshot.platform is not model.Platform.NVML or snapshot.finding not in (
        model.Finding.OK,
        model.Finding.NO_GPUS,
    ):
        return ()
    listed = set(_addresses(snapshot))
    missing = [function for function in snapshot.pci or () if _is_ours(function) and function.address not in listed]
    return missing[sum(gpu.pci_address is None for gpu in snapshot.unreadable) :]


def _addresses(snapshot: model.Snapshot) -> Iterable[str | None]:
    yield from (gpu.pci_address for gpu in snapshot.gpus)
    yield from (gpu.pci_address for gpu in snapshot.unreadable)


def _is_ours(function: model.PciFunction) -> bool:
    return function.is_gpu and not function.is_virtual_function and function.driver in (None, "nvidia")


def _unused_rules(snapshot: model.Snapshot, own: config_types.OwnOptions) -> list[model.Notice]:
    """Rules that name one GPU and find none; a model pattern may well serve several nodes with one file."""
    identities = [_identity(gpu) for gpu in snapshot.gpus] + [
        _Identity(gpu.index, None, gpu.pci_address, None) for gpu in snapshot.unreadable
    ]
    if not identities:
        return []
    return [
        model.Notice(f"unused-rule:{rule.path}", f"{rule.path} names no GPU of this node")
        for rule in (*own.include, *own.exclude)
        if rule.model is None and not any(_matches(rule, identity, unknown=True) for identity in identities)
    ]
