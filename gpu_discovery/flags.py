"""The labeler's options: one table, and how a flag, a variable, the config file and a default become settings.

Precedence is flag > environment > file > default, per option. The table also yields ``--help`` and docs/settings.md.
Command lines are read by ``kit.goflags`` as the reference reads them, so no library for command lines is loaded here:
the syntax isn't any library's, and a process on every node is smaller and starts sooner without one.

Longer than other modules because of its table.
"""

from __future__ import annotations

import dataclasses
import enum
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gpu_discovery import settings
from gpu_discovery.core import errors
from gpu_discovery.core.config import compat, load, types, values
from gpu_discovery.core.kit import durations, goflags
from gpu_discovery.core.kit.frozen import frozen
from gpu_discovery.core.kit.goflags import Kind

PROGRAM = "gpu-feature-discovery"
SUMMARY = "Reads this node's NVIDIA GPUs and publishes them as labels for Node Feature Discovery."
LEAST_SLEEP_S = 0.1
"""The reference busy-loops on less; a bare number in the file is nanoseconds, and often meant as seconds."""


class Origin(enum.Enum):
    """Whose option it is."""

    REFERENCE = "reference"
    OWN = "own"
    LATER = "later"
    """The reference's; accepted so that manifests keep working, of no effect in this version."""


@frozen(kw_only=True)
class Option(goflags.Flag):
    """A flag, and where its value goes."""

    origin: Origin = Origin.REFERENCE
    setting: str = ""
    """Field of LabelerSettings."""
    attribute: tuple[str, ...] = ()
    """Where the value stands in ``types.Config``; empty: no key in the file."""
    file_key: str = ""
    """The same as a key path."""
    default: goflags.Value | None = None
    check: Callable[[Any], goflags.Value] | None = None
    """Refuses a value, or one element of a list, with ValueError; else its canonical form."""


@frozen
class Given:
    """A value from a flag or variable, and a name for where it came from."""

    value: goflags.Value
    source: str


@frozen
class Sources:
    """What was said, and where: by flags and variables, and by the file."""

    chosen: Mapping[str, Given]
    """By option name."""
    loaded: load.Loaded
    file: str

    def value(self, name: str) -> goflags.Value | None:
        """What a flag or variable says."""
        return self.chosen[name].value if name in self.chosen else None

    def error(self, name: str, reason: str) -> errors.SettingsError:
        """An error that tells where the option's value came from; for options that are a key of the file as well."""
        if name in self.chosen:
            return errors.SettingsError(f"{self.chosen[name].source}: {reason}")
        (option,) = named(name)
        line = self.loaded.line_of(option.file_key)
        return errors.ConfigError(reason, path=option.file_key, file=self.file, line=line)

    def remark(self, name: str, text: str) -> str:
        """The same as a text, for warnings."""
        error = self.error(name, text)
        return error.text if isinstance(error, errors.ConfigError) else str(error)


def _choice(valid: Sequence[str]) -> Callable[[str], str]:
    return lambda text: values.parse_choice(text, valid)


