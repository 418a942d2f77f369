"""Small shared libraries that stand for NVIDIA's, compiled for a test: libcuda.so.1 and libdxcore.so."""

from __future__ import annotations

import os
import pathlib
import subprocess
from collections.abc import Mapping, Sequence

_SOURCE = pathlib.Path(__file__).with_name("libcuda.c")
_COMPILER = os.environ.get("CC", "cc")

ORIN = "gpu 8 7 32885104640 Orin"


class FakeCuda:
    """A folder with a ``libcuda.so.1`` in it, and the machine that this library tells of."""

    def __init__(self, folder: str | os.PathLike[str], *, has_v2_symbols: bool = True) -> None:
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._machine = self.folder / "machine.txt"
        define = [] if has_v2_symbols else ["-DCUDA_FAKE_V1"]
        compile_library(self.folder / "libcuda.so.1", str(_SOURCE), *define)
        self.write()

    def write(
        self,
        gpus: Sequence[str] = (ORIN,),
        *,
        version: int = 12020,
        fail: Mapping[str, int] | None = None,
        hang: Mapping[str, int] | None = None,
    ) -> None:
        """Describe the machine: GPU lines, and for a call the code that it fails with or the seconds that it hangs."""
        lines = [f"version {version}", *gpus]
        lines += [f"fail {call} {code}" for call, code in (fail or {}).items()]
        lines += [f"hang {call} {seconds}" for call, seconds in (hang or {}).items()]
        self._machine.write_text("".join(f"{line}\n" for line in lines))

    def environ(self) -> dict[str, str]:
        """What a process needs to load the library and find the machine; read when a process starts."""
        return {"LD_LIBRARY_PATH": str(self.folder), "FAKE_CUDA_MACHINE": str(self._machine)}


def make_dxcore(folder: str | os.PathLike[str]) -> pathlib.Path:
    """An empty ``libdxcore.so``: on WSL its presence is all that is asked."""
    library = pathlib.Path(folder) / "libdxcore.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    source = library.with_suffix(".c")
    source.write_text("int dxcore_is_here = 1;\n")
    compile_library(library, str(source))
    return library


def compile_library(target: pathlib.Path, *arguments: str) -> None:
    """Build a shared library from C."""
    command = [_COMPILER, "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-O1", "-o", str(target), *arguments]
    subprocess.run(command, check=True, capture_output=True)
