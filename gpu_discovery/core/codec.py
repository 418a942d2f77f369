"""A snapshot as JSON and back: a bug report, a test case, a demo.

The JSON has one key per field of ``model.Snapshot``, under the field's own name, so that a dotted path means the same in
a file, in ``explain`` and in the code. Written whole, keys sorted, so that two recordings can be compared line by
line. Reading is strict about what is there and follows the dataclasses' own type hints, so a new fact needs nothing
here; see docs/snapshot.md for what the version promises.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import re
import types
import typing
from collections.abc import Callable
from typing import Any

from gpu_discovery.core import errors, model

VERSION = 1
VERSION_KEY = "snapshotVersion"

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NIL_UUID = "00000000-0000-0000-0000-000000000000"
_SCALARS: dict[type, str] = {str: "a string", int: "an integer", float: "a number", bool: "true or false"}

_Decode = Callable[[object, str], Any]


def dumps(snapshot: model.Snapshot) -> str:
    """The snapshot as indented JSON text in ASCII with a final newline."""
    import json

    document = {VERSION_KEY: VERSION, **_fields(snapshot)}
    return json.dumps(document, default=_plain, sort_keys=True, indent=1, allow_nan=False) + "\n"


def loads(text: str | bytes) -> model.Snapshot:
    """The snapshot in a JSON text.

    A field that has a default may be missing and an unknown key is passed over: both happen between two releases that
    share a version.

    Raises:
        errors.SnapshotError: no JSON, another version, a key that is missing or has the wrong type; names the path.
    """
    document = _parsed(text)
    if not isinstance(document, dict):
        raise errors.SnapshotError(f"not a snapshot: expected a JSON object, found {_shown(document)}")
    if VERSION_KEY not in document:
        raise errors.SnapshotError(f'not a snapshot: "{VERSION_KEY}" is missing')
    version = document.pop(VERSION_KEY)
    if type(version) is not int or version != VERSION:
        raise errors.SnapshotError(f"{VERSION_KEY}: this program reads version {VERSION}, found {_shown(version)}")
    snapshot: model.Snapshot = _decoder(model.Snapshot)(document, "")
    return snapshot


def redacted(snapshot: model.Snapshot) -> model.Snapshot:
    """The same snapshot with every UUID in it (GPU, MIG, fabric cluster, boot id) replaced by a number.

    The n-th distinct UUID becomes ``00000000-0000-4000-8000-<n in hex>``, wherever in a string it stands: what was equal
    stays equal, prefixes stay, and nothing of the original is left to be guessed from. The zero UUID, which means "none",
    stays. Serial numbers and host names are never part of a snapshot.
    """
    numbers: dict[str, int] = {}

    def replaced(match: re.Match[str]) -> str:
        uuid = match.group().lower()
        if uuid == _NIL_UUID:
            return match.group()
        return f"00000000-0000-4000-8000-{numbers.setdefault(uuid, len(numbers) + 1):012x}"

    result: model.Snapshot = _mapped(snapshot, lambda text: _UUID.sub(replaced, text))
    return result


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, tuple):
        return tuple(_mapped(item, change) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(value, **{name: _mapped(item, change) for name, item in _fields(value).items()})
    return value


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, enum.Enum) else _fields(value)


def _parsed(text: str | bytes) -> object:
    import json

    try:
        document: object = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise errors.SnapshotError("not a snapshot: nested too deeply") from None
    except ValueError as error:  # Malformed JSON, text that is not Unicode and numbers too long to read alike.
        raise errors.SnapshotError(f"not a snapshot: {error}") from error
    return document


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


@functools.cache
def _decoder(hint: Any) -> _Decode:
    """What turns a JSON value into ``hint``; one of the few shapes that the model uses."""
    if isinstance(hint, typing.NewType):
        return _decoder(hint.__supertype__)
    if hint in _SCALARS:
        return functools.partial(_scalar, hint)
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return _optional_decoder(typing.get_args(hint))
    if typing.get_origin(hint) is tuple:
        return _tuple_decoder(typing.get_args(hint))
    if issubclass(hint, enum.Enum):
        return functools.partial(_member, hint)
    return _record_decoder(hint)


def _scalar(kind: type, value: object, path: str) -> object:
    if type(value) is kind:
        return value
    if kind is float and type(value) is int:
        return _float(value, path)
    raise _fault(path, f"expected {_SCALARS[kind]}, found {_shown(value)}")


def _float(value: int, path: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise _fault(path, "the number is too large") from None


def _optional_decoder(args: tuple[Any, ...]) -> _Decode:
    (inner,) = (_decoder(arg) for arg in args if arg is not types.NoneType)
    return lambda value, path: None if value is None else inner(value, path)


def _tuple_decoder(args: tuple[Any, ...]) -> _Decode:
    length = None if args[-1] is Ellipsis else len(args)
    item = _decoder(args[0])

    def decode(value: object, path: str) -> tuple[Any, ...]:
        if not isinstance(value, list) or (length is not None and len(value) != length):
            expected = "a list" if length is None else f"a list of {length}"
            raise _fault(path, f"expected {expected}, found {_shown(value)}")
        return tuple(item(element, f"{path}[{position}]") for position, element in enumerate(value))

    return decode


def _member(kind: type[enum.Enum], value: object, path: str) -> enum.Enum:
    for member in kind:
        if value == member.value:
            return member
    names = ", ".join(str(member.value) for member in kind)
    raise _fault(path, f"expected one of {names}; found {_shown(value)}")


def _record_decoder(kind: type) -> _Decode:
    hints = typing.get_type_hints(kind)
    decoders = {field.name: _decoder(hints[field.name]) for field in dataclasses.fields(kind)}
    required = [field.name for field in dataclasses.fields(kind) if _is_required(field)]

    def decode(value: object, path: str) -> Any:
        if not isinstance(value, dict):
            raise _fault(path, f"expected an object, found {_shown(value)}")
        below = f"{path}." if path else ""
        for name in required:
            if name not in value:
                raise _fault(below + name, "missing")
        return kind(**{name: decoders[name](item, below + name) for name, item in value.items() if name in decoders})

    return decode


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _fault(path: str, reason: str) -> errors.SnapshotError:
    return errors.SnapshotError(f"{path}: {reason}")


def _shown(value: object) -> str:
    """A value for a message: containers by kind, scalars as JSON, cut short."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    import json

    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
