from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import typing
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from gpu_discovery.core import codec, errors, model, samples
from tests import strategies

UUID = "6b1d6a3c-2f5e-4c0a-9a43-0f0a5d1c7e21"
CLUSTER = "9c6f5af3-53bf-49b5-a436-b66766c413c3"
NIL = "00000000-0000-0000-0000-000000000000"


def make_document(**overrides: Any) -> dict[str, Any]:
    """A small snapshot as a JSON document."""
    host = {"machine": "box", "kernel": "6.8.0", "boot_id": "b", "driver_load": None}
    gpu = {"index": 0, "uuid": f"GPU-{UUID}", "pci_address": "0000:07:00.0", "name": "Tesla T4"}
    document = {
        "snapshotVersion": 1,
        "taken_at_s": 1.5,
        "finding": "ok",
        "platform": "nvml",
        "host": host,
        "gpus": [gpu],
    }
    return document | overrides


def loaded(**overrides: Any) -> model.Snapshot:
    return codec.loads(json.dumps(make_document(**overrides)))


@hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.too_slow], deadline=None, max_examples=150)
@hypothesis.given(strategies.any_snapshots())
def test_any_snapshot_comes_back_equal(snapshot: model.Snapshot) -> None:
    """Whatever the types allow survives the way through JSON."""
    assert codec.loads(codec.dumps(snapshot)) == snapshot


def test_any_snapshot_may_be_one_with_mig_devices() -> None:
    """What is drawn reaches the deepest records, so the round trip above says something of them."""
    hypothesis.find(
        strategies.any_snapshots(),
        lambda snapshot: any(gpu.mig is not None and gpu.mig.devices for gpu in snapshot.gpus),
        settings=hypothesis.settings(deadline=None, database=None, phases=[hypothesis.Phase.generate]),
    )


@pytest.mark.parametrize("name", samples.NAMES)
def test_text_is_stable(name: str) -> None:
    """A snapshot that was read is written with the same bytes again, keys sorted."""
    snapshot = samples.read_recorded(sample=name)
    text = codec.dumps(snapshot)

    assert codec.dumps(codec.loads(text)) == text
    assert list(json.loads(text)) == sorted(json.loads(text))
    assert json.loads(text)["snapshotVersion"] == 1


def test_defaults_may_be_missing() -> None:
    """A recording of an older release lacks newer facts; they get their defaults."""
    snapshot = loaded()

    assert snapshot.gpus[0].memory_bytes is None
    assert snapshot.gpus[0].state is model.GpuState.PRESENT
    assert snapshot.pci == ()


