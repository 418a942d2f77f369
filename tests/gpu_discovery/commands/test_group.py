from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
from click import testing

from gpu_discovery import commands

COMMANDS = ["explain", "labels", "snapshot", "validate"]


def make_package(folder: pathlib.Path, entry_points: str, name: str, module: str) -> None:
    """An installed package with commands of its own, in a module ``name``."""
    metadata = folder / "extra_commands-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: extra-commands\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[gpu_discovery.commands]\n{entry_points}\n")
    (folder / f"{name}.py").write_text(module)


def run(*arguments: str) -> testing.Result:
    return testing.CliRunner().invoke(commands.main, list(arguments))


def test_help_lists_our_commands() -> None:
    """Each has its line of help."""
    listed = run("--help").stdout.partition("Commands:")[2].splitlines()

    assert [line.split()[0] for line in listed if line.startswith("  ") and line[2] != " "] == COMMANDS
    assert "cannot be loaded" not in run("--help").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    """-h works on each of them."""
    assert run(command, "-h").exit_code == 0


def test_version() -> None:
    """The version of the installed package."""
    assert run("--version").stdout.startswith("gpu-discovery, version ")


def test_another_package_brings_a_command(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry point is all it takes."""
    module = "import click\n@click.command()\ndef devices():\n    click.echo('two')\n"
    make_package(tmp_path, "devices = extra_devices:devices", "extra_devices", module)
    monkeypatch.syspath_prepend(str(tmp_path))

    assert run("devices").stdout == "two\n"
    assert "devices" in run("--help").stdout


@pytest.mark.parametrize(
    ("entry_point", "reason"),
    [
        ("broken = extra_broken:broken", "ZeroDivisionError: division by zero"),
        ("broken = no_such_module:broken", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("broken = json:dumps", "json:dumps is no click command"),
    ],
)
def test_a_command_that_cannot_be_loaded_hides_no_other(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, entry_point: str, reason: str
) -> None:
    """It is listed with the reason, says it when called with whatever arguments, and the others work."""
    make_package(tmp_path, entry_point, "extra_broken", "1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    assert "cannot be loaded" in run("--help").stdout
    refused = run("broken", "--some", "argument")
    assert refused.exit_code == 2
    assert f"the command broken of extra-commands cannot be loaded: {reason}" in refused.stderr
    assert run("labels", "--sample", "t4").exit_code == 0


def test_a_file_that_a_command_forgot_is_not_taken_for_standard_output(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that names a file is a bug of the command, and looks like one."""
    module = "import click\n@click.command()\ndef devices():\n    open('/nonexistent')\n"
    make_package(tmp_path, "devices = extra_forgetful:devices", "extra_forgetful", module)
    monkeypatch.syspath_prepend(str(tmp_path))

    assert isinstance(run("devices").exception, FileNotFoundError)


@pytest.mark.parametrize(
    ("word", "hint"),
    [("lables", "did you mean labels?"), ("devices", "there are explain, labels, snapshot, validate")],
)
def test_an_unknown_command_is_told_with_those_there_are(word: str, hint: str) -> None:
    """A usage error, with exit code 2."""
    result = run(word)

    assert result.exit_code == 2
    assert f"Error: there is no command '{word}'; {hint}\n" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["labels", "--sample", "t4"], ["validate", "--schema"], ["snapshot", "--sample", "t4"]]
)
def test_output_that_cannot_be_written_is_exit_code_2(arguments: list[str]) -> None:
    """In one line, without a traceback."""
    script = "import sys; from gpu_discovery import commands; commands.main(sys.argv[1:])"
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr == "Error: writing to standard output failed: No space left on device\n"


def test_only_the_command_asked_for_is_loaded() -> None:
    """Neither the other commands nor what only a terminal needs are imported."""
    script = (
        "import sys; from gpu_discovery import commands\n"
        "try: commands.main(['snapshot', '--sample', 't4'])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('gpu_discovery.commands.explain', 'rich', 'yaml') if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stderr == "[]\n"
