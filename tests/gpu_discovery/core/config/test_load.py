from __future__ import annotations

import math
import os
import pathlib
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from gpu_discovery.core import errors, model
from gpu_discovery.core.config import load, schema, types
from gpu_discovery.core.config.types import DeviceSelection
from tests.gpu_discovery.core.config import documents

UUID = "0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0"


def config_of(text: str, **options: Any) -> types.Config:
    return load.parse_config(text, "f.yaml", **options).config


def faults_of(text: str | bytes, **options: Any) -> list[str]:
    """Every fault of a text as one line each, without the file's name."""
    with pytest.raises(errors.ConfigError) as caught:
        load.parse_config(text, "f.yaml", **options)
    return [fault.text.removeprefix("f.yaml:") for fault in (caught.value, *caught.value.others)]


def sharing(*entries: str, section: str = "timeSlicing", more: str = "") -> str:
    """A file with one sharing section; entries are in flow style, the first on line 5."""
    lines = "".join(f"    - {{{entry}}}\n" for entry in entries)
    return f"version: v1\nsharing:\n  {section}:\n    resources:\n{lines}{more}"


def entries_of(text: str, **options: Any) -> tuple[types.SharingEntry, ...]:
    section = config_of(text, **options).sharing.time_slicing
    assert section is not None
    return section.resources


@pytest.mark.parametrize(
    "text", ["", "---\n", "null", "version: v1", "version: ''", "version:", "flags:\nresources:\nimex:\n"]
)
def test_an_empty_file_is_version_v1(text: str) -> None:
    """Nothing set is not an error."""
    assert config_of(text) == types.Config()


def test_every_key_of_the_reference_is_read() -> None:
    """The whole version v1 file, each key into its field."""
    config = config_of(documents.WHOLE)
    assert config == documents.WHOLE_CONFIG


def test_json_is_read_as_well() -> None:
    """The same keys in JSON."""
    config = config_of('{"version": "v1", "flags": {"migStrategy": "mixed", "gfd": {"oneshot": true}}}')
    assert config.flags == types.Flags(mig_strategy="mixed", gfd=types.GfdFlags(oneshot=True))


def test_misplaced_key_is_told_its_right_place() -> None:
    """T21 a: renameByDefault under flags belongs under sharing.timeSlicing."""
    assert faults_of("version: v1\nflags:\n  renameByDefault: true\n") == [
        "3: flags.renameByDefault: unknown key (belongs under sharing.timeSlicing.renameByDefault)"
    ]


def test_devices_and_rename_of_sharing_entries_are_kept() -> None:
    """T21 b: two counts for two GPUs of one resource, under two names."""
    text = sharing(
        'name: nvidia.com/gpu, devices: ["0"], rename: nvidia.com/gpu.lat, replicas: 2',
        'name: nvidia.com/gpu, devices: ["1"], rename: nvidia.com/gpu.batch, replicas: 8',
    )
    assert [(entry.rename, entry.replicas, entry.devices.refs) for entry in entries_of(text)] == [
        ("nvidia.com/gpu.lat", 2, ("0",)),
        ("nvidia.com/gpu.batch", 8, ("1",)),
    ]


@pytest.mark.parametrize("section", ["timeSlicing", "mps"])
def test_one_replica_is_accepted(section: str) -> None:
    """T21 c: it means exclusive, in both sections."""
    found = config_of(sharing("name: gpu, replicas: 1", section=section)).sharing
    assert [entry.replicas for part in (found.time_slicing, found.mps) if part for entry in part.resources] == [1]


