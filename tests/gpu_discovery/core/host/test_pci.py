"""NVIDIA's functions on the PCI bus."""

from __future__ import annotations

import pathlib
import shutil
from typing import Any

import pytest

from gpu_discovery.core import errors
from gpu_discovery.core.host import pci
from tests.fakes import host

ADDRESS = "0000:07:00.0"


def make_bus(path: pathlib.Path, *functions: host.Function) -> tuple[host.HostRoot, pci.PciBus]:
    """A bus with these functions, and a reader of it."""
    return host.make_host_root(path, pci=functions), pci.PciBus(str(path))


def test_dgx_a100(tmp_path: pathlib.Path) -> None:
    """GPUs and NVSwitches are told by address with class, driver and NUMA node; other vendors' functions are not."""
    _, bus = make_bus(tmp_path, *host.make_dgx_a100())

    functions = bus.read()

    assert [function.address for function in functions] == sorted(function.address for function in functions)
    assert [function.is_gpu for function in functions] == [True] * 8 + [False] * 6
    gpu = functions[2]
    assert (gpu.address, gpu.device_id, gpu.class_code) == ("0000:47:00.0", 0x20B0, 0x030200)
    assert (gpu.driver, gpu.numa_node, gpu.is_virtual_function, gpu.is_vgpu) == ("nvidia", 1, False, False)
    assert all(function.failures == () for function in functions)
    assert {function.driver for function in functions[8:]} == {"nvidia-nvswitch"}


def test_audio_function_is_no_gpu(tmp_path: pathlib.Path) -> None:
    """A card's audio function is on the list and is no GPU."""
    _, bus = make_bus(
        tmp_path,
        host.make_function("0000:01:00.0", class_code=host.CLASS_VGA),
        host.make_function("0000:01:00.1", class_code=host.CLASS_AUDIO, driver="snd_hda_intel"),
    )

    assert [function.is_gpu for function in bus.read()] == [True, False]


def test_virtual_function_and_unbound(tmp_path: pathlib.Path) -> None:
    """A virtual function is told by its physical one, a function without driver by None."""
    _, bus = make_bus(tmp_path, host.make_function(ADDRESS, physical_function="0000:06:00.0", driver=None))

    (function,) = bus.read()

    assert function.is_virtual_function
    assert function.driver is None


@pytest.mark.parametrize("numa_node", [-1, None])
def test_no_numa_node(tmp_path: pathlib.Path, numa_node: Any) -> None:
    """A machine without NUMA nodes says -1 or has no such file: None, and no failure."""
    _, bus = make_bus(tmp_path, host.make_function(ADDRESS, numa_node=numa_node))

    (function,) = bus.read()

    assert (function.numa_node, function.failures) == (None, ())


@pytest.mark.parametrize("content", [b"", b"x", b"9" * 5000])
def test_numa_node_that_is_no_number(tmp_path: pathlib.Path, content: bytes) -> None:
    """It is a failure, and the function is whole but for it."""
    _, bus = make_bus(tmp_path, host.make_function(ADDRESS, numa_node=content))

    (function,) = bus.read()

    assert (function.numa_node, function.is_gpu) == (None, True)
    assert [(failure.fact, failure.reason) for failure in function.failures] == [("numa_node", "MALFORMED")]


def test_unchanged_bus_is_the_same_object(tmp_path: pathlib.Path) -> None:
    """Reading an unchanged bus gives the very same tuple, and reads no file of it again."""
    root, bus = make_bus(tmp_path, *host.make_dgx_a100())
    first = bus.read()
    root.write_function_file(ADDRESS, "class", b"0x030000\n")

    assert bus.read() is first


def test_bound_to_another_driver(tmp_path: pathlib.Path) -> None:
    """A function that is bound to another driver changes, its neighbours are the same objects."""
    root, bus = make_bus(tmp_path, *host.make_dgx_a100())
    before = bus.read()
    root.bind(ADDRESS, "vfio-pci")
    after = bus.read()

    assert after[0].driver == "vfio-pci"
    assert all(new is old for new, old in zip(after[1:], before[1:], strict=True))


def test_function_that_goes_and_another_that_comes_to_its_slot(tmp_path: pathlib.Path) -> None:
    """A removed function is gone; a board that comes to the same slot is read anew."""
    root, bus = make_bus(tmp_path, host.make_function(ADDRESS))
    bus.read()
    root.remove_function(ADDRESS)
    gone = bus.read()
    root.add_function(host.make_function(ADDRESS, device_id=0x2330))

    assert gone == ()
    assert [function.device_id for function in bus.read()] == [0x2330]


def test_swap_between_two_reads(tmp_path: pathlib.Path) -> None:
    """A slot whose board was exchanged between two reads is told by its inode alone."""
    root, bus = make_bus(tmp_path, host.make_function(ADDRESS))
    bus.read()
    root.add_function(host.make_function(ADDRESS, device_id=0x2330))

    assert [function.device_id for function in bus.read()] == [0x2330]


def test_bus_that_cannot_be_listed(tmp_path: pathlib.Path) -> None:
    """A missing bus folder is an error that names it as on the host."""
    with pytest.raises(errors.HostFileUnreadable) as raised:
        pci.PciBus(str(tmp_path)).read()

    assert (raised.value.path, raised.value.reason) == ("/sys/bus/pci/devices", "ENOENT")


