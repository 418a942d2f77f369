"""``make bench``: time and memory of the labeler on a node with eight GPUs, as a table with machine and versions.

``--smoke`` is for CI: a few runs and passes, which must work, write nothing and log nothing; speed is not judged there.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator

from tests.bench import figures, node, oneshot, periodic


def main() -> None:
    """Measure, print; fail when a figure that does not depend on the machine's speed is over its limit."""
    parser = argparse.ArgumentParser(prog="make bench ARGS=…", description=__doc__)
    parser.add_argument("--rounds", type=int, default=30, help="runs of each command")
    parser.add_argument("--passes", type=int, default=1000, help="unchanged passes of the periodic mode")
    parser.add_argument("--idle-seconds", type=float, default=10, help="how long to watch the labeler between passes")
    parser.add_argument("--smoke", action="store_true", help="a few of each, speed not judged")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.rounds, arguments.passes, arguments.idle_seconds = 2, 30, 1
    rows = list(_measure(arguments))
    print(*figures.machine_lines(), "", figures.table(rows), sep="\n")
    if over := [row.name for row in rows if row.is_over and not (arguments.smoke and row.unit in ("ms", "MiB"))]:
        sys.exit(f"over the limit: {'; '.join(over)}")


def _measure(arguments: argparse.Namespace) -> Iterator[figures.Figure]:
    with tempfile.TemporaryDirectory() as folder:
        yield from oneshot.measure(_new_node(folder, "oneshot"), arguments.rounds)
        yield from periodic.measure_back_to_back(_new_node(folder, "back-to-back"), arguments.passes)
        for name, with_http in (("periodic", False), ("http", True)):
            machine = _new_node(folder, name)
            yield from periodic.measure(machine, arguments.passes, with_http=with_http)
            yield from periodic.measure_growth(machine, arguments.passes, with_http=with_http)
        yield from periodic.measure_idle(_new_node(folder, "idle"), arguments.idle_seconds)


def _new_node(folder: str, name: str) -> node.Node:
    root = os.path.join(folder, name)
    os.mkdir(root)
    return node.make_node(root)


if __name__ == "__main__":
    main()
