"""The walk through adding a label in CONTRIBUTING.md, done as it is written, in a copy of the checkout.

A block with ``python PATH`` is a new file; one with ``diff PATH`` shows a line that is there and the lines to put below.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COPIED = ("gpu_discovery", "device_plugin", "docs", "tests", "setup.cfg", "pyproject.toml")
STEP = re.compile(r"^```(python|diff) (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def insert(text: str, change: str) -> str:
    """``change`` holds one line that is in ``text`` exactly once, and the lines to insert after it."""
    lines = change.splitlines(keepends=True)
    (anchor,) = (line[1:] for line in lines if line.startswith(" "))
    assert text.count(f"\n{anchor}") == 1, anchor
    return text.replace(f"\n{anchor}", "\n" + anchor + "".join(line[1:] for line in lines if line.startswith("+")))


def apply(kind: str, path: str, content: str) -> None:
    """Do one step."""
    text = content
    if kind == "diff":
        with open(path, encoding="utf-8") as file:
            text = insert(file.read(), content)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The sources after every step."""
    copy = str(tmp_path_factory.mktemp("label") / "checkout")
    os.mkdir(copy)
    for name in COPIED:
        source = os.path.join(ROOT, name)
        if os.path.isdir(source):
            shutil.copytree(source, os.path.join(copy, name), ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy)
    with open(os.path.join(ROOT, "CONTRIBUTING.md"), encoding="utf-8") as file:
        steps = STEP.findall(file.read())
    for kind, path, content in steps:
        apply(kind, os.path.join(copy, path), content)
    return copy


def run(checkout: str, *arguments: str) -> str:
    """Standard output of this Python with the copy's code."""
    # The copy's coverage is not the product's.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    environ = {**inherited, "PYTHONPATH": checkout}
    ran = subprocess.run(
        [sys.executable, *arguments], cwd=checkout, env=environ, capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_the_label_is_made(checkout: str) -> None:
    """A sample machine with ECC off has the new label, and one with ECC on does not."""
    main = "from gpu_discovery.commands import main; main()"
    assert "nvidia.com/gpu.ecc" in run(checkout, "-c", main, "labels", "--sample", "workstation-3-models")
    assert "nvidia.com/gpu.ecc" not in run(checkout, "-c", main, "labels", "--sample", "dgx-a100")


def test_the_test_passes(checkout: str) -> None:
    """The test of the walk runs and passes."""
    assert "2 passed" in run(checkout, "-m", "pytest", "-q", "tests/gpu_discovery/labels/test_ecc.py")


def test_the_code_is_in_shape(checkout: str) -> None:
    """Neither ruff nor its formatter asks for a change."""
    changed = ("gpu_discovery/labels", "tests/gpu_discovery/labels/test_ecc.py")
    run(checkout, "-m", "ruff", "check", "--no-cache", *changed)
    run(checkout, "-m", "ruff", "format", "--no-cache", "--check", *changed)


def test_the_page_has_the_row(checkout: str) -> None:
    """Generating the pages documents the label."""
    run(checkout, "-m", "docs.generate")
    with open(os.path.join(checkout, "docs/labels.md"), encoding="utf-8") as file:
        assert "nvidia.com/gpu.ecc" in file.read()
