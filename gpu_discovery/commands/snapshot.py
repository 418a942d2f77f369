"""``gpu-discovery snapshot``: every fact read from this node, as a file to keep, send or replay."""

from __future__ import annotations

import click

from gpu_discovery.commands import node
from gpu_discovery.core import codec, errors, model
from gpu_discovery.core.kit import files


@click.command()
@node.reading_options
@click.option("--topology", is_flag=True, help="Read NVLinks, and how near the GPUs are to each other, as well.")
@click.option("--redact", is_flag=True, help="Replace every UUID, the same one always by the same.")
@click.option("-o", "--output", "path", metavar="FILE", help="Write to this file instead of standard output.")
def snapshot(path: str | None, *, topology: bool, redact: bool, **given: object) -> None:
    """Record this node as JSON.

    Any command that reads GPUs takes the file by --snapshot and comes to the results it would have here. With --snapshot
    or --sample it is that node which is written, so a recording can be redacted later.
    """
    found = node.read_node(node.load_settings(given), topology=topology)
    if found.finding is not model.Finding.OK:
        node.remark(f"{found.finding.value}: {found.detail}")
    text = codec.dumps(codec.redacted(found) if redact else found)
    if path is None:
        click.echo(text, nl=False)
        return
    try:
        files.write_atomic(path, text.encode())
    except OSError as error:
        raise errors.SettingsError(f"writing {path} failed: {error.strerror}") from error
