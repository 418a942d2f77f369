"""A YAML or JSON text as a tree of nodes that know their lines; the only importer of PyYAML.

PyYAML's ready-made loaders lose lines, tolerate duplicate keys, recurse and expand aliases without bound, and resolve
plain scalars by other rules than the reference's parser. So the tree is built here from parser events, which come
without recursion: size, depth and expanded size are bounded, and plain scalars mean what go-yaml v2 makes of them
(``yes`` is true, ``010`` is eight, but ``1:1`` is a text). Any bytes give a tree or a YamlFault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gpu_discovery.core.config import scalars
from gpu_discovery.core.kit.frozen import frozen

LARGEST_FILE_BYTES = 1 << 20
DEEPEST_NESTING = 32
MOST_NODES = 100_000
"""Nodes of the tree after aliases are expanded."""

_NOT_PRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]|\ufffe|\uffff")
"""What YAML forbids of what a decoded text can hold. The complement of what it allows takes 10 ms to compile."""
_TAG = "tag:yaml.org,2002:"


class YamlFault(ValueError):
    """Not a tree; ``line`` is 1-based."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        self.reason = reason
        self.line = line
        super().__init__(reason)


@dataclass(slots=True)
class Scalar:
    """A leaf: what it resolves to, and how it was written."""

    value: scalars.Plain
    text: str
    line: int
    size: int = 1
    is_merge: bool = False
    """The key ``<<``, unquoted."""


@dataclass(slots=True)
class Sequence:
    """A list."""

    line: int
    items: list[Node] = field(default_factory=list)
    size: int = 1


@dataclass(slots=True)
class Mapping:
    """Keys with their nodes in the order of the file, duplicates included, merged keys last."""

    line: int
    entries: list[tuple[Scalar, Node]] = field(default_factory=list)
    size: int = 1


Node = Scalar | Sequence | Mapping


@frozen
class Document:
    """The first document of a text."""

    root: Node | None
    """None: there is nothing in it."""
    second_line: int | None = None
    """Where a second document with something in it begins; whatever follows the first was not checked further."""


