"""The device plugin: advertises the picture's resources to the kubelet and answers allocations.

Holds no code yet. Its contract: of ``gpu_discovery`` it may import ``core``, ``settings`` and ``labeler`` only; no
request handler ever asks NVML, every answer comes from the latest picture; gRPC has its one home in ``kubelet``.
"""
