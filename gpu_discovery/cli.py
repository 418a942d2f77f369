"""``gpu-feature-discovery``, the drop-in: reads the command line and calls the daemon once."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

import gpu_discovery
from gpu_discovery import flags
from gpu_discovery.core.kit import goflags, streams, title

_HELP_WORDS = ("help", "h")


def main() -> int:
    """The console script, once ``__main__`` has let it start."""
    streams.open_missing()
    title.set_process_name(flags.PROGRAM)
    return run(sys.argv[1:], os.environ, stdout=sys.stdout, stderr=sys.stderr)


def run(argv: Sequence[str], environ: Mapping[str, str], *, stdout: TextIO, stderr: TextIO) -> int:
    """The exit code."""
    try:
        parsed = goflags.parse(argv, flags.COMMAND_LINE)
    except goflags.UsageError as error:
        stderr.write(f"{flags.PROGRAM}: {error}\nTry {flags.PROGRAM} --help.\n")
        return 1
    if parsed.values.get("help") or parsed.ignored[:1] in [(word,) for word in _HELP_WORDS]:
        return _print(goflags.help_text(flags.PROGRAM, flags.SUMMARY, flags.HELP_GROUPS), stdout, stderr)
    if parsed.values.get("version"):
        return _print(f"{flags.PROGRAM} version {gpu_discovery.__version__}\n", stdout, stderr)
    from gpu_discovery import daemon

    loader = functools.partial(
        flags.load_labeler_settings, parsed.values, environ, warnings=flags.ignored_words(parsed)
    )
    return daemon.run_labeler(loader, log_format=flags.early_log_format(parsed.values, environ))


def _print(text: str, stdout: TextIO, stderr: TextIO) -> int:
    """The exit code."""
    try:
        stdout.write(text)
        stdout.flush()
    except OSError as error:
        streams.silence(stdout)
        if not isinstance(error, BrokenPipeError):
            stderr.write(f"{flags.PROGRAM}: writing to standard output failed: {error.strerror}\n")
        return 1
    return 0
