"""The discovery core: what both programs know of a node's GPUs, and the only place that asks.

Layers, lowest first: kit, errors, model, config, {nvml, host, cuda, cluster, telemetry}, platforms, {snapshot, codec},
{resources, health}, {picture, cdi}, options. Each foreign library has one home: pynvml in ``nvml``, prometheus_client
in ``telemetry``, click in ``options``. Resources and picture are pure: no I/O, no clock, no library that does either.
"""
