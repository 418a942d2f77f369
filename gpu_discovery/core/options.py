"""Rows of a program's flag table as options of click commands, so that the operator's commands take the same ones.

The programs that replace the reference's read their command lines with ``kit.goflags``; the operator's tool is ordinary
click. An option that both have is one row: the same name, the same reading of its text, the same words of help.
Variables, file and defaults are not click's business: a value that wasn't given is None, and whoever merges fills it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from gpu_discovery.core.kit import goflags

Command = TypeVar("Command", bound=Callable[..., Any])


def flag_options(*flags: goflags.Flag) -> Callable[[Command], Command]:
    """A decorator that gives a click command these flags, as keyword arguments with underscores."""

    def decorate(command: Command) -> Command:
        for flag in reversed(flags):
            command = _option(flag)(command)
        return command

    return decorate


def _option(flag: goflags.Flag) -> Callable[[Command], Command]:
    names = [f"--{name}" for name in (flag.name, *flag.aliases) if len(name) > 1]
    field = flag.name.replace("-", "_")
    if flag.kind is goflags.Kind.BOOL:
        return click.option(*names, field, is_flag=True, default=None, help=flag.doc)
    # The texts of all its occurrences, so that those of a list add up.
    return click.option(
        *names, field, metavar=flag.kind.name, multiple=True, default=None, help=flag.doc, callback=_reader(flag.kind)
    )


def _reader(kind: goflags.Kind) -> Callable[[click.Context, click.Parameter, Sequence[str]], goflags.Value | None]:
    def read(_ctx: click.Context, _param: click.Parameter, texts: Sequence[str]) -> goflags.Value | None:
        try:
            values = [goflags.parse_value(kind, text) for text in texts]
        except ValueError as error:
            raise click.BadParameter(str(error)) from error
        if kind is goflags.Kind.LIST:
            elements = tuple(element for value in values if isinstance(value, tuple) for element in value)
            return elements if values else None
        return values[-1] if values else None

    return read
