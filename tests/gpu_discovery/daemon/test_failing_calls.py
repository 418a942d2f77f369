"""The driver failing at every single call in turn: no pass crashes, no label that was published goes."""

from __future__ import annotations

import io

import pytest

from gpu_discovery import settings as labeler_settings
from gpu_discovery.daemon import passes as daemon_passes
from gpu_discovery.sinks import lines
from tests.fakes import host, nvml

GPUS = [nvml.make_gpu(0, mig_devices=["3g.20gb", "1g.5gb"]), nvml.make_gpu(1, mig_devices=["3g.20gb", "1g.5gb"])]
ERRORS = ["UNKNOWN", "GPU_IS_LOST", "NOT_SUPPORTED", "TIMEOUT", "NO_PERMISSION"]
OPTIONAL = {"NOT_SUPPORTED"}
"""Says that there is no such fact, not that it could not be read: then its label rightly goes."""


class Node:
    """A node, and passes over it as one process or another would do them."""

    def __init__(self, tmp_path, driver, strategy):
        self.driver = driver
        self.output = tmp_path / "gfd"
        root = host.make_host_root(tmp_path / "host", gpus=GPUS)
        self.settings = labeler_settings.LabelerSettings(
            output_file=str(self.output),
            host_root=root.path,
            driver_root_ctr_path=driver.root,
            mig_strategy=strategy,
            fail_on_init_error=False,
        )

    def make_process(self):
        """What a new process has."""
        return daemon_passes.Passes(self.settings, io.StringIO())

    def fail(self, **calls):
        """These calls fail from now on, whatever they are about."""
        self.driver.write(nvml.make_machine(GPUS, fail=calls))

    @property
    def labels(self):
        return lines.parse(self.output.read_text())


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("strategy", ["none", "single", "mixed"])
def test_no_failing_call_crashes_a_pass_or_takes_a_label(tmp_path, fake_driver, strategy, error):
    """In the process that read everything before no label changes; in a new one none goes; after it all is as before."""
    node = Node(tmp_path, fake_driver, strategy)
    node.fail()
    running = node.make_process()
    running.run()
    good = node.labels
    for call in nvml.calls():
        node.fail(**{call: error})
        running.run()
        during = node.labels
        node.make_process().run()
        afterwards = node.labels
        node.fail()
        running.run()
        assert node.labels.keys() == good.keys(), call
        if error not in OPTIONAL:
            assert changes(during, good) == {}, call
            assert good.keys() <= afterwards.keys(), call


@pytest.mark.parametrize("left", [GPUS[1:], GPUS[:1], []], ids=len)
@pytest.mark.parametrize("strategy", ["none", "single", "mixed"])
def test_a_gpu_that_is_no_longer_listed_takes_no_label(tmp_path, fake_driver, strategy, left):
    """The bus still shows it with its driver: it is there, and counted, until the bus says otherwise."""
    node = Node(tmp_path, fake_driver, strategy)
    node.fail()
    running = node.make_process()
    running.run()
    good = node.labels
    fake_driver.write(nvml.make_machine(left))
    end = running.run()
    assert changes(node.labels, good) == {}
    assert end.gpus_by_state["lost"] == 2 - len(left)


def changes(labels, before):
    """What became of labels that were there."""
    return {
        key: (value, labels.get(key))
        for key, value in before.items()
        if labels.get(key) != value and key != "nvidia.com/gfd.timestamp"
    }
