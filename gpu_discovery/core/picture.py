"""The published value: which resources a node has, what backs them, what was left out and why.

Everything that leaves the process (labels, kubelet devices, CDI, metrics) is derived from a picture, so two outputs
of one node can never disagree. Its identity is the digest of its content; health has a digest of its own, because
two processes that read the same node compare digests and not both of them receive health events.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu_discovery.core import model
from gpu_discovery.core.config import types as config_types


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Snapshot × config × health."""

    snapshot: model.Snapshot
    config: config_types.Config
    mig_strategy: str
    resources: tuple[model.Resource, ...]
    """By name."""
    left_out: tuple[model.LeftOut, ...] = ()
    """By index."""
    gpus: tuple[model.Gpu, ...] = ()
    """The GPUs that the rules let in, by index; what every physical-GPU label counts."""
    notices: tuple[model.Notice, ...] = ()
    health: model.Health = model.Health()
    digest: str = ""
    health_digest: str = ""
