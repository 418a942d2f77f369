"""The published value: which resources a node has, what backs them, what was left out and why.

Everything that leaves the process (labels, kubelet devices, CDI, metrics) is derived from a picture, so two outputs
of one node can never disagree. Its identity is the digest of its content; health has a digest of its own, because
two processes that read the same node compare digests and not both of them receive health events.
"""

from __future__ import annotations

from gpu_discovery.core import model, resources
from gpu_discovery.core.config import types as config_types
from gpu_discovery.core.kit import digests
from gpu_discovery.core.kit.frozen import frozen


@frozen(kw_only=True)
class Picture:
    """Snapshot, config and health put together."""

    snapshot: model.Snapshot
    config: config_types.Config
    mig_strategy: str
    resources: tuple[model.Resource, ...]
    """By name."""
    left_out: tuple[model.LeftOut, ...] = ()
    """By index."""
    gpus: tuple[model.Gpu, ...] = ()
    """The GPUs that the rules let in, by index; what every physical-GPU label counts."""
    functions: tuple[model.PciFunction, ...] | None = ()
    """What the rules let in of NVIDIA's functions, by address; None when the bus could not be listed."""
    notices: tuple[model.Notice, ...] = ()
    health: model.Health = model.ALL_WELL
    digest: str = ""
    health_digest: str = ""


def make_picture(
    snapshot: model.Snapshot,
    config: config_types.Config,
    health: model.Health = model.ALL_WELL,
    *,
    mig_strategy: str,
) -> Picture:
    """Derive everything that is to be published.

    Raises ConfigError for a config entry that is impossible on this node, SettingsError for an unknown strategy.
    """
    found = resources.resources(snapshot, config, health, mig_strategy=mig_strategy)
    return Picture(
        snapshot=snapshot,
        config=config,
        mig_strategy=mig_strategy,
        resources=found.resources,
        left_out=found.left_out,
        gpus=found.gpus,
        functions=found.functions,
        notices=found.notices,
        health=health,
        digest=_content_digest(snapshot, found, mig_strategy),
        health_digest=_health_digest(found.resources),
    )


def _content_digest(snapshot: model.Snapshot, found: resources.ResourceSet, mig_strategy: str) -> str:
    """Names what is there and how it is served; whether it is well, and when it was read, stays out."""
    content = (
        mig_strategy,
        snapshot.driver_version,
        snapshot.cuda_version,
        [_identity(gpu) for gpu in found.gpus],
        [(left.index, left.uuid, left.pci_address, left.code) for left in found.left_out],
        [_served(resource) for resource in found.resources],
    )
    return digests.digest(repr(content))


def _identity(gpu: model.Gpu) -> tuple[object, ...]:
    return (
        gpu.index,
        gpu.uuid,
        gpu.pci_address,
        gpu.name,
        gpu.memory_bytes,
        gpu.compute_capability,
        gpu.is_mig_enabled,
    )


def _served(resource: model.Resource) -> tuple[object, ...]:
    return (
        resource.name,
        resource.base_name,
        resource.sharing.value,
        resource.replicas,
        resource.fail_requests_greater_than_one,
        [(device.uuid, device.mig and device.mig.profile) for device in resource.devices],
    )


def _health_digest(found: tuple[model.Resource, ...]) -> str:
    """Names the conditions of every device, not since when they hold."""
    conditions = [
        (device.uuid, condition.source, condition.code, condition.severity.value, condition.latch.value)
        for resource in found
        for device in resource.devices
        for condition in device.verdict.conditions
    ]
    return digests.digest(repr(conditions))
