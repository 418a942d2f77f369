"""The config file: the reference's ``version: v1`` schema whole, and our own options under ``gpuDiscovery``.

``types`` are the frozen values everybody reads; ``values`` are the closed sets and the texts with a form of their own,
shared with the command line; ``schema`` is the one table of keys, from which strict reading (``load``), hints, the JSON
Schema and docs/config.md are derived. Only ``yaml_tree`` imports PyYAML, and only a process that has a config file
imports ``yaml_tree``. Nothing here knows the node: whether an entry is possible on it is decided in ``core.resources``.
"""
