"""Every command in the documentation is run here, page by page, in a copy of the checkout.

The copy has a fake driver with a recorded machine's GPUs, and both environments that the Makefile would make are
already there (they are this interpreter's), so that nothing is installed. ``sh`` blocks must succeed; in ``console``
blocks the output of each ``$ command`` is compared, with ``…`` for what differs between machines. What takes minutes
is run by CI itself and only looked for there; what needs a cluster is not run, and says so in ``NEEDS_A_CLUSTER``.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.fakes import nvml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", ".*_cache", "__pycache__", ".hypothesis", ".coverage*", "build")
BLOCK = re.compile(r"^```(sh|console|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIMEOUT_S = 120

RUN_BY_CI = ("make test", "make lint", "make docs-check", "make bench-smoke", ".ci/run")
NEEDS_A_NETWORK = ("make lock", "make bench", "docker")
NEEDS_A_CLUSTER = ("kubectl", "helm")
PAGES = sorted(
    os.path.relpath(os.path.join(folder, name), ROOT)
    for top in (".", "docs", "deploy")
    for folder, _, names in os.walk(os.path.join(ROOT, top))
    if top != "." or folder == os.path.join(ROOT, ".")
    for name in names
    if name.endswith(".md")
)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    place: str
    """``page:line``, for messages."""
    language: str
    text: str


def parse_blocks(page: str, text: str) -> Iterator[Block]:
    """The blocks of a page that hold commands or configuration."""
    for match in BLOCK.finditer(text):
        yield Block(f"{page}:{text.count(chr(10), 0, match.start()) + 2}", match[1], match[2])


def parse_commands(block: Block) -> Iterator[tuple[str, str | None]]:
    """Each command with the output that the page shows for it; None where it shows none."""
    if block.language == "sh":
        text = block.text.replace("\\\n", " ")
        yield from ((line, None) for line in text.splitlines() if line.strip() and not line.startswith("#"))
        return
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, output = part.replace("\\\n", " ").partition("\n")
        yield command, output


def expected_pattern(output: str) -> str:
    """A shown output as a regular expression: ``…`` alone stands for any lines, within a line for any text."""
    lines = [
        r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line.rstrip()).replace("…", ".*") + r" *\n"
        for line in output.splitlines()
    ]
    return "".join(lines)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A copy of the sources in which ``make`` finds its environments."""
    copy = str(tmp_path_factory.mktemp("docs") / "checkout")
    shutil.copytree(ROOT, copy, ignore=NOT_COPIED)
    for name in (".venv-run", ".venv-dev"):
        os.mkdir(os.path.join(copy, name))
        os.symlink(os.path.dirname(sys.executable), os.path.join(copy, name, "bin"))
        stamp = f".installed-{sys.version_info.major}.{sys.version_info.minor}"
        for installed in (f"{stamp}.locked", stamp):
            os.close(os.open(os.path.join(copy, name, installed), os.O_CREAT))
    return copy


@pytest.fixture(scope="module")
def environ(checkout: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a person's shell has on a node with one GPU; outputs that need root go to a temporary folder."""
    node = str(tmp_path_factory.mktemp("node"))
    driver = nvml.FakeDriver(node)
    driver.write(nvml.make_machine(gpus=[nvml.make_gpu()]))
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "GFD_"))},
        **driver.loader_environ(),
        "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"],
        "HOME": node,
        "PYTHON": sys.executable,
        "COLUMNS": "140",
    }


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_work(page: str, checkout: str, environ: dict[str, str]) -> None:
    """Each command succeeds and prints what the page shows; each configuration is valid."""
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        blocks = list(parse_blocks(page, file.read()))
    for block in blocks:
        if block.language == "yaml":
            check_config(block, checkout, environ)
        else:
            for command, output in parse_commands(block):
                check_command(block.place, command, output, checkout, environ)


def check_command(place: str, command: str, output: str | None, checkout: str, environ: dict[str, str]) -> None:
    """Run one command, or see that CI runs it."""
    if command.startswith(RUN_BY_CI):
        with open(os.path.join(ROOT, ".ci/run"), encoding="utf-8") as file:
            assert command.partition(" #")[0].strip() in file.read() + " .ci/run", place
        return
    if command.startswith((*NEEDS_A_NETWORK, *NEEDS_A_CLUSTER)):
        return
    ran = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=checkout,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert ran.returncode == 0, f"{place}: {command}\n{ran.stdout}{ran.stderr}"
    if output:
        assert re.fullmatch(expected_pattern(output), ran.stdout), f"{place}: {command} printed\n{ran.stdout}"


def check_config(block: Block, checkout: str, environ: dict[str, str]) -> None:
    """A whole config file in a page passes ``validate``; fragments and other YAML are left alone."""
    if not block.text.startswith("version: v1\n"):
        return
    path = os.path.join(checkout, "page.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(block.text)
    check_command(block.place, f"gpu-discovery validate {path}", None, checkout, environ)


def test_links_between_pages_lead_somewhere() -> None:
    """Each relative link names a file that is there."""
    broken = []
    for page in PAGES:
        with open(os.path.join(ROOT, page), encoding="utf-8") as file:
            targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", file.read())
        folder = os.path.dirname(os.path.join(ROOT, page))
        broken += [
            f"{page}: {target}"
            for target in targets
            if "://" not in target and not os.path.exists(os.path.join(folder, target))
        ]
    assert broken == []
