"""The vendor capability of virtual GPUs."""

from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from gpu_discovery.core import model
from gpu_discovery.core.host import vgpu
from tests.fakes import host


def parse(*capabilities: bytes, **options: bool) -> model.VgpuRecord | None:
    """What a configuration space with these capabilities tells."""
    return vgpu.parse_vendor_capability(host.make_config_space(capabilities=capabilities, **options))


def test_no_vendor_capability() -> None:
    """A physical GPU's configuration space is no virtual GPU's."""
    assert parse(b"\x10\x00\x08abcde") is None


def test_host_driver_version_and_branch() -> None:
    """Version and branch come from record 0, behind records of other kinds, without their NULs."""
    assert parse(b"\x10\x00\x04a", host.make_vgpu_capability("460.16", "r460_00")) == model.VgpuRecord(
        host_driver_version="460.16", host_driver_branch="r460_00"
    )


def test_vendor_capability_without_the_signature() -> None:
    """Another use of the vendor's capability is no virtual GPU."""
    assert parse(b"\x09\x00\x08VXabc") is None


def test_first_vendor_capability_counts() -> None:
    """Only the first vendor capability is looked at."""
    assert parse(b"\x09\x00\x08VXabc", host.make_vgpu_capability()) is None


def test_status_says_no_capabilities() -> None:
    """Without the status bit the pointers mean nothing."""
    assert parse(host.make_vgpu_capability(), has_capabilities=False) is None


def test_no_driver_version_record() -> None:
    """A virtual GPU without the record is one whose host driver is unknown."""
    assert parse(host.make_vgpu_capability(None)) == model.VgpuRecord(host_driver_version=None, host_driver_branch=None)


@pytest.mark.parametrize(
    "records",
    [b"", b"\x01", b"\x01\x00", b"\x01\xff", b"\x00", b"\x00\x16", b"\x00\x16" + b"4" * 19, b"\x01\x01\x02\x02\x07"],
    ids=repr,
)
def test_malformed_records(records: bytes) -> None:
    """Lengths of nothing, beyond the end or into another record end the walk."""
    capability = bytes((0x09, 0, 5 + len(records))) + b"VF" + records

    assert parse(capability) == model.VgpuRecord(host_driver_version=None, host_driver_branch=None)


def test_loop_of_capabilities_ends() -> None:
    """A capability that points at itself is visited once."""
    config = bytearray(host.make_config_space())
    config[0x34] = 0x60
    config[0x60:0x62] = b"\x01\x60"

    assert vgpu.parse_vendor_capability(bytes(config)) is None


def test_end_mark_ends_the_walk() -> None:
    """Id 0xff, which a dead device answers, ends the walk."""
    assert parse(b"\xff\x00\x03", host.make_vgpu_capability()) is None


def test_capability_cut_by_its_length() -> None:
    """What lies behind the capability's own length does not belong to it."""
    whole = host.make_vgpu_capability()

    assert parse(bytes((0x09, 0, 4)) + whole[3:]) is None
    assert parse(bytes((0x09, 0, len(whole) - 1)) + whole[3:]) == model.VgpuRecord(None, None)


@given(st.binary(max_size=512))
@example(b"\xff" * 4096)
@example(b"")
def test_any_bytes_parse(config: bytes) -> None:
    """Any bytes as configuration space give an answer."""
    record = vgpu.parse_vendor_capability(config)

    assert record is None or isinstance(record, model.VgpuRecord)


@given(pointer=st.integers(0, 255), body=st.binary(min_size=192, max_size=192), length=st.integers(0, 255))
def test_any_bytes_behind_the_signature_parse(pointer: int, body: bytes, length: int) -> None:
    """Any records in a capability that does carry the signature give a record."""
    config = bytearray(host.make_config_space()[:64] + body)
    config[0x34] = pointer
    start = max(pointer, 0x40)
    config[start : start + 5] = bytes((0x09, 0, length)) + b"VF"

    record = vgpu.parse_vendor_capability(bytes(config))

    if pointer >= 0x40 and pointer + 5 <= 256 and length >= 5:
        assert record is not None