OPTIONS: tuple[Option, ...] = (
    Option(
        name="mig-strategy",
        kind=Kind.STRING,
        env=("GFD_MIG_STRATEGY", "MIG_STRATEGY"),
        doc="How MIG devices are labelled: none, single or mixed.",
        default="none",
        default_text="none",
        setting="mig_strategy",
        attribute=("flags", "mig_strategy"),
        file_key="flags.migStrategy",
        check=_choice(values.MIG_STRATEGIES),
    ),
    Option(
        name="fail-on-init-error",
        kind=Kind.BOOL,
        env=("GFD_FAIL_ON_INIT_ERROR", "FAIL_ON_INIT_ERROR"),
        doc="End with an error when the GPUs can't be read at the start, instead of waiting for the driver.",
        default=True,
        default_text="true",
        setting="fail_on_init_error",
        attribute=("flags", "fail_on_init_error"),
        file_key="flags.failOnInitError",
    ),
    Option(
        name="oneshot",
        kind=Kind.BOOL,
        env=("GFD_ONESHOT",),
        doc="Label once and exit.",
        default=False,
        default_text="false",
        setting="oneshot",
        attribute=("flags", "gfd", "oneshot"),
        file_key="flags.gfd.oneshot",
    ),
    Option(
        name="no-timestamp",
        kind=Kind.BOOL,
        env=("GFD_NO_TIMESTAMP",),
        doc="Leave out the label nvidia.com/gfd.timestamp.",
        default=False,
        default_text="false",
        setting="no_timestamp",
        attribute=("flags", "gfd", "no_timestamp"),
        file_key="flags.gfd.noTimestamp",
    ),
    Option(
        name="sleep-interval",
        kind=Kind.DURATION,
        env=("GFD_SLEEP_INTERVAL",),
        doc="Time between passes when nothing changes (60s, 1m30s), or infinite. Less than 100ms is raised to 100ms.",
        default=60.0,
        default_text="1m0s",
        setting="sleep_interval_s",
        attribute=("flags", "gfd", "sleep_interval_s"),
        file_key="flags.gfd.sleepInterval",
        check=values.checked_interval_s,
    ),
    Option(
        name="output-file",
        aliases=("output", "o"),
        kind=Kind.STRING,
        env=("GFD_OUTPUT_FILE",),
        doc="Where the feature file is written; an empty text means standard output.",
        default=values.DEFAULT_OUTPUT_FILE,
        default_text=values.DEFAULT_OUTPUT_FILE,
        setting="output_file",
        attribute=("flags", "gfd", "output_file"),
        file_key="flags.gfd.outputFile",
        check=values.parse_text,
    ),
    Option(
        name="machine-type-file",
        kind=Kind.STRING,
        env=("GFD_MACHINE_TYPE_FILE",),
        doc="File that holds the machine's type.",
        default=values.DEFAULT_MACHINE_TYPE_FILE,
        default_text=values.DEFAULT_MACHINE_TYPE_FILE,
        setting="machine_type_file",
        attribute=("flags", "gfd", "machine_type_file"),
        file_key="flags.gfd.machineTypeFile",
        check=values.parse_text,
    ),
    Option(
        name="config-file",
        kind=Kind.STRING,
        env=("GFD_CONFIG_FILE", "CONFIG_FILE"),
        doc="Config file in YAML or JSON; watched for edits.",
        default="",
        setting="config_file",
        check=values.parse_text,
    ),
    Option(
        name="use-node-feature-api",
        kind=Kind.BOOL,
        env=("GFD_USE_NODE_FEATURE_API", "USE_NODE_FEATURE_API"),
        doc="Publish a NodeFeature object. This version publishes the feature file either way, and says so.",
        attribute=("flags", "use_node_feature_api"),
        file_key="flags.useNodeFeatureAPI",
    ),
    Option(
        name="device-discovery-strategy",
        kind=Kind.STRING,
        env=("DEVICE_DISCOVERY_STRATEGY",),
        doc="Where GPUs are looked for: auto, nvml, tegra or vfio.",
        default="auto",
        default_text="auto",
        setting="discovery_strategy",
        attribute=("flags", "device_discovery_strategy"),
        file_key="flags.deviceDiscoveryStrategy",
        check=_choice(values.DISCOVERY_STRATEGIES),
    ),
    Option(
        name="driver-root-ctr-path",
        aliases=("container-driver-root",),
        kind=Kind.STRING,
        env=("DRIVER_ROOT_CTR_PATH", "CONTAINER_DRIVER_ROOT"),
        doc="Where the driver's root is mounted in this container; the NVML library is looked for there first.",
        default=values.DEFAULT_DRIVER_ROOT_CTR_PATH,
        default_text=values.DEFAULT_DRIVER_ROOT_CTR_PATH,
        setting="driver_root_ctr_path",
        attribute=("flags", "plugin", "container_driver_root"),
        file_key="flags.plugin.containerDriverRoot",
        check=values.parse_text,
    ),
    Option(
        name="kubeconfig",
        kind=Kind.STRING,
        env=("KUBECONFIG",),
        doc="Credentials for the Kubernetes API.",
        origin=Origin.LATER,
    ),
    Option(
        name="kube-api-qps",
        kind=Kind.FLOAT,
        env=("KUBE_API_QPS",),
        doc="Requests per second to the Kubernetes API.",
        default_text="5",
        origin=Origin.LATER,
    ),
    Option(
        name="kube-api-burst",
        kind=Kind.INT,
        env=("KUBE_API_BURST",),
        doc="Requests at once to the Kubernetes API.",
        default_text="10",
        origin=Origin.LATER,
    ),
    Option(
        name="namespace",
        kind=Kind.STRING,
        env=("NAMESPACE",),
        doc="Namespace of this pod.",
        default_text="default",
        origin=Origin.LATER,
    ),
    Option(
        name="node-name",
        kind=Kind.STRING,
        env=("NODE_NAME",),
        doc="Name of this node.",
        origin=Origin.LATER,
    ),
    Option(
        name="pod-name",
        kind=Kind.STRING,
        env=("POD_NAME",),
        doc="Name of this pod.",
        origin=Origin.LATER,
    ),
    Option(
        name="publish",
        kind=Kind.LIST,
        env=("GFD_PUBLISH",),
        doc="Where labels go: file, stdout, or both. Wins over --use-node-feature-api.",
        default_text="file",
        is_empty_unset=True,
        origin=Origin.OWN,
        attribute=("own", "publish"),
        file_key="gpuDiscovery.publish",
        check=_choice(values.PUBLISH),
    ),
    Option(
        name="config-lenient",
        kind=Kind.BOOL,
        env=("GFD_CONFIG_LENIENT",),
        doc="Unknown and duplicate keys and odd letter case in the config file are warnings instead of errors.",
        default=False,
        default_text="false",
        is_empty_unset=True,
        origin=Origin.OWN,
    ),
    Option(
        name="reference-compat",
        kind=Kind.LIST,
        env=("GFD_REFERENCE_COMPAT",),
        doc="Old behaviours to bring back: " + ", ".join(compat.NAMES) + ".",
        is_empty_unset=True,
        origin=Origin.OWN,
        attribute=("own", "reference_compat"),
        file_key="gpuDiscovery.referenceCompat",
        check=_choice(tuple(compat.NAMES)),
    ),
    Option(
        name="extra-labels",
        kind=Kind.LIST,
        env=("GFD_EXTRA_LABELS",),
        doc="Label families asked for although the node doesn't need them: " + ", ".join(values.EXTRA_LABELS) + ".",
        is_empty_unset=True,
        origin=Origin.OWN,
        attribute=("own", "extra_labels"),
        file_key="gpuDiscovery.extraLabels",
        check=_choice(values.EXTRA_LABELS),
    ),
    Option(
        name="nfd-expiry",
        kind=Kind.DURATION,
        env=("GFD_NFD_EXPIRY",),
        doc="Let NFD drop the labels when the feature file wasn't refreshed for so long; infinite: never.",
        default_text="infinite",
        origin=Origin.OWN,
        setting="nfd_expiry_s",
        attribute=("own", "nfd_expiry_s"),
        file_key="gpuDiscovery.nfdExpiry",
        check=values.checked_span_s,
    ),
    Option(
        name="exit-after",
        kind=Kind.DURATION,
        env=("GFD_EXIT_AFTER",),
        doc="End with an error when no pass was good for so long since the start; infinite: never.",
        default_text="infinite",
        origin=Origin.OWN,
        setting="exit_after_s",
        attribute=("own", "exit_after_s"),
        file_key="gpuDiscovery.exitAfter",
        check=values.checked_span_s,
    ),
    Option(
        name="remove-on-exit",
        kind=Kind.BOOL,
        env=("GFD_REMOVE_ON_EXIT",),
        doc="Remove the feature file when the program ends, as the reference does.",
        default=False,
        default_text="false",
        is_empty_unset=True,
        origin=Origin.OWN,
        setting="remove_on_exit",
        attribute=("own", "remove_on_exit"),
        file_key="gpuDiscovery.removeOnExit",
    ),
    Option(
        name="keep-nvml-open",
        kind=Kind.BOOL,
        env=("GFD_KEEP_NVML_OPEN",),
        doc="Keep the NVML session between passes; blocks a driver's unload and GPU resets.",
        default=False,
        default_text="false",
        is_empty_unset=True,
        origin=Origin.OWN,
        setting="keep_nvml_open",
        attribute=("own", "keep_nvml_open"),
        file_key="gpuDiscovery.keepNvmlOpen",
    ),
    Option(
        name="http-address",
        kind=Kind.STRING,
        env=("GFD_HTTP_ADDRESS",),
        doc="Serve /healthz, /readyz and /metrics on host:port; an empty text opens no port.",
        is_empty_unset=True,
        origin=Origin.OWN,
        setting="http_address",
        attribute=("own", "http_address"),
        file_key="gpuDiscovery.httpAddress",
        check=values.parse_http_address,
    ),
    Option(
        name="log-format",
        kind=Kind.STRING,
        env=("GFD_LOG_FORMAT",),
        doc="Form of log lines: text or json.",
        default="text",
        default_text="text",
        is_empty_unset=True,
        origin=Origin.OWN,
        setting="log_format",
        attribute=("own", "log_format"),
        file_key="gpuDiscovery.logFormat",
        check=_choice(values.LOG_FORMATS),
    ),
    Option(
        name="log-level",
        kind=Kind.STRING,
        env=("GFD_LOG_LEVEL",),
        doc="Least level that is logged: debug, info, warning or error.",
        default="info",
        default_text="info",
        is_empty_unset=True,
        origin=Origin.OWN,
        setting="log_level",
        attribute=("own", "log_level"),
        file_key="gpuDiscovery.logLevel",
        check=_choice(values.LOG_LEVELS),
    ),
    Option(
        name="snapshot",
        kind=Kind.STRING,
        env=("GFD_SNAPSHOT",),
        doc="Read a recorded snapshot instead of this machine.",
        is_empty_unset=True,
        origin=Origin.OWN,
        setting="snapshot_file",
        check=values.parse_text,
    ),
    Option(
        name="sample",
        kind=Kind.STRING,
        env=("GFD_SAMPLE",),
        doc="Read a sample machine instead of this one.",
        is_empty_unset=True,
        origin=Origin.OWN,
        setting="sample",
        check=values.parse_text,
    ),
    Option(
        name="host-root",
        kind=Kind.STRING,
        env=("GFD_HOST_ROOT",),
        doc="Where the host's /sys, /proc and /usr/share are seen.",
        default="/",
        default_text="/",
        is_empty_unset=True,
        origin=Origin.OWN,
        setting="host_root",
        check=values.parse_text,
    ),
)

