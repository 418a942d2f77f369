from __future__ import annotations

import dataclasses
import json
import math
import pathlib
from collections.abc import Mapping

import pytest

from gpu_discovery import flags, settings
from gpu_discovery.core import errors
from gpu_discovery.core.config import fields, objects, schema, types, values
from gpu_discovery.core.kit import durations, goflags

OPTIONS = {option.name: option for option in flags.OPTIONS}


SAMPLES = {
    "mig-strategy": ("none", "single", "mixed"),
    "fail-on-init-error": ("false", "true", "false"),
    "oneshot": ("false", "true", "false"),
    "no-timestamp": ("false", "true", "false"),
    "sleep-interval": ("1s", "2s", "3s"),
    "output-file": ("/1", "/2", "/3"),
    "machine-type-file": ("/1", "/2", "/3"),
    "use-node-feature-api": ("false", "true", "false"),
    "device-discovery-strategy": ("auto", "nvml", "vfio"),
    "driver-root-ctr-path": ("/1", "/2", "/3"),
    "publish": ("file", "stdout", "file,stdout"),
    "reference-compat": ("vfio-memory-bytes", "mig-invalid-labels", "timestamp-per-start"),
    "extra-labels": ("counts", "models", "devices"),
    "nfd-expiry": ("1h", "2h", "3h"),
    "exit-after": ("1h", "2h", "3h"),
    "remove-on-exit": ("false", "true", "false"),
    "keep-nvml-open": ("false", "true", "false"),
    "http-address": (":1", ":2", ":3"),
    "log-format": ("text", "json", "text"),
    "log-level": ("debug", "info", "error"),
}
"""Three texts for each option that can be given in three places."""


NOTHING = ("none", "no port")


def nested(path: str, value: object) -> str:
    """A config file with one key; a text with commas is a list."""
    content = value.split(",") if isinstance(value, str) and "," in value else value
    for name in reversed(path.split(".")):
        content = {name: content}
    return json.dumps(content)


def load(
    *argv: str, environ: Mapping[str, str] | None = None, file: pathlib.Path | None = None
) -> settings.LabelerSettings:
    """The settings of a command line, environment and file."""
    words = [*argv, f"--config-file={file}"] if file else list(argv)
    parsed = goflags.parse(words, flags.COMMAND_LINE)
    return flags.load_labeler_settings(parsed.values, environ or {}, warnings=flags.ignored_words(parsed))


def written(folder: pathlib.Path, text: str) -> pathlib.Path:
    path = folder / "config.yaml"
    path.write_text(text)
    return path


def keys_on_the_way(file_key: str) -> list[objects.Key]:
    """The rows of the config file's table that lead to a key, itself last."""
    kind: fields.Kind = schema.ROOT
    found = []
    for name in file_key.split("."):
        assert isinstance(kind, objects.Object)
        found.append(next(key for key in kind.keys if key.name == name))
        kind = found[-1].kind
    return found


def test_nothing_set_gives_the_references_defaults() -> None:
    """Except for the output, which this version doesn't have, and says so without a warning."""
    found = load()
    assert dataclasses.replace(found, config=types.Config(), notes=()) == settings.LabelerSettings()
    assert found.notes == (
        f"publishing the feature file {values.DEFAULT_OUTPUT_FILE}; this version writes no NodeFeature object",
    )


