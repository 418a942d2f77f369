"""Rows of a program's flag table as options of click commands, so that the operator's commands take the same ones.

The programs that replace the reference's read their command lines with ``kit.goflags``; the operator's tool is ordinary
click. An option that both have is one row: the same name, the same reading of its text, the same words of help.
Variables, file and defaults are not click's business: a value that wasn't given is None, and whoever merges fills it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from gpu_discovery.core.kit import goflags

Command = TypeVar("Command", bound=Callable[..., Any])


class FlagType(click.ParamType):
    """Reads a text as the flag does."""

    def __init__(self, kind: goflags.Kind) -> None:
        self.name = kind.value
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The flag's value; click's usage error where it can't be read."""
        if not isinstance(value, str):
            return value
        try:
            return goflags.parse_value(self._kind, value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def flag_options(*flags: goflags.Flag) -> Callable[[Command], Command]:
    """A decorator that gives a click command these flags, as keyword arguments with underscores."""

    def decorate(command: Command) -> Command:
        for flag in reversed(flags):
            command = _option(flag)(command)
        return command

    return decorate


def _option(flag: goflags.Flag) -> Callable[[Command], Command]:
    names = [f"--{name}" for name in (flag.name, *flag.aliases) if len(name) > 1]
    if flag.kind is goflags.Kind.BOOL:
        return click.option(*names, flag.name.replace("-", "_"), is_flag=True, default=None, help=flag.doc)
    return click.option(*names, flag.name.replace("-", "_"), type=FlagType(flag.kind), default=None, help=flag.doc)
