"""One pass over a node: fake sysfs, fake driver, and what becomes of them."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from gpu_discovery.core import codec, model, snapshot
from tests import builders
from tests.fakes import host, nvml
from tests.fakes.cuda import libraries

A100_BUSES = ("07", "0f", "47", "4e", "87", "90", "b7", "bd")
CLOCK_S = 1_700_000_000.0

READ_IN_CHILD = """
import sys
from gpu_discovery.core import codec, snapshot
root, driver_root, strategy = sys.argv[1:]
options = snapshot.ReadOptions(host_root=root, driver_root_ctr_path=driver_root, discovery_strategy=strategy)
print(codec.dumps(snapshot.read_snapshot(options)))
"""


@dataclasses.dataclass
class Node:
    """A machine with its bus and its driver."""

    root: host.HostRoot
    driver: nvml.FakeDriver

    def options(self, **overrides: Any) -> snapshot.ReadOptions:
        """How to read this machine."""
        values = {"host_root": self.root.path, "driver_root_ctr_path": self.driver.root} | overrides
        return snapshot.ReadOptions(**values)

    def cache(self, **overrides: Any) -> snapshot.SnapshotCache:
        """What is kept between passes over this machine."""
        return snapshot.SnapshotCache(self.options(**overrides))

    def read(self, cache: snapshot.SnapshotCache | None = None, **overrides: Any) -> model.Snapshot:
        """One pass."""
        return snapshot.read_snapshot(self.options(**overrides), cache, clock=lambda: CLOCK_S)

    def describe(self, gpus: list[nvml.Json] | None = None, **overrides: Any) -> None:
        """Another machine description for the driver."""
        self.driver.write(nvml.make_machine(make_a100s() if gpus is None else gpus, **overrides))


def make_a100s(count: int = 8) -> list[nvml.Json]:
    """The GPUs of a DGX A100 as NVML lists them."""
    return [nvml.make_gpu(index, pci_address=f"00000000:{bus}:00.0") for index, bus in enumerate(A100_BUSES[:count])]


@pytest.fixture
def node(tmp_path: pathlib.Path, fake_driver: nvml.FakeDriver) -> Node:
    """A DGX A100."""
    made = Node(host.make_host_root(tmp_path / "host", pci=host.make_dgx_a100()), fake_driver)
    made.describe()
    return made


def read_in_child(root: str, driver_root: str, environ: dict[str, str], strategy: str = "auto") -> model.Snapshot:
    """A pass in a process of its own, whose loader looks where ``environ`` says."""
    command = [sys.executable, "-c", READ_IN_CHILD, root, driver_root, strategy]
    done = subprocess.run(command, env=os.environ | environ, capture_output=True, check=True, timeout=60)
    assert done.stderr == b""
    return codec.loads(done.stdout)


def test_dgx_a100(node: Node) -> None:
    """A whole machine: eight GPUs with class and NUMA node from the bus, the switches on the bus, no failure."""
    read = node.read()

    assert (read.finding, read.platform, read.detail) == (model.Finding.OK, model.Platform.NVML, "")
    assert (read.driver_version, read.cuda_version, read.taken_at_s) == ("535.129.03", (12, 2), CLOCK_S)
    assert [gpu.index for gpu in read.gpus] == list(range(8))
    assert [gpu.pci_address for gpu in read.gpus] == [f"0000:{bus}:00.0" for bus in A100_BUSES]
    assert {gpu.pci_class for gpu in read.gpus} == {0x030200}
    assert [gpu.numa_node for gpu in read.gpus] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert read.pci is not None
    assert len(read.pci) == 14
    assert read.host.machine == "DGXA100 920-23687-2530-000"
    assert read.library is not None
    assert read.library.origin == "driver-root"
    assert (read.unreadable, read.pairs, read.failures, read.host.failures) == ((), None, (), ())
    assert all(gpu.failures == () for gpu in read.gpus)


def test_unchanged_node_gives_the_same_objects(node: Node) -> None:
    """Two passes over an unchanged node differ in their time only, and share every part."""
    cache = node.cache()
    first = node.read(cache)
    second = snapshot.read_snapshot(node.options(), cache, clock=lambda: CLOCK_S + 60)

    assert second.taken_at_s == CLOCK_S + 60
    assert dataclasses.replace(second, taken_at_s=CLOCK_S) == first
    assert second.host is first.host
    assert second.pci is first.pci
    assert all(new is old for new, old in zip(second.gpus, first.gpus, strict=True))


def test_nothing_is_held_between_passes(node: Node, tmp_path: pathlib.Path) -> None:
    """After a pass no device node of the driver is open, unless it is asked to be."""
    nodes = tmp_path / "dev"
    nodes.mkdir()
    for name in ("nvidiactl", *(f"nvidia{minor}" for minor in range(8))):
        (nodes / name).touch()
    node.describe(open_device_nodes=str(nodes))

    node.read(node.cache())
    closed = _open_under(nodes)
    kept = node.cache(keep_nvml_open=True)
    node.read(kept)
    held = _open_under(nodes)
    kept.close()

    assert closed == []
    assert "nvidiactl" in held
    assert _open_under(nodes) == []


def _open_under(folder: pathlib.Path) -> list[str]:
    """Names of the files in ``folder`` that this process has open."""
    targets = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            targets.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        except FileNotFoundError:
            continue
    return sorted(os.path.basename(target) for target in targets if target.startswith(f"{folder}/"))


def test_driver_arrives_late(node: Node) -> None:
    """No library, then no driver, then a T4: each pass tells what it finds, in one process and with one cache."""
    cache = node.cache()
    node.root.unload_driver()
    node.driver.write(nvml.make_machine([], init="LIBRARY_NOT_FOUND"))
    without_library = node.read(cache)
    node.driver.write(nvml.make_machine([], init="DRIVER_NOT_LOADED"))
    without_driver = node.read(cache)
    node.root.load_driver("535.129.03")
    node.driver.write(nvml.make_machine([nvml.make_gpu(board="t4")]))
    arrived = node.read(cache)

    assert (without_library.finding, without_library.platform) == (model.Finding.NVML_MISSING, model.Platform.UNKNOWN)
    assert (without_driver.finding, without_driver.platform) == (model.Finding.DRIVER_NOT_LOADED, model.Platform.NVML)
    assert without_library.detail
    assert without_driver.detail
    assert without_library.gpus == without_driver.gpus == ()
    assert len(without_library.pci or ()) == 14
    assert (arrived.finding, arrived.detail, len(arrived.gpus)) == (model.Finding.OK, "", 1)
    assert arrived.host.driver_load is not None


def test_library_itself_arrives_late(node: Node) -> None:
    """A driver root that is filled after the first pass is found by the next."""
    cache = node.cache()
    machine = nvml.make_machine()
    node.driver.uninstall()
    node.read(cache)
    node.driver.write(machine)

    assert node.read(cache).finding is model.Finding.OK


def test_driver_reload_reads_facts_anew(node: Node) -> None:
    """What holds during a driver load is read again after it."""
    cache = node.cache()
    before = node.read(cache)
    node.root.load_driver("535.129.03")
    node.describe([nvml.make_gpu(memory_bytes=1 << 30)])
    after = node.read(cache)

    assert before.gpus[0].memory_bytes != after.gpus[0].memory_bytes == 1 << 30


@pytest.mark.parametrize(
    ("overrides", "finding"),
    [
        ({"init": "LIBRARY_NOT_FOUND"}, model.Finding.NVML_MISSING),
        ({"init": "DRIVER_NOT_LOADED"}, model.Finding.DRIVER_NOT_LOADED),
        ({"init": "LIB_RM_VERSION_MISMATCH"}, model.Finding.VERSION_MISMATCH),
        ({"init": "NO_PERMISSION"}, model.Finding.NO_PERMISSION),
        ({"gpus": []}, model.Finding.NO_GPUS),
        ({"fail": {"nvmlDeviceGetCount_v2": "UNKNOWN"}}, model.Finding.NVML_FAILED),
    ],
)
@pytest.mark.parametrize("strategy", ["auto", "nvml"])
def test_findings(node: Node, overrides: dict[str, Any], finding: model.Finding, strategy: str) -> None:
    """Missing library, driver not loaded, version mismatch, no permission, zero GPUs: five findings, each with a line."""
    node.describe(**overrides)

    read = node.read(discovery_strategy=strategy)

    assert read.finding is finding
    assert read.detail
    assert "\n" not in read.detail
    assert read.gpus == ()


def test_version_mismatch_asks_for_a_new_process(node: Node) -> None:
    """What this process cannot recover from carries a token, the others do not."""
    cache = node.cache()
    node.read(cache)
    before = cache.restart_token
    node.describe(init="LIB_RM_VERSION_MISMATCH")
    node.read(cache)

    assert before is None
    assert cache.restart_token
    assert cache.in_flight is None


def test_gpu_that_cannot_be_read_hides_no_other(node: Node) -> None:
    """A handle that is refused is a record with the call and the code; the others are whole."""
    gpus = make_a100s()
    gpus[0]["fail"] = {"nvmlDeviceGetHandleByIndex_v2": "UNKNOWN"}
    node.describe(gpus)

    read = node.read()

    assert read.finding is model.Finding.OK
    assert [gpu.index for gpu in read.gpus] == list(range(1, 8))
    assert [(gpu.index, gpu.pci_address) for gpu in read.unreadable] == [(0, "0000:07:00.0")]
    assert [(failure.call, failure.reason) for failure in read.unreadable[0].failures] == [
        ("nvmlDeviceGetHandleByIndex_v2", "UNKNOWN")
    ]


def test_only_gpu_unreadable_is_not_no_gpus(node: Node) -> None:
    """A node whose one GPU cannot be read has a GPU."""
    node.describe([nvml.make_gpu(fail={"nvmlDeviceGetHandleByIndex_v2": "UNKNOWN"})])

    read = node.read()

    assert read.finding is model.Finding.OK
    assert len(read.unreadable) == 1


def test_the_display_adapter_of_a_dgx_station_is_told_and_labels_nothing(tmp_path: pathlib.Path) -> None:
    """Bus, driver and labels agree: it is there, it is not missing, and the node's labels are those without it."""
    a100s = make_a100s(2)
    display = nvml.make_gpu(2, "t4", name="NVIDIA DGX Display", pci_address="00000000:c1:00.0", pci_class=0x030000)
    made = {}
    for name, gpus in (("station", [*a100s, display]), ("without", a100s)):
        driver = nvml.FakeDriver(tmp_path / f"{name}-driver")
        driver.write(nvml.make_machine(gpus))
        root = host.make_host_root(tmp_path / name, gpus=gpus)
        environ = driver.environ()
        read = read_in_child(root.path, driver.root, environ, "nvml")
        made[name] = builders.make_labels(read, extra_labels=("counts",)).labels
        assert [gpu.pci_address for gpu in read.gpus] == [function.address for function in read.pci or ()]

    assert made["station"] == made["without"]
    assert made["station"]["nvidia.com/gpu.unreadable.count"] == "0"