def test_resource_rules_are_kept_in_order() -> None:
    """T21 e: the first pattern that matches wins, so order is meaning."""
    text = 'resources:\n  gpus:\n  - {pattern: "*3090*", name: gpu-3090}\n  - {pattern: "*4090*", name: gpu-4090}\n'
    assert config_of(text).resources.gpus == (
        types.ResourceRule("*3090*", model.ResourceName("nvidia.com/gpu-3090"), "resources.gpus[0]"),
        types.ResourceRule("*4090*", model.ResourceName("nvidia.com/gpu-4090"), "resources.gpus[1]"),
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("flag: {}", "1: flag: unknown key (did you mean flags?)"),
        ("flags: {mig-strategy: none}", "1: flags.mig-strategy: unknown key (write migStrategy)"),
        ("flags: {MIG_STRATEGY: none}", "1: flags.MIG_STRATEGY: unknown key (write migStrategy)"),
        ("flags: {migStratgy: none}", "1: flags.migStratgy: unknown key (did you mean migStrategy?)"),
        ("flags: {sleepInterval: 1s}", "1: flags.sleepInterval: unknown key (belongs under flags.gfd.sleepInterval)"),
        ("migStrategy: none", "1: migStrategy: unknown key (belongs under flags.migStrategy)"),
        ("extraLabels: []", "1: extraLabels: unknown key (belongs under gpuDiscovery.extraLabels)"),
        (
            sharing("name: gpu, replicas: 2, renameByDefault: true", section="mps"),
            "5: sharing.mps.resources[0].renameByDefault: unknown key (belongs under sharing.mps.renameByDefault)",
        ),
        (
            "kind: ConfigMap",
            "1: kind: unknown key (this is a Kubernetes object; the config file is a text under its data)",
        ),
        ("imex: {kind: x}", "1: imex.kind: unknown key (valid here: channelIDs, required)"),
        ("imex: {zzz: 1}", "1: imex.zzz: unknown key (valid here: channelIDs, required)"),
        ("flags: {MIGSTRATEGY: none}", "1: flags.MIGSTRATEGY: letter case differs (write migStrategy)"),
        ('flags: {"a\\nb": 1}', r"1: flags.'a\nb': unknown key"),
        ("1: x", "1: 1: unknown key"),
    ],
)
def test_unknown_keys_are_faults_with_the_nearest_valid_key(text: str, fault: str) -> None:
    """The same key's right place, else the most similar key, else all that are valid."""
    (found,) = faults_of(text)
    assert found.startswith(fault)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[]", "1: expected an object (keys and values), not a list"),
        ("hello", "1: expected an object (keys and values), not the string 'hello'"),
        ("version: v2", "1: version: unknown version: 'v2'; the only one is v1"),
        ("flags: []", "1: flags: expected an object (keys and values), not a list"),
        ("flags: {migStrategy: 1}", "1: flags.migStrategy: expected one of none, single, mixed, not the number '1'"),
        ("flags: {migStrategy: bogus}", "1: flags.migStrategy: 'bogus' is not valid here; valid: none, single, mixed"),
        ("flags: {mpsRoot: 1}", "1: flags.mpsRoot: expected a string, not the number '1' (quote it: \"1\")"),
        ("flags: {mpsRoot: on}", "1: flags.mpsRoot: expected a string, not the boolean 'on' (quote it: \"on\")"),
        ('flags: {mpsRoot: "a\\nb"}', r"1: flags.mpsRoot: 'a\nb' has a control character in it"),
        ('flags: {gdsEnabled: "true"}', "1: flags.gdsEnabled: expected true or false, not the string 'true' (without quotes)"),
        ("flags: {gdsEnabled: 1}", "1: flags.gdsEnabled: expected true or false, not the number '1'"),
        ("flags: {deviceDiscoveryStrategy: ''}", "1: flags.deviceDiscoveryStrategy: '' is not valid here; valid: auto, nvml, tegra, vfio"),
        ("flags: {plugin: {deviceListStrategy: bogus}}", "1: flags.plugin.deviceListStrategy: 'bogus' is not valid here; valid: envvar"),
        ("flags: {plugin: {deviceListStrategy: [envvar, x]}}", "1: flags.plugin.deviceListStrategy[1]: 'x' is not valid here"),
        ("flags: {plugin: {deviceListStrategy: {}}}", "1: flags.plugin.deviceListStrategy: expected a list, not an object"),
        ("flags: {plugin: {deviceIDStrategy: name}}", "1: flags.plugin.deviceIDStrategy: 'name' is not valid here; valid: uuid, index"),
        ("flags: {gfd: {sleepInterval: '10'}}", "1: flags.gfd.sleepInterval: missing unit in duration '10'"),
        ("flags: {gfd: {sleepInterval: -1s}}", "1: flags.gfd.sleepInterval: '-1s' is negative"),
        ("flags: {gfd: {sleepInterval: -1}}", "1: flags.gfd.sleepInterval: -1 nanoseconds is not a duration"),
        ("flags: {gfd: {sleepInterval: .nan}}", "1: flags.gfd.sleepInterval: nan nanoseconds is not a duration"),
        ("flags: {gfd: {sleepInterval: true}}", "1: flags.gfd.sleepInterval: expected a duration such as 60s, or infinite"),
        ("resources: {gpus: [{name: gpu}]}", "1: resources.gpus[0].pattern: resources must have a 'pattern' field set"),
        ("resources: {mig: [{pattern: '*'}]}", "1: resources.mig[0].name: resources must have a 'name' field set"),
        ("resources: {gpus: [{pattern: '', name: gpu}]}", "1: resources.gpus[0].pattern: the pattern is empty"),
        ("resources: {gpus: [{pattern: x, name: GPU}]}", "1: resources.gpus[0].name: incorrect format for resource name 'GPU'"),
        ("resources: {gpus: [x]}", "1: resources.gpus[0]: expected an object"),
        ("sharing: {timeSlicing: }", "1: sharing.timeSlicing: no resources specified"),
        ("sharing: {timeSlicing: {}}", "1: sharing.timeSlicing.resources: no resources specified"),
        ("sharing: {mps: {}}", "1: sharing.mps.resources: no resources specified"),
        ("sharing: {mps: {resources: []}}", "1: sharing.mps.resources: no resources specified"),
        (sharing("replicas: 2"), "5: sharing.timeSlicing.resources[0].name: no resource name specified"),
        (sharing("name: gpu"), "5: sharing.timeSlicing.resources[0].replicas: no replicas specified"),
        (sharing("name: gpu, replicas: "), "5: sharing.timeSlicing.resources[0].replicas: no replicas specified"),
        (sharing("name: gpu, replicas: 0"), "5: sharing.timeSlicing.resources[0].replicas: 0 is not valid here; it must be >= 1"),
        (sharing("name: gpu, replicas: 2.5"), "5: sharing.timeSlicing.resources[0].replicas: expected a whole number, not the number '2.5'"),
        (sharing('name: gpu, replicas: "2"'), "5: sharing.timeSlicing.resources[0].replicas: expected a whole number, not the string '2' (without quotes)"),
        (sharing("name: gpu, replicas: true"), "5: sharing.timeSlicing.resources[0].replicas: expected a whole number, not the boolean 'true'"),
        (sharing("name: gpu, replicas: 2, devices: some"), "5: sharing.timeSlicing.resources[0].devices: devices set as 'some' but the only valid string input is 'all'"),
        (sharing('name: gpu, replicas: 2, devices: "0"'), "5: sharing.timeSlicing.resources[0].devices: devices set as '0' but the only valid string input is 'all' (a single device is a list of one)"),
        (sharing("name: gpu, replicas: 2, devices: "), "5: sharing.timeSlicing.resources[0].devices: devices set as null"),
        (sharing("name: gpu, replicas: 2, devices: 0"), "5: sharing.timeSlicing.resources[0].devices: devices set as 0 but a count of devices must be > 0"),
        (sharing("name: gpu, replicas: 2, devices: {}"), "5: sharing.timeSlicing.resources[0].devices: unrecognized devices: an object"),
        (sharing("name: gpu, replicas: 2, devices: [x]"), "5: sharing.timeSlicing.resources[0].devices[0]: 'x' names no device"),
        (sharing("name: gpu, replicas: 2, devices: [-1]"), "5: sharing.timeSlicing.resources[0].devices[0]: '-1' names no device"),
        (sharing("name: gpu, replicas: 2, devices: [true]"), "5: sharing.timeSlicing.resources[0].devices[0]: unsupported type for device in devices list: the boolean 'true'"),
        (sharing("name: gpu, replicas: 2, devices: []"), "5: sharing.timeSlicing.resources[0].devices: names no device"),
        (sharing("name: gpu, replicas: 2, devices: [0, '0']"), "5: sharing.timeSlicing.resources[0].devices[1]: device 0 is named twice"),
        ("imex: {channelIDs: [1]}", "1: imex.channelIDs[0]: 1 is not valid here; it must be <= 0"),
        ("imex: {channelIDs: [0, 0]}", "1: imex.channelIDs: 2 elements, but only 1 can stand here"),
        ("gpuDiscovery: {gpus: {include: [{}]}}", "1: gpuDiscovery.gpus.include[0]: selects nothing in particular"),
        ("gpuDiscovery: {gpus: {include: [{uuid: MIG-1}]}}", "1: gpuDiscovery.gpus.include[0].uuid: 'MIG-1' is not the UUID of a GPU"),
        ("gpuDiscovery: {referenceCompat: [x]}", "1: gpuDiscovery.referenceCompat[0]: 'x' is not valid here; valid: mig-invalid-labels"),
        ("gpuDiscovery: {publish: []}", "1: gpuDiscovery.publish: publishes nothing"),
        ("gpuDiscovery: {publish: node-labels}", "1: gpuDiscovery.publish: 'node-labels' is not valid here; valid: file, stdout"),
        ("gpuDiscovery: {httpAddress: '9402'}", "1: gpuDiscovery.httpAddress: '9402' is not host:port"),
    ],
)  # fmt: skip
def test_values_that_cannot_be_meant_are_faults(text: str, fault: str) -> None:
    """Wrong types and impossible values, in lenient mode as well unless the reference passes over them."""
    (found,) = faults_of(text)
    assert found.startswith(fault)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("60s", 60.0),
        ("1m30s", 90.0),
        ("infinite", math.inf),
        ("10", 1e-8),
        ("60000000000", 60.0),
        ("1e9", 1.0),
        ("0", 0.0),
    ],
)
def test_durations_are_texts_or_nanoseconds(text: str, seconds: float) -> None:
    """As in the reference, where a bare number counts nanoseconds."""
    assert config_of(f"flags: {{gfd: {{sleepInterval: {text}}}}}").flags.gfd.sleep_interval_s == seconds