COMMAND_LINE: tuple[goflags.Flag, ...] = (*OPTIONS, goflags.HELP, goflags.VERSION)


def named(*names: str) -> tuple[Option, ...]:
    """Rows of the table, for commands that have some of these options too (``core.options.flag_options``)."""
    by_name = {option.name: option for option in OPTIONS}
    return tuple(by_name[name] for name in names)


HELP_GROUPS: Mapping[str, tuple[goflags.Flag, ...]] = {
    "Flags of NVIDIA's GPU Feature Discovery": tuple(one for one in OPTIONS if one.origin is Origin.REFERENCE),
    "Flags beyond it": tuple(one for one in OPTIONS if one.origin is Origin.OWN),
    "Accepted, and without effect in this version": tuple(one for one in OPTIONS if one.origin is Origin.LATER),
    "Other": (goflags.HELP, goflags.VERSION),
}
"""What ``--help`` shows, by title."""

SNAPSHOT_SOURCE = named("snapshot", "sample")
"""What every command that reads GPUs takes instead of the machine."""
CONFIG = named("config-file", "config-lenient")
HOST = named("host-root", "driver-root-ctr-path")


def load_labeler_settings(
    given: Mapping[str, Any],
    environ: Mapping[str, str] | None = None,
    *,
    warnings: Iterable[str] = (),
) -> settings.LabelerSettings:
    """The effective settings; reads the config file anew each time. Raises SettingsError (ConfigError for the file).

    ``given`` holds what the command line says, values by option name with dashes or underscores (``goflags.parse`` or
    ``core.options``); None counts as not given. ``environ`` is ``os.environ`` unless told otherwise.
    """
    sources = _sources(given, os.environ if environ is None else environ)
    config = _effective(sources.loaded.config, sources.chosen)
    found = {option.setting: _final(option, config, sources) for option in OPTIONS if option.setting}
    publish, notes, publish_warnings = _publish(config, sources)
    sleep_s, sleep_warnings = _sleep_interval_s(found["sleep_interval_s"], sources)
    found |= {
        "config": config,
        "config_lines": sources.loaded.lines,
        "publish": publish,
        "notes": notes,
        "sleep_interval_s": sleep_s,
        "nfd_expiry_s": _finite_s(found["nfd_expiry_s"]),
        "exit_after_s": _finite_s(found["exit_after_s"]),
        "http_address": found["http_address"] or None,
        "warnings": (*warnings, *sources.loaded.warnings, *publish_warnings, *sleep_warnings),
    }
    if found["snapshot_file"] and found["sample"]:
        raise errors.SettingsError("--snapshot and --sample exclude each other; give one of the two")
    return settings.LabelerSettings(**found)


