"""docs/config.schema.json: the config file's JSON Schema, as ``gpu-discovery validate --schema`` prints it."""

from __future__ import annotations

import json

from gpu_discovery.core.config import json_schema

PAGE = "docs/config.schema.json"


def render() -> str:
    """The whole file."""
    return json.dumps(json_schema.config_schema(), indent=1, ensure_ascii=False) + "\n"
