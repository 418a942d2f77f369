from __future__ import annotations

import itertools

import pytest

from gpu_discovery.core import model
from gpu_discovery.core.nvml import causes, gateway


def make_surroundings(**overrides: object) -> causes.Surroundings:
    """A node with a loaded driver, in a pod that has its device nodes."""
    facts = {"driver_version": "535.129.03", "gpus_on_bus": 8, "has_control_node": True, "driver_root": "/driver-root"}
    return causes.Surroundings(**facts | overrides)  # type: ignore[arg-type]  # Values by name.


@pytest.mark.parametrize("code", gateway.OUTCOMES)
def test_every_code_is_a_finding(code: int) -> None:
    """Whatever NVML returns as a whole is one of the findings that a snapshot knows."""
    assert model.Finding(causes.finding(code)) not in (model.Finding.OK, model.Finding.PLATFORM_UNKNOWN)


@pytest.mark.parametrize(
    ("found", "around", "says"),
    [
        pytest.param("nvml-missing", {}, "runtime class", id="the pod was not given the library"),
        pytest.param("nvml-missing", {}, "/driver-root", id="where it was looked for"),
        pytest.param("nvml-missing", {"driver_version": None}, "no driver is loaded", id="no driver on the node"),
        pytest.param("nvml-missing", {"driver_version": None, "gpus_on_bus": 0}, "no NVIDIA GPU", id="no GPU"),
        pytest.param("driver-not-loaded", {"driver_version": None}, "no driver is loaded", id="driver not loaded"),
        pytest.param("driver-not-loaded", {"has_control_node": False}, "has no /dev/nvidiactl", id="no device nodes"),
        pytest.param("no-permission", {}, "may not use /dev/nvidiactl", id="not permitted"),
        pytest.param("version-mismatch", {}, "535.129.03", id="the module's version"),
        pytest.param("version-mismatch", {"driver_version": ""}, "(unknown)", id="the module's version is not told"),
        pytest.param("nvml-failed", {}, "nvidia-smi", id="anything else"),
        pytest.param(
            "nvml-failed", {"has_control_node": False}, "has no /dev/nvidiactl", id="an unknown error for that"
        ),
        pytest.param("no-gpus", {}, "finds no GPU", id="no GPU by NVML's word"),
    ],
)
def test_the_cause_is_told_by_what_is_visible(found: str, around: dict[str, object], says: str) -> None:
    """One return code has different causes, and each its remedy."""
    assert says in causes.explanation(found, make_surroundings(**around))


def test_every_explanation_is_one_line() -> None:
    """It fits into a log line whatever is found."""
    for finding, version, gpus, node in itertools.product(model.Finding, (None, "", "535"), (0, 8), (True, False)):
        around = make_surroundings(driver_version=version, gpus_on_bus=gpus, has_control_node=node)
        text = causes.explanation(finding.value, around)
        assert text
        assert "\n" not in text
