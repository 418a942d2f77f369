"""The program as the operating system sees it: real processes, signals and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from gpu_discovery.sinks import lines
from tests.fakes import host, nvml
from tests.fakes.cuda import libraries

PATIENCE_S = 30.0
T4 = nvml.make_gpu(board="t4")


def wait_for(condition, what):
    """Poll until it holds; the time is for loaded machines."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)
    return found


class Program:
    """A node, and the labeler running on it."""

    def __init__(self, tmp_path):
        self.folder = tmp_path
        self.driver = nvml.FakeDriver(tmp_path / "driver")
        self.host = host.make_host_root(tmp_path / "host", gpus=[T4])
        self.output = tmp_path / "gfd"
        self.log_path = tmp_path / "log"
        self.process = None
        self.answer("SUCCESS")

    def answer(self, init, **overrides):
        """What NVML says from now on."""
        self.driver.write(nvml.make_machine([T4], **{"init": init} | overrides))

    def start(self, *arguments, prefix=(), stdout=subprocess.PIPE, **environ):
        """Run it on this node."""
        self.stop()
        command = [
            *prefix,
            *(sys.executable, "-m", "gpu_discovery"),
            *(f"--output-file={self.output}", f"--host-root={self.host.path}"),
            f"--driver-root-ctr-path={self.driver.root}",
            *arguments,
        ]
        variables = {key: value for key, value in os.environ.items() if not key.startswith(("GFD_", "GPU_DISCOVERY"))}
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                command, stderr=log, stdout=stdout, env={**variables, **self.driver.environ(), **environ}
            )
        return self

    def stop(self):
        """At the end of the test, however it went."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()

    def exit_code(self):
        """Wait for the end."""
        return self.process.wait(PATIENCE_S)

    @property
    def log(self):
        """Everything said so far."""
        return self.log_path.read_text()

    @property
    def labels(self):
        """What is published."""
        return lines.parse(self.output.read_text()) if self.output.exists() else {}

    def published(self):
        """Wait for the labels of the GPU."""
        wait_for(lambda: "nvidia.com/gpu.product" in self.labels, "labels")
        wait_for(lambda: "labels published" in self.log, "the log")
        return self

    def device_nodes(self):
        """What the process has open of the driver's device nodes."""
        folder, found = f"/proc/{self.process.pid}/fd", []
        for name in os.listdir(folder):
            try:
                found.append(os.readlink(f"{folder}/{name}"))
            except FileNotFoundError:
                continue
        return [path for path in found if path.startswith(f"{self.folder}/dev/")]


@pytest.fixture
def program(tmp_path):
    """Not started yet."""
    program = Program(tmp_path)
    yield program
    program.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_a_signal_ends_it_with_0_and_the_labels_stay(program, number):
    """Each of the three, and it says which."""
    program.start().published().process.send_signal(number)
    assert program.exit_code() == 0
    assert program.labels["nvidia.com/gpu.count"] == "1"
    assert f"ending signal={number.name} labels=kept" in program.log


def test_it_is_found_by_its_name(program):
    """argv[0] is what tools that signal by name look for."""
    program.start().published()
    with open(f"/proc/{program.process.pid}/cmdline", "rb") as file:
        assert file.read().split(b"\0")[0] == b"gpu-feature-discovery"


LIBRARY_THAT_KEEPS_A_PROCESS_FROM_ENDING = """
#include <unistd.h>
__attribute__((destructor)) static void wait_for_ever(void) { for (;;) pause(); }
"""


def test_a_call_that_never_returns_is_named_and_does_not_keep_it_from_ending(program):
    """The log names call and GPU, and SIGTERM ends the process within 5 s, although a library would wait at its end."""
    waiting = program.folder / "waiting.c"
    waiting.write_text(LIBRARY_THAT_KEEPS_A_PROCESS_FROM_ENDING)
    libraries.compile_library(program.folder / "waiting.so", str(waiting))
    program.start("--sleep-interval=1s", LD_PRELOAD=f"{program.folder}/waiting.so").published()
    before = program.output.read_bytes()
    hanging = {**T4, "hang": {"nvmlDeviceGetComputeMode": -1}}
    program.driver.write(nvml.make_machine([hanging]))
    wait_for(lambda: "a call does not return" in program.log, "the hang to be told")
    assert "call=nvmlDeviceGetComputeMode" in program.log
    assert T4["uuid"] in program.log
    started = time.monotonic()
    program.process.send_signal(signal.SIGTERM)
    assert program.exit_code() == 0
    assert time.monotonic() - started < 5
    assert program.output.read_bytes() == before