def parse(data: bytes) -> Document:
    """The tree of the first document. Raises YamlFault."""
    text = _decoded(data)
    import yaml

    loader_class = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader = loader_class(text)
    try:
        return _document(loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = ", ".join(part for part in (error.problem, error.context) if part)
        if mark and _is_tab_indented(text, mark.line):
            reason += " (a tab stands in the indentation; YAML wants blanks there)"
        raise YamlFault(f"not valid YAML: {reason}", mark.line + 1 if mark else None) from error
    except yaml.YAMLError as error:
        raise YamlFault(f"not valid YAML: {error}") from error
    finally:
        loader.dispose()


def _is_tab_indented(text: str, line: int) -> bool:
    """The parser's own words for it name no tab."""
    lines = text.splitlines()
    return line < len(lines) and "\t" in lines[line][: len(lines[line]) - len(lines[line].lstrip())]


def _decoded(data: bytes) -> str:
    if len(data) > LARGEST_FILE_BYTES:
        raise YamlFault(f"larger than {LARGEST_FILE_BYTES >> 20} MiB, so it is no config file")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise YamlFault("not a text in UTF-8", data[: error.start].count(b"\n") + 1) from error
    odd = _NOT_PRINTABLE.search(text)
    if odd is not None:
        line = text.count("\n", 0, odd.start()) + 1
        raise YamlFault(f"character U+{ord(odd.group()):04X} is not allowed in YAML", line)
    return text


def _document(loader: Any) -> Document:
    events = _events(loader)
    root = None
    for kind, _ in events:
        if kind == "DocumentStartEvent":
            root = _Builder().tree(events)
            break
    return Document(root, _second_line(events) if root is not None else None)


def _events(loader: Any) -> Iterator[tuple[str, Any]]:
    while loader.check_event():
        event = loader.get_event()
        yield type(event).__name__, event


def _second_line(events: Iterator[tuple[str, Any]]) -> int | None:
    """The line of the next document that says something, valid or not; a closing ``---`` alone is none."""
    import yaml

    line = None
    try:
        for kind, event in events:
            if kind == "DocumentStartEvent":
                line = _line(event)
            elif not (kind in ("DocumentEndEvent", "StreamEndEvent") or _is_nothing(kind, event)):
                return line
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        return line or (mark.line + 1 if mark else 1)
    return None


def _is_nothing(kind: str, event: Any) -> bool:
    return kind == "ScalarEvent" and not event.style and event.value == ""


class _Builder:
    """Builds one document's tree from its events with a stack of its own instead of recursion."""

    def __init__(self) -> None:
        self.anchors: dict[str, Node | None] = {}
        self.stack: list[tuple[Sequence | Mapping, str | None]] = []
        self.keys: list[Scalar | None] = []
        """Per open container, the key that waits for its node."""
        self.root: Node | None = None

    def tree(self, events: Iterator[tuple[str, Any]]) -> Node | None:
        for kind, event in events:
            match kind:
                case "DocumentEndEvent":
                    break
                case "AliasEvent":
                    self._add(self._aliased(event), _line(event))
                case "ScalarEvent":
                    scalar = _scalar(event)
                    self._remember(event.anchor, scalar)
                    self._add(scalar, scalar.line)
                case "SequenceStartEvent" | "MappingStartEvent":
                    self._open(Sequence(_line(event)) if kind[0] == "S" else Mapping(_line(event)), event)
                case _:
                    self._close()
        return self.root

    def _open(self, node: Sequence | Mapping, event: Any) -> None:
        if event.tag not in (None, "!", _TAG + "seq", _TAG + "map"):
            raise YamlFault(f"tag {event.tag!r} is not allowed", node.line)
        if len(self.stack) >= DEEPEST_NESTING:
            raise YamlFault(f"nested deeper than {DEEPEST_NESTING} levels", node.line)
        if event.anchor:
            self.anchors[event.anchor] = None
        self.stack.append((node, event.anchor))
        self.keys.append(None)

    def _close(self) -> None:
        node, anchor = self.stack.pop()
        self.keys.pop()
        if isinstance(node, Mapping):
            _merge(node)
        self._remember(anchor, node)
        self._add(node, node.line)

    def _remember(self, anchor: str | None, node: Node) -> None:
        if anchor:
            self.anchors[anchor] = node

    def _aliased(self, event: Any) -> Node:
        node = self.anchors.get(event.anchor)
        if node is None:
            is_open = event.anchor in self.anchors
            reason = "stands inside what it refers to" if is_open else "refers to nothing before it"
            raise YamlFault(f"alias *{event.anchor} {reason}", _line(event))
        return node

    def _add(self, node: Node, line: int) -> None:
        """Put a finished node, that stands on ``line``, into the container that is open."""
        if not self.stack:
            self.root = node
            return
        parent, key = self.stack[-1][0], self.keys[-1]
        parent.size += node.size
        if parent.size > MOST_NODES:
            raise YamlFault(f"more than {MOST_NODES} values once its aliases are expanded", line)
        if isinstance(parent, Sequence):
            parent.items.append(node)
        elif key is not None:
            parent.entries.append((key, node))
            self.keys[-1] = None
        elif isinstance(node, Scalar):
            # An alias as a key stands on another line than what it refers to.
            self.keys[-1] = Scalar(node.value, node.text, line, is_merge=node.is_merge)
        else:
            raise YamlFault("a key must be a plain text", line)


def _merge(node: Mapping) -> None:
    """Carry out ``<<``: keys of the mappings it names that are not there already."""
    merges = [source for key, source in node.entries if key.is_merge]
    if not merges:
        return
    node.entries = [(key, value) for key, value in node.entries if not key.is_merge]
    present = {key.text for key, _ in node.entries}
    for merge in merges:
        for source in merge.items if isinstance(merge, Sequence) else (merge,):
            if not isinstance(source, Mapping):
                raise YamlFault("'<<' takes a mapping or a list of mappings", source.line)
            fresh = [(key, value) for key, value in source.entries if key.text not in present]
            present.update(key.text for key, _ in fresh)
            node.entries.extend(fresh)


def _scalar(event: Any) -> Scalar:
    text, line = event.value, _line(event)
    if event.tag in (None, "!"):
        # implicit[0]: written plain, so that its form decides; else it is quoted and a text.
        is_plain = event.implicit[0]
        return Scalar(scalars.resolved(text) if is_plain else text, text, line, is_merge=is_plain and text == "<<")
    if event.tag == _TAG + "str":
        return Scalar(text, text, line)
    value = scalars.resolved(text)
    if event.tag not in _tags(value):
        raise YamlFault(f"tag {event.tag!r} does not fit {text[:40]!r}", line)
    return Scalar(float(value) if event.tag == _TAG + "float" and isinstance(value, int) else value, text, line)


def _tags(value: scalars.Plain) -> tuple[str, ...]:
    match value:
        case None:
            return (_TAG + "null",)
        case bool():
            return (_TAG + "bool",)
        case int():
            return (_TAG + "int", _TAG + "float")
        case float():
            return (_TAG + "float",)
        case _:
            return ()


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1
