"""The values everything is derived from: the snapshot of a node and the picture made of it.

All are frozen. ``None`` in a fact means that the device or the driver does not offer it; a fact that should have
been there but could not be read is also ``None`` and has a ``ReadFailure`` beside it that names the fact, the call
and the code. So absent, unsupported, lost and broken stay four different values.

Longer than other modules because it is one vocabulary: splitting it would only scatter the words.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import field
from typing import NewType

from gpu_discovery.core.kit.frozen import frozen

GpuUuid = NewType("GpuUuid", str)
ResourceName = NewType("ResourceName", str)

_DISPLAY_ADAPTERS = frozenset(("DGX Display", "NVIDIA DGX Display"))

UNKNOWN_DRIVER_VERSION = "unknown.unknown.unknown"
"""What platforms without a driver version report (Tegra, vfio), as the reference labels it."""


# --- what was read -------------------------------------------------------------------------------------------------


class Finding(enum.Enum):
    """What a pass found of the driver as a whole."""

    OK = "ok"
    NVML_MISSING = "nvml-missing"
    DRIVER_NOT_LOADED = "driver-not-loaded"
    VERSION_MISMATCH = "version-mismatch"
    NO_PERMISSION = "no-permission"
    NO_GPUS = "no-gpus"
    NVML_FAILED = "nvml-failed"
    CUDA_MISSING = "cuda-missing"
    CUDA_FAILED = "cuda-failed"
    PLATFORM_UNKNOWN = "platform-unknown"


class Platform(enum.Enum):
    """Where the facts of the GPUs come from."""

    NVML = "nvml"
    TEGRA = "tegra"
    WSL = "wsl"
    VFIO = "vfio"
    UNKNOWN = "unknown"


class GpuState(enum.Enum):
    """Whether a GPU still answers. ``LOST`` keeps the identity read earlier in this driver load."""

    PRESENT = "present"
    LOST = "lost"


@frozen
class ReadFailure:
    """One fact that should be there and could not be read."""

    fact: str
    """The field's name in the record this stands in, ``memory_bytes``; ``handle`` when nothing could be read."""
    call: str
    """The call or file that failed: ``nvmlDeviceGetMemoryInfo``, ``/sys/bus/pci/devices/…/class``."""
    reason: str
    """Symbolic: ``GPU_IS_LOST``, ``UNKNOWN``, ``EACCES``."""
    code: int | None = None
    """NVML's or the operating system's number; None where there is none."""


@frozen
class Probe:
    """One thing that was tried to tell the platform, and what came of it."""

    name: str
    found: bool
    detail: str


@frozen
class Library:
    """Which libnvidia-ml was used."""

    path: str
    """Absolute path where known, else the bare SONAME that the loader resolved."""
    origin: str
    """``driver-root`` or ``loader``."""


@frozen
class DriverLoad:
    """One load of the kernel module: what is constant while it lasts is read once."""

    boot_id: str
    version: str
    inode: int


@frozen
class Host:
    """Facts of the machine."""

    machine: str | None
    """Raw text of the machine type file, untrimmed of inner space; None when unreadable."""
    kernel: str
    boot_id: str
    driver_load: DriverLoad | None
    """None when the nvidia module is not loaded."""
    failures: tuple[ReadFailure, ...] = ()


@frozen
class VgpuRecord:
    """Host driver facts in the vendor capability of a virtual GPU's PCI configuration space."""

    host_driver_version: str | None
    host_driver_branch: str | None


@frozen
class PciFunction:
    """One NVIDIA function on the PCI bus."""

    address: str
    """As in sysfs: ``0000:07:00.0``."""
    device_id: int
    class_code: int
    """24 bits, ``0x030200``."""
    driver: str | None
    """Name of the bound kernel driver."""
    numa_node: int | None
    is_virtual_function: bool = False
    is_vgpu: bool | None = None
    """None when the configuration space could not be read whole (needs privilege)."""
    vgpu: VgpuRecord | None = None
    failures: tuple[ReadFailure, ...] = ()

    @property
    def is_gpu(self) -> bool:
        """Display controllers only: VGA, 3D; not audio, USB or NVSwitch."""
        return self.class_code >> 8 in (0x0300, 0x0302)

    @property
    def may_be_gpu(self) -> bool:
        """A GPU, or a function whose class could not be read."""
        return self.is_gpu or any(failure.fact == "class_code" for failure in self.failures)