@pytest.mark.parametrize(
    ("name", "aliases", "env", "default", "file_key"),
    [
        ("mig-strategy", (), "GFD_MIG_STRATEGY MIG_STRATEGY", "none", "flags.migStrategy"),
        ("fail-on-init-error", (), "GFD_FAIL_ON_INIT_ERROR FAIL_ON_INIT_ERROR", "true", "flags.failOnInitError"),
        ("oneshot", (), "GFD_ONESHOT", "false", "flags.gfd.oneshot"),
        ("no-timestamp", (), "GFD_NO_TIMESTAMP", "false", "flags.gfd.noTimestamp"),
        ("sleep-interval", (), "GFD_SLEEP_INTERVAL", "1m0s", "flags.gfd.sleepInterval"),
        (
            "output-file",
            ("output", "o"),
            "GFD_OUTPUT_FILE",
            "/etc/kubernetes/node-feature-discovery/features.d/gfd",
            "flags.gfd.outputFile",
        ),
        (
            "machine-type-file",
            (),
            "GFD_MACHINE_TYPE_FILE",
            "/sys/class/dmi/id/product_name",
            "flags.gfd.machineTypeFile",
        ),
        ("config-file", (), "GFD_CONFIG_FILE CONFIG_FILE", "", ""),
        ("use-node-feature-api", (), "GFD_USE_NODE_FEATURE_API USE_NODE_FEATURE_API", "", "flags.useNodeFeatureAPI"),
        ("device-discovery-strategy", (), "DEVICE_DISCOVERY_STRATEGY", "auto", "flags.deviceDiscoveryStrategy"),
        (
            "driver-root-ctr-path",
            ("container-driver-root",),
            "DRIVER_ROOT_CTR_PATH CONTAINER_DRIVER_ROOT",
            "/driver-root",
            "flags.plugin.containerDriverRoot",
        ),
        ("kubeconfig", (), "KUBECONFIG", "", ""),
        ("kube-api-qps", (), "KUBE_API_QPS", "5", ""),
        ("kube-api-burst", (), "KUBE_API_BURST", "10", ""),
        ("namespace", (), "NAMESPACE", "default", ""),
        ("node-name", (), "NODE_NAME", "", ""),
        ("pod-name", (), "POD_NAME", "", ""),
    ],
)
def test_the_references_options_are_there(
    name: str, aliases: tuple[str, ...], env: str, default: str, file_key: str
) -> None:
    """Name, aliases, variables in their order, default and key, as manifests in use have them."""
    option = OPTIONS[name]
    assert (option.aliases, option.env, option.default_text, option.file_key) == (
        aliases,
        tuple(env.split()),
        default,
        file_key,
    )
    assert option.origin is not flags.Origin.OWN


@pytest.mark.parametrize("option", flags.OPTIONS, ids=lambda option: option.name)
def test_rows_of_the_table_are_consistent(option: flags.Option) -> None:
    """A file key and the attribute are the same place, a setting exists, and the default is what help and the file's table say."""
    keys = keys_on_the_way(option.file_key) if option.file_key else []
    assert tuple(key.field for key in keys) == option.attribute
    if keys:
        # Where nothing is the default the file's table has words for it.
        assert keys[-1].default.strip("`") in (option.default_text, *([] if option.default_text else NOTHING))
    assert not option.setting or option.setting in {
        field.name for field in dataclasses.fields(settings.LabelerSettings)
    }
    match option.default:
        case None:
            pass
        case bool():
            assert option.default_text == str(option.default).lower()
        case float():
            assert option.default_text == durations.format_go_duration(option.default)
        case _:
            assert option.default_text == option.default


def test_no_name_and_no_variable_stands_twice() -> None:
    """Among all options and help."""
    names = [name for flag in flags.COMMAND_LINE for name in (flag.name, *flag.aliases)]
    variables = [name for flag in flags.COMMAND_LINE for name in flag.env]
    assert len(set(names)) == len(names)
    assert len(set(variables)) == len(variables)


def test_precedence_is_flag_environment_file_default(tmp_path: pathlib.Path) -> None:
    """Each takes the place of what comes after it."""
    file = written(tmp_path, "flags: {migStrategy: single, gfd: {sleepInterval: 5s, oneshot: true}}")
    environ = {"MIG_STRATEGY": "mixed", "GFD_SLEEP_INTERVAL": "7s"}
    found = load("--mig-strategy=none", environ=environ, file=file)
    assert (found.mig_strategy, found.sleep_interval_s, found.oneshot, found.no_timestamp) == ("none", 7.0, True, False)
    assert found.config.flags.mig_strategy == "none"
    assert found.config.flags.gfd.sleep_interval_s == 7.0
    assert found.config.flags.gdrcopy_enabled is None, "an option that this program doesn't have stays unset"


def test_a_false_from_outside_wins_over_true_in_the_file(tmp_path: pathlib.Path) -> None:
    """Set to false is set."""
    file = written(tmp_path, "flags: {gfd: {oneshot: true}}\ngpuDiscovery: {removeOnExit: true, extraLabels: counts}")
    assert load("--oneshot=false", file=file).oneshot is False
    assert load(environ={"GFD_ONESHOT": ""}, file=file).oneshot is False
    assert load("--remove-on-exit=false", file=file).remove_on_exit is False
    assert load(environ={"GFD_REMOVE_ON_EXIT": ""}, file=file).remove_on_exit is True
    assert load("--extra-labels=", file=file).config.own.extra_labels == ()
    assert load(environ={"GFD_EXTRA_LABELS": ""}, file=file).config.own.extra_labels == ("counts",)


