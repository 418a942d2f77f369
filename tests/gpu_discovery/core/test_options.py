from __future__ import annotations

import click
import pytest
from click import testing

from gpu_discovery.core import options
from gpu_discovery.core.kit.goflags import Flag, Kind

FLAGS = (
    Flag(name="dry-run", kind=Kind.BOOL, doc="Only say so."),
    Flag(name="output-file", aliases=("output", "o"), kind=Kind.STRING, doc="Where."),
    Flag(name="exit-after", kind=Kind.DURATION, doc="How long."),
    Flag(name="names", kind=Kind.LIST, doc="Which."),
)


@click.command()
@options.flag_options(*FLAGS)
def command(**given: object) -> None:
    click.echo(sorted(given.items()))


@pytest.mark.parametrize(
    ("argv", "values"),
    [
        ([], {"dry_run": None, "exit_after": None, "names": None, "output_file": None}),
        (["--dry-run"], {"dry_run": True, "exit_after": None, "names": None, "output_file": None}),
        (
            ["--output", "x", "--exit-after", "1m30s", "--names", "a, b"],
            {"dry_run": None, "exit_after": 90.0, "names": ("a", "b"), "output_file": "x"},
        ),
        (
            ["--names", "a", "--output", "x", "--names", "b,c", "--output-file", "y"],
            {"dry_run": None, "exit_after": None, "names": ("a", "b", "c"), "output_file": "y"},
        ),
    ],
)
def test_flags_become_options_that_read_alike(argv: list[str], values: dict[str, object]) -> None:
    """By their long names; what isn't given is None."""
    found = testing.CliRunner().invoke(command, argv)
    assert found.stdout == f"{sorted(values.items())}\n"


def test_a_text_that_cannot_be_read_is_a_usage_error() -> None:
    """With the reason that the flag gives."""
    found = testing.CliRunner().invoke(command, ["--exit-after", "10"])
    assert found.exit_code == 2
    assert "missing unit in duration '10'" in found.stderr


def test_help_is_the_flags() -> None:
    """The same words in both."""
    assert "Only say so." in testing.CliRunner().invoke(command, ["--help"]).stdout
