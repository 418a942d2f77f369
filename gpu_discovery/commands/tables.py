"""Tables for people: by Rich where standard output is a terminal, else plain aligned text that survives a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

_GAP = "  "


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print ``rows``, each as long as ``header``; nothing when there are none."""
    if not rows:
        return
    if sys.stdout.isatty():
        _print_rich(header, rows)
    else:
        click.echo(plain_table([name.upper() for name in header], rows))


def plain_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their longest cell, without trailing blanks or a final newline."""
    table = [header, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(header))]
    lines = (_GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in table)
    return "\n".join(line.rstrip() for line in lines)


def _print_rich(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box, console, table, text

    drawn = table.Table(*header, box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for row in rows:
        # As Text, so that a bracket in a value is not taken for markup.
        drawn.add_row(*map(text.Text, row))
    console.Console().print(drawn)
