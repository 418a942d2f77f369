"""docs/snapshot.schema.json: the form of a recorded snapshot, for editors and other programs.

Made from the dataclasses in ``core.model`` and the text below their fields, as the codec itself is: a new fact is in
the schema when it is in the model.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import inspect
import json
import types
import typing
from typing import Any

from gpu_discovery.core import codec, model

PAGE = "docs/snapshot.schema.json"

_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}


def render() -> str:
    """The schema, draft 2020-12."""
    root = _record_schema(model.Snapshot)
    version = {"const": codec.VERSION, "description": "The form of this file; a reader refuses any other."}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Recorded snapshot of a GPU node",
        **root,
        "properties": {codec.VERSION_KEY: version, **root["properties"]},
        "required": [codec.VERSION_KEY, *root["required"]],
        "$defs": {kind.__name__: _record_schema(kind) for kind in records()[1:]},
    }
    return json.dumps(schema, indent=1) + "\n"


@functools.cache
def records() -> tuple[type, ...]:
    """The dataclasses that a snapshot is made of, the snapshot first, each before those that it holds."""
    found: dict[type, None] = {}
    queue: list[type] = [model.Snapshot]
    while queue:
        kind = queue.pop(0)
        if kind not in found:
            found[kind] = None
            queue += [part for hint in typing.get_type_hints(kind).values() for part in _records_in(hint)]
    return tuple(found)


@functools.cache
def field_texts() -> dict[tuple[str, str], str]:
    """(class, field) → the text below the field in the source of the model, on one line, in the words of JSON."""
    texts: dict[tuple[str, str], str] = {}
    for node in ast.parse(inspect.getsource(model)).body:
        if isinstance(node, ast.ClassDef):
            for field, text in zip(node.body, node.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and (words := _text(text)):
                    texts[node.name, field.target.id] = words
    return texts


def is_required(field: dataclasses.Field[Any]) -> bool:
    """Whether a reader refuses a record without this key."""
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _text(node: ast.stmt) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        words = " ".join(node.value.value.split()).replace("None", "null")
        return words.replace("UNKNOWN_DRIVER_VERSION", model.UNKNOWN_DRIVER_VERSION)
    return ""


def _records_in(hint: Any) -> list[type]:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return [hint]
    return [found for part in typing.get_args(hint) for found in _records_in(part)]


def _record_schema(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    properties = {}
    for field in dataclasses.fields(kind):
        text = field_texts().get((kind.__name__, field.name))
        properties[field.name] = _schema(hints[field.name]) | ({"description": text} if text else {})
    return {
        "type": "object",
        "description": " ".join((kind.__doc__ or "").split()),
        "properties": properties,
        "required": [field.name for field in dataclasses.fields(kind) if is_required(field)],
    }


def _schema(hint: Any) -> dict[str, Any]:
    if isinstance(hint, typing.NewType):
        return _schema(hint.__supertype__)
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        (inner,) = (part for part in typing.get_args(hint) if part is not types.NoneType)
        return {"anyOf": [_schema(inner), {"type": "null"}]}
    if typing.get_origin(hint) is tuple:
        return _tuple_schema(typing.get_args(hint))
    if issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    return {"$ref": f"#/$defs/{hint.__name__}"}


def _tuple_schema(args: tuple[Any, ...]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array", "items": _schema(args[0])}
    return schema if args[-1] is Ellipsis else schema | {"minItems": len(args), "maxItems": len(args)}