@pytest.mark.parametrize(
    ("text", "strategies"),
    [("envvar", ("envvar",)), ("[cdi-cri, envvar]", ("cdi-cri", "envvar")), ("[]", ()), ("", None)],
)
def test_the_device_list_strategy_is_one_or_a_list(text: str, strategies: tuple[str, ...] | None) -> None:
    """The order of the file stays."""
    config = config_of(f"flags:\n  plugin:\n    deviceListStrategy: {text}")
    assert config.flags.plugin.device_list_strategy == strategies


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        ("all", DeviceSelection()),
        ("2", DeviceSelection(is_all=False, count=2)),
        ("2.0", DeviceSelection(is_all=False, count=2)),
        ('[0, "1", 0:1, 1:1]', DeviceSelection(is_all=False, refs=("0", "1", "0:1", "1:1"))),
        (f"[GPU-{UUID.upper()}]", DeviceSelection(is_all=False, refs=(f"GPU-{UUID}",))),
        (f"[MIG-GPU-{UUID}/1/0]", DeviceSelection(is_all=False, refs=(f"MIG-GPU-{UUID}/1/0",))),
    ],
)
def test_every_form_of_devices_is_read(text: str, devices: DeviceSelection) -> None:
    """All, a count, or a list whose elements become canonical."""
    (entry,) = entries_of(sharing(f"name: gpu, replicas: 2, devices: {text}"))
    assert entry.devices == devices