def test_gpu_that_is_lost_keeps_its_identity(node: Node) -> None:
    """A GPU that falls off the bus later is still known by what was read before."""
    cache = node.cache()
    before = node.read(cache)
    gpus = make_a100s()
    gpus[3]["fail"] = {"*": "GPU_IS_LOST"}
    node.describe(gpus)
    after = node.read(cache)

    assert [gpu.state for gpu in after.gpus].count(model.GpuState.LOST) == 1
    assert after.gpus[3].state is model.GpuState.LOST
    assert (after.gpus[3].uuid, after.gpus[3].name) == (before.gpus[3].uuid, before.gpus[3].name)
    assert [gpu for gpu in after.gpus if gpu.index != 3] == [gpu for gpu in before.gpus if gpu.index != 3]


def test_gpu_that_is_no_longer_listed_keeps_its_identity(node: Node) -> None:
    """A GPU that NVML stops counting, while the bus still shows it with its driver, is lost and not gone."""
    cache = node.cache()
    before = node.read(cache)
    node.describe(make_a100s()[1:])
    after = node.read(cache)

    assert after.finding is model.Finding.OK
    assert [gpu.index for gpu in after.gpus] == list(range(8))
    assert {gpu.uuid for gpu in after.gpus} == {gpu.uuid for gpu in before.gpus}
    assert [gpu.uuid for gpu in after.gpus if gpu.state is model.GpuState.LOST] == [before.gpus[0].uuid]