def test_sighup_takes_up_an_edited_config(program):
    """The same process, other labels."""
    config = program.folder / "config.yaml"
    config.write_text("version: v1\nflags:\n  gfd:\n    noTimestamp: false\n")
    program.start(f"--config-file={config}", "--sleep-interval=infinite").published()
    assert "nvidia.com/gfd.timestamp" in program.labels
    config.write_text("version: v1\nflags:\n  gfd:\n    noTimestamp: true\n")
    program.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "nvidia.com/gfd.timestamp" not in program.labels, "the new settings")
    assert program.process.poll() is None


def test_a_swapped_config_map_is_taken_up_without_a_signal(program):
    """The kernel tells, or the next look finds it, within 5 s."""
    for name, value in (("..first", "false"), ("..second", "true")):
        (program.folder / name).mkdir()
        (program.folder / name / "config.yaml").write_text(f"version: v1\nflags:\n  gfd:\n    noTimestamp: {value}\n")
    (program.folder / "..data").symlink_to("..first")
    (program.folder / "config.yaml").symlink_to("..data/config.yaml")
    program.start(f"--config-file={program.folder}/config.yaml", "--sleep-interval=infinite").published()
    (program.folder / "..new").symlink_to("..second")
    swapped = time.monotonic()
    os.rename(program.folder / "..new", program.folder / "..data")
    wait_for(lambda: "nvidia.com/gfd.timestamp" not in program.labels, "the new settings")
    assert time.monotonic() - swapped < 5


def test_it_lets_the_kernel_tell_of_the_config(program):
    """Its folder is watched, so that an edit needs no look to be noticed; where that is not possible looks remain."""
    config = program.folder / "config" / "config.yaml"
    config.parent.mkdir()
    config.write_text("version: v1\n")
    program.start(f"--config-file={config}").published()
    folder = f"/proc/{program.process.pid}/fdinfo"
    details = []
    for name in os.listdir(folder):
        with open(f"{folder}/{name}") as file:
            details += file.readlines()
    assert any(line.startswith("inotify wd:") for line in details)


def test_a_version_mismatch_executes_it_anew_once_under_the_same_id(program):
    """Only a new process can load the new library; the labels stay, and then it waits."""
    program.start("--sleep-interval=1s").published()
    before = program.output.read_bytes()
    program.answer("LIB_RM_VERSION_MISMATCH")
    wait_for(lambda: program.log.count(" starting ") == 2, "the second start")
    wait_for(lambda: program.log.count("finding=version-mismatch") == 2, "the second process to meet the same")
    assert program.log.count(f"pid={program.process.pid}") == 2
    assert program.log.count("executing anew") == 1
    program.answer("SUCCESS")
    wait_for(lambda: "recovered cause=discovery" in program.log, "the recovery")
    assert program.output.read_bytes() == before
    program.process.send_signal(signal.SIGTERM)
    assert program.exit_code() == 0


def test_a_signal_is_not_lost_while_it_executes_itself_anew(program):
    """It comes before the new program has its handlers, and is told and obeyed as any other."""
    program.start("--sleep-interval=1s").published()
    program.answer("LIB_RM_VERSION_MISMATCH")
    wait_for(lambda: "executing anew" in program.log, "the second start")
    program.process.send_signal(signal.SIGTERM)
    assert program.exit_code() == 0
    assert "ending signal=SIGTERM" in program.log


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "0<&- 1>&- 2>&-"])
def test_it_runs_with_standard_streams_closed(program, closed):
    """As a careless supervisor starts it."""
    program.start("--oneshot", prefix=("sh", "-c", f'exec "$@" {closed}', "sh"))
    assert program.exit_code() == 0
    assert program.labels["nvidia.com/gpu.count"] == "1"


@pytest.mark.parametrize("keeps", [False, True])
def test_between_passes_no_device_node_is_open(program, keeps):
    """So nobody's driver unload or GPU reset waits for us; a flag keeps the session."""
    nodes = program.folder / "dev"
    nodes.mkdir()
    for name in ("nvidiactl", f"nvidia{T4['minor']}"):
        (nodes / name).touch()
    program.driver.write(nvml.make_machine([T4], open_device_nodes=str(nodes)))
    program.start("--sleep-interval=infinite", f"--keep-nvml-open={str(keeps).lower()}").published()
    if keeps:
        assert program.device_nodes()
    else:
        wait_for(lambda: not program.device_nodes(), "the device nodes to be closed")


