from __future__ import annotations

import contextlib
from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis import strategies as st

from gpu_discovery.core.config import yaml_tree


def plain(node: yaml_tree.Node | None) -> Any:
    """The tree as ordinary values."""
    match node:
        case yaml_tree.Scalar():
            return node.value
        case yaml_tree.Sequence():
            return [plain(item) for item in node.items]
        case yaml_tree.Mapping():
            return {key.text: plain(value) for key, value in node.entries}
        case None:
            return None


def parsed(text: str) -> Any:
    return plain(yaml_tree.parse(text.encode()).root)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("yes", True),
        ("y", True),
        ("N", False),
        ("On", True),
        ("n", False),
        ("OFF", False),
        ("'yes'", "yes"),
        ("yES", "yES"),
        ("1", 1),
        ("2.0", 2.0),
        ("010", 8),
        ("0x1f", 31),
        ("1_000", 1000),
        ("1e3", 1000.0),
        (".inf", float("inf")),
        ("-.Inf", float("-inf")),
        ("1:1", "1:1"),
        ("0:1", "0:1"),
        ("2001-01-01", "2001-01-01"),
        ("-x", "-x"),
        (".", "."),
        ("60s", "60s"),
        ("!!str 5", "5"),
        ("!!int 5", 5),
        ("!!float 5", 5.0),
        ("! 5", 5),
        ("|\n   x\n", "x\n"),
    ],
)
def test_scalars_mean_what_go_makes_of_them(text: str, value: object) -> None:
    """YAML 1.1 booleans and octals, but no sexagesimals and no dates."""
    assert parsed(f"a: {text}") == {"a": value}


def test_nodes_know_their_lines() -> None:
    """Keys and values, in block and in flow style, counted from 1."""
    root = yaml_tree.parse(b"# note\na: 1\nb:\n- x\n- {c: [\n  2]}\n").root
    assert isinstance(root, yaml_tree.Mapping)
    assert [(key.text, key.line, value.line) for key, value in root.entries] == [("a", 2, 2), ("b", 3, 4)]
    listed = root.entries[1][1]
    assert isinstance(listed, yaml_tree.Sequence)
    assert [item.line for item in listed.items] == [4, 5]


def test_duplicate_keys_are_kept() -> None:
    """Whoever reads the tree decides what they mean."""
    root = yaml_tree.parse(b"a: 1\na: 2\n").root
    assert isinstance(root, yaml_tree.Mapping)
    assert [key.text for key, _ in root.entries] == ["a", "a"]


def test_json_is_read() -> None:
    """With tabs between its parts as well."""
    assert parsed('{\n\t"version": "v1",\n\t"flags": {"gfd": {"oneshot": true}}\n}') == {
        "version": "v1",
        "flags": {"gfd": {"oneshot": True}},
    }


def test_aliases_and_merges_are_expanded() -> None:
    """A key that is there wins over a merged one, and the first merged mapping over the second."""
    text = "x: &x {k: 1, m: 2}\ny: &y {m: 3, n: 4}\nz:\n  <<: [*x, *y]\n  k: 5\nw: *x\n"
    assert parsed(text)["z"] == {"k": 5, "m": 2, "n": 4}
    assert parsed(text)["w"] == {"k": 1, "m": 2}


@pytest.mark.parametrize(
    ("text", "second_line"),
    [
        ("a: 1", None),
        ("a: 1\n---\n", None),
        ("a: 1\n...\n", None),
        ("a: 1\n---\nb: 2\n", 2),
        ("a: 1\n---\n---\nb: 2", 3),
    ],
)
def test_a_second_document_is_told(text: str, second_line: int | None) -> None:
    """A closing line of dashes alone is none."""
    assert yaml_tree.parse(text.encode()).second_line == second_line


