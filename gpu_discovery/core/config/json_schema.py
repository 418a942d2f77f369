"""The config file's JSON Schema (draft 2020-12), for editors and for whoever writes such files by program.

It says what the table says: keys, types, forms of texts. That two entries contradict each other, or that a device is not
on the node, it can't say. Unlike the loader it sees JSON's types only, so ``yes`` must have become true before.
"""

from __future__ import annotations

from gpu_discovery.core.config import fields, schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def config_schema() -> fields.JsonSchema:
    """The schema of the whole file; an empty file (null) is valid."""
    root = schema.ROOT.json_schema()
    return {
        "$schema": DIALECT,
        "title": "GPU discovery and device plugin configuration",
        "description": "The config file of gpu-feature-discovery and nvidia-device-plugin, version v1.",
        **root,
        "type": ["object", "null"],
    }
