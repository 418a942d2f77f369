"""``gpu-discovery validate``: what the daemon would say of a config file, without a GPU.

The file is read as the daemon reads it, with its options and variables, so that the verdict is the daemon's. With a
sample machine or a recorded snapshot the entries are also held against that node, so that a device which isn't there
is found before the file is rolled out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from gpu_discovery import flags, settings as labeler_settings
from gpu_discovery.core import errors, model, options


@click.command(short_help="Check a config file, all faults at once.")
@click.argument("file", required=False)
@options.flag_options(*flags.SNAPSHOT_SOURCE, *flags.named("config-lenient", "mig-strategy", "reference-compat"))
@click.option("--schema", "is_schema_asked", is_flag=True, help="Print the JSON Schema of the config file and exit.")
def validate(file: str | None, *, is_schema_asked: bool, **given: object) -> None:
    """Check the config FILE: exit code 0 when it is valid, 1 when it isn't, 2 when it can't be read.

    With --sample or --snapshot the entries must be possible on that machine too, and what it would serve is printed.
    """
    if is_schema_asked:
        click.echo(_schema_text(), nl=False)
        return
    if not file:
        raise click.UsageError("name a config file, or ask for --schema")
    try:
        settings = flags.load_labeler_settings({**given, "config-file": file})
        served = list(_served(settings))
    except errors.ConfigUnreadable:
        raise
    except errors.ConfigError as error:
        for fault in (error, *error.others):
            click.echo(fault.text)
        sys.exit(1)
    for warning in settings.warnings:
        click.echo(f"warning: {warning}")
    click.echo(f"{file}: valid")
    for line in served:
        click.echo(line)


def _schema_text() -> str:
    import json

    from gpu_discovery.core.config import json_schema

    return json.dumps(json_schema.config_schema(), indent=2, ensure_ascii=False) + "\n"


def _served(settings: labeler_settings.LabelerSettings) -> Iterator[str]:
    """What the recorded node would serve, line by line. Raises ConfigError with its place in the file."""
    if not settings.snapshot_file and not settings.sample:
        return
    from gpu_discovery.core import resources, samples

    node = samples.read_recorded(snapshot_file=settings.snapshot_file, sample=settings.sample)
    try:
        found = resources.resources(node, settings.config, mig_strategy=settings.mig_strategy)
    except errors.ConfigError as error:
        raise settings.located(error) from error
    for notice in found.notices:
        yield f"warning: {notice.text}"
    for resource in found.resources:
        yield _resource_line(resource)


def _resource_line(resource: model.Resource) -> str:
    count = len(resource.devices)
    text = f"{resource.name}: {count} device{'' if count == 1 else 's'}"
    if resource.sharing is model.SharingStrategy.NONE:
        return text
    return f"{text} x {resource.replicas} by {resource.sharing.value}"
