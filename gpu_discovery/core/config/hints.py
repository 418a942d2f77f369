"""What to write instead of an unknown key: the same key's right place, or the valid key nearest to it."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_discovery.core.config import fields, objects, schema

_CONFIG_MAP_KEYS = frozenset(("apiVersion", "kind", "metadata", "data"))


def for_unknown_key(written: str, path: str) -> str:
    """A hint for a key that stands in the object at ``path``."""
    if not path and written in _CONFIG_MAP_KEYS:
        return "this is a Kubernetes object; the config file is a text under its data"
    wanted = _folded(written)
    places = [place for place in _places(schema.ROOT, "") if _parent(place) != _without_indices(path)]
    same = [place for place in places if _folded(_name(place)) == wanted]
    siblings = [_name(place) for place in _places(schema.ROOT, "") if _parent(place) == _without_indices(path)]
    if [name for name in siblings if _folded(name) == wanted]:
        return f"write {next(name for name in siblings if _folded(name) == wanted)}"
    if same:
        return f"belongs under {_nearest_place(same, path)}"
    return _similar(wanted, siblings, places) or f"valid here: {', '.join(siblings)}"


def _similar(wanted: str, siblings: list[str], places: list[str]) -> str:
    import difflib

    here = {_folded(name): name for name in siblings}
    near = difflib.get_close_matches(wanted, here, n=1, cutoff=0.7)
    if near:
        return f"did you mean {here[near[0]]}?"
    elsewhere = {_folded(_name(place)): place for place in reversed(places)}
    near = difflib.get_close_matches(wanted, elsewhere, n=1, cutoff=0.8)
    return f"did you mean {elsewhere[near[0]]}?" if near else ""


def _places(kind: fields.Kind, path: str) -> Iterator[str]:
    """Dotted paths of all keys below, list elements as ``[]``, in the table's order."""
    if isinstance(kind, fields.ListOf):
        yield from _places(kind.item, f"{path}[]")
    elif isinstance(kind, objects.Object):
        for key in kind.keys:
            place = objects.joined(path, key.name)
            yield place
            yield from _places(key.kind, place)


def _nearest_place(places: list[str], path: str) -> str:
    """The place that shares most of the way with ``path``; among equals the first."""
    here = _without_indices(path).split(".")

    def shared(place: str) -> int:
        count = 0
        for ours, theirs in zip(here, place.split("."), strict=False):
            if ours != theirs:
                break
            count += 1
        return count

    return max(places, key=shared)


def _folded(name: str) -> str:
    """Letter case, dashes and underscores aside: ``mig-strategy`` and ``MIG_STRATEGY`` are ``migstrategy``."""
    return name.replace("-", "").replace("_", "").casefold()


def _name(place: str) -> str:
    return place.rpartition(".")[2]


def _parent(place: str) -> str:
    return place.rpartition(".")[0]


def _without_indices(path: str) -> str:
    import re

    return re.sub(r"\[[0-9]+\]", "[]", path)
