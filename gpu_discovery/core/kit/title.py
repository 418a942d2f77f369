"""The name other programs find us by: argv[0] of a Python console script is the interpreter's, not the program's."""

from __future__ import annotations

import setproctitle


def set_process_name(name: str) -> None:
    """Make argv[0] in /proc/self/cmdline exactly ``name``, as tools that signal a process by name compare it."""
    setproctitle.setproctitle(name)
