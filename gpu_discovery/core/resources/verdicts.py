"""A device's health, derived from the conditions of the GPU and, for a MIG device, its own as well."""

from __future__ import annotations

from gpu_discovery.core import model

_WELL = model.Verdict(True)


def verdict(gpu: model.Gpu, mig: model.MigDevice | None, health: model.Health, now_s: float) -> model.Verdict:
    """Unhealthy as soon as one condition is; a GPU that no longer answers is so by itself.

    ``now_s`` is Unix time and becomes the beginning of a loss that ``health`` does not know of yet.
    """
    conditions = health.conditions.get(gpu.uuid, ())
    if mig is not None and mig.uuid is not None:
        conditions += health.conditions.get(mig.uuid, ())
    if gpu.state is model.GpuState.LOST and not any(condition.source == "lost" for condition in conditions):
        conditions += (model.Condition("lost", "GPU_IS_LOST", model.Severity.UNHEALTHY, now_s, model.Latch.RESET),)
    if not conditions:
        return _WELL
    return model.Verdict(all(found.severity is not model.Severity.UNHEALTHY for found in conditions), conditions)
