"""The one table of the config file's keys: reading, hints, JSON Schema and docs/config.md are derived from it.

Order matters in two places: documents follow it, and where a misplaced key could belong to several objects the first
one is suggested. Longer than other modules because it is a table.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from gpu_discovery.core.config import compat, devices, types, values
from gpu_discovery.core.config.fields import Bool, Choice, Duration, Integer, ListOf, Text
from gpu_discovery.core.config.objects import Key, Object

_PRINTABLE = r"^[^\u0000-\u001f\u007f]*$"
_STRING = Text(text="string", schema={"pattern": _PRINTABLE})
_PATTERN = Text(parse=values.parse_pattern, text="pattern", schema={"pattern": _PRINTABLE, "minLength": 1})
_RESOURCE_NAME = Text(
    parse=values.parse_resource_name,
    text="resource name",
    schema={
        "anyOf": [
            {"pattern": rf"^nvidia\.com/{values.SUBDOMAIN_PATTERN}$", "maxLength": values.LONGEST_RESOURCE_NAME},
            {
                "pattern": rf"^{values.SUBDOMAIN_PATTERN}$",
                "maxLength": values.LONGEST_RESOURCE_NAME - len(values.RESOURCE_PREFIX),
            },
        ]
    },
)
_NO_RESOURCES = "no resources specified"


def _version(text: str) -> str:
    if text not in ("", "v1"):
        raise ValueError(f"unknown version: {values.shown(text)}; the only one is v1")
    return "v1"


def _time_slicing(
    *,
    resources: tuple[types.SharingEntry, ...],
    rename_by_default: bool = False,
    fail_requests_greater_than_one: bool = False,
) -> types.SharingSection:
    entries = tuple(_renamed(entry) for entry in resources) if rename_by_default else resources
    return types.SharingSection(
        resources=entries,
        rename_by_default=rename_by_default,
        fail_requests_greater_than_one=fail_requests_greater_than_one,
    )


def _mps(
    *,
    resources: tuple[types.SharingEntry, ...],
    rename_by_default: bool = False,
    fail_requests_greater_than_one: bool = True,
) -> types.SharingSection:
    return _time_slicing(
        resources=resources,
        rename_by_default=rename_by_default,
        fail_requests_greater_than_one=fail_requests_greater_than_one,
    )


def _renamed(entry: types.SharingEntry) -> types.SharingEntry:
    """One replica is exclusive: calling it shared would be untrue."""
    if entry.rename is not None or entry.replicas == 1:
        return entry
    return dataclasses.replace(entry, rename=values.default_rename(entry.name))


def _gpu_rules(
    *, include: tuple[types.GpuSelector, ...] = (), exclude: tuple[types.GpuSelector, ...] = ()
) -> Mapping[str, tuple[types.GpuSelector, ...]]:
    return {"include": include, "exclude": exclude}


def _own_options(*, gpus: Mapping[str, Any] | None = None, **found: Any) -> types.OwnOptions:
    return types.OwnOptions(**(gpus or {}), **found)


_GFD = Object(
    build=types.GfdFlags,
    matches_any_case=True,
    keys=(
        Key(name="oneshot", field="oneshot", kind=Bool(), doc="Label once and exit.", default="`false`"),
        Key(
            name="noTimestamp",
            field="no_timestamp",
            kind=Bool(),
            doc="Leave out `nvidia.com/gfd.timestamp`.",
            default="`false`",
        ),
        Key(
            name="sleepInterval",
            field="sleep_interval_s",
            kind=Duration(),
            doc="Time between passes when nothing changes, as a Go duration (`60s`, `1m30s`) or `infinite`. "
            "A bare number is nanoseconds. Less than 100ms is raised to 100ms.",
            default="`1m0s`",
        ),
        Key(
            name="outputFile",
            field="output_file",
            kind=_STRING,
            doc="Where the feature file is written; an empty text means standard output.",
            default=f"`{values.DEFAULT_OUTPUT_FILE}`",
        ),
        Key(
            name="machineTypeFile",
            field="machine_type_file",
            kind=_STRING,
            doc="File that holds the machine's type.",
            default=f"`{values.DEFAULT_MACHINE_TYPE_FILE}`",
        ),
    ),
)

_PLUGIN = Object(
    build=types.PluginFlags,
    matches_any_case=True,
    keys=(
        Key(
            name="passDeviceSpecs",
            field="pass_device_specs",
            kind=Bool(),
            doc="Hand device nodes to the kubelet as well.",
            default="`false`",
        ),
        Key(
            name="deviceListStrategy",
            field="device_list_strategy",
            kind=ListOf(Choice(values.DEVICE_LIST_STRATEGIES), or_single=True),
            doc="How allocated devices are told to the container runtime.",
            default="`envvar`",
        ),
        Key(
            name="deviceIDStrategy",
            field="device_id_strategy",
            kind=Choice(values.DEVICE_ID_STRATEGIES),
            doc="What allocated devices are named by.",
            default="`uuid`",
        ),
        Key(
            name="cdiAnnotationPrefix",
            field="cdi_annotation_prefix",
            kind=_STRING,
            doc="Prefix of CDI annotation keys.",
            default="`cdi.k8s.io/`",
        ),
        Key(
            name="nvidiaCTKPath",
            field="nvidia_ctk_path",
            kind=_STRING,
            doc="Path of the CDI hook program on the host.",
            default="`/usr/bin/nvidia-ctk`",
        ),
        Key(
            name="containerDriverRoot",
            field="container_driver_root",
            kind=_STRING,
            doc="Where the driver's root is mounted in our container; the NVML library is looked for there first.",
            default=f"`{values.DEFAULT_DRIVER_ROOT_CTR_PATH}`",
        ),
        Key(
            name="sharedDevicesAllocationPolicy",
            field="shared_devices_allocation_policy",
            kind=Choice(values.ALLOCATION_POLICIES),
            doc="How shares are spread over the devices behind a shared resource.",
            default="`distributed`",
        ),
    ),
)

_FLAGS = Object(
    build=types.Flags,
    matches_any_case=True,
    keys=(
        Key(
            name="migStrategy",
            field="mig_strategy",
            kind=Choice(values.MIG_STRATEGIES),
            doc="How MIG devices are exposed.",
            default="`none`",
        ),
        Key(
            name="failOnInitError",
            field="fail_on_init_error",
            kind=Bool(),
            doc="End with an error when the GPUs can't be read at the start, instead of waiting for the driver.",
            default="`true`",
        ),
        Key(name="mpsRoot", field="mps_root", kind=_STRING, doc="Host folder of the MPS daemon's pipes and logs."),
        Key(
            name="nvidiaDriverRoot",
            field="nvidia_driver_root",
            kind=_STRING,
            doc="Root of the driver's installation on the host.",
            default="`/`",
        ),
        Key(
            name="nvidiaDevRoot",
            field="nvidia_dev_root",
            kind=_STRING,
            doc="Root of the host's device nodes; empty means the driver's root.",
        ),
        Key(name="gdrcopyEnabled", field="gdrcopy_enabled", kind=Bool(), doc="Add GDRCopy devices.", default="`false`"),
        Key(
            name="gdsEnabled", field="gds_enabled", kind=Bool(), doc="Add GPUDirect Storage devices.", default="`false`"
        ),
        Key(name="mofedEnabled", field="mofed_enabled", kind=Bool(), doc="Add MOFED devices.", default="`false`"),
        Key(
            name="useNodeFeatureAPI",
            field="use_node_feature_api",
            kind=Bool(),
            doc="Publish a NodeFeature object. This version publishes the feature file either way, and says so.",
        ),
        Key(
            name="deviceDiscoveryStrategy",
            field="device_discovery_strategy",
            kind=Choice(values.DISCOVERY_STRATEGIES),
            doc="Where GPUs are looked for.",
            default="`auto`",
        ),
        Key(name="gfd", field="gfd", kind=_GFD, doc="Options of gpu-feature-discovery alone."),
        Key(
            name="plugin",
            field="plugin",
            kind=_PLUGIN,
            doc="Options of the device plugin; gpu-feature-discovery uses containerDriverRoot only.",
        ),
    ),
)

_RESOURCE_RULE = Object(
    build=types.ResourceRule,
    has_path=True,
    keys=(
        Key(
            name="pattern",
            field="pattern",
            kind=_PATTERN,
            doc="Product name or MIG profile; only `*` is special, and the whole text must match.",
            if_missing="resources must have a 'pattern' field set",
        ),
        Key(
            name="name",
            field="name",
            kind=_RESOURCE_NAME,
            doc="Resource that serves what matches; `nvidia.com/` is put in front where missing.",
            if_missing="resources must have a 'name' field set",
        ),
    ),
)

_RESOURCES = Object(
    build=types.ResourceRules,
    matches_any_case=True,
    keys=(
        Key(
            name="gpus",
            field="gpus",
            kind=ListOf(_RESOURCE_RULE),
            doc="Rules for whole GPUs by product name; the first that matches wins.",
            default="`*` → `nvidia.com/gpu`",
        ),
        Key(
            name="mig",
            field="mig",
            kind=ListOf(_RESOURCE_RULE),
            doc="Rules for MIG devices by profile; the first that matches wins.",
            default="by MIG strategy",
        ),
    ),
)

_SHARING_ENTRY = Object(
    build=types.SharingEntry,
    has_path=True,
    keys=(
        Key(
            name="name",
            field="name",
            kind=_RESOURCE_NAME,
            doc="Resource to share; on a node without it the entry has no effect.",
            if_missing="no resource name specified",
        ),
        Key(
            name="replicas",
            field="replicas",
            kind=Integer(least=1),
            doc="Shares of each device; 1 means exclusive.",
            if_missing="no replicas specified",
        ),
        Key(
            name="devices",
            field="devices",
            kind=devices.Devices(),
            doc="Which devices of the resource are shared.",
            default="`all`",
            if_null="devices set as null; leave it out or write 'all'",
        ),
        Key(
            name="rename",
            field="rename",
            kind=_RESOURCE_NAME,
            doc="Name under which the shared devices are advertised.",
            default="the name itself",
        ),
    ),
)


def _sharing_keys(fails_by_default: str) -> tuple[Key, ...]:
    return (
        Key(
            name="renameByDefault",
            field="rename_by_default",
            kind=Bool(),
            doc="Entries without `rename` are renamed to `<name>.shared`.",
            default="`false`",
        ),
        Key(
            name="failRequestsGreaterThanOne",
            field="fail_requests_greater_than_one",
            kind=Bool(),
            doc="Refuse a container that asks for more than one share.",
            default=fails_by_default,
        ),
        Key(
            name="resources",
            field="resources",
            kind=ListOf(_SHARING_ENTRY, if_empty=_NO_RESOURCES),
            doc="What is shared, and how often.",
            if_missing=_NO_RESOURCES,
        ),
    )


_SHARING = Object(
    build=types.Sharing,
    matches_any_case=True,
    keys=(
        Key(
            name="timeSlicing",
            field="time_slicing",
            kind=Object(build=_time_slicing, keys=_sharing_keys("`false`")),
            doc="Devices that containers share in turn.",
            if_null=_NO_RESOURCES,
        ),
        Key(
            name="mps",
            field="mps",
            kind=Object(build=_mps, keys=_sharing_keys("`true`")),
            doc="Devices that containers share through MPS; where both sections name a device, MPS wins.",
        ),
    ),
)

_IMEX = Object(
    build=types.Imex,
    matches_any_case=True,
    keys=(
        Key(
            name="channelIDs",
            field="channel_ids",
            kind=ListOf(Integer(most=0), most=1),
            doc="IMEX channels to hand out: none, or channel 0.",
            default="`[]`",
        ),
        Key(
            name="required",
            field="required",
            kind=Bool(),
            doc="A missing channel is an error.",
            default="`false`",
        ),
    ),
)

_SELECTOR = Object(
    build=types.GpuSelector,
    has_path=True,
    if_empty="selects nothing in particular; set index, uuid, pciAddress or model",
    keys=(
        Key(name="index", field="index", kind=Integer(), doc="NVML's index."),
        Key(
            name="uuid",
            field="uuid",
            kind=Text(
                parse=values.parse_gpu_uuid, text="GPU UUID", schema={"pattern": rf"^GPU-{values.UUID_PATTERN}$"}
            ),
            doc="The GPU's UUID as `nvidia-smi -L` prints it.",
        ),
        Key(
            name="pciAddress",
            field="pci_address",
            kind=Text(
                parse=values.parse_pci_address,
                text="PCI address",
                schema={"pattern": rf"^{values.PCI_ADDRESS_PATTERN}$"},
            ),
            doc="PCI address as `lspci -D` prints it: `0000:07:00.0`.",
        ),
        Key(
            name="model",
            field="model",
            kind=_PATTERN,
            doc="Product name as NVML gives it; only `*` is special, and the whole name must match.",
        ),
    ),
)

_GPU_RULES = Object(
    build=_gpu_rules,
    keys=(
        Key(name="include", field="include", kind=ListOf(_SELECTOR), doc="GPUs to serve.", default="every GPU"),
        Key(
            name="exclude",
            field="exclude",
            kind=ListOf(_SELECTOR),
            doc="GPUs to leave out; applied after `include`.",
            default="none",
        ),
    ),
)

_OWN = Object(
    build=_own_options,
    keys=(
        Key(
            name="gpus",
            field="gpus",
            kind=_GPU_RULES,
            doc="Which GPUs exist for everything that follows. All keys of one selector must match.",
        ),
        Key(
            name="unmatchedGpus",
            field="unmatched_gpus",
            kind=Choice(values.UNMATCHED_GPUS),
            doc="What a GPU becomes that no rule of `resources.gpus` matches: `nvidia.com/gpu`, nothing, or an error.",
            default="`default`",
        ),
        Key(
            name="extraLabels",
            field="extra_labels",
            kind=ListOf(Choice(values.EXTRA_LABELS), or_single=True),
            doc="Label families asked for although the node doesn't need them to be told truly.",
            default="none",
        ),
        Key(
            name="referenceCompat",
            field="reference_compat",
            kind=ListOf(Choice(tuple(compat.NAMES)), or_single=True),
            doc="Old behaviours to bring back.",
            default="none",
        ),
        Key(
            name="nfdExpiry",
            field="nfd_expiry_s",
            kind=Duration(),
            doc="Let NFD drop the feature file's labels when it wasn't refreshed for so long; infinite: never.",
            default="`infinite`",
        ),
        Key(
            name="publish",
            field="publish",
            kind=ListOf(Choice(values.PUBLISH), or_single=True, if_empty="publishes nothing"),
            doc="Where labels go; wins over `flags.useNodeFeatureAPI`.",
            default="`file`",
        ),
        Key(
            name="httpAddress",
            field="http_address",
            kind=Text(
                parse=values.parse_http_address,
                text="`host:port`",
                schema={"pattern": rf"^({values.HTTP_ADDRESS_PATTERN})?$"},
            ),
            doc="Address of `/healthz`, `/readyz` and `/metrics`.",
            default="no port",
        ),
        Key(
            name="keepNvmlOpen",
            field="keep_nvml_open",
            kind=Bool(),
            doc="Keep the NVML session between passes; blocks a driver's unload and GPU resets.",
            default="`false`",
        ),
        Key(
            name="removeOnExit",
            field="remove_on_exit",
            kind=Bool(),
            doc="Remove the feature file when the program ends.",
            default="`false`",
        ),
        Key(
            name="exitAfter",
            field="exit_after_s",
            kind=Duration(),
            doc="End with an error when no pass was good for so long since the start; infinite: never.",
            default="`infinite`",
        ),
        Key(
            name="logFormat",
            field="log_format",
            kind=Choice(values.LOG_FORMATS),
            doc="Form of log lines.",
            default="`text`",
        ),
        Key(
            name="logLevel",
            field="log_level",
            kind=Choice(values.LOG_LEVELS),
            doc="Least level that is logged.",
            default="`info`",
        ),
    ),
)

ROOT = Object(
    build=types.Config,
    matches_any_case=True,
    keys=(
        Key(
            name="version",
            field="version",
            kind=Text(parse=_version, text="`v1`", schema={"enum": ["", "v1"]}),
            doc="Version of this schema.",
            default="`v1`",
        ),
        Key(name="flags", field="flags", kind=_FLAGS, doc="Options that flags and variables set as well, and win."),
        Key(name="resources", field="resources", kind=_RESOURCES, doc="Which resource serves which GPU or MIG device."),
        Key(name="sharing", field="sharing", kind=_SHARING, doc="Devices shared between containers."),
        Key(name="imex", field="imex", kind=_IMEX, doc="IMEX channels."),
        Key(name="gpuDiscovery", field="own", kind=_OWN, doc="Options that the reference doesn't have."),
    ),
)
"""The whole file."""