def test_the_gpu_operators_environment_is_understood() -> None:
    """What its DaemonSet sets, an empty KUBECONFIG included, gives the defaults and no warning."""
    environ = {
        "GFD_SLEEP_INTERVAL": "60s",
        "GFD_FAIL_ON_INIT_ERROR": "true",
        "NAMESPACE": "gpu-operator",
        "NODE_NAME": "node-1",
        "POD_NAME": "gpu-feature-discovery-x",
        "KUBECONFIG": "",
        "NVIDIA_MIG_MONITOR_DEVICES": "all",
    }
    assert load(environ=environ) == load()
    assert load(environ=environ).warnings == ()


def test_a_default_never_overrides_the_file(tmp_path: pathlib.Path) -> None:
    """Not even with the variable of a duration set and empty."""
    file = written(tmp_path, "flags: {failOnInitError: false, gfd: {sleepInterval: 5s}}")
    found = load(environ={"GFD_SLEEP_INTERVAL": ""}, file=file)
    assert (found.fail_on_init_error, found.sleep_interval_s) == (False, 5.0)


def test_own_options_are_read_from_everywhere(tmp_path: pathlib.Path) -> None:
    """From the key gpuDiscovery, from variables, from flags."""
    text = "gpuDiscovery: {publish: stdout, httpAddress: ':1', keepNvmlOpen: true, exitAfter: 90s, logFormat: json}"
    found = load(
        "--http-address=:2",
        "--extra-labels=counts,models",
        environ={"GFD_LOG_LEVEL": "debug", "GFD_NFD_EXPIRY": "1h"},
        file=written(tmp_path, text),
    )
    assert (found.publish, found.http_address, found.keep_nvml_open, found.exit_after_s) == (
        ("stdout",),
        ":2",
        True,
        90,
    )
    assert (found.log_format, found.log_level, found.nfd_expiry_s) == ("json", "debug", 3600)
    assert found.config.own.extra_labels == ("counts", "models")


def test_an_empty_address_opens_no_port(tmp_path: pathlib.Path) -> None:
    """So a flag can switch off what the file switches on."""
    file = written(tmp_path, "gpuDiscovery: {httpAddress: ':1'}")
    assert load("--http-address=", file=file).http_address is None


@pytest.mark.parametrize(
    ("argv", "environ", "reason"),
    [
        (["--mig-strategy=bogus"], {}, "--mig-strategy: 'bogus' is not valid here; valid: none, single, mixed"),
        ([], {"MIG_STRATEGY": ""}, "environment variable MIG_STRATEGY: '' is not valid here; valid: none, single"),
        ([], {"DEVICE_DISCOVERY_STRATEGY": "cuda"}, "DEVICE_DISCOVERY_STRATEGY: 'cuda' is not valid here; valid: auto"),
        ([], {"GFD_ONESHOT": "yes"}, "could not parse 'yes' as boolean value from environment variable GFD_ONESHOT"),
        ([], {"KUBE_API_BURST": "x"}, "could not parse 'x' as integer value from environment variable KUBE_API_BURST"),
        (["--sleep-interval=-1s"], {}, "--sleep-interval: is negative"),
        ([], {"GFD_SLEEP_INTERVAL": "-1s"}, "environment variable GFD_SLEEP_INTERVAL: is negative"),
        (["--publish=node-labels"], {}, "--publish: 'node-labels' is not valid here; valid: file, stdout"),
        (["--publish="], {}, "--publish: names no output; valid: file, stdout"),
        (["--publish=file", "-o", ""], {}, "--publish: the output file has no name"),
        (["--reference-compat=x"], {}, "--reference-compat: 'x' is not valid here; valid: mig-invalid-labels"),
        (["--extra-labels=counts,x"], {}, "--extra-labels: 'x' is not valid here"),
        (["--exit-after=0"], {}, "--exit-after: must be at least 1s"),
        (["--nfd-expiry=-1h"], {}, "--nfd-expiry: must be at least 1s"),
        (["--http-address=9402"], {}, "--http-address: '9402' is not host:port"),
        (["--log-level=loud"], {}, "--log-level: 'loud' is not valid here"),
        (["--snapshot=a", "--sample=t4"], {}, "--snapshot and --sample exclude each other"),
        (["--output-file=a\0b"], {}, "has a control character in it"),
        (["--config-file=/nonexistent"], {}, "/nonexistent: opening the config file failed: No such file or directory"),
    ],
)
def test_options_that_cannot_be_used_are_named(argv: list[str], environ: dict[str, str], reason: str) -> None:
    """With where they come from and what is valid."""
    with pytest.raises(errors.SettingsError) as caught:
        load(*argv, environ=environ)
    assert reason in str(caught.value)


