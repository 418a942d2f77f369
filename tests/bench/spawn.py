"""Runs one command and prints what it cost: ``exit_code wall_ns cpu_us peak_kib``.

A process of its own, started without site-packages, because Linux counts the memory of the process that spawns into
the peak of the spawned one: from a large parent every child would look large. Run as a script; imports nothing of ours.
"""

from __future__ import annotations

import os
import sys
import time


def main() -> None:
    """Arguments are the command; its output goes to this process's standard error."""
    command = sys.argv[1:]
    started_ns = time.perf_counter_ns()
    pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)])
    _, status, usage = os.wait4(pid, 0)
    wall_ns = time.perf_counter_ns() - started_ns
    cpu_us = round((usage.ru_utime + usage.ru_stime) * 1e6)
    print(os.waitstatus_to_exitcode(status), wall_ns, cpu_us, usage.ru_maxrss)


if __name__ == "__main__":
    main()