def test_a_whole_number_may_be_written_with_a_point() -> None:
    """2.0 is 2, because the reference passes through JSON."""
    assert entries_of(sharing("name: gpu, replicas: 2.0"))[0].replicas == 2


def test_rename_by_default_fills_missing_names() -> None:
    """A name that is given stays, and an exclusive device isn't called shared."""
    text = sharing(
        "name: gpu, replicas: 2, devices: [0]",
        "name: gpu, replicas: 4, devices: [1], rename: gpu.batch",
        "name: mig-1g.5gb, replicas: 1",
        more="    renameByDefault: true\n",
    )
    assert [entry.rename for entry in entries_of(text)] == ["nvidia.com/gpu.shared", "nvidia.com/gpu.batch", None]


def test_mps_refuses_several_shares_unless_told_otherwise() -> None:
    """The default differs between the sections."""
    entry = "name: gpu, replicas: 2"
    both = sharing(entry) + "  mps:\n    resources:\n    - {name: mig-1g.5gb, replicas: 2}\n"
    found = config_of(both).sharing
    assert found.time_slicing is not None
    assert found.mps is not None
    assert (found.time_slicing.fail_requests_greater_than_one, found.mps.fail_requests_greater_than_one) == (
        False,
        True,
    )
    told = config_of(sharing(entry, section="mps", more="    failRequestsGreaterThanOne: false\n")).sharing.mps
    assert told is not None
    assert told.fail_requests_greater_than_one is False