@pytest.mark.parametrize("text", ["0", "99ms", "60ns"])
def test_a_tiny_sleep_interval_is_raised(text: str) -> None:
    """With a warning that tells the likely slip; the reference spins."""
    found = load(f"--sleep-interval={text}")
    assert found.sleep_interval_s == 0.1
    assert "is raised to 100ms" in found.warnings[0]
    assert found.warnings[0].startswith("--sleep-interval: ")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "gpuDiscovery:\n  publish: file\nflags: {gfd: {outputFile: ''}}\n",
            "2: gpuDiscovery.publish: the output file",
        ),
        ("\ngpuDiscovery: {nfdExpiry: 60}\n", "2: gpuDiscovery.nfdExpiry: must be at least 1s"),
    ],
)
def test_options_of_the_file_that_cannot_be_used_are_faults_of_their_line(
    tmp_path: pathlib.Path, text: str, fault: str
) -> None:
    """Not of a flag that nobody gave."""
    file = written(tmp_path, text)
    with pytest.raises(errors.ConfigError) as caught:
        load(file=file)
    assert str(caught.value).startswith(f"{file}:{fault}")


def test_a_flag_settles_what_the_file_leaves_contradictory(tmp_path: pathlib.Path) -> None:
    """Outputs are judged when all has been merged."""
    file = written(tmp_path, "gpuDiscovery: {publish: file}\nflags: {gfd: {outputFile: ''}}\n")
    assert load("--output-file=/x", file=file).output_file == "/x"


def test_a_tiny_sleep_interval_in_the_file_is_told_with_its_line(tmp_path: pathlib.Path) -> None:
    """A bare number is nanoseconds there."""
    file = written(tmp_path, "flags:\n  gfd:\n    sleepInterval: 60\n")
    found = load(file=file)
    assert found.sleep_interval_s == 0.1
    assert found.warnings[0].startswith(f"{file}:3: flags.gfd.sleepInterval: 60ns is raised to 100ms")


def test_settings_know_the_lines_of_the_file(tmp_path: pathlib.Path) -> None:
    """So that an entry which turns out impossible on the node is told with its place."""
    file = written(tmp_path, "sharing:\n  timeSlicing:\n    resources:\n    - {name: gpu, replicas: 2}\n")
    fault = errors.ConfigError("is impossible", path="sharing.timeSlicing.resources[0].devices[3]")
    assert load(file=file).located(fault).text == (
        f"{file}:4: sharing.timeSlicing.resources[0].devices[3]: is impossible"
    )


@pytest.mark.parametrize(
    ("given", "environ", "form"),
    [
        ({}, {}, "text"),
        ({"log-format": "json"}, {"GFD_LOG_FORMAT": "text"}, "json"),
        ({}, {"GFD_LOG_FORMAT": "json"}, "json"),
        ({"log-format": "xml"}, {}, "text"),
        ({}, {"GFD_LOG_FORMAT": ""}, "text"),
    ],
)
def test_the_log_format_is_known_before_the_settings(given: dict[str, str], environ: dict[str, str], form: str) -> None:
    """The line that says why the settings can't be used has it already; what is no format is told by then."""
    assert flags.early_log_format(given, environ) == form


@pytest.mark.parametrize("option", [option for option in flags.OPTIONS if option.file_key], ids=lambda one: one.name)
def test_flag_environment_and_file_of_every_option_win_in_that_order(
    tmp_path: pathlib.Path, option: flags.Option
) -> None:
    """For each option that has all three; booleans set to false included."""
    first, second, third = SAMPLES[option.name]
    by_file = written(tmp_path, nested(option.file_key, json.loads(third) if third in ("true", "false") else third))
    environ = {option.env[0]: second}

    def effective(found: settings.LabelerSettings) -> object:
        value: object = found.config
        for name in option.attribute:
            value = getattr(value, name)
        return value

    def meant(text: str) -> object:
        return goflags.parse_value(option.kind, text)

    assert effective(load(f"--{option.name}={first}", environ=environ, file=by_file)) == meant(first)
    assert effective(load(environ=environ, file=by_file)) == meant(second)
    assert effective(load(file=by_file)) == meant(third)


def test_a_sleep_interval_of_100ms_is_kept() -> None:
    """It is the least."""
    found = load("--sleep-interval=100ms")
    assert (found.sleep_interval_s, found.warnings) == (0.1, ())


