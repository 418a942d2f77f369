"""The one table of label keys: what each means, by which rule and from which facts and settings it comes.

Families take their keys from here, ``explain`` and docs/labels.md their texts. A pattern may hold placeholders:
``<profile>`` a MIG profile, ``<resource>`` a resource name out of the config, ``<model>`` a model, ``<index>`` a GPU.
Longer than other modules because it is a table.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

PREFIX = "nvidia.com/"
GPU = "nvidia.com/gpu"
"""The resource, and the beginning of every label of it."""

TIMESTAMP = "nvidia.com/gfd.timestamp"
MACHINE = "nvidia.com/gpu.machine"
MODE = "nvidia.com/gpu.mode"
CLIQUE = "nvidia.com/gpu.clique"
MIG_CAPABLE = "nvidia.com/mig.capable"
MPS_CAPABLE = "nvidia.com/mps.capable"
MIG_STRATEGY = "nvidia.com/mig.strategy"
MIG_INVALID_REASON = "nvidia.com/mig.invalid-reason"

DRIVER_MAJOR_OLD = "nvidia.com/cuda.driver.major"
DRIVER_MINOR_OLD = "nvidia.com/cuda.driver.minor"
DRIVER_REVISION_OLD = "nvidia.com/cuda.driver.rev"
DRIVER_MAJOR = "nvidia.com/cuda.driver-version.major"
DRIVER_MINOR = "nvidia.com/cuda.driver-version.minor"
DRIVER_REVISION = "nvidia.com/cuda.driver-version.revision"
DRIVER_FULL = "nvidia.com/cuda.driver-version.full"
CUDA_MAJOR_OLD = "nvidia.com/cuda.runtime.major"
CUDA_MINOR_OLD = "nvidia.com/cuda.runtime.minor"
CUDA_MAJOR = "nvidia.com/cuda.runtime-version.major"
CUDA_MINOR = "nvidia.com/cuda.runtime-version.minor"
CUDA_FULL = "nvidia.com/cuda.runtime-version.full"

VGPU_PRESENT = "nvidia.com/vgpu.present"
VGPU_HOST_VERSION = "nvidia.com/vgpu.host-driver-version"
VGPU_HOST_BRANCH = "nvidia.com/vgpu.host-driver-branch"

HETEROGENEOUS = "nvidia.com/gpu.heterogeneous"
MODEL = "nvidia.com/gpu.model"
PHYSICAL_COUNT = "nvidia.com/gpu.physical.count"
FULL_COUNT = "nvidia.com/gpu.full.count"
MIG_ENABLED_COUNT = "nvidia.com/gpu.mig-enabled.count"
UNREADABLE_COUNT = "nvidia.com/gpu.unreadable.count"

MIG_ATTRIBUTES = (
    ("memory", "memory_mib"),
    ("multiprocessors", "multiprocessors"),
    ("slices.gi", "gpu_instance_slices"),
    ("slices.ci", "compute_instance_slices"),
    ("engines.copy", "copy_engines"),
    ("engines.decoder", "decoders"),
    ("engines.encoder", "encoders"),
    ("engines.jpeg", "jpeg_engines"),
    ("engines.ofa", "ofa_engines"),
)
"""End of the key, and the field of ``model.MigAttributes``."""
_MIG_WORDS = {
    "memory": "Memory",
    "multiprocessors": "Multiprocessors",
    "slices.gi": "GPU instance slices",
    "slices.ci": "Compute instance slices",
    "engines.copy": "Copy engines",
    "engines.decoder": "Decoders",
    "engines.encoder": "Encoders",
    "engines.jpeg": "JPEG engines",
    "engines.ofa": "Optical flow engines",
}

_OTHERS = re.compile(r"nvidia\.com/(?:gpu\.present|gpu\.deploy|mig\.config|device-plugin\.config)(?:\..*)?")
"""Keys under our prefix that the GPU Operator, its MIG manager and people set: never ours, whatever a resource is called."""

REFERENCE = "reference"
OWN = "own"
_KNOWN = "a GPU is known"


class Key(NamedTuple):
    """One row."""

    pattern: str
    meaning: str
    rule: str
    """How the value comes about."""
    facts: tuple[str, ...]
    """Where in the snapshot it comes from."""
    config_paths: tuple[str, ...] = ()
    """Keys of the config file that have a say."""
    values: str = "text"
    origin: str = REFERENCE
    """``reference``: GPU Feature Discovery has it too; ``own``: only this product."""
    when: str = _KNOWN


_VERSION = "the driver tells its version"
_PARTS = "the version has the form X.Y or X.Y.Z"
_SHARING = ("sharing.timeSlicing", "sharing.mps")
_GPUS = ("gpuDiscovery.gpus",)
_STRATEGY = ("flags.migStrategy",)
_EXTRA = ("gpuDiscovery.extraLabels",)
_SINGLE = "MIG devices are served as `nvidia.com/gpu`: by strategy single, or by a rule that calls them so"
_NEEDED = "the node has several models, or a GPU can't be read, or `counts` is asked for"
_SEVERAL = "the node has several models, or `models` is asked for"


def _versions() -> Iterator[Key]:
    driver, cuda = ("driver_version",), ("cuda_version",)
    for pattern, part, of in (
        (DRIVER_MAJOR, "first", "major version"),
        (DRIVER_MINOR, "second", "minor version"),
        (DRIVER_REVISION, "third", "revision"),
    ):
        rule = f"the {part} part as written, leading zeros kept; empty where there is none"
        yield Key(pattern, f"Driver: {of}", rule, driver, values="number, or `unknown`", when=_PARTS)
    yield Key(DRIVER_FULL, "Driver: whole version", "as the driver gives it", driver, when=_VERSION)
    yield Key(CUDA_MAJOR, "CUDA that the driver supports: major version", "as a number", cuda, values="number")
    yield Key(CUDA_MINOR, "CUDA that the driver supports: minor version", "as a number", cuda, values="number")
    yield Key(CUDA_FULL, "CUDA that the driver supports", "major and minor with a dot", cuda, values="`12.2`")
    for old, new, facts, when in (
        (DRIVER_MAJOR_OLD, DRIVER_MAJOR, driver, _PARTS),
        (DRIVER_MINOR_OLD, DRIVER_MINOR, driver, _PARTS),
        (DRIVER_REVISION_OLD, DRIVER_REVISION, driver, _PARTS),
        (CUDA_MAJOR_OLD, CUDA_MAJOR, cuda, _KNOWN),
        (CUDA_MINOR_OLD, CUDA_MINOR, cuda, _KNOWN),
    ):
        yield Key(old, f"Old name of `{new}`", "the same value", facts, values="number", when=when)


def _node() -> Iterator[Key]:
    yield Key(
        TIMESTAMP,
        "When the labels last changed",
        "Unix seconds of the pass in which another label changed; taken over from what is published while none does",
        ("taken_at_s",),
        ("flags.gfd.noTimestamp", "gpuDiscovery.referenceCompat"),
        "Unix seconds",
        when="always, unless switched off",
    )
    yield Key(
        MACHINE,
        "Type of the machine",
        "text of the machine type file made legal; `unknown` where it can't be read",
        ("host.machine",),
        ("flags.gfd.machineTypeFile",),
    )
    yield Key(
        MODE,
        "How the GPUs show themselves on the PCI bus",
        "by the PCI class of all GPUs; `unknown` when they differ or one can't be read",
        ("gpus[].pci_class",),
        _GPUS,
        "`compute`, `graphics`, `unknown`",
    )
    yield Key(
        CLIQUE,
        "NVLink fabric partition",
        "`<cluster UUID>.<clique id>` of the GPUs that are attached to a fabric, when all agree",
        ("gpus[].fabric",),
        _GPUS,
        when="a GPU is attached to an NVLink fabric, and all attached ones agree",
    )


def _capability() -> Iterator[Key]:
    yield Key(
        MIG_CAPABLE,
        "Some GPU can do MIG",
        "whether MIG is on does not matter",
        ("gpus[].mig",),
        _GPUS,
        "`true`, `false`",
        when="a GPU is known, and tells",
    )
    yield Key(
        MPS_CAPABLE,
        "Some device is served through MPS",
        "`true` when an entry of `sharing.mps` has a device on this node; MIG devices are never MPS-shared",
        ("gpus[]",),
        ("sharing.mps",),
        "`true`, `false`",
    )
    yield Key(
        MIG_STRATEGY,
        "How MIG devices are served",
        "as configured",
        (),
        _STRATEGY,
        "`single`, `mixed`",
        when="strategy single or mixed",
    )
    yield Key(
        MIG_INVALID_REASON,
        "Why strategy single does not serve all there is",
        "each reason once, by name, with `_` between them",
        ("gpus[].mig",),
        (*_STRATEGY, "gpuDiscovery.referenceCompat"),
        "`empty`, `mixed-modes`, `mixed-profiles`, `unreadable`",
        OWN,
        "strategy single leaves a GPU or MIG device out",
    )


def _vgpu() -> Iterator[Key]:
    yield Key(
        VGPU_PRESENT,
        "This machine is the guest of a vGPU host",
        "by the vendor capability in the configuration space of every NVIDIA function",
        ("pci[].is_vgpu",),
        _GPUS,
        "`true`, `false`",
        when="the configuration space can be read, with or without a driver",
    )
    for pattern, what, fact in (
        (VGPU_HOST_VERSION, "version", "host_driver_version"),
        (VGPU_HOST_BRANCH, "branch", "host_driver_branch"),
    ):
        yield Key(
            pattern,
            f"Driver {what} of the vGPU host",
            "as the vendor capability gives it; left out when vGPUs of one machine differ",
            (f"pci[].vgpu.{fact}",),
            _GPUS,
            when="a vGPU is present and tells it",
        )


_GPU_ROWS = (
    (
        "product",
        "Model",
        "product name made legal, `-SHARED` where it is shared and not renamed; cut from the right to 63 characters",
        "with `-MIG-<profile>`",
        ("gpus[].name",),
        _GPUS + _SHARING,
        "text",
    ),
    (
        "count",
        "Number",
        "healthy or not, never multiplied by replicas",
        "of the MIG devices",
        ("gpus[]", "gpus[].name"),
        (*_GPUS, "resources.gpus", "gpuDiscovery.unmatchedGpus"),
        "number",
    ),
    (
        "replicas",
        "Shares",
        "replicas of the sharing entry, 1 without; 0 when MIG is on for all, or nothing is served",
        "of the MIG devices",
        ("gpus[].mig",),
        _SHARING,
        "number",
    ),
    (
        "sharing-strategy",
        "Sharing",
        "of the sharing entry; `none` with one replica",
        "of the MIG devices",
        ("gpus[].mig",),
        _SHARING,
        "`none`, `time-slicing`, `mps`",
    ),
    (
        "memory",
        "Memory",
        "bytes / 2^20 rounded down, the least of that model; left out where the driver does not tell",
        "the attribute of the MIG devices",
        ("gpus[].memory_bytes",),
        _GPUS,
        "MiB",
    ),
)
"""End of the key, meaning, rule, what it is of under strategy single, facts, config paths, values."""


def _gpu_block(prefix: str, subject: str, origin: str, when: str) -> Iterator[Key]:
    """The block of whole GPUs; that of ``nvidia.com/gpu`` is of MIG devices under strategy single."""
    is_base = prefix == GPU
    strategy = _STRATEGY if is_base else ()
    for end, meaning, rule, under_single, facts, config, kinds in _GPU_ROWS:
        whole = f"{rule}; under strategy single, once MIG is on, {under_single}" if is_base else rule
        yield Key(f"{prefix}.{end}", f"{meaning} of {subject}", whole, facts, config + strategy, kinds, origin, when)
    yield from _architecture(prefix, subject, origin, when)


def _architecture(prefix: str, subject: str, origin: str, when: str) -> Iterator[Key]:
    facts = ("gpus[].compute_capability",)
    families = "`hopper`, `blackwell`, …, `undefined`"
    rule = "by compute capability"
    yield Key(f"{prefix}.family", f"Architecture of {subject}", rule, facts, _GPUS, families, origin, when)
    for part in ("major", "minor"):
        meaning = f"Compute capability of {subject}: {part}"
        yield Key(f"{prefix}.compute.{part}", meaning, "as a number", facts, _GPUS, "number", origin, when)


def _mig_block(prefix: str, subject: str, origin: str, when: str, *, whole: bool) -> Iterator[Key]:
    """The block of MIG devices; ``whole`` gives also the keys that it has in common with that of GPUs."""
    config = (*_STRATEGY, "resources.mig")
    if whole:
        product = "the GPU's product, `-MIG-<profile>` and `-SHARED` kept whole; the rest is cut from the right"
        names = ("gpus[].name", "gpus[].mig.devices[].profile")
        yield Key(f"{prefix}.product", f"Model of {subject}", product, names, config + _SHARING, "text", origin, when)
        for end, meaning, rule, kinds in (
            ("count", "Number", "of the node, never multiplied by replicas", "number"),
            ("replicas", "Shares", "replicas of the sharing entry, 1 without", "number"),
            ("sharing-strategy", "Sharing", "of the sharing entry", "`none`, `time-slicing`"),
        ):
            facts = ("gpus[].mig.devices[]",)
            yield Key(f"{prefix}.{end}", f"{meaning} of {subject}", rule, facts, config + _SHARING, kinds, origin, when)
    for end, field in MIG_ATTRIBUTES if whole else MIG_ATTRIBUTES[1:]:
        meaning = f"{_MIG_WORDS[end]} of {subject}"
        facts = (f"gpus[].mig.devices[].attributes.{field}",)
        kinds = "MB as the driver gives it" if end == "memory" else "number"
        yield Key(f"{prefix}.{end}", meaning, "attribute of the MIG device", facts, config, kinds, origin, when)


def _several() -> Iterator[Key]:
    yield Key(
        HETEROGENEOUS,
        "There are GPUs of several models",
        "models are told apart by product name",
        ("gpus[].name",),
        _GPUS,
        "`true`",
        OWN,
        "the node has several models",
    )
    for pattern, meaning, rule, facts in (
        (PHYSICAL_COUNT, "All GPUs", "the sum of the three below", ("gpus[]", "unreadable[]", "pci[]")),
        (FULL_COUNT, "GPUs with MIG off", "whatever the strategy", ("gpus[].mig", "gpus[].name")),
        (MIG_ENABLED_COUNT, "GPUs with MIG on", "whatever the strategy", ("gpus[].mig", "gpus[].name")),
        (
            UNREADABLE_COUNT,
            "GPUs that can't be told",
            "can't be read, not even their name, or missing in NVML",
            ("gpus[].name", "unreadable[]", "pci[]"),
        ),
    ):
        yield Key(pattern, meaning, rule, facts, _GPUS + _EXTRA, "number", OWN, _NEEDED)
    prefix, subject = f"{MODEL}.<model>", "this model's GPUs"
    config = _GPUS + _EXTRA
    product = "product name made legal"
    yield Key(f"{prefix}.product", "Name of this model", product, ("gpus[].name",), config, "text", OWN, _SEVERAL)
    count = ("gpus[]", "gpus[].name")
    yield Key(f"{prefix}.count", f"Number of {subject}", "MIG on or off", count, config, "number", OWN, _SEVERAL)
    memory = "as `nvidia.com/gpu.memory`"
    yield Key(
        f"{prefix}.memory", f"Memory of {subject}", memory, ("gpus[].memory_bytes",), config, "MiB", OWN, _SEVERAL
    )
    yield from _architecture(prefix, subject, OWN, _SEVERAL)
    when = f"{_SEVERAL}; and one has MIG on"
    meaning = f"Number of {subject} with MIG on"
    yield Key(
        f"{prefix}.mig-enabled.count", meaning, "whatever the strategy", ("gpus[].mig",), config, "number", OWN, when
    )


def _asked_for() -> Iterator[Key]:
    when = "`devices` is asked for"
    for end, meaning, rule, fact in (
        ("uuid", "UUID of this GPU", "as NVML gives it", "uuid"),
        ("product", "Model of this GPU", "product name made legal", "name"),
        ("pci-address", "PCI address of this GPU", "with `-` for `:`", "pci_address"),
    ):
        yield Key(f"{GPU}-<index>.{end}", meaning, rule, (f"gpus[].{fact}",), _GPUS + _EXTRA, "text", OWN, when)
    for prefix in (GPU, f"{PREFIX}<resource>"):
        yield Key(
            f"{prefix}.share-memory",
            "Memory that MPS lets one share have",
            "memory / replicas, rounded down",
            ("gpus[].memory_bytes",),
            (*_EXTRA, "sharing.mps"),
            "MiB",
            OWN,
            "`share-memory` is asked for and MPS shares the GPUs",
        )


_BY_PROFILE = "strategy mixed, and such devices are there"
_BY_RESOURCE = "`resources`, `rename` or sharing of some devices makes such a resource"

KEYS: tuple[Key, ...] = (
    *_node(),
    *_capability(),
    *_versions(),
    *_gpu_block(GPU, "the GPUs", REFERENCE, _KNOWN),
    *_mig_block(GPU, "the MIG devices", REFERENCE, _SINGLE, whole=False),
    *_vgpu(),
    *_several(),
    *_asked_for(),
    *_mig_block(f"{PREFIX}mig-<profile>", "this profile's MIG devices", REFERENCE, _BY_PROFILE, whole=True),
    *_gpu_block(f"{PREFIX}<resource>", "this resource's GPUs", OWN, _BY_RESOURCE),
    *_mig_block(f"{PREFIX}<resource>", "this resource's MIG devices", OWN, _BY_RESOURCE, whole=False),
)
_PLACEHOLDER = re.compile(r"<\w+>")


@functools.lru_cache(maxsize=512)  # Asked for every published key while a fact is unread.
def find(key: str) -> Key | None:
    """The row of a label's key, of several that fit the most special; None for a key that is not ours."""
    if _OTHERS.fullmatch(key):
        return None
    exact = next((row for row in KEYS if row.pattern == key), None)
    fitting = [] if exact else [row for row in KEYS if "<" in row.pattern and _fits(row.pattern, key)]
    return exact or max(fitting, key=lambda row: len(row.pattern), default=None)


def may_be_of_resource(key: str) -> bool:
    """Whether a resource out of the config may have this label: it is not one of others, nor of the node's own."""
    row = find(key)
    return row is not None and any(kind in row.pattern for kind in ("<resource>", "<profile>", "<index>"))


def _fits(pattern: str, key: str) -> bool:
    literal = [re.escape(part) for part in _PLACEHOLDER.split(pattern)]
    expression = "[0-9]{1,3}" if "<index>" in pattern else ".+"
    return re.fullmatch(expression.join(literal), key) is not None