def test_the_first_document_is_read_when_the_second_is_broken() -> None:
    """As by the reference, which never looks at the second."""
    document = yaml_tree.parse(b"a: 1\n---\nb: [\n")
    assert plain(document.root) == {"a": 1}
    assert document.second_line == 2


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "\ufeff"])
def test_an_empty_text_has_no_root(text: str) -> None:
    """Comments alone are nothing."""
    assert yaml_tree.parse(text.encode()) == yaml_tree.Document(None)


def laughs(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("data", "line", "reason"),
    [
        (b"a: 1\nb: [\n", 3, "not valid YAML: did not find expected node content"),
        (
            b"a:\n\t- b",
            2,
            "not valid YAML: found character that cannot start any token.*a tab stands in the indentation",
        ),
        (b"a:\n  b: [\n}", 3, "not valid YAML: [^(]*$"),
        (b"a: 1\nb: \xff", 2, "not a text in UTF-8"),
        (b"a: 1\nb: \x00", 2, r"character U\+0000 is not allowed"),
        (b"a: 1\nb: *x", 2, "refers to nothing before it"),
        (b"a: 1\nb: &x [*x]", 2, "stands inside what it refers to"),
        (b"a: !foo 1", 1, "does not fit"),
        (b"a: !!python/object:os.system {}", 1, "is not allowed"),
        (b"a: !!int x", 1, "does not fit"),
        (b"a: 1\n? [b]\n: c", 2, "a key must be a plain text"),
        (b"a:\n  <<: 1", 2, "'<<' takes a mapping"),
        (b"[" * 33 + b"]" * 33, 1, "nested deeper than 32 levels"),
        (b"[" * 100_000, 1, "not valid YAML|nested deeper"),
        (laughs(9).encode(), 5, "once its aliases are expanded"),
        (b"[" + b"1," * 100_001 + b"]", 1, "more than 100000 values"),
        (b"#" * (1 << 20) + b"\n", None, "larger than 1 MiB"),
    ],
)
def test_what_is_no_tree_is_a_fault_with_its_line(data: bytes, line: int | None, reason: str) -> None:
    """Bounded in size, depth and expansion, whatever the bytes are."""
    with pytest.raises(yaml_tree.YamlFault, match=reason) as caught:
        yaml_tree.parse(data)
    assert caught.value.line == line


def test_the_largest_allowed_file_is_read() -> None:
    """One byte less than too many."""
    assert yaml_tree.parse(b"#" * (1 << 20)).root is None


@hypothesis.settings(deadline=None)
@hypothesis.given(
    st.binary(max_size=200) | st.text(alphabet="ab:-[]{}&*!|>'\"# \n\t<?,%", max_size=200).map(str.encode)
)
def test_any_bytes_are_a_tree_or_a_fault(data: bytes) -> None:
    """No other exception comes out of the parser."""
    with contextlib.suppress(yaml_tree.YamlFault):
        yaml_tree.parse(data)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@hypothesis.settings(deadline=None)
@hypothesis.given(VALUES)
def test_json_texts_keep_their_values(value: Any) -> None:
    """Every JSON value that YAML can carry is the same in the tree."""
    text = yaml.safe_dump(value, default_flow_style=True, default_style='"', allow_unicode=True, width=10_000)
    hypothesis.assume("\\x" not in text and "\\u" not in text)
    assert plain(yaml_tree.parse(text.encode()).root) == value


@pytest.mark.parametrize("character", ["\t", "\x85", "\xa0", "\u2028", "\ufffd", "\U0001f600", "\U0010ffff"])
def test_odd_but_allowed_characters_are_read(character: str) -> None:
    """In a quoted text, where they mean themselves unless YAML takes them for a line's end."""
    assert len(parsed(f'"a{character}b"')) == 3


@pytest.mark.parametrize("character", ["\x01", "\x0b", "\x7f", "\x84", "\x86", "\x9f", "\ufffe", "\uffff"])
def test_characters_that_yaml_forbids_are_faults(character: str) -> None:
    """Named by their number, because they can't be seen."""
    with pytest.raises(yaml_tree.YamlFault, match=f"U\\+{ord(character):04X} is not allowed"):
        yaml_tree.parse(f'"a{character}b"'.encode())
