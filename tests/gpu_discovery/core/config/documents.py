"""Config files for tests: one that sets everything, and any that hypothesis can think of."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from gpu_discovery.core import errors, model
from gpu_discovery.core.config import compat, fields, load, objects, types, values

WHOLE = """\
version: v1
flags:
  migStrategy: mixed
  failOnInitError: false
  mpsRoot: /run/nvidia/mps
  nvidiaDriverRoot: /run/nvidia/driver
  nvidiaDevRoot: /run/nvidia/dev
  gdrcopyEnabled: yes
  gdsEnabled: on
  mofedEnabled: true
  useNodeFeatureAPI: off
  deviceDiscoveryStrategy: nvml
  gfd:
    oneshot: true
    noTimestamp: true
    sleepInterval: 30s
    outputFile: ""
    machineTypeFile: /etc/machine
  plugin:
    passDeviceSpecs: true
    deviceListStrategy: [envvar, cdi-cri]
    deviceIDStrategy: index
    cdiAnnotationPrefix: cdi.example/
    nvidiaCTKPath: /opt/nvidia-ctk
    containerDriverRoot: /driver
    sharedDevicesAllocationPolicy: packed
resources:
  gpus:
  - pattern: "*A100*"
    name: a100
  mig:
  - pattern: 1g.5gb
    name: nvidia.com/small
sharing:
  timeSlicing:
    renameByDefault: true
    failRequestsGreaterThanOne: true
    resources:
    - name: nvidia.com/gpu
      replicas: 4
      devices: all
  mps:
    failRequestsGreaterThanOne: false
    resources:
    - name: nvidia.com/a100
      rename: a100.mps
      replicas: 2
      devices: [0, 1]
imex:
  channelIDs: [0]
  required: true
gpuDiscovery:
  gpus:
    include:
    - index: 0
      uuid: GPU-0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0
      pciAddress: "07:00.0"
      model: "*A100*"
    exclude:
    - index: 3
  unmatchedGpus: skip
  extraLabels: counts
  referenceCompat: [vfio-memory-bytes]
  nfdExpiry: 1h
  publish: [file, stdout]
  httpAddress: ":9402"
  keepNvmlOpen: true
  removeOnExit: true
  exitAfter: 5m
  logFormat: json
  logLevel: debug
"""
"""Every key there is."""

WHOLE_CONFIG = types.Config(
    flags=types.Flags(
        mig_strategy="mixed",
        fail_on_init_error=False,
        mps_root="/run/nvidia/mps",
        nvidia_driver_root="/run/nvidia/driver",
        nvidia_dev_root="/run/nvidia/dev",
        gdrcopy_enabled=True,
        gds_enabled=True,
        mofed_enabled=True,
        use_node_feature_api=False,
        device_discovery_strategy="nvml",
        gfd=types.GfdFlags(
            oneshot=True, no_timestamp=True, sleep_interval_s=30.0, output_file="", machine_type_file="/etc/machine"
        ),
        plugin=types.PluginFlags(
            pass_device_specs=True,
            device_list_strategy=("envvar", "cdi-cri"),
            device_id_strategy="index",
            cdi_annotation_prefix="cdi.example/",
            nvidia_ctk_path="/opt/nvidia-ctk",
            container_driver_root="/driver",
            shared_devices_allocation_policy="packed",
        ),
    ),
    resources=types.ResourceRules(
        gpus=(types.ResourceRule("*A100*", model.ResourceName("nvidia.com/a100"), "resources.gpus[0]"),),
        mig=(types.ResourceRule("1g.5gb", model.ResourceName("nvidia.com/small"), "resources.mig[0]"),),
    ),
    sharing=types.Sharing(
        time_slicing=types.SharingSection(
            rename_by_default=True,
            fail_requests_greater_than_one=True,
            resources=(
                types.SharingEntry(
                    name=model.ResourceName("nvidia.com/gpu"),
                    replicas=4,
                    rename=model.ResourceName("nvidia.com/gpu.shared"),
                    path="sharing.timeSlicing.resources[0]",
                ),
            ),
        ),
        mps=types.SharingSection(
            fail_requests_greater_than_one=False,
            resources=(
                types.SharingEntry(
                    name=model.ResourceName("nvidia.com/a100"),
                    replicas=2,
                    devices=types.DeviceSelection(is_all=False, refs=("0", "1")),
                    rename=model.ResourceName("nvidia.com/a100.mps"),
                    path="sharing.mps.resources[0]",
                ),
            ),
        ),
    ),
    imex=types.Imex(channel_ids=(0,), required=True),
    own=types.OwnOptions(
        include=(
            types.GpuSelector(
                index=0,
                uuid="GPU-0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0",
                pci_address="0000:07:00.0",
                model="*A100*",
                path="gpuDiscovery.gpus.include[0]",
            ),
        ),
        exclude=(types.GpuSelector(index=3, path="gpuDiscovery.gpus.exclude[0]"),),
        unmatched_gpus="skip",
        extra_labels=("counts",),
        reference_compat=("vfio-memory-bytes",),
        nfd_expiry_s=3600.0,
        publish=("file", "stdout"),
        http_address=":9402",
        keep_nvml_open=True,
        remove_on_exit=True,
        exit_after_s=300.0,
        log_format="json",
        log_level="debug",
    ),
)

_WORDS = (
    *values.MIG_STRATEGIES,
    *values.DISCOVERY_STRATEGIES,
    *values.DEVICE_LIST_STRATEGIES,
    *values.PUBLISH,
    *values.EXTRA_LABELS,
    *compat.NAMES,
    "v1",
    "all",
    "nvidia.com/gpu",
    "gpu.shared",
    "Foo/Bar",
    "0:1",
    "GPU-0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0",
    "60s",
    "infinite",
    ":9402",
    "0000:07:00.0",
)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-2, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(_WORDS)
    | st.text(max_size=10)
)


def any_values(kind: fields.Kind) -> st.SearchStrategy[Any]:
    """Values for a kind: of the right shape mostly, of any shape sometimes, with stray keys."""
    right: st.SearchStrategy[Any] = _SCALARS
    if isinstance(kind, fields.ListOf):
        right = st.lists(any_values(kind.item), max_size=3)
    elif isinstance(kind, objects.Object):
        optional = {key.name: any_values(key.kind) for key in kind.keys}
        stray = st.dictionaries(st.text(max_size=8) | st.sampled_from(("RESOURCES", "gpus")), _SCALARS, max_size=1)
        right = st.builds(
            lambda known, unknown: {**unknown, **known},
            st.fixed_dictionaries({}, optional=optional),
            stray | st.just({}),
        )
    return st.one_of(right, right, right, _SCALARS)


def any_documents(root: fields.Kind) -> st.SearchStrategy[str]:
    """JSON texts, which are YAML too, in the shape of the table."""
    return any_values(root).map(json.dumps)


def load_or_refuse(data: bytes, *, lenient: bool = False) -> types.Config | None:
    """The config, or None when it was refused as it should be: with the file's name and lines within the file."""
    try:
        return load.parse_config(data, "f.yaml", lenient=lenient).config
    except errors.ConfigError as error:
        for fault in (error, *error.others):
            assert fault.file == "f.yaml"
            assert "\n" not in str(fault) + fault.text
            assert fault.line is None or 1 <= fault.line <= data.count(b"\n") + data.count(b"\r") + 2
        return None
