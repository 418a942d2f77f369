"""Which resource each whole GPU and each MIG device belongs to, before any sharing.

The three MIG strategies differ in what they serve of a GPU whose MIG mode is on: ``none`` the GPU itself, ``mixed``
each MIG device under a name of its own profile, ``single`` the MIG devices of one profile as if they were GPUs. What
a strategy can't serve is left out with a reason and hides nothing else; a GPU with MIG on and no MIG devices is
normal for a while, because another program is about to make them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpu_discovery.core import errors, model
from gpu_discovery.core.config import types as config_types, values
from gpu_discovery.core.kit import globs
from gpu_discovery.core.resources import selection, verdicts

FULL_GPU = model.ResourceName("nvidia.com/gpu")


@dataclass(slots=True)
class Assignment:
    """Devices by base name, filled by the one function that is building it."""

    groups: dict[model.ResourceName, list[model.Device]] = field(default_factory=dict)
    left_out: list[model.LeftOut] = field(default_factory=list)
    notices: list[model.Notice] = field(default_factory=list)

    def give(self, name: model.ResourceName, device: model.Device, rule: str) -> None:
        """Put ``device`` behind ``name``; ``rule`` is the path of the config entry that says so."""
        group = self.groups.setdefault(name, [])
        if group and (group[0].mig is None) is not (device.mig is None):
            raise errors.ConfigError(
                f"{name} would mix whole GPUs and MIG devices: device {device.index} is of the other kind",
                path=rule or "resources",
                hint="give MIG devices a name of their own",
            )
        group.append(device)

    def leave_out(self, record: model.LeftOut) -> None:
        """Serve this one nowhere, and say so."""
        self.left_out.append(record)
        self.notices.append(selection.notice_of(record))


def mig_resource_name(profile: str) -> model.ResourceName:
    """``1g.10gb+me`` → ``nvidia.com/mig-1g.10gb.me``."""
    return model.ResourceName("nvidia.com/mig-" + profile.replace("+", "."))


def assign(
    gpus: Sequence[model.Gpu], config: config_types.Config, health: model.Health, now_s: float, *, mig_strategy: str
) -> Assignment:
    """Give every GPU and MIG device its resource.

    Raises ConfigError for a resource of two kinds, and for an unmatched GPU where the config forbids that.
    """
    if mig_strategy not in values.MIG_STRATEGIES:
        valid = ", ".join(values.MIG_STRATEGIES)
        raise errors.SettingsError(f"unknown MIG strategy {mig_strategy!r}: use one of {valid}")
    made = Assignment()
    whole = [gpu for gpu in gpus if mig_strategy == "none" or not gpu.is_mig_enabled]
    migs = [] if mig_strategy == "none" else _mig_devices(gpus, health, now_s, made)
    if mig_strategy == "single" and migs:
        _leave_out_whole(whole, made)
        whole = []
        migs = _of_one_profile(migs, made)
    for gpu in whole:
        _give_gpu(gpu, config, health, now_s, made)
    for device, profile in migs:
        default = FULL_GPU if mig_strategy == "single" else mig_resource_name(profile)
        rule = _first_match(config.resources.mig, profile)
        made.give(default if rule is None else rule.name, device, "" if rule is None else rule.path)
    return made


def _first_match(rules: Sequence[config_types.ResourceRule], text: str) -> config_types.ResourceRule | None:
    return next((rule for rule in rules if globs.matches(rule.pattern, text)), None)


def _give_gpu(
    gpu: model.Gpu, config: config_types.Config, health: model.Health, now_s: float, made: Assignment
) -> None:
    rules = config.resources.gpus
    if rules and not gpu.name and not globs.matches(rules[0].pattern, gpu.name):
        text = f"the name of {selection.describe(gpu)} cannot be read, so no pattern of resources.gpus can be tried"
        made.leave_out(selection.leave_out(gpu, "unnamed", text))
        return
    rule = _first_match(rules, gpu.name)
    if rule is None and rules and config.own.unmatched_gpus != "default":
        _refuse_unmatched(gpu, config, made)
        return
    device = model.Device(uuid=gpu.uuid, gpu=gpu, verdict=verdicts.verdict(gpu, None, health, now_s))
    made.give(FULL_GPU if rule is None else rule.name, device, "" if rule is None else rule.path)


def _refuse_unmatched(gpu: model.Gpu, config: config_types.Config, made: Assignment) -> None:
    text = f"no pattern of resources.gpus matches {selection.describe(gpu)}"
    if config.own.unmatched_gpus == "error":
        raise errors.ConfigError(text, path="resources.gpus", hint="add a pattern for it, or change unmatchedGpus")
    made.leave_out(selection.leave_out(gpu, "unmatched", text))


def _mig_devices(
    gpus: Sequence[model.Gpu], health: model.Health, now_s: float, made: Assignment
) -> list[tuple[model.Device, str]]:
    """MIG devices that can be named and addressed, each with its profile."""
    found = []
    for gpu in gpus:
        if gpu.mig is None or not gpu.mig.enabled:
            continue
        if not gpu.mig.devices:
            made.leave_out(selection.leave_out(gpu, "mig-empty", f"{selection.describe(gpu)} has no MIG devices"))
        for mig in gpu.mig.devices:
            if mig.uuid is None or mig.profile is None:
                made.leave_out(_unreadable(gpu, mig))
            else:
                verdict = verdicts.verdict(gpu, mig, health, now_s)
                found.append((model.Device(uuid=mig.uuid, gpu=gpu, mig=mig, verdict=verdict), mig.profile))
    return found


def _unreadable(gpu: model.Gpu, mig: model.MigDevice) -> model.LeftOut:
    causes = ", ".join(f"{failure.call}: {failure.reason}" for failure in mig.failures) or "no cause given"
    text = f"MIG device {mig.index} of {selection.describe(gpu)} cannot be read ({causes})"
    return model.LeftOut(f"{gpu.index}:{mig.index}", mig.uuid or "", gpu.pci_address or "", "mig-unreadable", text)


def _leave_out_whole(gpus: Sequence[model.Gpu], made: Assignment) -> None:
    for gpu in gpus:
        text = f"{selection.describe(gpu)} has MIG off while others have it on: strategy single serves MIG devices only"
        made.leave_out(selection.leave_out(gpu, "mig-mixed-modes", text))


def _of_one_profile(migs: list[tuple[model.Device, str]], made: Assignment) -> list[tuple[model.Device, str]]:
    """The profile with most devices; at equal numbers the one with fewer slices, then the first by name."""
    counts = Counter(profile for _, profile in migs)
    if len(counts) == 1:
        return migs
    served = min(counts, key=lambda profile: (-counts[profile], _slices(profile), profile))
    for device, profile in migs:
        if profile != served:
            text = f"MIG device {device.index} ({device.uuid}) is a {profile}: strategy single serves {served} only"
            address = device.gpu.pci_address or ""
            made.leave_out(model.LeftOut(device.index, device.uuid, address, "mig-mixed-profiles", text))
    return [(device, profile) for device, profile in migs if profile == served]


def _slices(profile: str) -> int:
    """GPU slices by a profile's name: ``1c.3g.20gb`` → 3."""
    part = next((part for part in profile.split(".") if part.endswith("g") and part[:-1].isdigit()), "0g")
    return int(part[:-1])
