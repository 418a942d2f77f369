from __future__ import annotations

import dataclasses
import json
from typing import Any

import hypothesis
import jsonschema
import pytest

from docs.generate import snapshot_page, snapshot_schema
from gpu_discovery.core import codec, model, samples
from tests import strategies


def make_validator() -> Any:
    schema = json.loads(snapshot_schema.render())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


VALIDATOR = make_validator()


@pytest.mark.parametrize("name", samples.NAMES)
def test_samples_obey_the_schema(name: str) -> None:
    """Every sample machine is valid by the published schema."""
    VALIDATOR.validate(json.loads(codec.dumps(samples.read_recorded(sample=name))))


@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.too_slow], deadline=None, max_examples=50)
@hypothesis.given(strategies.any_snapshots())
def test_whatever_is_written_obeys_the_schema(snapshot: model.Snapshot) -> None:
    """The schema and the codec agree on every shape of the model."""
    VALIDATOR.validate(json.loads(codec.dumps(snapshot)))


@pytest.mark.parametrize(
    ("key", "value"), [("finding", "fine"), ("gpus", [{"index": 0}]), ("cuda_version", [12]), ("snapshotVersion", 2)]
)
def test_what_the_codec_refuses_the_schema_refuses(key: str, value: object) -> None:
    """A wrong word, a missing key, a list of the wrong length and another version are faults by the schema too."""
    document = json.loads(codec.dumps(samples.read_recorded(sample="t4")))

    assert not VALIDATOR.is_valid(document | {key: value})


def test_the_page_names_every_key() -> None:
    """Each field of each record has its row, and fields with a text below them carry it."""
    page = snapshot_page.render()

    for kind in snapshot_schema.records():
        for field in dataclasses.fields(kind):
            assert f"| `{field.name}` |" in page
    assert "`535.129.03`; `unknown.unknown.unknown` on Tegra and vfio; null if it can't be read." in page