@frozen
class MigAttributes:
    """nvmlDeviceGetAttributes of a MIG device."""

    memory_mib: int
    multiprocessors: int
    gpu_instance_slices: int
    compute_instance_slices: int
    copy_engines: int
    decoders: int
    encoders: int
    jpeg_engines: int
    ofa_engines: int


@frozen
class Placement:
    """Where a GPU instance sits on its GPU, in memory slices."""

    start: int
    size: int


@frozen
class MigDevice:
    """One MIG device: a compute instance in a GPU instance."""

    index: int
    uuid: GpuUuid | None
    gpu_instance_id: int | None
    compute_instance_id: int | None
    profile: str | None
    """``1g.5gb``, ``1c.3g.20gb``, ``1g.10gb+me``; None when it could not be told."""
    attributes: MigAttributes | None
    memory_bytes: int | None
    placement: Placement | None
    gpu_instance_profile_id: int | None = None
    compute_instance_profile_id: int | None = None
    failures: tuple[ReadFailure, ...] = ()


@frozen
class Mig:
    """MIG state of a GPU that is capable of it."""

    enabled: bool
    pending: bool
    max_devices: int
    devices: tuple[MigDevice, ...] = ()
    possible_profiles: tuple[str, ...] = ()
    """Profiles with as many compute as GPU slices that this board offers, ``("1g.5gb", "1g.5gb+me", "2g.10gb", …)``."""


@frozen
class Fabric:
    """NVLink fabric registration."""

    state: int
    """NVML_GPU_FABRIC_STATE_*: 0 not supported, 1 not started, 2 in progress, 3 completed."""
    status: int
    """An NVML return code, valid once completed."""
    cluster_uuid: str
    """Canonical lower-case text."""
    clique_id: int
    health_mask: int | None = None

    @property
    def is_attached(self) -> bool:
        """Completed, without error, and in a cluster."""
        return self.state == 3 and self.status == 0 and self.cluster_uuid != "00000000-0000-0000-0000-000000000000"


@frozen
class Ecc:
    """ECC mode now and after the next reset."""

    enabled: bool
    pending: bool


@frozen
class RowRemap:
    """Row remapper state."""

    correctable_rows: int
    uncorrectable_rows: int
    is_pending: bool
    has_failed: bool


@frozen
class NvLink:
    """One active NVLink of a GPU."""

    link: int
    remote_pci_address: str
    remote_kind: str
    """``gpu``, ``switch``, ``ibmnpu`` or ``unknown``."""


@frozen(kw_only=True)
class Gpu:
    """One physical GPU that was read, now or earlier in this driver load."""

    index: int
    """NVML's index; for Tegra and vfio the position."""
    uuid: GpuUuid
    pci_address: str | None
    """As in sysfs, ``0000:07:00.0``; None on Tegra and WSL without a bus."""
    name: str
    """The product name as NVML gives it."""
    state: GpuState = GpuState.PRESENT
    minor: int | None = None
    pci_class: int | None = None
    numa_node: int | None = None
    brand: str | None = None
    """Lower case without the constant's prefix: ``tesla``, ``geforce``, ``nvidia``, ``nvidia-rtx``."""
    architecture: str | None = None
    """NVML's architecture in lower case: ``ampere``; None on drivers that do not tell."""
    memory_bytes: int | None = None
    compute_capability: tuple[int, int] | None = None
    mig: Mig | None = None
    """None: not MIG capable."""
    display_mode: bool | None = None
    """A display is attached."""
    display_active: bool | None = None
    compute_mode: str | None = None
    """``default``, ``exclusive-process``, ``prohibited``, ``exclusive-thread``."""
    fabric: Fabric | None = None
    virtualization_mode: str | None = None
    """``none``, ``passthrough``, ``vgpu``, ``host-vgpu``, ``host-vsga``."""
    persistence: bool | None = None
    ecc: Ecc | None = None
    row_remap: RowRemap | None = None
    nvlinks: tuple[NvLink, ...] | None = None
    """None: not asked for."""
    failures: tuple[ReadFailure, ...] = ()

    @property
    def is_display_adapter(self) -> bool:
        """The small card of a DGX Station, which drives a monitor and computes nothing."""
        return self.name in _DISPLAY_ADAPTERS

    @property
    def is_mig_enabled(self) -> bool:
        """MIG mode is on now."""
        return self.mig is not None and self.mig.enabled


@frozen
class UnreadableGpu:
    """A GPU that NVML counts and of which nothing could be read in this driver load."""

    index: int
    failures: tuple[ReadFailure, ...]
    pci_address: str | None = None


