"""Tegra's GPUs as a source."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gpu_discovery.core import errors, model
from gpu_discovery.core.cuda import reader
from gpu_discovery.core.platforms import tegra

LOAD = model.DriverLoad(boot_id="boot", version="540.3.0", inode=1)
ORIN = model.Gpu(index=0, uuid=model.GpuUuid("tegra"), pci_address=None, name="Orin")
WHOLE = reader.CudaFacts(cuda_version=(12, 2), gpus=(ORIN,))


class Answers:
    """What CUDA answers, one after the other; the last one for ever."""

    def __init__(self, answers: Sequence[reader.CudaFacts | errors.CudaCallFailed]) -> None:
        self.answers = list(answers)
        self.asked = 0

    def __call__(self) -> reader.CudaFacts:
        self.asked += 1
        answer = self.answers[min(self.asked, len(self.answers)) - 1]
        if isinstance(answer, errors.CudaCallFailed):
            raise answer
        return answer


def test_facts() -> None:
    """CUDA's GPUs, with the driver version that Tegra does not tell."""
    facts = tegra.TegraSource(Answers([WHOLE])).read((), None)

    assert (facts.finding, facts.platform, facts.detail) == (model.Finding.OK, model.Platform.TEGRA, "")
    assert (facts.driver_version, facts.cuda_version) == ("unknown.unknown.unknown", (12, 2))
    assert facts.gpus == (ORIN,)


def test_asked_once_per_driver_load() -> None:
    """A good answer holds while the driver load lasts."""
    answers = Answers([WHOLE])
    source = tegra.TegraSource(answers)
    first = source.read((), None)

    assert source.read((), None) is first
    assert answers.asked == 1
    source.read((), LOAD)
    assert answers.asked == 2


@pytest.mark.parametrize(
    "bad",
    [
        errors.CudaCallFailed("cuInit", 999, "UNKNOWN"),
        reader.CudaFacts(cuda_version=(12, 2), gpus=()),
        reader.CudaFacts((12, 2), (), (model.UnreadableGpu(0, ()),)),
        reader.CudaFacts(None, (ORIN,), (), (model.ReadFailure("cuda_version", "cuDriverGetVersion", "UNKNOWN"),)),
    ],
)
def test_asked_again_until_the_answer_is_whole(bad: reader.CudaFacts | errors.CudaCallFailed) -> None:
    """An answer in which something is missing is asked for again in the next pass."""
    source = tegra.TegraSource(Answers([bad, WHOLE]))
    source.read((), None)

    assert source.read((), None).gpus == (ORIN,)


def test_says_that_cuda_is_being_asked() -> None:
    """While CUDA is asked the source says so, before and after it does not."""
    seen: list[str] = []

    def ask() -> reader.CudaFacts:
        assert source.in_flight is not None
        seen.append(source.in_flight.call)
        return WHOLE

    source = tegra.TegraSource(ask)
    before = source.in_flight
    source.read((), None)

    assert seen == ["asking libcuda.so.1"]
    assert before is source.in_flight is None


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("LIBRARY_NOT_FOUND", model.Finding.CUDA_MISSING),
        ("NO_DEVICE", model.Finding.NO_GPUS),
        ("NOT_PERMITTED", model.Finding.NO_PERMISSION),
        ("SYSTEM_DRIVER_MISMATCH", model.Finding.VERSION_MISMATCH),
        ("UNKNOWN", model.Finding.CUDA_FAILED),
        ("TIMEOUT", model.Finding.CUDA_FAILED),
    ],
)
def test_failures_are_findings(name: str, finding: model.Finding) -> None:
    """Each way to fail is a finding of its own, with the call in the line for people."""
    facts = tegra.TegraSource(Answers([errors.CudaCallFailed("cuInit", 1, name)])).read((), None)

    assert facts.finding is finding
    assert facts.detail.startswith(f"cuInit failed with {name} (1)")
    assert facts.gpus == ()