def test_driver_that_lists_no_gpu_any_more(node: Node) -> None:
    """Zero GPUs is the finding, and those that were there are told as lost."""
    cache = node.cache()
    before = node.read(cache)
    node.describe([])
    after = node.read(cache)

    assert after.finding is model.Finding.NO_GPUS
    assert [(gpu.uuid, gpu.state) for gpu in after.gpus] == [(gpu.uuid, model.GpuState.LOST) for gpu in before.gpus]


def test_gpu_on_the_bus_that_nvml_does_not_list(node: Node) -> None:
    """A GPU that fell out of NVML's list is still told by the bus."""
    node.describe(make_a100s(7))

    read = node.read()
    listed = {gpu.pci_address for gpu in read.gpus}

    assert [function.address for function in read.pci or () if function.is_gpu and function.address not in listed] == [
        "0000:bd:00.0"
    ]


@pytest.mark.parametrize("class_code", [0x030100, 0x038000, 0x120000, 0x000000])
def test_class_that_is_neither_vga_nor_3d(node: Node, class_code: int) -> None:
    """An odd class is a fact like any other; the reference panics on it."""
    node.root.add_function(host.make_function("0000:07:00.0", class_code=class_code))

    read = node.read()

    assert read.gpus[0].pci_class == class_code
    assert read.finding is model.Finding.OK


