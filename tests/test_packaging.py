"""What is installed: metadata, files in the wheel, and locks that cover every requirement."""

from __future__ import annotations

import ast
import configparser
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile

import pytest
from packaging import requirements, version

import gpu_discovery

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NEEDED_TO_BUILD = ("setup.cfg", "pyproject.toml", "README.md", "LICENSE", "gpu_discovery", "device_plugin")


def read_setup() -> configparser.ConfigParser:
    """setup.cfg as written."""
    parser = configparser.ConfigParser()
    parser.read(os.path.join(ROOT, "setup.cfg"), encoding="utf-8")
    return parser


def parse_lines(text: str) -> list[requirements.Requirement]:
    """The requirements of one setup.cfg list."""
    return [requirements.Requirement(line) for line in text.splitlines() if line.strip()]


def read_lock(name: str) -> dict[str, tuple[str, int]]:
    """Normalised name → chosen version and number of hashes, of one file in requirements/."""
    with open(os.path.join(ROOT, "requirements", name), encoding="utf-8") as file:
        text = file.read()
    entries = re.findall(r"^([a-z0-9-]+)==([^\s;]+)[^\n]*\n((?: +--hash=\S+.*\n?)+)", text, re.MULTILINE)
    return {name: (chosen, hashes.count("--hash=sha256:")) for name, chosen, hashes in entries}


def missing_from(lock: dict[str, tuple[str, int]], wanted: list[requirements.Requirement]) -> list[str]:
    """The requirements that the lock does not answer with an allowed version and a hash."""
    chosen = {requirement: lock.get(requirement.name.lower().replace("_", "-")) for requirement in wanted}
    return [
        str(requirement)
        for requirement, entry in chosen.items()
        if entry is None or not requirement.specifier.contains(entry[0]) or entry[1] == 0
    ]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """A wheel built from a copy of the sources, without asking any index."""
    source = tmp_path_factory.mktemp("source")
    for name in NEEDED_TO_BUILD:
        path = os.path.join(ROOT, name)
        if os.path.isdir(path):
            shutil.copytree(path, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, source / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--wheel-dir", str(source / "dist"), str(source)], check=True, timeout=120)
    (built,) = (source / "dist").iterdir()
    return zipfile.ZipFile(built)


@pytest.mark.parametrize(("lock", "extras"), [("run.txt", ()), ("dev.txt", ("test", "lint"))])
def test_locks_answer_every_requirement(lock: str, extras: tuple[str, ...]) -> None:
    """Each requirement in setup.cfg has an exact version within its range, with hashes."""
    setup = read_setup()
    wanted = parse_lines(setup["options"]["install_requires"])
    for extra in extras:
        wanted += parse_lines(setup["options.extras_require"][extra])
    assert missing_from(read_lock(lock), wanted) == []


def test_build_lock_answers_the_build_system() -> None:
    """What pyproject.toml needs to build is locked too."""
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        wanted = [requirements.Requirement(text) for text in tomllib.load(file)["build-system"]["requires"]]
    assert missing_from(read_lock("build.txt"), wanted) == []


def test_what_is_tested_is_what_runs() -> None:
    """The runtime's versions are the tests' versions."""
    tested = read_lock("dev.txt")
    assert {name: entry for name, entry in read_lock("run.txt").items() if tested.get(name) != entry} == {}


@pytest.mark.parametrize("lock", ["run.txt", "dev.txt", "build.txt", "lock.txt"])
def test_locks_name_no_index(lock: str) -> None:
    """A lock holds names, versions and hashes, and no address."""
    with open(os.path.join(ROOT, "requirements", lock), encoding="utf-8") as file:
        text = file.read()
    assert "://" not in text
    assert not re.search(r"^ *--(?!hash)", text, re.MULTILINE)


def test_version_has_one_place() -> None:
    """The package's ``__version__`` is what the metadata says, and what the changelog's newest entry is about."""
    assert importlib.metadata.version("gpu-discovery") == gpu_discovery.__version__
    assert read_setup()["metadata"]["version"] == "attr: gpu_discovery.__version__"
    with open(os.path.join(ROOT, "CHANGELOG.md"), encoding="utf-8") as file:
        released = re.findall(r"^## \[(\d[^\]]*)\]", file.read(), re.MULTILINE)
    assert version.Version(released[0]) == version.Version(gpu_discovery.__version__)


def test_wheel_holds_both_packages_and_their_data(wheel: zipfile.ZipFile) -> None:
    """Type markers, sample machines and the licence are shipped; tests and docs are not."""
    names = wheel.namelist()
    assert {"gpu_discovery/py.typed", "device_plugin/py.typed"} <= set(names)
    shipped = {os.path.basename(name) for name in names if name.startswith("gpu_discovery/core/samples/")}
    present = {name for name in os.listdir(os.path.join(ROOT, "gpu_discovery/core/samples")) if name != "__pycache__"}
    assert shipped == present
    assert any(name.endswith("LICENSE") for name in names)
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"gpu_discovery", "device_plugin"}


def test_wheel_metadata_says_what_it_needs(wheel: zipfile.ZipFile) -> None:
    """Python 3.11 or newer, and the README as description."""
    (path,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = wheel.read(path).decode()
    assert "\nRequires-Python: >=3.11\n" in metadata
    assert "\nDescription-Content-Type: text/markdown\n" in metadata


def test_every_module_starts_with_its_purpose() -> None:
    """Each module of both packages has a docstring, each package's is its contract."""
    silent = []
    for package in ("gpu_discovery", "device_plugin"):
        for folder, _, files in os.walk(os.path.join(ROOT, package)):
            for path in (os.path.join(folder, name) for name in files if name.endswith(".py")):
                with open(path, encoding="utf-8") as file:
                    if ast.get_docstring(ast.parse(file.read())) is None:
                        silent.append(os.path.relpath(path, ROOT))
    assert silent == []


def test_installation_adds_no_import_hook() -> None:
    """No finder of an editable installation is there, which would more than double the start of Python."""
    assert [finder for finder in sys.meta_path if "editable" in str(finder).lower()] == []


@pytest.mark.parametrize(
    "entry_point",
    [
        entry
        for group in ("console_scripts", "gpu_discovery.commands")
        for entry in importlib.metadata.distribution("gpu-discovery").entry_points.select(group=group)
    ],
    ids=lambda entry: f"{entry.group}:{entry.name}",
)
def test_entry_points_load(entry_point: importlib.metadata.EntryPoint) -> None:
    """Every script and command names something that exists and can be called."""
    assert callable(entry_point.load())
