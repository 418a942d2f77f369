from __future__ import annotations

import json
import re
from typing import Any

import hypothesis
import jsonschema
import pytest

from gpu_discovery.core.config import fields, json_schema, reading, schema, yaml_tree
from tests.gpu_discovery.core.config import documents


def make_validator() -> Any:
    found = json_schema.config_schema()
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


VALIDATOR = make_validator()


def is_read(text: str) -> bool:
    """Whether the table reads a text without a fault; what contradicts what is not the table's business."""
    gathered = reading.Reading("f.yaml", is_lenient=False, hint_for=lambda _key, _path: "")
    root = yaml_tree.parse(text.encode()).root
    assert root is not None
    is_nothing = isinstance(root, yaml_tree.Scalar) and root.value is None
    return is_nothing or (schema.ROOT.read(root, "", gathered) is not fields.INVALID and not gathered.faults)


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        {"version": "v1", "flags": None},
        {"flags": {"plugin": {"deviceListStrategy": ["envvar"]}}},
        {"flags": {"plugin": {"deviceListStrategy": "envvar"}}},
        {"flags": {"gfd": {"sleepInterval": 10}}},
        {"flags": {"gfd": {"sleepInterval": "1m30s"}}},
        {"sharing": {"mps": None}},
        {"sharing": {"timeSlicing": {"resources": [{"name": "gpu", "replicas": 1, "devices": [0, "0:1"]}]}}},
        {"imex": {"channelIDs": [0]}},
        {"gpuDiscovery": {"gpus": {"include": [{"index": 0}]}, "httpAddress": ""}},
    ],
)
def test_valid_files_are_valid_by_the_schema(value: object) -> None:
    """The loader and the schema agree."""
    assert is_read(json.dumps(value))
    VALIDATOR.validate(value)


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"version": "v2"},
        {"bogus": 1},
        {"flags": {"renameByDefault": True}},
        {"flags": {"migStrategy": "bogus"}},
        {"flags": {"gdsEnabled": "true"}},
        {"flags": {"gfd": {"sleepInterval": "10"}}},
        {"flags": {"gfd": {"sleepInterval": -1}}},
        {"resources": {"gpus": [{"pattern": "*"}]}},
        {"resources": {"gpus": [{"pattern": "*", "name": "foo.com/gpu"}]}},
        {"sharing": {"timeSlicing": None}},
        {"sharing": {"timeSlicing": {"resources": []}}},
        {"sharing": {"timeSlicing": {"resources": [{"name": "gpu"}]}}},
        {"sharing": {"timeSlicing": {"resources": [{"name": "gpu", "replicas": 2.5}]}}},
        {"sharing": {"timeSlicing": {"resources": [{"name": "gpu", "replicas": 2, "devices": 0}]}}},
        {"imex": {"channelIDs": [0, 0]}},
        {"gpuDiscovery": {"gpus": {"include": [{}]}}},
        {"gpuDiscovery": {"gpus": {"include": [{"index": None}]}}},
        {"gpuDiscovery": {"httpAddress": ":65536"}},
    ],
)
def test_invalid_files_are_invalid_by_the_schema(value: object) -> None:
    """The loader and the schema agree."""
    assert not is_read(json.dumps(value))
    assert not VALIDATOR.is_valid(value)


@hypothesis.settings(deadline=None)
@hypothesis.given(documents.any_values(schema.ROOT))
def test_schema_and_loader_agree_on_any_file(value: Any) -> None:
    """What one accepts the other accepts."""
    text = json.dumps(value)
    # "$" matches before a final newline in Python, not in the dialect of JSON Schema; YAML has no surrogate pairs.
    hypothesis.assume("\\n" not in text and re.search(r"\\ud[89ab]", text) is None)
    assert VALIDATOR.is_valid(value) == is_read(text)


def test_every_key_is_described() -> None:
    """An editor shows what a key does."""

    def check(kind: dict[str, Any]) -> None:
        for branch in (kind, *kind.get("anyOf", ())):
            for key in branch.get("properties", {}).values():
                if "not" not in key:
                    assert key["description"]
                    check(key)
            if "items" in branch:
                check(branch["items"])

    check(json_schema.config_schema())