def test_bus_that_cannot_be_listed(node: Node) -> None:
    """Without a bus the GPUs are told all the same, and the bus is a failure of the node."""
    node.root.remove("/sys/bus/pci/devices")

    read = node.read()

    assert read.pci is None
    assert [(failure.fact, failure.call, failure.reason) for failure in read.failures] == [
        ("pci", "/sys/bus/pci/devices", "ENOENT")
    ]
    assert len(read.gpus) == 8
    assert {gpu.pci_class for gpu in read.gpus} == {None}


def test_empty_host(tmp_path: pathlib.Path, fake_driver: nvml.FakeDriver) -> None:
    """A root with nothing in it is no reason to fail: facts are None, with their failures."""
    options = snapshot.ReadOptions(host_root=str(tmp_path / "nothing"), driver_root_ctr_path=fake_driver.root)

    read = snapshot.read_snapshot(options)

    assert (read.host.machine, read.host.boot_id, read.host.driver_load, read.pci) == (None, "", None, None)
    assert len(read.gpus) == 1


def test_topology_when_asked_for(node: Node) -> None:
    """How near two GPUs are is read on request only."""
    node.describe(make_a100s(2))

    assert node.read().pairs is None
    assert [(pair.first, pair.second) for pair in node.read(topology=True).pairs or ()] == [(0, 1)]


@pytest.mark.parametrize("code", ["UNKNOWN", "GPU_IS_LOST", "NOT_SUPPORTED", "NO_PERMISSION"])
def test_no_failing_call_ends_a_pass(node: Node, code: str) -> None:
    """Whichever NVML call fails for one of two GPUs, a pass gives a snapshot in which the other is whole."""
    good, bad = make_a100s(2)
    node.describe([good, bad])
    whole = node.read().gpus[0]
    for call in nvml.calls():
        node.describe([good, bad | {"fail": {call: code}}])

        assert node.read().gpus[0] == whole, call


def test_vfio(node: Node) -> None:
    """The strategy vfio never asks NVML; all that the bus tells of the GPUs handed over is there."""
    node.root.bind("0000:0f:00.0", "vfio-pci")
    node.driver.uninstall()

    read = node.read(discovery_strategy="vfio")

    assert read == dataclasses.replace(
        node.read(discovery_strategy="nvml"),
        finding=model.Finding.OK,
        detail="",
        platform=model.Platform.VFIO,
        library=None,
        driver_version="unknown.unknown.unknown",
        cuda_version=(0, 0),
        gpus=(
            model.Gpu(
                index=0,
                uuid=model.GpuUuid("vfio-0000:0f:00.0"),
                pci_address="0000:0f:00.0",
                name="GA100 [A100 SXM4 40GB]",
                pci_class=0x030200,
                numa_node=0,
                memory_bytes=137438953472,
                compute_capability=(-1, -1),
            ),
        ),
    )


