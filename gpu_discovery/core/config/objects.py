"""Objects of the config file: keys with their kinds, read in any order, each fault told.

An object is a kind of value like those in ``fields``; the table in ``schema`` is made of both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpu_discovery.core.config import fields, values, yaml_tree
from gpu_discovery.core.config.reading import Reading
from gpu_discovery.core.kit.frozen import frozen

Found = Mapping[str, tuple[yaml_tree.Scalar, yaml_tree.Node]]
"""Key as written and its node, by the table's name of the key."""


@frozen(kw_only=True)
class Key:
    """One key of an object."""

    name: str
    field: str
    """The field of the value that it fills."""
    kind: fields.Kind
    doc: str
    default: str = ""
    """For documents."""
    if_missing: str = ""
    """The reason why leaving it out is a fault; empty where it may be left out."""
    if_null: str = ""
    """The reason why null is a fault; empty where null means left out."""


@frozen(kw_only=True)
class Object:
    """A mapping with the keys of the table; ``build`` makes the value from field names and the object's path."""

    keys: tuple[Key, ...]
    build: Callable[..., object]
    has_path: bool = False
    """``build`` wants ``path`` as well."""
    matches_any_case: bool = False
    """The reference finds these keys in any letter case."""
    if_empty: str = ""
    """The reason why an object without any key is a fault."""
    text: str = "object"

    def read(self, node: yaml_tree.Node, path: str, reading: Reading) -> object:
        if not isinstance(node, yaml_tree.Mapping):
            return fields.wrong_type(node, path, reading, "an object (keys and values)", "")
        found = self._found(node, path, reading)
        filled: dict[str, object] = {}
        for key in self.keys:
            value = self._key_value(key, found, node, path, reading)
            if value is not None:
                filled[key.field] = value
        if self.if_empty and not filled:
            reading.fault(path, node.line, self.if_empty)
            return fields.INVALID
        if fields.INVALID in filled.values():
            return fields.INVALID
        return self.build(**filled, path=path) if self.has_path else self.build(**filled)

    def json_schema(self) -> fields.JsonSchema:
        schema: fields.JsonSchema = {
            "type": "object",
            "properties": {key.name: _key_schema(key) for key in self.keys},
            "additionalProperties": False,
        }
        required = [key.name for key in self.keys if key.if_missing]
        if required:
            schema["required"] = required
        if self.if_empty:
            schema["anyOf"] = [
                {"required": [key.name], "properties": {key.name: {"not": {"type": "null"}}}} for key in self.keys
            ]
        return schema

    def _found(self, node: yaml_tree.Mapping, path: str, reading: Reading) -> Found:
        """Key and node by the table's name of the key; of duplicates the last."""
        found: dict[str, tuple[yaml_tree.Scalar, yaml_tree.Node]] = {}
        for written, value in node.entries:
            place = joined(path, written.text)
            key = self._key(written.text)
            if key is None or (key.name != written.text and reading.is_lenient and not self.matches_any_case):
                reading.slip(place, written.line, "unknown key", reading.hint_for(written.text, path))
                continue
            if key.name != written.text:
                reading.slip(place, written.line, "letter case differs", f"write {key.name}")
            if key.name in found:
                first_line = found[key.name][0].line
                reading.slip(
                    place, written.line, f"stands here twice, first on line {first_line}", "the last one counts"
                )
            reading.place(joined(path, key.name), written.line)
            found[key.name] = (written, value)
        return found

    def _key(self, written: str) -> Key | None:
        for key in self.keys:
            if key.name.casefold() == written.casefold():
                return key
        return None

    def _key_value(
        self,
        key: Key,
        found: Found,
        node: yaml_tree.Mapping,
        path: str,
        reading: Reading,
    ) -> object:
        """The value; None where the key is not set."""
        place = joined(path, key.name)
        written, value = found.get(key.name, (None, None))
        if value is None or written is None:
            return self._left_out(key.if_missing, place, node.line, reading)
        if isinstance(value, yaml_tree.Scalar) and value.value is None:
            return self._left_out(key.if_null or key.if_missing, place, written.line, reading)
        return key.kind.read(value, place, reading)

    def _left_out(self, reason: str, place: str, line: int, reading: Reading) -> object:
        if not reason:
            return None
        reading.fault(place, line, reason)
        return fields.INVALID


def joined(path: str, key: str) -> str:
    """The dotted path of a key; odd keys are quoted so that a path stays one line."""
    plain = key if key.isprintable() and 0 < len(key) <= 60 else values.shown(key, limit=60)
    return f"{path}.{plain}" if path else plain


def _key_schema(key: Key) -> fields.JsonSchema:
    schema = key.kind.json_schema()
    if not key.if_missing and not key.if_null:
        schema = {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "description": key.doc}
