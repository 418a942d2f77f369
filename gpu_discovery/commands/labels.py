"""``gpu-discovery labels``: the labels this node gets, or how they differ from what is published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import click

from gpu_discovery.commands import node, tables
from gpu_discovery.labels import names
from gpu_discovery.sinks import lines

DIFFERS = 1

Labels = Mapping[str, str]


class Change(NamedTuple):
    """One key that is not published as it would be now; None: not there."""

    key: str
    published: str | None
    now: str | None

    @property
    def kind(self) -> str:
        """``added``, ``removed`` or ``changed``."""
        if self.published is None:
            return "added"
        return "removed" if self.now is None else "changed"


def changes(published: Labels, now: Labels) -> list[Change]:
    """What the daemon would change, by key; the timestamp follows from the rest and does not count."""
    keys = sorted((published.keys() | now.keys()) - {names.TIMESTAMP})
    found = (Change(key, published.get(key), now.get(key)) for key in keys)
    return [change for change in found if change.published != change.now]


@click.command()
@node.reading_options
@node.view_options
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["table", "json", "features"]),
    default="table",
    help="A table, one JSON object, or the lines of a feature file.",
)
@click.option(
    "--diff",
    "diff_file",
    metavar="FILE",
    is_flag=False,
    flag_value="",
    default=None,
    help="Compare with a feature file instead; without FILE with the one that the daemon writes.",
)
@click.pass_context
def labels(ctx: click.Context, /, form: str, diff_file: str | None, **given: object) -> None:
    """Show the labels that this node gets, without publishing them.

    With --diff only what the daemon would change is shown, and the exit code is 1 when there is any. The timestamp is
    never part of the output: it is the time of the last change.
    """
    settings = node.load_settings(given)
    if diff_file is None:
        _print_labels(node.view_node(settings).labels, form)
        return
    file = node.PublishedFile(diff_file or settings.output_file)
    view = node.view_node(settings, file)
    published = file.labels or {}
    found = changes(published, published if view.published is None else view.published)
    _print_changes(found, form)
    ctx.exit(DIFFERS if found else 0)


def _print_labels(found: Labels, form: str) -> None:
    if form == "table":
        tables.print_table(("label", "value"), sorted(found.items()))
    elif form == "features":
        click.echo(lines.text(found), nl=False)
    else:
        _print_json(dict(found))


def _print_changes(found: list[Change], form: str) -> None:
    if form == "table":
        rows = [(change.kind, change.key, change.published or "", change.now or "") for change in found]
        tables.print_table(("change", "label", "published", "now"), rows)
    elif form == "features":
        for change in found:
            for sign, value in (("-", change.published), ("+", change.now)):
                if value is not None:
                    click.echo(f"{sign}{change.key}={value}")
    else:
        _print_json({change.key: {"published": change.published, "now": change.now} for change in found})


def _print_json(value: object) -> None:
    import json

    click.echo(json.dumps(value, indent=2, sort_keys=True))
