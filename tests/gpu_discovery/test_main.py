"""The start of the program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_START = """
import gc, sys
from gpu_discovery import __main__
sys.argv = ["gpu-feature-discovery", "--version"]
assert __main__.main() == 0
print(gc.isenabled())
"""

_STAY = """
import gc, os, signal, sys
from gpu_discovery import daemon, settings

def load():
    os.kill(os.getpid(), signal.SIGTERM)
    return settings.LabelerSettings(sample="t4", output_file=sys.argv[1])

gc.disable()
assert daemon.run_labeler(load) == 0
print(gc.isenabled(), gc.get_freeze_count() > 0)
"""


def _output(program: str, *arguments: str) -> str:
    ran = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    return ran.stdout.splitlines()[-1]


def test_a_start_is_not_interrupted_to_collect_garbage() -> None:
    """The collector is off while modules are loaded."""
    assert _output(_START) == "False"


def test_a_process_that_stays_collects_garbage(tmp_path: Path) -> None:
    """The daemon turns the collector on, and keeps what the start made out of it."""
    assert _output(_STAY, str(tmp_path / "gfd")) == "True True"