def test_mps_null_is_absent() -> None:
    """Unlike timeSlicing: null, as in the reference."""
    assert config_of("sharing: {mps: null}").sharing == types.Sharing()


@pytest.mark.parametrize(
    ("first", "second", "fault"),
    [
        ("", "", "devices: every device of nvidia.com/gpu already belongs to sharing.timeSlicing.resources[0]"),
        ("", ", devices: [0]", "devices: each of these devices of nvidia.com/gpu already belongs to"),
        (", devices: 1", ", devices: 2", "devices: the first device of nvidia.com/gpu already belongs to"),
        (", devices: [0, 1]", ", devices: ['1']", "devices: device 1 of nvidia.com/gpu already belongs to"),
        (", devices: [0]", ", devices: [1]", "replicas: nvidia.com/gpu would have 2 replicas by"),
        (", devices: [0], rename: x", ", devices: [1], rename: x", "replicas: nvidia.com/x would have 2 replicas by"),
    ],
)  # fmt: skip
def test_entries_of_a_section_that_contradict_each_other_are_faults(first: str, second: str, fault: str) -> None:
    """A device belongs to one entry, a resource has one count."""
    (found,) = faults_of(sharing(f"name: gpu, replicas: 2{first}", f"name: gpu, replicas: 4{second}"))
    assert found.startswith(f"6: sharing.timeSlicing.resources[1].{fault}")


def test_overlap_between_sections_is_no_fault() -> None:
    """MPS wins there, which is decided where the node is known."""
    text = sharing("name: gpu, replicas: 2") + "  mps:\n    resources:\n    - {name: gpu, replicas: 4}\n"
    assert config_of(text).sharing.mps is not None


def test_all_faults_come_at_once_in_the_order_of_lines() -> None:
    """The first is raised, the others stand beside it."""
    text = "imex: {required: 1}\nflags:\n  bogus: 1\n  migStrategy: x\n"
    with pytest.raises(errors.ConfigError) as caught:
        load.parse_config(text, "f.yaml")
    fault = caught.value
    assert (fault.file, fault.line, fault.path) == ("f.yaml", 1, "imex.required")
    assert [(other.line, other.path) for other in fault.others] == [(3, "flags.bogus"), (4, "flags.migStrategy")]


