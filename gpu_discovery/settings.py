"""The labeler's effective settings: flags, environment, config file and defaults already merged.

Built by ``cli`` (and by the device plugin in one-process mode), read by ``daemon``, ``labeler`` and the sinks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from gpu_discovery.core import errors
from gpu_discovery.core.config import reading, types as config_types, values
from gpu_discovery.core.kit.frozen import frozen


@frozen(kw_only=True)
class LabelerSettings:
    """Everything the labeler needs to know before its first pass."""

    config: config_types.Config = config_types.Config()
    """The effective config file; flags and environment already override it, defaults are filled."""
    config_file: str = ""
    """Path as given; empty when there is none. Watched for edits."""
    config_lines: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """1-based line of each key of that file, by dotted path."""
    warnings: tuple[str, ...] = ()
    """What loading wants said: lenient unknown keys, MPS over time-slicing, ignored positionals."""
    notes: tuple[str, ...] = ()
    """What loading wants said without being a warning: which of several outputs was chosen and why."""
    oneshot: bool = False
    sleep_interval_s: float = 60.0
    """Seconds between passes when nothing wakes us; ``inf`` waits for signals and changes only."""
    no_timestamp: bool = False
    publish: tuple[str, ...] = ("file",)
    """``file``, ``stdout``."""
    output_file: str = values.DEFAULT_OUTPUT_FILE
    machine_type_file: str = values.DEFAULT_MACHINE_TYPE_FILE
    fail_on_init_error: bool = True
    exit_after_s: float | None = None
    """End with an error when there was no good pass for so long since the start; None: never."""
    http_address: str | None = None
    """``host:port`` of /healthz, /readyz and /metrics; None opens no port."""
    keep_nvml_open: bool = False
    remove_on_exit: bool = False
    nfd_expiry_s: float | None = None
    host_root: str = "/"
    """Where /sys, /proc and /usr/share of the host are seen; another root in tests."""
    driver_root_ctr_path: str = values.DEFAULT_DRIVER_ROOT_CTR_PATH
    discovery_strategy: str = "auto"
    """``auto``, ``nvml``, ``tegra`` or ``vfio``."""
    mig_strategy: str = "none"
    snapshot_file: str | None = None
    """Read this recorded snapshot instead of the machine."""
    sample: str | None = None
    """Read this shipped sample machine instead of the machine."""
    log_format: str = "text"
    log_level: str = "info"

    @property
    def reference_compat(self) -> frozenset[str]:
        """Old behaviours that are switched on."""
        return frozenset(self.config.own.reference_compat)

    def located(self, error: errors.ConfigError) -> errors.ConfigError:
        """An error about a node where an entry is impossible, with the entry's place in the config file."""
        return error.located(self.config_file, reading.line_of(self.config_lines, error.path))
