"""A folder that looks like the /sys, /proc and /usr/share of a machine with GPUs, for tests.

``make_host_root`` writes it; the ``HostRoot`` it returns changes it as a kernel would: a function that is removed
and comes back, or a module that is loaded again, has another inode than before. Ordinary file systems hand a freed
inode out again, so what goes away is kept aside in a graveyard inside the root.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import pathlib
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

NVIDIA = 0x10DE
MELLANOX = 0x15B3
CLASS_VGA = 0x030000
CLASS_3D = 0x030200
CLASS_AUDIO = 0x040300
CLASS_SWITCH = 0x068000
CLASS_ETHERNET = 0x020000

BOOT_ID = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
MIB = 1 << 20
GIB = 1 << 30

_MEMORY_32 = 0x00040200
_MEMORY_64_PREFETCHABLE = 0x0014220C
_RESOURCE_LINES = 13


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bar:
    """One memory window of a function; a 64-bit one takes two of the six lines, the second of them empty."""

    size_bytes: int
    is_64_bit: bool = True


A100_BARS = (Bar(size_bytes=16 * MIB, is_64_bit=False), Bar(size_bytes=64 * GIB), Bar(size_bytes=32 * MIB))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Function:
    """One function on the bus; a field that is bytes is written as it is, None leaves the file out."""

    address: str
    vendor: int | bytes | None = NVIDIA
    device_id: int | bytes | None = 0x20B0
    class_code: int | bytes | None = CLASS_3D
    driver: str | None = "nvidia"
    numa_node: int | bytes | None = 0
    config: bytes | None = b""
    bars: tuple[Bar, ...] = ()
    resource: bytes | None = None
    """The whole file in place of ``bars``."""
    physical_function: str | None = None
    """Address of the physical function: makes this one virtual."""


def make_function(address: str, **overrides: Any) -> Function:
    """An NVIDIA function, by default one GPU of a DGX A100 bound to nvidia, with a whole configuration space."""
    values: dict[str, Any] = {"config": make_config_space(), "bars": A100_BARS} | overrides
    return Function(address=address, **values)


def make_dgx_a100(driver: str | None = "nvidia") -> tuple[Function, ...]:
    """The bus of a DGX A100: eight GPUs, six NVSwitches and two network cards of another vendor."""
    gpu_addresses = ("07", "0f", "47", "4e", "87", "90", "b7", "bd")
    switches = ("c4", "c5", "c6", "c7", "c8", "c9")
    return (
        *(
            make_function(f"0000:{bus}:00.0", numa_node=index // 2, driver=driver)
            for index, bus in enumerate(gpu_addresses)
        ),
        *(
            make_function(f"0000:{bus}:00.0", device_id=0x1AF1, class_code=CLASS_SWITCH, driver="nvidia-nvswitch")
            for bus in switches
        ),
        *(
            make_function(
                f"0000:{bus}:00.0", vendor=MELLANOX, device_id=0x101B, class_code=0x020700, driver="mlx5_core"
            )
            for bus in ("0c", "12")
        ),
    )


def make_config_space(
    *, size: int = 256, capabilities: Sequence[bytes] | None = None, has_capabilities: bool = True
) -> bytes:
    """A PCI configuration space of ``size`` bytes; 64 is what a reader without privilege gets.

    ``capabilities`` are whole entries whose second byte (the pointer to the next) is filled in here.
    """
    space = bytearray(max(size, 256))
    space[0:4] = NVIDIA.to_bytes(2, "little") + (0x20B0).to_bytes(2, "little")
    space[0x06] = 0x10 if has_capabilities else 0
    position, pointer = 0x60, 0x34
    for capability in [b"\x01\x00\x03\x00", *(capabilities or ())]:
        space[pointer] = position
        space[position : position + len(capability)] = capability
        space[position + 1] = 0
        pointer, position = position + 1, position + len(capability)
    return bytes(space[:size])


def make_vgpu_capability(driver_version: str | None = "460.16", branch: str = "r460_00") -> bytes:
    """The vendor-specific capability of a virtual GPU; without a driver version its record is left out."""
    other = bytes((0x01, 4, 0xAA, 0xBB))
    record = b""
    if driver_version is not None:
        record = bytes((0, 22)) + driver_version.encode().ljust(10, b"\0") + branch.encode().ljust(10, b"\0")
    body = b"VF" + other + record
    return bytes((0x09, 0, 3 + len(body))) + body


class HostRoot:
    """The folder, and the changes that tests make to it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._root = pathlib.Path(path)
        self._graves = itertools.count()

    # --- files ---------------------------------------------------------------------------------------------------

    def file(self, name: str) -> pathlib.Path:
        """Where the host's absolute path ``name`` lies in this root."""
        return self._root / name.lstrip("/")

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file with its folders."""
        target = self.file(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)

    def remove(self, name: str) -> None:
        """Take a file, link or folder away so that its inode is not used again."""
        target = self.file(name)
        if not target.is_symlink() and not target.exists():
            return
        graveyard = self._root / ".graveyard"
        graveyard.mkdir(exist_ok=True)
        target.rename(graveyard / str(next(self._graves)))

    # --- the machine ---------------------------------------------------------------------------------------------

    def set_machine(self, text: str | bytes | None) -> None:
        """The DMI product name; None: a machine without DMI."""
        if text is None:
            self.remove("/sys/class/dmi")
        else:
            self.write("/sys/class/dmi/id/product_name", text)

    def set_boot_id(self, boot_id: str = BOOT_ID) -> None:
        """The kernel's random id of this boot."""
        self.write("/proc/sys/kernel/random/boot_id", f"{boot_id}\n")

    def set_tegra(self, *, family: str | None = None, release: str | None = None) -> None:
        """The two files that tell a Tegra machine; None takes each away."""
        for name, text in (("/sys/devices/soc0/family", family), ("/etc/nv_tegra_release", release)):
            if text is None:
                self.remove(name)
            else:
                self.write(name, f"{text}\n")

    def write_pci_ids(self, text: str | bytes, name: str = "/usr/share/misc/pci.ids") -> None:
        """The database of PCI names."""
        self.write(name, text)

    # --- the driver ----------------------------------------------------------------------------------------------

    def load_driver(self, version: str) -> None:
        """Load the nvidia module; loading it again gives it another inode, as a reload does."""
        self.unload_driver()
        self.write("/sys/module/nvidia/version", f"{version}\n")
        self.write("/sys/module/nvidia/initstate", "live\n")

    def unload_driver(self) -> None:
        """Take the nvidia module away."""
        self.remove("/sys/module/nvidia")

    def set_mig_tree(self, tree: Mapping[int, Mapping[int, Iterable[int]]] | None) -> None:
        """The MIG capability tree, GPU minor → GPU instance → compute instances; None: not visible at all."""
        base = "/proc/driver/nvidia/capabilities"
        shutil.rmtree(self.file(base), ignore_errors=True)
        if tree is None:
            return
        for name in ("config", "monitor"):
            self.write(f"{base}/mig/{name}", "DeviceFileMinor: 1\nDeviceFileMode: 292\nDeviceFileModify: 1\n")
        for gpu, gpu_instances in tree.items():
            self.file(f"{base}/gpu{gpu}/mig").mkdir(parents=True)
            for gi, compute_instances in gpu_instances.items():
                self.write(f"{base}/gpu{gpu}/mig/gi{gi}/access", "DeviceFileMinor: 3\n")
                for ci in compute_instances:
                    self.write(f"{base}/gpu{gpu}/mig/gi{gi}/ci{ci}/access", "DeviceFileMinor: 4\n")

    # --- the bus -------------------------------------------------------------------------------------------------

    def add_function(self, function: Function) -> None:
        """Put a function on the bus, or the same one anew."""
        self.remove_function(function.address)
        device = f"/sys/devices/pci0000:00/{function.address}"
        for name, content in _function_files(function).items():
            self.write(f"{device}/{name}", content)
        link = self.file(f"/sys/bus/pci/devices/{function.address}")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"../../../devices/pci0000:00/{function.address}")
        if function.physical_function is not None:
            self.file(f"{device}/physfn").symlink_to(f"../{function.physical_function}")
        self.bind(function.address, function.driver)

    def remove_function(self, address: str) -> None:
        """Take a function off the bus."""
        self.remove(f"/sys/bus/pci/devices/{address}")
        self.remove(f"/sys/devices/pci0000:00/{address}")

    def bind(self, address: str, driver: str | None) -> None:
        """Bind the function to another kernel driver, or to none."""
        link = self.file(f"/sys/devices/pci0000:00/{address}/driver")
        link.unlink(missing_ok=True)
        if driver is not None:
            self.file(f"/sys/bus/pci/drivers/{driver}").mkdir(parents=True, exist_ok=True)
            link.symlink_to(f"../../../bus/pci/drivers/{driver}")

    def write_function_file(self, address: str, name: str, content: bytes | None) -> None:
        """Replace one file of a function; None takes it away."""
        path = f"/sys/devices/pci0000:00/{address}/{name}"
        if content is None:
            self.remove(path)
        else:
            self.write(path, content)