def test_infinite_means_never() -> None:
    """An infinite sleep waits for events alone, an infinite span is none."""
    found = load("--sleep-interval=infinite", "--exit-after=infinite", "--nfd-expiry=infinite")
    assert (found.sleep_interval_s, found.exit_after_s, found.nfd_expiry_s) == (math.inf, None, None)
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("argv", "environ", "source"),
    [
        (["--use-node-feature-api"], {}, "--use-node-feature-api"),
        ([], {"USE_NODE_FEATURE_API": "true"}, "environment variable USE_NODE_FEATURE_API"),
    ],
)
def test_asking_for_a_node_feature_is_answered_with_the_file_and_a_warning(
    argv: list[str], environ: dict[str, str], source: str
) -> None:
    """Labels aren't lost, and the warning says what to do."""
    found = load(*argv, environ=environ)
    assert found.publish == ("file",)
    assert found.notes == ()
    assert found.warnings[0].startswith(f"{source}: a NodeFeature object is asked for")
    assert "--publish=file" in found.warnings[0]


def test_asking_for_a_node_feature_in_the_file_names_the_file(tmp_path: pathlib.Path) -> None:
    """So that a person finds the line."""
    file = written(tmp_path, "flags: {useNodeFeatureAPI: true}")
    assert load(file=file).warnings[0].startswith(f"{file}:1: flags.useNodeFeatureAPI: a NodeFeature object is asked")


@pytest.mark.parametrize("argv", [["--use-node-feature-api=false"], ["--use-node-feature-api", "--publish=file"]])
def test_a_settled_output_needs_no_word(argv: list[str]) -> None:
    """Declining the NodeFeature, or naming the output, is clear."""
    found = load(*argv)
    assert (found.publish, found.notes, found.warnings) == (("file",), (), ())


def test_an_empty_output_file_means_standard_output() -> None:
    """As in the reference; several outputs are chosen by --publish."""
    assert load("--output-file=", "--use-node-feature-api=false").publish == ("stdout",)
    assert load("--publish=stdout,file,stdout").publish == ("stdout", "file")


def test_ignored_words_are_named() -> None:
    """With the way to write it when a boolean stands before them."""
    assert load("--oneshot", "false", "--no-timestamp").warnings == (
        "ignored on the command line: false --no-timestamp (a boolean takes its value as --oneshot=false)",
    )
    assert load("word", "-o", "x").warnings[0].startswith("ignored on the command line: word -o x (reading flags ends")


def test_lenient_reading_is_an_option(tmp_path: pathlib.Path) -> None:
    """As a flag or a variable; the file's warnings are handed on."""
    file = written(tmp_path, "flags: {bogus: 1}")
    with pytest.raises(errors.ConfigError):
        load(file=file)
    with pytest.raises(errors.ConfigError):
        load("--config-lenient=false", environ={"GFD_CONFIG_LENIENT": "1"}, file=file)
    assert "flags.bogus: unknown key" in load("--config-lenient", file=file).warnings[0]
    assert "flags.bogus: unknown key" in load(environ={"GFD_CONFIG_LENIENT": "1"}, file=file).warnings[0]


def test_old_behaviours_by_flag_reach_the_reading_of_the_file(tmp_path: pathlib.Path) -> None:
    """ignore-customisation clears what the file customises."""
    file = written(tmp_path, "resources: {gpus: [{pattern: '*', name: x}]}")
    found = load("--reference-compat=ignore-customisation", file=file)
    assert found.config.resources.gpus == ()
    assert found.reference_compat == {"ignore-customisation"}
    assert "customising resources is ignored" in found.warnings[0]


def test_the_file_is_read_anew_each_time(tmp_path: pathlib.Path) -> None:
    """What was edited counts at the next load."""
    file = written(tmp_path, "flags: {migStrategy: single}")
    assert load(file=file).mig_strategy == "single"
    written(tmp_path, "flags: {migStrategy: mixed}")
    assert load(file=file).mig_strategy == "mixed"


def test_an_empty_config_file_option_means_none() -> None:
    """Manifests set the variable and leave it empty."""
    assert load(environ={"CONFIG_FILE": ""}).config_file == ""


def test_names_with_underscores_are_accepted_and_absent_values_passed_over() -> None:
    """As click hands them over."""
    found = flags.load_labeler_settings({"mig_strategy": "mixed", "sample": None, "extra_labels": None}, {})
    assert (found.mig_strategy, found.sample) == ("mixed", None)