def early_log_format(given: Mapping[str, object], environ: Mapping[str, str]) -> str:
    """The form of log lines for as long as the settings are not known, which may be because they can't be used."""
    (option,) = named("log-format")
    variable = next((environ[name] for name in option.env if name in environ), "")
    asked = given.get(option.name, variable)
    return str(asked if asked in values.LOG_FORMATS else option.default)


def ignored_words(parsed: goflags.Parsed) -> tuple[str, ...]:
    """A warning that names the words of a command line that were not read."""
    if not parsed.ignored:
        return ()
    words = " ".join(parsed.ignored)
    if parsed.after:
        name = parsed.after.lstrip("-")
        return (f"ignored on the command line: {words} (a boolean takes its value as --{name}={parsed.ignored[0]})",)
    return (f"ignored on the command line: {words} (reading flags ends at the first word that is none)",)


def _sources(given: Mapping[str, Any], environ: Mapping[str, str]) -> Sources:
    chosen = _chosen(given, environ)
    path = str(chosen["config-file"].value) if "config-file" in chosen else ""
    return Sources(chosen, _loaded(path, chosen), path)


def _chosen(given: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, Given]:
    """What flags and variables say, checked, by option name."""
    try:
        variables = goflags.from_environment(environ, OPTIONS)
    except goflags.UsageError as error:
        raise errors.SettingsError(str(error)) from error
    chosen = {name: Given(value, f"environment variable {variable}") for name, (value, variable) in variables.items()}
    for option in OPTIONS:
        value = given.get(option.name, given.get(option.name.replace("-", "_")))
        if value is not None:
            chosen[option.name] = Given(value, f"--{option.name}")
    by_name = {option.name: option for option in OPTIONS}
    return {name: Given(_checked(by_name[name], found), found.source) for name, found in chosen.items()}