def make_host_root(
    path: str | os.PathLike[str],
    *,
    machine: str | bytes | None = "DGXA100 920-23687-2530-000",
    gpus: int | Iterable[Function | Mapping[str, Any]] = (),
    pci: Iterable[Function] = (),
    driver_version: str | None = "535.129.03",
    mig_tree: Mapping[int, Mapping[int, Iterable[int]]] | None = None,
    boot_id: str = BOOT_ID,
    tegra_family: str | None = None,
    tegra_release: str | None = None,
    pci_ids: str | None = None,
) -> HostRoot:
    """Write a machine's files under ``path``; by default one with the driver loaded and an empty bus.

    ``gpus`` is how many GPUs of a DGX A100, or functions, or GPUs of a fake NVML machine (mappings with
    ``pci_address``, ``pci_device_id`` and perhaps ``pci_class`` and ``numa``), so that both fakes tell one story;
    ``pci`` are further functions.
    """
    root = HostRoot(path)
    root.file("/sys/bus/pci/devices").mkdir(parents=True, exist_ok=True)
    root.set_boot_id(boot_id)
    if machine is not None:
        root.set_machine(machine)
    if driver_version is not None:
        root.load_driver(driver_version)
    if mig_tree is not None:
        root.set_mig_tree(mig_tree)
    root.set_tegra(family=tegra_family, release=tegra_release)
    if pci_ids is not None:
        root.write_pci_ids(pci_ids)
    for function in (*_gpu_functions(gpus, driver_version), *pci):
        root.add_function(function)
    return root