def test_the_error_tells_all_faults_on_one_line() -> None:
    """Ten of them; whoever wants the rest is told where."""
    with pytest.raises(errors.ConfigError) as caught:
        load.parse_config("".join(f"key{n}: 1\n" for n in range(12)), "f.yaml")
    texts = str(caught.value).split("; ")
    assert [text.partition(":")[2].partition(":")[0] for text in texts[:10]] == [str(line) for line in range(1, 11)]
    assert texts[10:] == ["and 2 more, which `gpu-discovery validate` shows"]


def test_duplicate_keys_and_further_documents_are_faults() -> None:
    """Both are passed over by the reference."""
    assert faults_of("flags: {}\nflags: {}\n---\nflags: {}\n") == [
        "2: flags: stands here twice, first on line 1 (the last one counts)",
        "3: a second document begins here (only the first one is read)",
    ]


def test_lenient_mode_passes_over_what_the_reference_passes_over() -> None:
    """Each with a warning that reads as the fault would."""
    text = "Flags: {bogus: 1, migStrategy: single, migstrategy: mixed}\n---\nx: 1\n"
    loaded = load.parse_config(text, "f.yaml", lenient=True)
    assert loaded.config.flags.mig_strategy == "mixed"
    assert [warning.partition(" (")[0] for warning in loaded.warnings] == [
        "f.yaml:2: a second document begins here",
        "f.yaml:1: Flags: letter case differs",
        "f.yaml:1: flags.bogus: unknown key",
        "f.yaml:1: flags.migstrategy: letter case differs",
        "f.yaml:1: flags.migstrategy: stands here twice, first on line 1",
    ]


def test_lenient_mode_keeps_letter_case_where_the_reference_does() -> None:
    """Keys of sharing entries are found in their own case only."""
    loaded = load.parse_config(sharing("name: gpu, replicas: 2, Rename: x"), "f.yaml", lenient=True)
    assert loaded.config.sharing.time_slicing is not None
    assert loaded.config.sharing.time_slicing.resources[0].rename is None
    assert loaded.warnings == ("f.yaml:5: sharing.timeSlicing.resources[0].Rename: unknown key (write rename)",)


@pytest.mark.parametrize("text", ["flags: {migStrategy: 1}", "a: [", "[]", "sharing: {timeSlicing: {}}"])
def test_lenient_mode_is_not_blind(text: str) -> None:
    """What the reference refuses is refused."""
    assert len(faults_of(text, lenient=True)) == 1


def test_customisation_is_ignored_when_asked_for() -> None:
    """As the reference does: resources, rename and devices go, of two entries the first counts; each with a warning."""
    text = sharing(
        "name: gpu, replicas: 2, devices: [0], rename: a",
        "name: gpu, replicas: 8, devices: [], rename: b",
        more="resources: {gpus: [{pattern: '*', name: x}]}\ngpuDiscovery: {referenceCompat: ignore-customisation}\n",
    )
    loaded = load.parse_config(text, "f.yaml")
    assert loaded.config.resources == types.ResourceRules()
    assert loaded.config.sharing.time_slicing is not None
    (entry,) = loaded.config.sharing.time_slicing.resources
    assert (entry.replicas, entry.devices, entry.rename) == (2, DeviceSelection(), None)
    assert [warning.split(": ")[1] for warning in loaded.warnings] == ["resources"] + [
        "sharing.timeSlicing.resources"
    ] * 3


def test_ignored_renames_become_the_default_where_that_is_on() -> None:
    """renameByDefault itself is no customisation."""
    text = sharing("name: gpu, replicas: 2, rename: a", more="    renameByDefault: true\n")
    (entry,) = entries_of(text, reference_compat=["ignore-customisation"])
    assert entry.rename == "nvidia.com/gpu.shared"


