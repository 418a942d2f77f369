from __future__ import annotations

from gpu_discovery.core import model
from tests.fakes import nvml
from tests.gpu_discovery.core.nvml import reading


def make_link(address: str, **overrides: object) -> nvml.Json:
    """An active link to a GPU."""
    return nvml.make_gpu(0, "v100")["nvlinks"][0] | {"remote_kind": 0, "remote_pci_address": address} | overrides


def test_topology_is_read_only_when_asked_for(fake_driver: nvml.FakeDriver) -> None:
    """Not asked for is None, not empty."""
    gpus = [nvml.make_gpu(0), nvml.make_gpu(1)]
    facts = reading.read_once(fake_driver, nvml.make_machine(gpus))
    assert (facts.pairs, facts.gpus[0].nvlinks) == (None, None)


def test_active_links_are_told(fake_driver: nvml.FakeDriver) -> None:
    """Each with its number and what is at the other end; inactive ones and gaps are not."""
    links = [
        make_link("0000:0F:00.0"),
        make_link("0000:0F:00.0", active=0),
        None,
        make_link("0000:C4:00.0", remote_kind=2),
    ]
    gpu = reading.read_gpu(fake_driver, nvml.make_gpu(0, "v100", nvlinks=links), topology=True)
    assert gpu.nvlinks == (model.NvLink(0, "0000:0f:00.0", "gpu"), model.NvLink(3, "0000:c4:00.0", "switch"))
    assert gpu.failures == ()


def test_a_gpu_without_links(fake_driver: nvml.FakeDriver) -> None:
    """None of them is an empty list."""
    gpu = reading.read_gpu(fake_driver, nvml.make_gpu(0, "t4"), topology=True)
    assert (gpu.nvlinks, gpu.failures) == ((), ())


def test_an_unknown_kind_of_end(fake_driver: nvml.FakeDriver) -> None:
    """A kind that is new, or a driver that does not tell, is unknown."""
    gpu = nvml.make_gpu(0, "v100", nvlinks=[make_link("0000:0F:00.0", remote_kind=9)])
    assert reading.read_gpu(fake_driver, gpu, topology=True).nvlinks == (model.NvLink(0, "0000:0f:00.0", "unknown"),)
    machine = nvml.make_machine([gpu], missing_symbols=["nvmlDeviceGetNvLinkRemoteDeviceType"])
    (found,) = reading.read_once(fake_driver, machine, topology=True).gpus
    assert found.nvlinks == (model.NvLink(0, "0000:0f:00.0", "unknown"),)


def test_a_link_that_cannot_be_read(fake_driver: nvml.FakeDriver) -> None:
    """It is recorded by its number."""
    gpu = nvml.make_gpu(
        0, "v100", nvlinks=[make_link("0000:0F:00.0")], fail={"nvmlDeviceGetNvLinkRemotePciInfo_v2": "UNKNOWN"}
    )
    found = reading.read_gpu(fake_driver, gpu, topology=True)
    assert found.nvlinks == ()
    assert found.failures == (model.ReadFailure("nvlinks[0]", "nvmlDeviceGetNvLinkRemotePciInfo_v2", "UNKNOWN", 999),)


def test_pairs_tell_the_common_ancestor(fake_driver: nvml.FakeDriver) -> None:
    """Every two GPUs once, by index."""
    gpus = [nvml.make_gpu(i) for i in range(3)]
    gpus[0]["common_ancestor"] = {nvml.gpu_uuid(1): 20}
    pairs = reading.read_once(fake_driver, nvml.make_machine(gpus), topology=True).pairs
    assert pairs is not None
    assert [(pair.first, pair.second) for pair in pairs] == [(0, 1), (0, 2), (1, 2)]
    assert pairs[0].level == 20


def test_a_pair_that_cannot_be_read(fake_driver: nvml.FakeDriver) -> None:
    """It is recorded, and the others are there."""
    gpus = [
        nvml.make_gpu(0, fail={"nvmlDeviceGetTopologyCommonAncestor": "UNKNOWN"}),
        nvml.make_gpu(1),
        nvml.make_gpu(2),
    ]
    facts = reading.read_once(fake_driver, nvml.make_machine(gpus), topology=True)
    assert [failure.fact for failure in facts.failures] == ["pairs[0,1]", "pairs[0,2]"]
    assert [(pair.first, pair.second) for pair in facts.pairs or ()] == [(1, 2)]
