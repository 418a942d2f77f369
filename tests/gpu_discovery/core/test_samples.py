from __future__ import annotations

import itertools
import math
import os

import pytest

from gpu_discovery.core import codec, errors, model, samples

FOLDER = os.path.dirname(samples.__file__)


@pytest.fixture(params=samples.NAMES)
def snapshot(request: pytest.FixtureRequest) -> model.Snapshot:
    return samples.read_recorded(sample=request.param)


def test_names_are_the_files() -> None:
    """The list of names and the files beside it agree, in order."""
    assert list(samples.NAMES) == sorted(
        name.removesuffix(".json") for name in os.listdir(FOLDER) if name.endswith(".json")
    )


@pytest.mark.parametrize("name", samples.NAMES)
def test_files_are_written_as_the_codec_writes(name: str) -> None:
    """A sample is byte for byte what recording that machine would give."""
    with open(os.path.join(FOLDER, f"{name}.json"), encoding="ascii") as file:
        text = file.read()

    assert codec.dumps(codec.loads(text)) == text


def test_every_gpu_is_on_the_bus(snapshot: model.Snapshot) -> None:
    """GPUs and the PCI list tell the same addresses, classes and NUMA nodes, and the driver is bound to them."""
    assert snapshot.pci is not None
    on_bus = {function.address: function for function in snapshot.pci}
    assert [gpu.pci_address for gpu in snapshot.gpus] == [f.address for f in snapshot.pci if f.is_gpu]
    for gpu in snapshot.gpus:
        function = on_bus[str(gpu.pci_address)]
        assert (function.class_code, function.numa_node, function.driver) == (gpu.pci_class, gpu.numa_node, "nvidia")


def test_identities_are_unique(snapshot: model.Snapshot) -> None:
    """No two GPUs or MIG devices of a sample share a UUID, and indices count from 0."""
    uuids = [gpu.uuid for gpu in snapshot.gpus] + [str(device.uuid) for device in _mig_devices(snapshot)]

    assert len(uuids) == len(set(uuids))
    assert [gpu.index for gpu in snapshot.gpus] == list(range(len(snapshot.gpus)))


def test_the_driver_is_told_once(snapshot: model.Snapshot) -> None:
    """The loaded module's version is NVML's, in this boot; no driver, no load."""
    load = snapshot.host.driver_load
    assert (load and load.version) == snapshot.driver_version
    assert load is None or load.boot_id == snapshot.host.boot_id


def test_mig_profiles_follow_from_the_memory(snapshot: model.Snapshot) -> None:
    """Each MIG device's profile name is what its slices and its share of the memory make, in eighths."""
    for gpu in snapshot.gpus:
        for device in gpu.mig.devices if gpu.mig else ():
            assert device.attributes is not None
            total = gpu.memory_bytes or 0
            eighths = math.ceil(device.attributes.memory_mib * 2**20 / total * 8)
            gigabytes = math.floor(eighths / 8 * math.ceil(total / 2**30) + 0.5)
            assert str(device.profile).partition("+")[0] == f"{device.attributes.gpu_instance_slices}g.{gigabytes}gb"
            assert device.memory_bytes == device.attributes.memory_mib * 2**20


def test_mig_instances_do_not_overlap(snapshot: model.Snapshot) -> None:
    """GPU instances of one GPU have ids of their own and stand on memory slices of their own."""
    for gpu in snapshot.gpus:
        devices = gpu.mig.devices if gpu.mig else ()
        slices = [range(d.placement.start, d.placement.start + d.placement.size) for d in devices if d.placement]
        assert len({d.gpu_instance_id for d in devices}) == len(devices) == len(slices)
        assert not [1 for one, other in itertools.combinations(slices, 2) if set(one) & set(other)]
        assert gpu.is_mig_enabled == bool(devices)


def test_samples_cover_what_nodes_differ_in() -> None:
    """Together the samples hold MIG on and off, both PCI classes, a fabric, a display, several models and no GPU."""
    nodes = [samples.read_recorded(sample=name) for name in samples.NAMES]
    gpus = [gpu for node in nodes for gpu in node.gpus]

    assert {gpu.is_mig_enabled for gpu in gpus} == {True, False}
    assert {gpu.pci_class for gpu in gpus} == {0x030000, 0x030200}
    assert any(gpu.fabric and gpu.fabric.is_attached for gpu in gpus)
    assert any(gpu.display_active for gpu in gpus)
    assert any(len({gpu.name for gpu in node.gpus}) == 3 for node in nodes)
    assert any(node.pci == () and node.finding is model.Finding.NVML_MISSING for node in nodes)


def test_a_recorded_file_is_read(tmp_path: object) -> None:
    """A snapshot written to a file comes back from there."""
    path = os.path.join(str(tmp_path), "node.json")
    recorded = samples.read_recorded(sample="t4")
    with open(path, "w", encoding="ascii") as file:
        file.write(codec.dumps(recorded))

    assert samples.read_recorded(snapshot_file=path) == recorded


def test_an_unknown_sample_is_a_usage_error() -> None:
    """A name that is not there is answered with those that are."""
    with pytest.raises(errors.SettingsError, match="no sample machine 'dgx'; there are desktop-display, dgx-a100"):
        samples.read_recorded(sample="dgx")


@pytest.mark.parametrize(("snapshot_file", "sample"), [(None, None), ("x.json", "t4")])
def test_one_source_must_be_given(snapshot_file: str | None, sample: str | None) -> None:
    """Neither or both of file and sample is a usage error."""
    with pytest.raises(errors.SettingsError, match="give either"):
        samples.read_recorded(snapshot_file=snapshot_file, sample=sample)


def test_a_bad_file_is_named(tmp_path: object) -> None:
    """The message names the file and what is wrong in it."""
    path = os.path.join(str(tmp_path), "node.json")
    with pytest.raises(errors.SnapshotError, match=r"reading the snapshot .*node\.json failed: No such file"):
        samples.read_recorded(snapshot_file=path)
    with open(path, "w", encoding="ascii") as file:
        file.write('{"snapshotVersion": 9}')
    with pytest.raises(
        errors.SnapshotError, match=r"node\.json: snapshotVersion: this program reads version 1, found 9"
    ):
        samples.read_recorded(snapshot_file=path)


def _mig_devices(snapshot: model.Snapshot) -> list[model.MigDevice]:
    return [device for gpu in snapshot.gpus if gpu.mig for device in gpu.mig.devices]