ONESHOTS = [
    ("SUCCESS", (), 0, True),
    ("DRIVER_NOT_LOADED", (), 1, False),
    ("DRIVER_NOT_LOADED", ("--fail-on-init-error=false",), 0, False),
    ("SUCCESS", ("--output-file=/nowhere/features.d/gfd",), 1, False),
    ("SUCCESS", ("--output-file=/nowhere/features.d/gfd", "--fail-on-init-error=false"), 1, False),
    ("SUCCESS", ("--config-file=/nowhere/config.yaml",), 1, False),
]


@pytest.mark.parametrize(("init", "arguments", "code", "has_labels"), ONESHOTS)
def test_oneshot_ends_with_a_code_that_tells(program, init, arguments, code, has_labels):
    """0 after a good pass, or without a driver where that is allowed; 1 when nothing could be read or published."""
    program.answer(init)
    assert program.start("--oneshot", *arguments).exit_code() == code
    assert ("nvidia.com/gpu.product" in program.labels) is has_labels
    errors = [line for line in program.log.splitlines() if line.startswith("ERROR")]
    assert len(errors) == code


def test_oneshot_keeps_what_is_published_when_the_driver_is_gone(program):
    """It fails, and the labels of the pass before stay."""
    program.start("--oneshot").exit_code()
    before = program.output.read_bytes()
    program.answer("DRIVER_NOT_LOADED")
    assert program.start("--oneshot").exit_code() == 1
    assert program.output.read_bytes() == before


def test_oneshot_prints_on_standard_output(program):
    """With an empty output file, as the reference has it; the log is elsewhere."""
    program.start("--oneshot", "--output-file=")
    output, _ = program.process.communicate(timeout=PATIENCE_S)
    assert lines.parse(output.decode())["nvidia.com/gpu.product"] == "Tesla-T4"
    assert not program.output.exists()


def test_a_reader_that_goes_away_is_an_error_told_once(program):
    """A closed pipe fails the pass with one line and 1, not with a traceback at exit."""
    read_fd, write_fd = os.pipe()
    os.close(read_fd)
    program.start("--oneshot", "--output-file=", stdout=write_fd)
    os.close(write_fd)
    assert program.exit_code() == 1
    assert "standard output failed" in program.log
    assert "Exception" not in program.log


def test_a_signal_ends_a_hanging_oneshot(program):
    """Also as the first process of a container, which no signal ends by default."""
    program.driver.write(nvml.make_machine([T4], hang={"nvmlInit_v2": -1}))
    program.start("--oneshot")
    wait_for(lambda: "settings" in program.log, "the start")
    program.process.send_signal(signal.SIGTERM)
    assert program.exit_code() == 0


def fetched(port, page):
    """(status, text) of a page."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except (ConnectionError, urllib.error.URLError):
        return 0, ""


def test_the_port_tells_readiness_and_numbers(program, free_port):
    """Not ready with the reason while the driver is away, ready after; alive all the time."""
    program.answer("DRIVER_NOT_LOADED")
    program.start(f"--http-address=127.0.0.1:{free_port}", "--fail-on-init-error=false", "--sleep-interval=1s")
    wait_for(lambda: "driver-not-loaded" in fetched(free_port, "/readyz")[1], "the reason")
    assert fetched(free_port, "/readyz")[0] == 503
    assert fetched(free_port, "/healthz") == (200, "ok\n")
    program.answer("SUCCESS")
    wait_for(lambda: fetched(free_port, "/readyz") == (200, "ok\n"), "readiness")
    metrics = fetched(free_port, "/metrics")[1]
    assert 'gpu_discovery_gpus{state="present"} 1.0' in metrics
    assert 'gpu_discovery_passes_total{result="ok"}' in metrics


def test_a_port_that_is_taken_ends_the_start(program, free_port):
    """Asked for and not to be had is an error, in one line that names it."""
    import socket

    with socket.create_server(("127.0.0.1", free_port)):
        assert program.start(f"--http-address=127.0.0.1:{free_port}").exit_code() == 1
    assert f"listening on 127.0.0.1:{free_port} failed" in program.log


@pytest.fixture
def free_port():
    """A port that nobody listens on."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def test_the_log_can_be_json(program):
    """Every line an object, from the settings on."""
    program.start("--oneshot", "--log-format=json").exit_code()
    events = [json.loads(line) for line in program.log.splitlines() if line.startswith("{")]
    assert {"settings", "discovered", "labels published"} <= {event["message"] for event in events}
