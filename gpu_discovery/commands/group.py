"""The group ``gpu-discovery``: finds commands by entry point and loads only the one that is asked for.

A command that cannot be loaded (a package half installed, a library missing) is still listed, with the reason, and
hides none of the others.
"""

from __future__ import annotations

import sys
from importlib import metadata
from typing import Any

import click

from gpu_discovery.core import errors
from gpu_discovery.core.kit import streams

ENTRY_POINTS = "gpu_discovery.commands"
COULD_NOT_ANSWER = 2


class Commands(click.Group):
    """Commands by entry point; our own errors become one line and exit code 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, sorted."""
        return sorted({*super().list_commands(ctx), *metadata.entry_points(group=ENTRY_POINTS).names})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, loaded; None when there is none."""
        found = metadata.entry_points(group=ENTRY_POINTS, name=cmd_name)
        return _loaded(next(iter(found))) if found else super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names; of a word that names none, the nearest one is told."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            if args[0].startswith("-"):
                raise
            ctx.fail(_unknown(args[0], self.list_commands(ctx)))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except errors.DiscoveryError as error:
            raise _Refusal(str(error)) from error
        except OSError as error:
            # Commands turn errors of files into ours, so one without a file is about a standard stream. That nobody
            # reads it any more is no error: click ends the program then.
            if error.filename is not None or isinstance(error, BrokenPipeError):
                raise
            streams.silence(sys.stdout)
            raise _Refusal(f"writing to standard output failed: {error.strerror}") from error


class _Refusal(click.ClickException):
    exit_code = COULD_NOT_ANSWER


def _unknown(word: str, names: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(word, names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
    return f"there is no command '{word}'; {hint}"


def _loaded(entry_point: metadata.EntryPoint) -> click.Command:
    try:
        command = entry_point.load()
    except Exception as error:  # noqa: BLE001  whatever another package's import raises must not take the rest along
        return _broken(entry_point, f"{type(error).__name__}: {error}")
    if not isinstance(command, click.Command):
        return _broken(entry_point, f"{entry_point.value} is no click command")
    return command


def _broken(entry_point: metadata.EntryPoint, reason: str) -> click.Command:
    """A command that says why it cannot run, whatever arguments it is given."""

    def refuse(**_: Any) -> None:
        source = f" of {entry_point.dist.name}" if entry_point.dist else ""
        raise _Refusal(f"the command {entry_point.name}{source} cannot be loaded: {reason}; install it anew")

    return click.Command(
        entry_point.name,
        callback=refuse,
        params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True},
        short_help=f"(cannot be loaded: {reason})",
    )


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(None, "--version", package_name="gpu-discovery", prog_name="gpu-discovery")
def main() -> None:
    """See what GPU discovery finds on a node, what it makes of it, and why."""
