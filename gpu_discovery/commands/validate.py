"""``gpu-discovery validate``: what the daemon would say of a config file, without a GPU.

With a sample machine or a recorded snapshot the entries are also held against that node, so that a device which isn't
there is found before the file is rolled out.
"""

from __future__ import annotations

import sys
from collections.abc import Collection

import click

from gpu_discovery import flags
from gpu_discovery.core import errors, model, options
from gpu_discovery.core.config import compat, load, values


@click.command(short_help="Check a config file, all faults at once.")
@click.argument("file", required=False)
@options.flag_options(*flags.SNAPSHOT_SOURCE)
@click.option("--lenient", is_flag=True, help=flags.named("config-lenient")[0].doc)
@click.option("--mig-strategy", type=click.Choice(values.MIG_STRATEGIES), help="MIG strategy to assume on the node.")
@click.option(
    "--reference-compat",
    multiple=True,
    type=click.Choice(tuple(compat.NAMES)),
    help="An old behaviour to assume; repeatable.",
)
@click.option("--schema", "is_schema_asked", is_flag=True, help="Print the JSON Schema of the config file and exit.")
def validate(
    file: str | None,
    snapshot: str | None,
    sample: str | None,
    lenient: bool,
    mig_strategy: str | None,
    reference_compat: tuple[str, ...],
    is_schema_asked: bool,
) -> None:
    """Check the config FILE: exit code 0 when it is valid, 1 when it isn't.

    With --sample or --snapshot the entries must be possible on that machine too, and what it would serve is printed.
    """
    if is_schema_asked:
        click.echo(_schema_text(), nl=False)
        return
    if file is None:
        raise click.UsageError("name a config file, or ask for --schema")
    node = _node(snapshot, sample)
    data = load.read_bytes(file)
    try:
        loaded = load.parse_config(data, file, lenient=lenient, reference_compat=reference_compat or None)
        served = None if node is None else _served(node, loaded, file, mig_strategy)
    except errors.ConfigError as error:
        for fault in (error, *error.others):
            click.echo(fault.text)
        sys.exit(1)
    for warning in loaded.warnings:
        click.echo(f"warning: {warning}")
    click.echo(f"{file}: valid")
    for line in served or ():
        click.echo(line)


def _schema_text() -> str:
    import json

    from gpu_discovery.core.config import json_schema

    return json.dumps(json_schema.config_schema(), indent=2, ensure_ascii=False) + "\n"


def _node(snapshot_file: str | None, sample: str | None) -> model.Snapshot | None:
    if snapshot_file is None and sample is None:
        return None
    from gpu_discovery.core import samples

    return samples.read_recorded(snapshot_file=snapshot_file, sample=sample)


def _served(node: model.Snapshot, loaded: load.Loaded, file: str, mig_strategy: str | None) -> Collection[str]:
    """What the node would serve, line by line. Raises ConfigError with its place in the file."""
    from gpu_discovery.core import resources

    strategy = mig_strategy or loaded.config.flags.mig_strategy or "none"
    try:
        found = resources.resources(node, loaded.config, mig_strategy=strategy)
    except errors.ConfigError as error:
        raise error.located(file, loaded.line_of(error.path)) from error
    lines = [f"warning: {notice.text}" for notice in found.notices]
    return lines + [_resource_line(resource) for resource in found.resources]


def _resource_line(resource: model.Resource) -> str:
    count = len(resource.devices)
    text = f"{resource.name}: {count} device{'' if count == 1 else 's'}"
    if resource.sharing is model.SharingStrategy.NONE:
        return text
    return f"{text} x {resource.replicas} by {resource.sharing.value}"