@pytest.mark.parametrize(
    ("name", "fact"), [("class", "class_code"), ("device", "device_id"), ("config", "is_vgpu"), ("vendor", "vendor")]
)
def test_unreadable_file_is_a_failure_of_its_function_only(tmp_path: pathlib.Path, name: str, fact: str) -> None:
    """A function with a missing file is a record with the failure, and the other functions are whole."""
    root, bus = make_bus(tmp_path, *host.make_dgx_a100())
    root.write_function_file(ADDRESS, name, None)

    functions = bus.read()

    assert [(failure.fact, failure.call, failure.reason) for failure in functions[0].failures] == [
        (fact, f"/sys/bus/pci/devices/{ADDRESS}/{name}", "ENOENT")
    ]
    assert len(functions) == 14
    assert all(function.failures == () for function in functions[1:])


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"0x", b"ten", b"-1", b"0x1" + b"0" * 5000, b"9" * 100_000])
def test_hostile_class(tmp_path: pathlib.Path, content: bytes) -> None:
    """A class that is no number of 24 bits is malformed, and so the function is no GPU and has a failure."""
    _, bus = make_bus(tmp_path, host.make_function(ADDRESS, class_code=content))

    (function,) = bus.read()

    assert (function.class_code, function.is_gpu) == (0, False)
    assert [(failure.fact, failure.reason) for failure in function.failures] == [("class_code", "MALFORMED")]


def test_unreadable_driver_link(tmp_path: pathlib.Path) -> None:
    """A driver entry that is no link is a failure, told again by a later read once it is one."""
    root, bus = make_bus(tmp_path, host.make_function(ADDRESS, driver=None))
    bus.read()
    root.write_function_file(ADDRESS, "driver", b"nvidia")
    (broken,) = bus.read()
    root.write_function_file(ADDRESS, "driver", None)
    root.bind(ADDRESS, "nvidia")
    (mended,) = bus.read()

    assert (broken.driver, [failure.fact for failure in broken.failures]) == (None, ["driver"])
    assert (mended.driver, mended.failures) == ("nvidia", ())


def test_failed_file_is_tried_again(tmp_path: pathlib.Path) -> None:
    """What failed once is read in the next pass."""
    root, bus = make_bus(tmp_path, host.make_function(ADDRESS, class_code=None))
    bus.read()
    root.write_function_file(ADDRESS, "class", b"0x030200\n")

    assert [(function.class_code, function.failures) for function in bus.read()] == [(0x030200, ())]


def test_configuration_space_that_failed_is_tried_again(tmp_path: pathlib.Path) -> None:
    """Only a lack of privilege is final."""
    root, bus = make_bus(tmp_path, host.make_function(ADDRESS))
    root.write_function_file(ADDRESS, "config", None)
    before = bus.read()
    root.write_function_file(ADDRESS, "config", host.make_config_space())

    assert [(function.is_vgpu, len(function.failures)) for function in before] == [(None, 1)]
    assert [(function.is_vgpu, function.failures) for function in bus.read()] == [(False, ())]


def test_another_vendors_function_after_all(tmp_path: pathlib.Path) -> None:
    """A display controller that turns out to be another vendor's once its vendor is readable is dropped."""
    root, bus = make_bus(tmp_path, host.make_function(ADDRESS, vendor=None))
    before = bus.read()
    root.write_function_file(ADDRESS, "vendor", b"0x1002\n")

    assert len(before) == 1
    assert bus.read() == ()


def test_network_card_with_unreadable_vendor_is_ignored(tmp_path: pathlib.Path) -> None:
    """What is certainly no GPU is left out even when its vendor is not told."""
    _, bus = make_bus(tmp_path, host.make_function(ADDRESS, vendor=None, class_code=host.CLASS_ETHERNET))

    assert bus.read() == ()


def test_entry_that_left_during_the_listing(tmp_path: pathlib.Path) -> None:
    """An entry whose function is gone already is no function."""
    root, bus = make_bus(tmp_path, host.make_function(ADDRESS))
    shutil.rmtree(root.file(f"/sys/devices/pci0000:00/{ADDRESS}"))
    root.file(f"/sys/bus/pci/devices/{ADDRESS}").unlink()
    root.write("/sys/bus/pci/devices/not-a-function", b"")

    assert [function.failures[0].reason for function in bus.read()] == ["ENOTDIR"]


def test_config_space_without_privilege(tmp_path: pathlib.Path) -> None:
    """64 bytes of configuration space leave it open whether this is a virtual GPU, and say that privilege is needed."""
    root, bus = make_bus(tmp_path, host.make_function(ADDRESS, config=host.make_config_space(size=64)))

    (function,) = bus.read()
    root.write_function_file(ADDRESS, "config", host.make_config_space())

    assert function.is_vgpu is None
    assert [(failure.fact, failure.reason) for failure in function.failures] == [("is_vgpu", "NEEDS_PRIVILEGE")]
    assert bus.read() == (function,)


def test_virtual_gpu(tmp_path: pathlib.Path) -> None:
    """A virtual GPU carries its host driver's version and branch."""
    config = host.make_config_space(capabilities=[host.make_vgpu_capability("535.161", "r535_00")])
    _, bus = make_bus(tmp_path, host.make_function(ADDRESS, config=config))

    (function,) = bus.read()

    assert function.is_vgpu is True
    assert function.vgpu is not None
    assert (function.vgpu.host_driver_version, function.vgpu.host_driver_branch) == ("535.161", "r535_00")


def test_bindings_change_with_inode_and_driver(tmp_path: pathlib.Path) -> None:
    """The bindings of an unchanged bus are equal; another driver or another inode makes them differ."""
    root, bus = make_bus(tmp_path, host.make_function(ADDRESS))
    first = bus.read_bindings()
    same = bus.read_bindings()
    root.bind(ADDRESS, "vfio-pci")
    rebound = bus.read_bindings()
    root.add_function(host.make_function(ADDRESS, driver="vfio-pci"))

    assert first == same
    assert first != rebound
    assert bus.read_bindings() != rebound
