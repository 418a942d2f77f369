from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from gpu_discovery.commands import tables


def test_plain_columns_are_as_wide_as_their_longest_cell() -> None:
    """Cells are padded, line ends are not."""
    table = tables.plain_table(("KEY", "VALUE"), [("long-key", "x"), ("k", "")])

    assert table == "KEY       VALUE\nlong-key  x\nk"


def test_a_terminal_gets_a_drawn_table() -> None:
    """Rich draws it, and what looks like its markup is printed as it is."""
    script = "from gpu_discovery.commands import tables; tables.print_table(('key', 'value'), [('a[bold]', 'b')])"
    reader, writer = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LANG": "C.UTF-8"}
    subprocess.run([sys.executable, "-c", script], stdout=writer, check=True, env=environ)
    os.close(writer)
    drawn = os.read(reader, 10_000).decode()
    os.close(reader)

    assert "a[bold]" in drawn
    assert "─" in drawn


def test_no_rows_print_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """A header alone tells nobody anything."""
    tables.print_table(("key", "value"), [])

    assert capsys.readouterr().out == ""