def test_unknown_keys_are_passed_over() -> None:
    """A recording of a newer release with facts that this one does not know is read."""
    assert loaded(colour="green") == loaded()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"finding": "fine"}, "finding: expected one of ok, nvml-missing"),
        ({"taken_at_s": "now"}, 'taken_at_s: expected a number, found "now"'),
        ({"taken_at_s": True}, "taken_at_s: expected a number, found true"),
        ({"gpus": {}}, "gpus: expected a list, found an object"),
        ({"cuda_version": [True, 2]}, "cuda_version[0]: expected an integer, found true"),
        ({"gpus": [{"index": 0}]}, "gpus[0].uuid: missing"),
        ({"gpus": ["A100"]}, 'gpus[0]: expected an object, found "A100"'),
        ({"cuda_version": [12, 2, 0]}, "cuda_version: expected a list of 2, found a list of 3"),
        ({"cuda_version": [12, 2.5]}, "cuda_version[1]: expected an integer, found 2.5"),
        ({"host": {"machine": 7, "kernel": "", "boot_id": "", "driver_load": None}}, "host.machine: expected a string"),
        ({"taken_at_s": 10**400}, "taken_at_s: the number is too large"),
        ({"snapshotVersion": 2}, "snapshotVersion: this program reads version 1, found 2"),
        ({"snapshotVersion": True}, "snapshotVersion: this program reads version 1, found true"),
    ],
)
def test_a_fault_is_named_with_its_path(overrides: dict[str, Any], message: str) -> None:
    """A value of the wrong kind is told by its dotted path, what was expected and what was found."""
    with pytest.raises(errors.SnapshotError) as caught:
        loaded(**overrides)

    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{}", "{", b"\xff\xfe\x00", "[" * 100_000, '{"snapshotVersion": NaN}']
)
def test_what_is_no_snapshot_is_said_so(text: str | bytes) -> None:
    """Text that is not JSON, or JSON that is not a snapshot, is one clear error."""
    with pytest.raises(errors.SnapshotError, match="not a snapshot"):
        codec.loads(text)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_PATHS = st.sampled_from(
    [("gpus",), ("host",), ("finding",), ("gpus", 0), ("gpus", 0, "mig"), ("gpus", 0, "index"), ("pci",)]
)


@hypothesis.given(st.one_of(st.binary(max_size=30), st.text(max_size=30)))
def test_any_text_gives_a_snapshot_or_a_clean_error(text: str | bytes) -> None:
    """Nothing but SnapshotError leaves the reader, whatever the file holds."""
    with pytest.raises(errors.SnapshotError):
        codec.loads(text)


@hypothesis.given(_PATHS, _JSON)
def test_any_value_anywhere_gives_a_snapshot_or_a_clean_error(path: tuple[str | int, ...], value: Any) -> None:
    """A recording that was edited by hand is read or refused, never a crash."""
    document = make_document()
    target: Any = document
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value

    with contextlib.suppress(errors.SnapshotError):
        assert codec.dumps(codec.loads(json.dumps(document)))


def test_redaction_replaces_every_uuid_and_keeps_what_was_equal_equal() -> None:
    """GPU, MIG, cluster and boot UUIDs turn into numbers, equal ones into the same, with their prefixes."""
    mig = model.MigDevice(0, model.GpuUuid(f"MIG-GPU-{UUID}/1/0"), 1, 0, "1g.5gb", None, None, None)
    gpu = model.Gpu(
        index=0,
        uuid=model.GpuUuid(f"GPU-{UUID}"),
        pci_address="0000:07:00.0",
        name="NVIDIA A100",
        mig=model.Mig(True, True, 7, (mig,)),
        fabric=model.Fabric(3, 0, CLUSTER, 1),
        failures=(model.ReadFailure("minor", f"nvmlDeviceGetMinorNumber(GPU-{UUID.upper()})", "UNKNOWN"),),
    )
    boot = "1f0e3dad-9990-4345-b7a1-2c7f2b1c9d10"
    host = model.Host("box", "6.8.0", boot, model.DriverLoad(boot, "535.129.03", 4242))
    redacted = codec.redacted(dataclasses.replace(loaded(), gpus=(gpu,), host=host))

    replaced = redacted.gpus[0].uuid.removeprefix("GPU-")
    assert re.fullmatch(r"00000000-0000-4000-8000-[0-9a-f]{12}", replaced)
    assert redacted.gpus[0].mig is not None
    assert redacted.gpus[0].mig.devices[0].uuid == f"MIG-GPU-{replaced}/1/0"
    assert redacted.gpus[0].failures[0].call == f"nvmlDeviceGetMinorNumber(GPU-{replaced})"
    assert redacted.host.driver_load is not None
    assert redacted.host.boot_id == redacted.host.driver_load.boot_id
    assert len({replaced, redacted.host.boot_id, _cluster(redacted)}) == 3
    assert redacted.gpus[0].pci_address == "0000:07:00.0"


def test_redaction_leaves_the_zero_cluster() -> None:
    """The zero UUID means that there is no cluster, so labels of a redacted node stay what they were."""
    gpu = dataclasses.replace(loaded().gpus[0], fabric=model.Fabric(3, 0, NIL, 0))

    assert _cluster(codec.redacted(dataclasses.replace(loaded(), gpus=(gpu,)))) == NIL


@pytest.mark.parametrize("name", samples.NAMES)
def test_redaction_is_the_same_each_time_and_leaves_no_uuid(name: str) -> None:
    """Redacting is deterministic, changes nothing but UUIDs and none of the originals is left."""
    snapshot = samples.read_recorded(sample=name)
    text = codec.dumps(codec.redacted(snapshot))
    pattern = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
    originals = set(pattern.findall(codec.dumps(snapshot))) - {NIL}

    assert text == codec.dumps(codec.redacted(snapshot))
    assert pattern.sub("", text) == pattern.sub("", codec.dumps(snapshot))
    assert originals
    assert not originals & set(pattern.findall(text))


def test_no_record_holds_what_redaction_does_not_know() -> None:
    """Whoever adds a serial number or a host name to the model must teach ``redacted`` about it."""
    names = {field.name for kind in _records(model.Snapshot) for field in dataclasses.fields(kind)}

    assert not [name for name in names - {"machine"} if re.search("serial|host_?name|node_name|mac|ip_", name)]


def _cluster(snapshot: model.Snapshot) -> str:
    fabric = snapshot.gpus[0].fabric
    assert fabric is not None
    return fabric.cluster_uuid


def _records(kind: type) -> set[type]:
    found = {kind}
    for hint in typing.get_type_hints(kind).values():
        for part in (hint, *typing.get_args(hint)):
            if dataclasses.is_dataclass(part) and part not in found:
                found |= _records(typing.cast("type", part))
    return found
