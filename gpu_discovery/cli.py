"""``gpu-feature-discovery``, the drop-in: reads the command line and calls the daemon once."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

import gpu_discovery
from gpu_discovery import flags
from gpu_discovery.core.kit import goflags, title

_HELP_WORDS = ("help", "h")


def main() -> int:
    """The console script."""
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
        stdout.write(goflags.help_text(flags.PROGRAM, flags.SUMMARY, flags.COMMAND_LINE))
        return 0
    if parsed.values.get("version"):
        stdout.write(f"{flags.PROGRAM} version {gpu_discovery.__version__}\n")
        return 0
    from gpu_discovery import daemon

    loader = functools.partial(
        flags.load_labeler_settings, parsed.values, environ, warnings=flags.ignored_words(parsed)
    )
    return daemon.run_labeler(loader)
