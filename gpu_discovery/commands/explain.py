"""``gpu-discovery explain KEY``: a label's value now, and the rule, facts and config lines behind it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import click

from gpu_discovery import flags, settings as labeler_settings
from gpu_discovery.commands import facts, node
from gpu_discovery.core import model
from gpu_discovery.core.config import load
from gpu_discovery.labels import names

NO_SUCH_KEY = 1

_OF_OTHERS = (
    (re.compile(r"gpu\.(present|deploy\..*)|mig\.config.*"), "the GPU Operator"),
    (re.compile(r"device-plugin\.config"), "whoever chooses the node's config file"),
)
"""Labels under our prefix that are not ours to set."""

_ORIGINS = {
    names.REFERENCE: "as NVIDIA's GPU Feature Discovery has it; differences stand in docs/compatibility.md",
    names.OWN: "beyond GPU Feature Discovery",
}


@click.command(short_help="Tell what is behind a label's value.")
@click.argument("key")
@node.reading_options
@node.view_options
@click.pass_context
def explain(ctx: click.Context, /, key: str, **given: object) -> None:
    """Tell what is behind the label KEY: its value now, the rule, the facts it comes from and the config's say.

    The prefix nvidia.com/ may be left out. The exit code is 1 for a key that is not known.
    """
    settings = node.load_settings(given)
    view = node.view_node(settings)
    full_key = key if key.startswith(names.PREFIX) else names.PREFIX + key
    row = names.find(full_key)
    if row is None:
        click.echo(_unknown(full_key, view.labels), err=True)
        ctx.exit(NO_SUCH_KEY)
    for line in (
        *_head(full_key, row, view),
        *_facts(full_key, row, view.snapshot),
        *_config(full_key, row, settings, view, given),
    ):
        click.echo(line)


def _unknown(key: str, present: Mapping[str, str]) -> str:
    import difflib

    setter = next((who for pattern, who in _OF_OTHERS if pattern.fullmatch(key.removeprefix(names.PREFIX))), None)
    if setter is not None:
        return f"gpu-discovery: {key} is not set here: it is a label of {setter}"
    known = sorted({*present, *(row.pattern for row in names.KEYS)})
    nearest = difflib.get_close_matches(key, known, n=3)
    hint = f"; near it are {', '.join(nearest)}" if nearest else "; docs/labels.md has them all"
    return f"gpu-discovery: there is no label {key}{hint}"


def _head(key: str, row: names.Key, view: node.View) -> Iterator[str]:
    value = f"{key} = {view.labels[key]}" if key in view.labels else f"{key} is not there now"
    yield click.style(f"{key} is set when labels are published" if key == names.TIMESTAMP else value, bold=True)
    yield f"  {row.meaning} ({row.values})"
    yield _field("rule", row.rule)
    yield _field("there when", row.when)
    yield _field("origin", _ORIGINS[row.origin])


def _field(name: str, text: str) -> str:
    return f"  {name + ':':12}{text}" if text else f"  {name}"


def _facts(key: str, row: names.Key, snapshot: model.Snapshot) -> Iterator[str]:
    if row.facts:
        yield "Facts"
    models = sorted({gpu.name for gpu in snapshot.gpus})
    for path in row.facts:
        if path.startswith("gpus[].") and len(models) > 1:
            for name in models:
                for fact in facts.facts(snapshot, path, wanted=_wanted(key, row, name)):
                    yield f"  {fact.path} = {fact.value}  ({name})"
        else:
            for fact in facts.facts(snapshot, path, wanted=_wanted(key, row)):
                yield f"  {fact.path} = {fact.value}"


def _wanted(key: str, row: names.Key, gpu_name: str | None = None) -> Callable[[Any], bool]:
    """Only the GPUs of one model, where one is given, and only the MIG devices that a key of one profile is about."""
    match = re.fullmatch(re.escape(row.pattern).replace("<profile>", "(.+)"), key)
    profile = match[1] if match and match.groups() else None

    def is_wanted(element: Any) -> bool:
        if isinstance(element, model.Gpu):
            return gpu_name in (None, element.name)
        if isinstance(element, model.MigDevice):
            return profile in (None, (element.profile or "").replace("+", "."))
        return True

    return is_wanted


def _config(
    key: str, row: names.Key, settings: labeler_settings.LabelerSettings, view: node.View, given: Mapping[str, object]
) -> Iterator[str]:
    if row.config_paths:
        yield "Config"
    texts = load.read_bytes(settings.config_file).decode(errors="replace").splitlines() if settings.config_file else []
    others = _entries_of_others(key, view)
    lines = {path: line for path, line in settings.config_lines.items() if not path.startswith(others)}
    for path in row.config_paths:
        option = next((one for one in flags.OPTIONS if one.file_key == path), None)
        override = None if option is None else _override(option, given)
        if override is not None:
            yield f"  {path}: set by {override}"
        elif path in lines:
            yield from _block(settings.config_file, path, lines, texts)
        else:
            default = option.default_text if option is not None else ""
            yield f"  {path}: not set{f', so {default}' if default else ''}"


def _override(option: flags.Option, given: Mapping[str, object]) -> str | None:
    """What wins over the file: ``--mig-strategy=single``, ``MIG_STRATEGY=single``."""
    value = given.get(option.name.replace("-", "_"))
    if value is not None:
        return f"--{option.name}={','.join(value) if isinstance(value, tuple) else value}"
    variable = next((name for name in option.env if name in os.environ), None)
    if variable is None or (option.is_empty_unset and not os.environ[variable]):
        return None
    return f"{variable}={os.environ[variable]} in the environment"


def _entries_of_others(key: str, view: node.View) -> tuple[str, ...]:
    """Paths of the sharing entries that have no say in a label of one resource."""
    resources = view.picture.resources
    prefixes = [name for one in resources for name in (one.name, one.base_name) if key.startswith(f"{name}.")]
    nearest = max(prefixes, key=len, default=None)
    if nearest is None:
        return ()
    own = {(one.base_name, one.name) for one in resources if nearest in (one.name, one.base_name)}
    sharing = view.picture.config.sharing
    entries = [entry for section in (sharing.time_slicing, sharing.mps) if section for entry in section.resources]
    return tuple(entry.path for entry in entries if not {(entry.name, entry.rename), (entry.name, entry.name)} & own)


def _block(file: str, path: str, lines: Mapping[str, int], texts: list[str]) -> Iterator[str]:
    """The lines of the file under a key path, as they stand there."""
    numbers = sorted(
        {number for key, number in lines.items() if key == path or key.startswith((f"{path}.", f"{path}["))}
    )
    for number in numbers:
        yield f"  {file}:{number}: {texts[number - 1].rstrip()}"
