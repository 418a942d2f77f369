"""Legal values and key parts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from gpu_discovery.labels import values

KUBERNETES = re.compile(r"(([A-Za-z0-9][A-Za-z0-9_.-]{0,61})?[A-Za-z0-9])?")
MAX_Q = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("some ( thing )else", "some-thing-else"),
        ("NVIDIA-TITAN-X-(Pascal)", "NVIDIA-TITAN-X-Pascal"),
        ("NVIDIA A100 (PCIe) / 80GB", "NVIDIA-A100-PCIe-80GB"),
        ("Foo\tBar (X)/ 1+1é", "FooBar-X-11"),
        ("  spaced   out  ", "spaced-out"),
        ("", ""),
    ],
)
def test_sanitised_is_the_references_rule(text: str, expected: str) -> None:
    """Other characters are deleted, not replaced; words are joined by one dash."""
    assert values.sanitised(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HP Z820 Workstation", "HP-Z820-Workstation"),
        ("Standard PC (i440FX + PIIX, 1996)", "Standard-PC-i440FX-PIIX-1996"),
        ("To be filled by O.E.M.", "To-be-filled-by-O.E.M"),
        ("-_.", ""),
        ("a" * 70, "a" * 63),
        ("a" * 62 + ".b", "a" * 62),
    ],
)
def test_legal_trims_ends_and_length(text: str, expected: str) -> None:
    """The reference's rule, and what Kubernetes asks for besides."""
    assert values.legal(text) == expected


@pytest.mark.parametrize(
    ("suffixes", "expected"),
    [
        ((), "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edition"),
        (("SHARED",), "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edition-SHARED"),
        (("MIG", "1g.24gb"), "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edi-MIG-1g.24gb"),
        (("MIG", "1g.24gb", "SHARED"), "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstat-MIG-1g.24gb-SHARED"),
        (("MIG", "INVALID"), "NVIDIA-RTX-PRO-6000-Blackwell-Max-Q-Workstation-Edi-MIG-INVALID"),
    ],
)
def test_t02_a_product_is_cut_and_its_suffixes_are_not(suffixes: tuple[str, ...], expected: str) -> None:
    """The model is cut from the right, as far as needed and no further."""
    assert values.product(MAX_Q, *suffixes) == expected


def test_a_cut_leaves_no_dash_before_the_suffix() -> None:
    """Where the cut falls on a dash, that goes too."""
    name = "a" * 55 + "-bbbbbbbbbbb"
    assert values.product(name, "SHARED") == "a" * 55 + "-SHARED"


def test_a_product_without_a_legal_character_is_its_suffixes() -> None:
    """Or empty, which is a legal value."""
    assert values.product("日本") == ""
    assert values.product("日本", "MIG", "1g.5gb") == "MIG-1g.5gb"


def test_an_address_keeps_its_parts() -> None:
    """Colons become dashes."""
    assert values.address("0000:07:00.0") == "0000-07-00.0"


def test_a_slug_is_the_product_where_that_will_do() -> None:
    """So a person can tell the key from the product label."""
    assert values.slugs(["NVIDIA GeForce RTX 3090"], 35) == {"NVIDIA GeForce RTX 3090": "NVIDIA-GeForce-RTX-3090"}


def test_slugs_that_are_shortened_or_alike_carry_a_hash() -> None:
    """Two models never shorten to one key."""
    names = [MAX_Q, MAX_Q.replace("Workstation", "Server"), "NVIDIA TITAN X (Pascal)", "NVIDIA TITAN X Pascal"]
    slugs = values.slugs(names, 35)
    assert len(set(slugs.values())) == 4
    assert slugs[MAX_Q].startswith("NVIDIA-RTX-PRO-6000-Blackw-")
    assert slugs[names[2]].startswith("NVIDIA-TITAN-X-Pascal-")


def test_a_slug_in_the_guise_of_a_hashed_one_is_told_apart() -> None:
    """Even a name that is another's key part letter by letter."""
    guise = values.slugs([MAX_Q], 35)[MAX_Q]
    assert len(set(values.slugs([MAX_Q, guise], 35).values())) == 2


def test_key_parts_are_themselves_where_they_can_be() -> None:
    """A long or illegal one is told apart by a hash."""
    assert values.key_part("mig-1g.5gb", 46) == "mig-1g.5gb"
    long, longer = values.key_part("x" * 52, 46), values.key_part("x" * 51, 46)
    assert long != longer
    assert len(long) == len(longer) == 46


@given(st.text(max_size=120), st.lists(st.text(max_size=80), max_size=3))
def test_every_value_is_legal(text: str, suffixes: list[str]) -> None:
    """Whatever the driver says."""
    for value in (values.legal(text), values.product(text, *suffixes), values.address(text)):
        assert KUBERNETES.fullmatch(value)
        assert values.is_legal(value)


@given(st.text(max_size=70))
def test_is_legal_agrees_with_kubernetes(text: str) -> None:
    """Length included."""
    assert values.is_legal(text) is (KUBERNETES.fullmatch(text) is not None and len(text) <= 63)


@given(st.lists(st.text(max_size=60), max_size=6, unique=True), st.integers(18, 40))
def test_every_slug_is_legal_and_nobody_elses(names: list[str], length: int) -> None:
    """Whatever the names, and in whatever order."""
    slugs = values.slugs(names, length)
    assert len(set(slugs.values())) == len(names)
    for slug in slugs.values():
        assert values.is_legal_key(f"nvidia.com/{slug}")
        assert len(slug) <= length
    assert values.slugs(reversed(names), length) == slugs


@pytest.mark.parametrize("key", ["gpu.count", "/x", "nvidia.com/", "nvidia.com/-x", "nvidia.com/" + "x" * 64])
def test_illegal_keys(key: str) -> None:
    """No prefix, no name, bad ends, too long."""
    assert not values.is_legal_key(key)