def test_old_behaviours_from_outside_replace_those_of_the_file() -> None:
    """A flag wins over the file, an empty one too."""
    text = "gpuDiscovery: {referenceCompat: [ignore-customisation, vfio-memory-bytes]}\n"
    text += "resources: {gpus: [{pattern: '*', name: x}]}\n"
    loaded = load.parse_config(text, "f.yaml", reference_compat=[])
    assert loaded.config.own.reference_compat == ()
    assert len(loaded.config.resources.gpus) == 1


def test_lines_of_keys_are_told() -> None:
    """And of what was left out, the line of what it would stand in."""
    loaded = load.parse_config(sharing("name: gpu, replicas: 2", "name: mig-1g.5gb, replicas: 2"), "f.yaml")
    assert loaded.lines["sharing.timeSlicing"] == 3
    assert loaded.lines["sharing.timeSlicing.resources[1].replicas"] == 6
    assert loaded.line_of("sharing.timeSlicing.resources[1].devices[0]") == 6
    assert loaded.line_of("resources.gpus") is None


def test_a_file_is_read_from_disk(tmp_path: pathlib.Path) -> None:
    """Its path stands in every fault."""
    path = tmp_path / "config.yaml"
    path.write_text("flags: {bogus: 1}")
    with pytest.raises(errors.ConfigError, match=f"^{path}:1: flags.bogus: unknown key"):
        load.load_file(str(path))
    path.write_text("flags: {migStrategy: single}")
    assert load.load_file(str(path)).config.flags.mig_strategy == "single"


def test_an_empty_device_is_an_empty_file() -> None:
    """/dev/null is how a config is switched off."""
    assert load.load_file(os.devnull).config == types.Config()


@pytest.mark.parametrize("path", ["/nonexistent/file", "/", "a\0b"])
def test_a_file_that_cannot_be_read_is_a_clear_error(path: str) -> None:
    """With the operating system's reason."""
    with pytest.raises(errors.ConfigError, match="opening the config file failed: "):
        load.load_file(path)


def test_a_pipe_that_nobody_writes_to_holds_nothing_up(tmp_path: pathlib.Path) -> None:
    """Waiting for it would keep the program from ending on a signal."""
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    with pytest.raises(errors.ConfigUnreadable, match="it is a pipe to which nobody has written for 0 s"):
        load.read_bytes(path, pipe_patience_s=0)


def test_a_pipe_is_read_to_its_end() -> None:
    """As a shell's ``<(…)`` gives one."""
    readable, writable = os.pipe()
    os.write(writable, b"version: v1\n")
    os.close(writable)
    assert load.read_bytes(f"/dev/fd/{readable}") == b"version: v1\n"
    os.close(readable)


def test_an_endless_file_is_cut_off() -> None:
    """Reading stops at the bound."""
    with pytest.raises(errors.ConfigError, match="larger than 1 MiB"):
        load.load_file("/dev/zero")


def test_thousands_of_faults_are_bounded() -> None:
    """A file that is something else altogether gives a readable number of faults."""
    assert len(faults_of("".join(f"key{n}: 1\n" for n in range(5000)))) == 100


@hypothesis.settings(deadline=None)
@hypothesis.given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_a_config_or_a_fault(data: bytes, lenient: bool) -> None:
    """No other exception comes out."""
    documents.load_or_refuse(data, lenient=lenient)


@hypothesis.settings(deadline=None)
@hypothesis.given(documents.any_documents(schema.ROOT), st.booleans())
def test_any_structure_is_a_config_or_a_fault(text: str, lenient: bool) -> None:
    """Valid keys with any values, any keys with valid values: each fault names the file and, where there is one, the line."""
    documents.load_or_refuse(text.encode(), lenient=lenient)