@frozen
class GpuPair:
    """How near two GPUs are, by index; ``level`` is NVML's common ancestor (0 internal … 50 system)."""

    first: int
    second: int
    level: int


@frozen(kw_only=True)
class Snapshot:
    """Everything read in one pass."""

    taken_at_s: float
    """Unix time. The only field that differs between two reads of an unchanged node."""
    finding: Finding
    detail: str = ""
    """One line for people: why the finding is not OK, and what to do."""
    platform: Platform
    probes: tuple[Probe, ...] = ()
    library: Library | None = None
    driver_version: str | None = None
    """As the driver gives it, ``535.129.03``; ``UNKNOWN_DRIVER_VERSION`` on Tegra and vfio; None if it can't be read."""
    cuda_version: tuple[int, int] | None = None
    """(major, minor) that the driver supports."""
    gpus: tuple[Gpu, ...] = ()
    """By index."""
    unreadable: tuple[UnreadableGpu, ...] = ()
    host: Host
    pci: tuple[PciFunction, ...] | None = ()
    """Every NVIDIA function, by address; None when the bus could not be listed."""
    pairs: tuple[GpuPair, ...] | None = None
    """None: not asked for."""
    failures: tuple[ReadFailure, ...] = ()
    """Facts of the whole node (driver_version, cuda_version, pci) that could not be read."""


# --- what is made of it --------------------------------------------------------------------------------------------


class SharingStrategy(enum.Enum):
    """How a device is shared; the value is the label's."""

    NONE = "none"
    TIME_SLICING = "time-slicing"
    MPS = "mps"


class Severity(enum.Enum):
    """How bad a condition is."""

    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"


class Latch(enum.Enum):
    """What it takes to clear a condition."""

    NONE = "none"
    RESET = "reset"
    REBOOT = "reboot"


@frozen
class Condition:
    """One reason why a GPU or MIG device is not well."""

    source: str
    """``xid``, ``lost``, ``unreadable``, ``remap``, …"""
    code: str
    severity: Severity
    since_s: float
    latch: Latch = Latch.NONE


@frozen
class Health:
    """Conditions by physical UUID (a GPU's or a MIG device's); no entry means well."""

    conditions: Mapping[str, tuple[Condition, ...]] = field(default_factory=dict)


ALL_WELL = Health()
"""No conditions: what a program without health sources assumes."""


@frozen
class Verdict:
    """A device's health, derived."""

    is_healthy: bool
    conditions: tuple[Condition, ...] = ()


@frozen(kw_only=True)
class Device:
    """One physical thing behind a resource: a whole GPU or a MIG device. Replicas are a view of it."""

    uuid: GpuUuid
    gpu: Gpu
    """The GPU, or the MIG device's parent."""
    mig: MigDevice | None = None
    verdict: Verdict = Verdict(True)

    @property
    def index(self) -> str:
        """``3``, or ``3:1`` for a MIG device."""
        return str(self.gpu.index) if self.mig is None else f"{self.gpu.index}:{self.mig.index}"


@frozen(kw_only=True)
class Resource:
    """One extended resource of the node: one sharing mode and one replica count."""

    name: ResourceName
    """As advertised, after any rename: ``nvidia.com/gpu``, ``nvidia.com/mig-1g.5gb``, ``nvidia.com/gpu.shared``."""
    base_name: ResourceName
    """Before a rename by sharing."""
    devices: tuple[Device, ...]
    """By (GPU index, MIG index)."""
    sharing: SharingStrategy = SharingStrategy.NONE
    replicas: int = 1
    fail_requests_greater_than_one: bool = False

    @property
    def is_renamed(self) -> bool:
        """Sharing gave it another name, so the product carries no ``-SHARED``."""
        return self.name != self.base_name


@frozen
class LeftOut:
    """A GPU or MIG device that no resource serves, and why."""

    index: str
    """``3`` or ``3:1``, or the PCI address of a GPU that NVML does not list."""
    uuid: str
    pci_address: str
    code: str
    """Stable: ``excluded``, ``mig-empty``, ``mig-mixed-modes``, ``mig-mixed-profiles``, ``unreadable``, …"""
    text: str

    @property
    def is_broken(self) -> bool:
        """A GPU that is there and of which nothing is known: nobody chose to leave it out."""
        return self.code in ("unreadable", "not-in-nvml")


@frozen
class Notice:
    """Something the operator should know; ``cause`` is a stable key so that it is said once."""

    cause: str
    text: str
