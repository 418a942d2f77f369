"""Chooses the exact versions of everything that is installed, from the ranges in setup.cfg (``make lock``).

``dev.txt`` is resolved first, for every platform and Python that we support at once; ``run.txt`` and ``build.txt`` are
then held to the versions chosen there, so that what is tested is what runs. Each file carries the hashes of all files
of each release, so one file serves amd64 and arm64. No file names the index it came from.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(FOLDER)
OLDEST_PYTHON = "3.11"
HEADER = "# Exact versions with hashes; written by `make lock` from {sources}.\n"


def main() -> None:
    """Write all four files; the first one upgrades what it can."""
    _compile("dev.txt", ["setup.cfg", "--extra", "test", "--extra", "lint"])
    _compile("run.txt", ["setup.cfg", "--constraint", "requirements/dev.txt"])
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        build_requirements = tomllib.load(file)["build-system"]["requires"]
    _compile("build.txt", ["-"], text="\n".join(build_requirements))
    _compile("lock.txt", ["-"], text="uv>=0.9,<1")


def _compile(name: str, arguments: list[str], *, text: str = "") -> None:
    """Resolve and write one file. ``-`` stands for ``text``, the requirements themselves."""
    command = [os.path.join(os.path.dirname(sys.executable), "uv"), "pip", "compile", *arguments]
    command += ["--universal", "--python-version", OLDEST_PYTHON, "--generate-hashes", "--no-header", "--no-annotate"]
    resolved = subprocess.run(  # noqa: S603 - The command is spelled out above.
        command, cwd=ROOT, input=text, capture_output=True, text=True, check=False
    )
    if resolved.returncode:
        sys.exit(f"{name} can't be resolved:\n{resolved.stderr}")
    with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as file:
        file.write(HEADER.format(sources=text or "setup.cfg") + resolved.stdout)


if __name__ == "__main__":
    main()
