"""The structures of abi.h lie in memory as pynvml's do: every field at the same offset, every size the same."""

from __future__ import annotations

import ctypes
import os
import pathlib
import re
import subprocess

import pynvml
import pytest

from tests.fakes import nvml_library

PAIRS = {
    "nvmlPciInfo_t": pynvml.nvmlPciInfo_t,
    "nvmlPciInfo_v2_t": pynvml.nvmlPciInfo_v2_t,
    "nvmlPciInfoExt_v1_t": pynvml.nvmlPciInfoExt_v1_t,
    "nvmlMemory_t": pynvml.c_nvmlMemory_t,
    "nvmlMemory_v2_t": pynvml.c_nvmlMemory_v2_t,
    "nvmlBAR1Memory_t": pynvml.c_nvmlBAR1Memory_t,
    "nvmlDeviceAttributes_t": pynvml.c_nvmlDeviceAttributes,
    "nvmlInstancePlacement_t": pynvml.c_nvmlGpuInstancePlacement_t,
    "nvmlGpuInstanceProfileInfo_t": pynvml.c_nvmlGpuInstanceProfileInfo_t,
    "nvmlGpuInstanceProfileInfo_v2_t": pynvml.c_nvmlGpuInstanceProfileInfo_v2_t,
    "nvmlGpuInstanceInfo_t": pynvml.c_nvmlGpuInstanceInfo_t,
    "nvmlComputeInstanceProfileInfo_t": pynvml.c_nvmlComputeInstanceProfileInfo_t,
    "nvmlComputeInstanceProfileInfo_v2_t": pynvml.c_nvmlComputeInstanceProfileInfo_v2_t,
    "nvmlComputeInstanceInfo_t": pynvml.c_nvmlComputeInstanceInfo_t,
    "nvmlGpuFabricInfo_t": pynvml.c_nvmlGpuFabricInfo_t,
    "nvmlGpuFabricInfo_v2_t": pynvml.c_nvmlGpuFabricInfo_v2_t,
    "nvmlGpuFabricInfo_v3_t": pynvml.c_nvmlGpuFabricInfo_v3_t,
    "nvmlDeviceAddressingMode_v1_t": pynvml.c_nvmlDeviceAddressingMode_t,
    "nvmlTemperature_v1_t": pynvml.c_nvmlTemperature_v1_t,
    "nvmlRowRemapperHistogramValues_t": pynvml.c_nvmlRowRemapperHistogramValues,
    "nvmlEccSramErrorStatus_v1_t": pynvml.c_nvmlEccSramErrorStatus_v1_t,
    "nvmlValue_t": pynvml.c_nvmlValue_t,
    "nvmlFieldValue_t": pynvml.c_nvmlFieldValue_t,
    "nvmlUtilization_t": pynvml.c_nvmlUtilization_t,
    "nvmlProcessInfo_t": pynvml.c_nvmlProcessInfo_v2_t,
    "nvmlEventData_t": pynvml.c_nvmlEventData_t,
    "nvmlConfComputeSystemState_t": pynvml.c_nvmlConfComputeSystemState_t,
}

ONE_BYTE_STATE = {"nvmlGpuFabricInfo_t", "nvmlGpuFabricInfo_v2_t", "nvmlGpuFabricInfo_v3_t"}
"""pynvml reads the fabric state as four bytes where the library has one byte and padding."""


def layout_asserts(name: str, structure: type[ctypes.Structure]) -> str:
    """C that compiles only where ``name`` is laid out as ``structure``."""
    lines = [f'_Static_assert(sizeof({name}) == {ctypes.sizeof(structure)}, "size of {name}");']
    for field, *_ in structure._fields_:
        if field.startswith("reserved") and field != "reserved":
            continue
        place = getattr(structure, field)
        lines.append(f'_Static_assert(offsetof({name}, {field}) == {place.offset}, "{name}.{field}");')
        if not (field == "state" and name in ONE_BYTE_STATE):
            lines.append(f'_Static_assert(sizeof((({name} *)0)->{field}) == {place.size}, "size of {name}.{field}");')
    return "\n".join(lines)


def compiles(source: str, folder: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """What the compiler says of this C."""
    path = folder / "layout.c"
    path.write_text(source)
    command = [*nvml_library.compiler(), "-fsyntax-only", "-I", nvml_library.SOURCES, os.fspath(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", PAIRS)
def test_layout_is_pynvmls(name: str, tmp_path: pathlib.Path) -> None:
    """Size, and offset and size of every field."""
    verdict = compiles(f'#include <stddef.h>\n#include "abi.h"\n{layout_asserts(name, PAIRS[name])}\n', tmp_path)
    assert verdict.returncode == 0, verdict.stderr


def test_every_structure_is_compared() -> None:
    """A structure added to abi.h without a partner here would be unchecked."""
    text = pathlib.Path(nvml_library.SOURCES, "abi.h").read_text(encoding="utf-8")
    assert set(re.findall(r"^\} (nvml\w+);", text, re.MULTILINE)) == set(PAIRS)


def test_wrong_layout_is_told(tmp_path: pathlib.Path) -> None:
    """The comparison can fail: another structure's fields do not compile."""
    source = layout_asserts("nvmlMemory_v2_t", pynvml.c_nvmlMemory_v2_t).replace("nvmlMemory_v2_t", "nvmlMemory_t")
    assert compiles(f'#include <stddef.h>\n#include "abi.h"\n{source}\n', tmp_path).returncode != 0


def test_error_names_are_nvmls(tmp_path: pathlib.Path) -> None:
    """Every return code that pynvml knows has its name in the fake's table."""
    text = pathlib.Path(nvml_library.SOURCES, "answers.c").read_text(encoding="utf-8")
    table = {name: int(code) for code, name in re.findall(r'\{(\d+), "(\w+)",', text)}
    known = {
        name.removeprefix("NVML_ERROR_"): getattr(pynvml, name) for name in dir(pynvml) if name.startswith("NVML_ERROR")
    }
    assert table == known | {"SUCCESS": 0}