def _gpu_functions(
    gpus: int | Iterable[Function | Mapping[str, Any]], driver_version: str | None
) -> Iterable[Function]:
    driver = "nvidia" if driver_version is not None else None
    if isinstance(gpus, int):
        return make_dgx_a100(driver)[:gpus]
    return [gpu if isinstance(gpu, Function) else _function_of_fake_gpu(gpu, driver) for gpu in gpus]


def _function_of_fake_gpu(gpu: Mapping[str, Any], driver: str | None) -> Function:
    """The function on the bus behind a GPU of a fake NVML machine."""
    domain, _, rest = str(gpu["pci_address"]).lower().partition(":")
    combined_id = gpu.get("pci_device_id") or 0x20B010DE
    return make_function(
        f"{int(domain, 16):04x}:{rest}",
        device_id=combined_id >> 16 if combined_id > 0xFFFF else combined_id,
        class_code=gpu.get("pci_class", CLASS_3D),
        numa_node=-1 if gpu.get("numa") is None else gpu["numa"],
        driver=driver,
    )


def _function_files(function: Function) -> dict[str, bytes]:
    files = {
        "vendor": _hexadecimal(function.vendor, 4),
        "device": _hexadecimal(function.device_id, 4),
        "class": _hexadecimal(function.class_code, 6),
        "numa_node": function.numa_node if not isinstance(function.numa_node, int) else b"%d\n" % function.numa_node,
        "config": function.config,
        "resource": function.resource if function.resource is not None else _resource_file(function.bars),
    }
    return {name: content for name, content in files.items() if content is not None}


def _hexadecimal(value: int | bytes | None, digits: int) -> bytes | None:
    return f"0x{value:0{digits}x}\n".encode() if isinstance(value, int) else value


def _resource_file(bars: Iterable[Bar]) -> bytes:
    """sysfs's ``resource``: start, end and flags of each window, zeros where there is none."""
    lines: list[str] = []
    start = 0x3000_0000_0000
    for bar in bars:
        flags = _MEMORY_64_PREFETCHABLE if bar.is_64_bit else _MEMORY_32
        lines.append(f"0x{start:016x} 0x{start + bar.size_bytes - 1:016x} 0x{flags:016x}")
        start += bar.size_bytes
        if bar.is_64_bit:
            lines.append(_EMPTY_LINE)
    lines += [_EMPTY_LINE] * (_RESOURCE_LINES - len(lines))
    return "".join(f"{line}\n" for line in lines).encode()


_EMPTY_LINE = " ".join(["0x" + "0" * 16] * 3)
