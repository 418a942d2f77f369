from __future__ import annotations

import io
import json
import os
import pathlib
import subprocess
import sys

import pytest

import gpu_discovery
from gpu_discovery import cli, flags


def run(*argv: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command line that doesn't reach the daemon."""
    stdout, stderr = io.StringIO(), io.StringIO()
    code = cli.run(argv, {}, stdout=stdout, stderr=stderr)
    return code, stdout.getvalue(), stderr.getvalue()


def run_process(*argv: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpu_discovery", *argv],
        env={"PATH": os.environ["PATH"], **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("argv", [["--help"], ["-h"], ["-help"], ["help"], ["--oneshot", "help"], ["--version", "-h"]])
def test_help_names_every_flag(argv: list[str]) -> None:
    """Asked for with a flag or as the original's word."""
    code, stdout, stderr = run(*argv)
    assert (code, stderr) == (0, "")
    assert all(f"--{option.name}" in stdout for option in flags.OPTIONS)


@pytest.mark.parametrize("argv", [["--version"], ["-v"]])
def test_version_is_printed(argv: list[str]) -> None:
    """The one in the package."""
    assert run(*argv) == (0, f"gpu-feature-discovery version {gpu_discovery.__version__}\n", "")


def test_usage_error_is_exit_code_1() -> None:
    """On standard error, with the nearest flag."""
    code, stdout, stderr = run("--onesot")
    assert (code, stdout) == (1, "")
    assert stderr.startswith("gpu-feature-discovery: unknown flag --onesot; did you mean --oneshot?\n")


def test_a_sample_machine_is_labelled_on_standard_output() -> None:
    """The whole program, from the command line to the labels."""
    found = run_process("--oneshot", "--sample=t4", "--publish=stdout", "--no-timestamp")
    assert found.returncode == 0, found.stderr
    assert "nvidia.com/gpu.product=Tesla-T4\n" in found.stdout


def test_a_misplaced_key_ends_the_program(tmp_path: pathlib.Path) -> None:
    """T21 a: exit code 1, with the path, the line and the right place."""
    file = tmp_path / "config.yaml"
    file.write_text("version: v1\nflags:\n  renameByDefault: true\n")
    found = run_process("--oneshot", "--sample=t4", "--publish=stdout", CONFIG_FILE=str(file))
    assert (found.returncode, found.stdout) == (1, "")
    assert f"{file}:3: flags.renameByDefault" in found.stderr
    assert "sharing.timeSlicing.renameByDefault" in found.stderr


@pytest.mark.parametrize("argv", [["--help"], ["--version"]])
def test_output_that_cannot_be_written_is_an_error_without_a_traceback(argv: list[str]) -> None:
    """A full disk is named; a pipe that nobody reads needs no word."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        found = subprocess.run(
            [sys.executable, "-m", "gpu_discovery", *argv], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert found.returncode == 1
    assert found.stderr == "gpu-feature-discovery: writing to standard output failed: No space left on device\n"
    read, write = os.pipe()
    os.close(read)
    with open(write, "w", encoding="utf-8") as pipe:
        found = subprocess.run(
            [sys.executable, "-m", "gpu_discovery", *argv], stdout=pipe, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (found.returncode, found.stderr) == (1, "")


def test_a_log_that_nobody_reads_does_not_decide_the_exit_code() -> None:
    """The labels are out."""
    read, write = os.pipe()
    os.close(read)
    with open(write, "w", encoding="utf-8") as pipe:
        found = subprocess.run(
            [sys.executable, "-m", "gpu_discovery", "--oneshot", "--sample=t4", "--publish=stdout"],
            env={"PATH": os.environ["PATH"]},
            stdout=subprocess.PIPE,
            stderr=pipe,
            text=True,
            check=False,
        )
    assert found.returncode == 0
    assert "nvidia.com/gpu.count=1\n" in found.stdout


def test_settings_that_cannot_be_used_are_told_in_the_log_format_asked_for() -> None:
    """A collector of JSON lines can read why a process ended at once."""
    found = run_process("--mig-strategy=x", GFD_LOG_FORMAT="json")
    assert found.returncode == 1
    assert "--mig-strategy: 'x' is not valid here" in json.loads(found.stderr)["message"]


def test_reading_options_loads_no_large_library() -> None:
    """Without a config file neither PyYAML nor click, both of which cost every node memory, are loaded."""
    script = (
        "import sys; before = set(sys.modules)\n"
        "from gpu_discovery import cli, flags; flags.load_labeler_settings({}, {})\n"
        "loaded = {'yaml', 'click', 'json', 'difflib', 'pathlib', 'asyncio'} & (set(sys.modules) - before)\n"
        "sys.exit(', '.join(loaded) or None)"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (found.returncode, found.stderr) == (0, "")
