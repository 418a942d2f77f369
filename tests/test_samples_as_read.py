"""Each recorded machine, told to the fake driver and a fake host, is read back as it was recorded.

So the samples are what the readers give, and not merely what fits the types: every fact goes through the real pynvml
and sysfs. MIG devices take their attributes from the boards' data sheet facts, which were collected apart from the
samples.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
from typing import Any

import pytest

from gpu_discovery.core import codec, model, samples, snapshot as snapshots
from tests.fakes import boards, host, nvml

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "machines")
BOARDS = {
    "NVIDIA A100-PCIE-40GB": "a100-40",
    "NVIDIA A100-SXM4-40GB": "a100-40",
    "NVIDIA H100 80GB HBM3": "h100-80",
    "NVIDIA GB200": "gb200",
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition": "rtx-pro-6000",
}
"""The board whose MIG profiles a product has."""
MACHINES = sorted({*samples.NAMES, *os.listdir(FOLDER)} - {"configs", "gpu-less"})


def read_machine(name: str) -> model.Snapshot:
    own = os.path.join(FOLDER, name, "snapshot.json")
    if os.path.exists(own):
        return samples.read_recorded(snapshot_file=own)
    return samples.read_recorded(sample=name)


def make_fake_gpu(gpu: model.Gpu) -> dict[str, Any]:
    return nvml.make_gpu(
        gpu.index,
        "t4",
        uuid=gpu.uuid,
        minor=gpu.minor,
        pci_address=gpu.pci_address,
        pci_class=gpu.pci_class,
        name=gpu.name,
        brand=gpu.brand,
        architecture=gpu.architecture,
        memory_bytes=gpu.memory_bytes,
        compute_capability=list(gpu.compute_capability or ()),
        numa=gpu.numa_node,
        mig=None if gpu.mig is None else make_fake_mig(gpu, gpu.mig),
        display_mode=int(bool(gpu.display_mode)),
        display_active=int(bool(gpu.display_active)),
        compute_mode=gpu.compute_mode,
        virtualization_mode=gpu.virtualization_mode,
        persistence=int(bool(gpu.persistence)),
        fabric=None if gpu.fabric is None else {**dataclasses.asdict(gpu.fabric), "health_summary": 1},
        ecc=None if gpu.ecc is None else {"current": int(gpu.ecc.enabled), "pending": int(gpu.ecc.pending)},
        remap=None if gpu.row_remap is None else {"correctable": 0, "uncorrectable": 0, "pending": 0, "failed": 0},
    )


def make_fake_mig(gpu: model.Gpu, mig: model.Mig) -> dict[str, Any]:
    board = boards.BOARDS[BOARDS[gpu.name]]
    return {
        "current": int(mig.enabled),
        "pending": int(mig.pending),
        "max_devices": mig.max_devices,
        "profiles": [nvml.profile_row(profile) for profile in board.profiles],
        "devices": [make_fake_mig_device(gpu, device) for device in mig.devices],
    }


def make_fake_mig_device(gpu: model.Gpu, device: model.MigDevice) -> dict[str, Any]:
    assert device.placement is not None
    assert device.attributes is not None
    made = nvml.make_mig_device(
        str(device.profile),
        board=BOARDS[gpu.name],
        gpu=gpu.index,
        gi_id=device.gpu_instance_id or 0,
        ci_id=device.compute_instance_id or 0,
        placement=(device.placement.start, device.placement.size),
        uuid=device.uuid,
    )
    # The boards know no encoders.
    return made | {"attributes": made["attributes"] | {"encoders": device.attributes.encoders}}


def make_host(path: pathlib.Path, recorded: model.Snapshot, gpus: list[dict[str, Any]]) -> None:
    at_gpus = {gpu.pci_address for gpu in recorded.gpus}
    functions = {function.address: function for function in recorded.pci or ()}
    for gpu in gpus:
        gpu["pci_device_id"] = functions[gpu["pci_address"]].device_id << 16 | 0x10DE
    others = [
        host.make_function(
            function.address,
            device_id=function.device_id,
            class_code=function.class_code,
            driver=function.driver,
            numa_node=-1 if function.numa_node is None else function.numa_node,
        )
        for function in functions.values()
        if function.address not in at_gpus
    ]
    host.make_host_root(
        path,
        machine=recorded.host.machine,
        gpus=gpus,
        pci=others,
        driver_version=recorded.driver_version,
        boot_id=recorded.host.boot_id,
    )


def lines_of(snapshot: model.Snapshot) -> list[str]:
    """The snapshot as JSON without what is this run's: time, paths, kernel and the module's inode."""
    assert snapshot.host.driver_load is not None
    load = dataclasses.replace(snapshot.host.driver_load, inode=0)
    probes = tuple(dataclasses.replace(probe, detail="") for probe in snapshot.probes)
    host_facts = dataclasses.replace(snapshot.host, kernel="", driver_load=load)
    plain = dataclasses.replace(snapshot, taken_at_s=0.0, library=None, probes=probes, host=host_facts)
    return codec.dumps(plain).splitlines()


@pytest.mark.parametrize("name", MACHINES)
def test_a_recorded_machine_is_read_back(name: str, tmp_path: pathlib.Path, fake_driver: nvml.FakeDriver) -> None:
    """What the driver and the host tell of this machine becomes the recorded snapshot, fact by fact."""
    recorded = read_machine(name)
    assert recorded.cuda_version is not None
    major, minor = recorded.cuda_version
    gpus = [make_fake_gpu(gpu) for gpu in recorded.gpus]
    make_host(tmp_path / "host", recorded, gpus)
    fake_driver.write(
        nvml.make_machine(gpus, driver_version=recorded.driver_version, cuda_version=major * 1000 + minor * 10)
    )
    options = snapshots.ReadOptions(host_root=str(tmp_path / "host"), driver_root_ctr_path=str(tmp_path / "driver"))

    assert lines_of(snapshots.read_snapshot(options)) == lines_of(recorded)
