"""The kinds of values that a key of the config file takes.

A kind reads a node into a value of ``types``, tells its JSON Schema, and names itself in documents, so that the table in
``schema`` says each thing once. Reading never raises: a fault goes to the ``Reading`` and ``INVALID`` comes back.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from gpu_discovery.core.config import values, yaml_tree
from gpu_discovery.core.config.reading import Reading
from gpu_discovery.core.kit import durations
from gpu_discovery.core.kit.frozen import frozen

JsonSchema = dict[str, Any]

LARGEST_INTEGER = (1 << 63) - 1
DURATION_PATTERN = r"[+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)"


class _Invalid(enum.Enum):
    INVALID = enum.auto()


INVALID: Final = _Invalid.INVALID
"""In place of a value whose fault has been recorded."""


class Kind(Protocol):
    """A kind of value."""

    def read(self, node: yaml_tree.Node, path: str, reading: Reading) -> object:
        """The value of a node that is not null, or INVALID."""

    def json_schema(self) -> JsonSchema:
        """The JSON Schema of what ``read`` accepts."""

    @property
    def text(self) -> str:
        """A few words for documents."""


@frozen
class Bool:
    """A real boolean."""

    text: str = "boolean"

    def read(self, node: yaml_tree.Node, path: str, reading: Reading) -> object:
        if isinstance(node, yaml_tree.Scalar) and isinstance(node.value, bool):
            return node.value
        hint = "without quotes" if isinstance(node, yaml_tree.Scalar) and node.text in ("true", "false") else ""
        return wrong_type(node, path, reading, "true or false", hint)

    def json_schema(self) -> JsonSchema:
        return {"type": "boolean"}


@frozen
class Integer:
    """A whole number; ``2.0`` is one, ``"2"`` is none."""

    least: int = 0
    most: int = LARGEST_INTEGER

    @property
    def text(self) -> str:
        """A few words for documents."""
        return f"integer ≥ {self.least}" if self.most == LARGEST_INTEGER else f"integer {self.least} to {self.most}"

    def read(self, node: yaml_tree.Node, path: str, reading: Reading) -> object:
        number = whole_number(node)
        if number is None:
            hint = "without quotes" if isinstance(node, yaml_tree.Scalar) and node.text.isdigit() else ""
            return wrong_type(node, path, reading, "a whole number", hint)
        if not self.least <= number <= self.most:
            bound = f">= {self.least}" if number < self.least else f"<= {self.most}"
            reading.fault(path, node.line, f"{number} is not valid here; it must be {bound}")
            return INVALID
        return number

    def json_schema(self) -> JsonSchema:
        return {"type": "integer", "minimum": self.least, "maximum": self.most}


@frozen
class Text:
    """A text that ``parse`` turns into its canonical form or refuses with ValueError."""

    parse: Callable[[str], str] = values.parse_text
    text: str = "string"
    schema: Mapping[str, Any] | None = None
    """What JSON Schema says beyond ``"type": "string"``."""

    def read(self, node: yaml_tree.Node, path: str, reading: Reading) -> object:
        if not isinstance(node, yaml_tree.Scalar) or not isinstance(node.value, str):
            hint = f'quote it: "{node.text}"' if isinstance(node, yaml_tree.Scalar) and node.text.isprintable() else ""
            return wrong_type(node, path, reading, "a string", hint)
        return _parsed(self.parse, node.value, node, path, reading)

    def json_schema(self) -> JsonSchema:
        return {"type": "string", **(self.schema or {})}


@frozen
class Choice:
    """One text of a closed set."""

    valid: tuple[str, ...]

    @property
    def text(self) -> str:
        """A few words for documents."""
        return " | ".join(f"`{value}`" for value in self.valid)

    def read(self, node: yaml_tree.Node, path: str, reading: Reading) -> object:
        if isinstance(node, yaml_tree.Scalar) and isinstance(node.value, str):
            return _parsed(lambda text: values.parse_choice(text, self.valid), node.value, node, path, reading)
        hint = f'quote it: "{node.text}"' if isinstance(node, yaml_tree.Scalar) and node.text in self.valid else ""
        return wrong_type(node, path, reading, f"one of {', '.join(self.valid)}", hint)

    def json_schema(self) -> JsonSchema:
        return {"type": "string", "enum": list(self.valid)}


@frozen
class Duration:
    """A Go duration text, ``infinite``, or a number of nanoseconds; as seconds."""

    text: str = "duration"

    def read(self, node: yaml_tree.Node, path: str, reading: Reading) -> object:
        value = node.value if isinstance(node, yaml_tree.Scalar) else None
        if isinstance(value, str):
            return _parsed(_seconds, value, node, path, reading)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not isinstance(value, int | float):
            return wrong_type(node, path, reading, "a duration such as 60s, or infinite", "")
        if not 0 <= value <= LARGEST_INTEGER:
            reading.fault(path, node.line, f"{value} nanoseconds is not a duration that can be waited for")
            return INVALID
        return int(value) / durations.NANOSECONDS_PER_SECOND

    def json_schema(self) -> JsonSchema:
        texts = {"type": "string", "pattern": f"^(infinite|{DURATION_PATTERN})$"}
        return {"anyOf": [texts, {"type": "number", "minimum": 0, "maximum": LARGEST_INTEGER}]}


@frozen
class ListOf:
    """A list; with ``or_single`` one element may stand there without a list around it."""

    item: Kind
    or_single: bool = False
    if_empty: str = ""
    """The reason why an empty list is a fault; empty where it is none."""
    most: int | None = None
    """How many elements, where bounded."""

    @property
    def text(self) -> str:
        """A few words for documents."""
        return f"list of {self.item.text}" + (", or one" if self.or_single else "")

    def read(self, node: yaml_tree.Node, path: str, reading: Reading) -> object:
        if not isinstance(node, yaml_tree.Sequence):
            if not self.or_single or isinstance(node, yaml_tree.Mapping):
                return wrong_type(node, path, reading, "a list", "")
            value = self.item.read(node, path, reading)
            return INVALID if value is INVALID else (value,)
        if self.if_empty and not node.items:
            reading.fault(path, node.line, self.if_empty)
            return INVALID
        if self.most is not None and len(node.items) > self.most:
            reading.fault(path, node.line, f"{len(node.items)} elements, but only {self.most} can stand here")
        return self._items(node, path, reading)

    def _items(self, node: yaml_tree.Sequence, path: str, reading: Reading) -> object:
        found = []
        for position, item in enumerate(node.items):
            place = f"{path}[{position}]"
            reading.place(place, item.line)
            found.append(self.item.read(item, place, reading))
        return INVALID if INVALID in found else tuple(found)

    def json_schema(self) -> JsonSchema:
        schema: JsonSchema = {"type": "array", "items": self.item.json_schema()}
        if self.if_empty:
            schema["minItems"] = 1
        if self.most is not None:
            schema["maxItems"] = self.most
        return {"anyOf": [self.item.json_schema(), schema]} if self.or_single else schema


def whole_number(node: yaml_tree.Node) -> int | None:
    """The integer that a node is, written as ``2`` or ``2.0``."""
    value = node.value if isinstance(node, yaml_tree.Scalar) else None
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) else None


def described(node: yaml_tree.Node) -> str:
    """What stands there, for "expected …, not …"."""
    match node:
        case yaml_tree.Sequence():
            return "a list"
        case yaml_tree.Mapping():
            return "an object"
        case yaml_tree.Scalar(value=None):
            return "null"
        case yaml_tree.Scalar(value=bool()):
            return f"the boolean {values.shown(node.text)}"
        case yaml_tree.Scalar(value=str()):
            return f"the string {values.shown(node.text)}"
        case _:
            return f"the number {values.shown(node.text)}"


def wrong_type(node: yaml_tree.Node, path: str, reading: Reading, expected: str, hint: str) -> _Invalid:
    """Record that something else was expected there."""
    reading.fault(path, node.line, f"expected {expected}, not {described(node)}", hint)
    return INVALID


def _parsed(parse: Callable[[str], object], text: str, node: yaml_tree.Node, path: str, reading: Reading) -> object:
    try:
        return parse(text)
    except ValueError as error:
        reading.fault(path, node.line, str(error))
        return INVALID


def _seconds(text: str) -> float:
    seconds = float("inf") if text == "infinite" else durations.parse_go_duration(text)
    if text.startswith("-"):
        raise ValueError(f"{values.shown(text)} is negative")
    return seconds