def _checked(option: Option, given: Given) -> goflags.Value:
    try:
        if isinstance(given.value, tuple):
            elements = [element for element in given.value if element]
            return tuple(str(option.check(element)) if option.check else element for element in elements)
        if option.check is not None:
            return option.check(given.value)
    except ValueError as error:
        raise errors.SettingsError(f"{given.source}: {error}") from error
    return given.value


def _loaded(path: str, chosen: Mapping[str, Given]) -> load.Loaded:
    if not path:
        return load.Loaded(types.Config(), (), {})
    names = chosen["reference-compat"].value if "reference-compat" in chosen else None
    return load.load_file(
        path,
        lenient="config-lenient" in chosen and bool(chosen["config-lenient"].value),
        reference_compat=names if isinstance(names, tuple) else None,
    )


def _effective(config: types.Config, chosen: Mapping[str, Given]) -> types.Config:
    """The file's values overridden by flags and variables, and this program's defaults where nothing is set."""
    for option in OPTIONS:
        if not option.attribute:
            continue
        if option.name in chosen:
            config = _replaced(config, option.attribute, chosen[option.name].value)
        elif option.default is not None and _attribute(config, option.attribute) is None:
            config = _replaced(config, option.attribute, option.default)
    return config


def _replaced(owner: Any, attribute: Sequence[str], value: object) -> Any:
    first, *rest = attribute
    inner = _replaced(getattr(owner, first), rest, value) if rest else value
    return dataclasses.replace(owner, **{first: inner})


def _attribute(owner: Any, attribute: Sequence[str]) -> Any:
    for name in attribute:
        owner = getattr(owner, name)
    return owner


def _final(option: Option, config: types.Config, sources: Sources) -> Any:
    if option.attribute:
        return _attribute(config, option.attribute)
    value = sources.value(option.name)
    return option.default if value is None else value


def _publish(config: types.Config, sources: Sources) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """(outputs, notes, warnings). Asked for outputs win; else the reference's options decide between file and stdout."""
    output_file = config.flags.gfd.output_file
    asked = config.own.publish
    if asked is not None:
        if not asked:
            raise sources.error("publish", f"names no output; valid: {', '.join(values.PUBLISH)}")
        if "file" in asked and not output_file:
            raise sources.error(
                "publish", "the output file has no name: give --output-file, or publish to stdout in place of file"
            )
        return tuple(dict.fromkeys(asked)), (), ()
    publish = ("file",) if output_file else ("stdout",)
    target = f"the feature file {output_file}" if output_file else "labels on standard output"
    wanted = config.flags.use_node_feature_api
    if wanted is None:
        return publish, (f"publishing {target}; this version writes no NodeFeature object",), ()
    if not wanted:
        return publish, (), ()
    warning = (
        f"a NodeFeature object is asked for, which this version doesn't write; publishing {target} instead: "
        "mount its folder from the host into this pod and NFD's worker, and say --publish=file to settle it"
    )
    return publish, (), (sources.remark("use-node-feature-api", warning),)


def _sleep_interval_s(wanted_s: float, sources: Sources) -> tuple[float, tuple[str, ...]]:
    if wanted_s >= LEAST_SLEEP_S:
        return wanted_s, ()
    text = f"{durations.format_go_duration(wanted_s)} is raised to 100ms; a bare number in the file is nanoseconds"
    return LEAST_SLEEP_S, (sources.remark("sleep-interval", f"{text}, write 60s"),)


def _finite_s(value_s: float | None) -> float | None:
    """Seconds; None for never."""
    return None if value_s == types.INFINITE_S else value_s
