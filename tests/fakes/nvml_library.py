"""The fake NVML library as a file: compiled from tests/fake_nvml on first use, once per content and set of symbols.

Object files and libraries are kept in the system's folder for temporary files, shared by all test processes of a user.
"""

from __future__ import annotations

import _ctypes
import contextlib
import ctypes
import functools
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence

SOURCES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fake_nvml")
SONAME = "libnvidia-ml.so.1"
COMPILE = ("-fPIC", "-O1", "-fvisibility=hidden", "-Wall", "-Wextra")


class CannotCompile(Exception):
    """There is no C compiler, or it refuses the sources."""


@functools.cache
def calls() -> tuple[str, ...]:
    """Every function of the library that can fail or hang."""
    texts = (_text(path) for path in sources(".c"))
    return tuple(sorted(name for text in texts for name in re.findall(r"^NVML_CALL (nvml\w+)\(", text, re.MULTILINE)))


def sources(suffix: str) -> list[str]:
    """Paths of the C files and headers whose names end so."""
    names = (name for name in sorted(os.listdir(SOURCES)) if name.endswith((".c", ".h")))
    return [os.path.join(SOURCES, name) for name in names if name.endswith(suffix)]


def compiler() -> list[str]:
    """The C compiler's command: what CC says, words and all, ``cc`` by default."""
    return shlex.split(os.environ.get("CC", "")) or ["cc"]


@contextlib.contextmanager
def loaded(path: str) -> Iterator[ctypes.CDLL]:
    """The library at ``path``, unloaded after use: the loader answers a search for the bare name with any copy that is
    still in the process, so later tests would find one where there is none."""
    library = ctypes.CDLL(path)
    try:
        yield library
    finally:
        _ctypes.dlclose(library._handle)


def build(missing: Iterable[str] = ()) -> str:
    """Path of a library without these symbols, compiled where no earlier run of the same sources has."""
    absent = sorted(set(missing))
    if unknown := set(absent) - set(calls()) - {"nvmlErrorString"}:
        raise ValueError(f"missing_symbols names what the fake does not have: {sorted(unknown)}")
    return _built(tuple(absent))


@functools.cache
def _built(missing: tuple[str, ...]) -> str:
    folder = _object_folder()
    variant = hashlib.sha256(" ".join(missing).encode()).hexdigest()[:16]
    library = os.path.join(folder, f"{SONAME}-{variant}")
    if not os.path.exists(library):
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            _link(folder, scratch, missing)
            os.replace(os.path.join(scratch, SONAME), library)
    return library


def _object_folder() -> str:
    """Where the object files of these sources lie, compiled on first use."""
    digest = hashlib.sha256(repr((COMPILE, compiler(), platform.machine())).encode())
    for path in sources(""):
        digest.update(_text(path).encode())
    cache = os.path.join(tempfile.gettempdir(), f"fake-nvml-{os.getuid()}")
    folder = os.path.join(cache, digest.hexdigest()[:16])
    if not os.path.isdir(folder):
        os.makedirs(cache, mode=0o700, exist_ok=True)
        scratch = tempfile.mkdtemp(dir=cache)
        try:
            _compile(["-c", *COMPILE, *sources(".c")], scratch)
            os.rename(scratch, folder)
        except OSError:  # Another process was quicker.
            if not os.path.isdir(folder):
                raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return folder


def _link(objects: str, scratch: str, missing: tuple[str, ...]) -> None:
    script = os.path.join(scratch, "symbols.map")
    names = "".join(f"{name}; " for name in missing)
    with open(script, "w", encoding="ascii") as file:
        file.write(f"{{ global: nvml*; local: {names}*; }};\n")
    files = sorted(os.path.join(objects, name) for name in os.listdir(objects) if name.endswith(".o"))
    options = [f"-Wl,-soname,{SONAME}", f"-Wl,--version-script={script}", "-o", SONAME]
    _compile(["-shared", *options, *files, "-lpthread"], scratch)


def _compile(arguments: Sequence[str], folder: str) -> None:
    """Runs the compiler; what it has to say goes to standard error."""
    command = compiler()
    if not shutil.which(command[0]):
        raise CannotCompile(
            f"the tests need a C compiler and {command[0]} is not there: install gcc or clang, or set CC"
        )
    if subprocess.run([*command, *arguments], cwd=folder, check=False).returncode:
        raise CannotCompile(
            f"{command[0]} does not compile the fake NVML library in {SOURCES}: its messages stand above"
        )


def _text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()
