"""The effective configuration as frozen values; how it is read from a file stands in ``load``.

Field names follow the file's keys in snake case. ``None`` in ``Flags`` means set nowhere: each program fills the
defaults of the options that it has itself when it merges them (the labeler's in ``gpu_discovery.flags``), as the
reference does.
"""

from __future__ import annotations

from dataclasses import field

from gpu_discovery.core import model
from gpu_discovery.core.kit.frozen import frozen

INFINITE_S = float("inf")
"""``infinite`` as a duration."""


@frozen(kw_only=True)
class GfdFlags:
    """``flags.gfd``."""

    oneshot: bool | None = None
    no_timestamp: bool | None = None
    sleep_interval_s: float | None = None
    """Seconds; ``INFINITE_S`` for ``infinite``."""
    output_file: str | None = None
    machine_type_file: str | None = None


@frozen(kw_only=True)
class PluginFlags:
    """``flags.plugin``."""

    pass_device_specs: bool | None = None
    device_list_strategy: tuple[str, ...] | None = None
    device_id_strategy: str | None = None
    cdi_annotation_prefix: str | None = None
    nvidia_ctk_path: str | None = None
    container_driver_root: str | None = None
    shared_devices_allocation_policy: str | None = None


@frozen(kw_only=True)
class Flags:
    """``flags``."""

    mig_strategy: str | None = None
    fail_on_init_error: bool | None = None
    mps_root: str | None = None
    nvidia_driver_root: str | None = None
    nvidia_dev_root: str | None = None
    gdrcopy_enabled: bool | None = None
    gds_enabled: bool | None = None
    mofed_enabled: bool | None = None
    use_node_feature_api: bool | None = None
    device_discovery_strategy: str | None = None
    gfd: GfdFlags = GfdFlags()
    plugin: PluginFlags = PluginFlags()


@frozen
class ResourceRule:
    """One entry of ``resources.gpus`` or ``resources.mig``: the first whose pattern matches wins."""

    pattern: str
    """Only ``*`` is special; anchored to the whole product name or MIG profile."""
    name: model.ResourceName
    path: str = ""
    """Dotted key path in the file, for messages and ``explain``; empty for a default."""


@frozen
class ResourceRules:
    """``resources``; empty lists mean the defaults."""

    gpus: tuple[ResourceRule, ...] = ()
    mig: tuple[ResourceRule, ...] = ()


@frozen
class DeviceSelection:
    """``devices`` of a sharing entry: exactly one of the three says something."""

    is_all: bool = True
    count: int | None = None
    """The first n by index."""
    refs: tuple[str, ...] = ()
    """GPU index ``0``, MIG index ``0:1``, ``GPU-…``, ``MIG-…``, each in canonical form."""


@frozen(kw_only=True)
class SharingEntry:
    """One element of ``sharing.timeSlicing.resources`` or ``sharing.mps.resources``."""

    name: model.ResourceName
    replicas: int
    """1 means exclusive."""
    devices: DeviceSelection = DeviceSelection()
    rename: model.ResourceName | None = None
    """Already filled by ``renameByDefault``."""
    path: str = ""


@frozen(kw_only=True)
class SharingSection:
    """``sharing.timeSlicing`` or ``sharing.mps``."""

    resources: tuple[SharingEntry, ...]
    rename_by_default: bool = False
    fail_requests_greater_than_one: bool = False


@frozen
class Sharing:
    """``sharing``; both sections may be there, each for the devices that its entries name."""

    time_slicing: SharingSection | None = None
    mps: SharingSection | None = None


@frozen
class Imex:
    """``imex``."""

    channel_ids: tuple[int, ...] = ()
    required: bool = False


@frozen(kw_only=True)
class GpuSelector:
    """One rule of ``gpuDiscovery.gpus.include`` or ``.exclude``: all fields that are set must match."""

    index: int | None = None
    uuid: str | None = None
    pci_address: str | None = None
    model: str | None = None
    """Glob on the product name, ``*`` only, anchored, case-sensitive."""
    path: str = ""


@frozen(kw_only=True)
class OwnOptions:
    """``gpuDiscovery``: options that the reference does not have."""

    include: tuple[GpuSelector, ...] = ()
    """Empty: every GPU."""
    exclude: tuple[GpuSelector, ...] = ()
    """Applied after ``include``."""
    unmatched_gpus: str = "default"
    """A GPU that no pattern of ``resources.gpus`` matches: ``default`` (``nvidia.com/gpu``), ``skip`` or ``error``."""
    extra_labels: tuple[str, ...] = ()
    """Families asked for although the node doesn't need them: ``models``, ``counts``, ``devices``, ``share-memory``."""
    reference_compat: tuple[str, ...] = ()
    """Old behaviours to bring back, names of ``compat.NAMES``."""
    nfd_expiry_s: float | None = None
    """Seconds until NFD may drop the feature file; None: never."""
    publish: tuple[str, ...] | None = None
    """``file``, ``stdout``; None: decided by the reference's flags."""
    http_address: str | None = None
    """``host:port``; None: no port."""
    keep_nvml_open: bool | None = None
    remove_on_exit: bool | None = None
    exit_after_s: float | None = None
    log_format: str | None = None
    log_level: str | None = None


@frozen(kw_only=True)
class Config:
    """The whole file."""

    version: str = "v1"
    flags: Flags = Flags()
    resources: ResourceRules = ResourceRules()
    sharing: Sharing = Sharing()
    imex: Imex = Imex()
    own: OwnOptions = field(default_factory=OwnOptions)