def test_tegra(node: Node, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The strategy tegra asks CUDA, whatever else there is."""
    for name, value in libraries.FakeCuda(tmp_path / "cuda").environ().items():
        monkeypatch.setenv(name, value)

    read = node.read(discovery_strategy="tegra")

    assert (read.finding, read.platform, read.driver_version) == (
        model.Finding.OK,
        model.Platform.TEGRA,
        "unknown.unknown.unknown",
    )
    assert [(gpu.name, gpu.pci_class) for gpu in read.gpus] == [("Orin", None)]


def test_wsl(tmp_path: pathlib.Path, fake_driver: nvml.FakeDriver) -> None:
    """DXCore on the loader's path makes it WSL: NVML's facts, no GPU on the bus, no kernel module."""
    libraries.make_dxcore(tmp_path / "wsl")
    host.make_host_root(tmp_path / "host", driver_version=None)

    read = read_in_child(str(tmp_path / "host"), fake_driver.root, {"LD_LIBRARY_PATH": str(tmp_path / "wsl")})

    assert (read.finding, read.platform, read.pci) == (model.Finding.OK, model.Platform.WSL, ())
    assert [(gpu.name, gpu.pci_class) for gpu in read.gpus] == [("NVIDIA A100-SXM4-40GB", None)]
    assert [probe.name for probe in read.probes if probe.found] == ["dxcore", "nvml"]


@pytest.mark.parametrize(
    ("functions", "driver_version", "said"),
    [
        ((), None, "no NVIDIA GPU"),
        (host.make_dgx_a100(None), None, "no driver is loaded"),
        (host.make_dgx_a100(), "535.129.03", "runtime class"),
        (host.make_dgx_a100("vfio-pci"), None, "discovery strategy to vfio"),
    ],
)
def test_library_missing_names_the_probable_cause(
    tmp_path: pathlib.Path, functions: tuple[host.Function, ...], driver_version: str | None, said: str
) -> None:
    """Without a library the line tells a node without GPU, without driver and a pod without the runtime class apart."""
    (tmp_path / "libnvidia-ml.so.1").write_bytes(b"no library")
    root = host.make_host_root(tmp_path / "host", pci=functions, driver_version=driver_version)

    read = read_in_child(root.path, "", {"LD_LIBRARY_PATH": str(tmp_path)})

    assert (read.finding, read.platform, read.library) == (model.Finding.NVML_MISSING, model.Platform.UNKNOWN, None)
    assert said in read.detail
    assert "tried: dxcore no (" in read.detail


def test_library_on_the_loaders_path(tmp_path: pathlib.Path, fake_driver: nvml.FakeDriver) -> None:
    """Without a driver root the library that the loader finds is used, and is named by its path."""
    root = host.make_host_root(tmp_path / "host")

    read = read_in_child(root.path, str(tmp_path / "no-root"), fake_driver.loader_environ(), strategy="nvml")

    assert read.library is not None
    assert (read.library.origin, os.path.dirname(read.library.path)) == ("loader", fake_driver.library_dir)
    assert (read.finding, read.platform, read.probes) == (model.Finding.OK, model.Platform.NVML, ())


def test_strategy_that_there_is_not() -> None:
    """A strategy of no known name is refused before anything is read."""
    with pytest.raises(ValueError, match="'csv' is none of auto, nvml, tegra, vfio"):
        snapshot.SnapshotCache(snapshot.ReadOptions(discovery_strategy="csv"))


@pytest.mark.parametrize(
    "change",
    [
        lambda node: node.root.bind("0000:07:00.0", "vfio-pci"),
        lambda node: node.root.remove_function("0000:07:00.0"),
        lambda node: node.root.set_machine("Another"),
        lambda node: node.root.load_driver("550.54.15"),
        lambda node: node.describe(make_a100s(7)),
    ],
)
def test_change_shows_in_the_next_pass(node: Node, change: Callable[[Node], None]) -> None:
    """Whatever changes on the node makes the next snapshot another one."""
    cache = node.cache()
    before = node.read(cache)
    change(node)

    assert node.read(cache) != before
