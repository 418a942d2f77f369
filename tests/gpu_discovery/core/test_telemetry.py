from __future__ import annotations

import contextlib
import socket
import urllib.error
import urllib.request

import pytest

from gpu_discovery.core import errors, telemetry
from tests.fakes import clock as clocks


@pytest.fixture
def clock():
    """A clock that stands still."""
    return clocks.Clock(100.0)


@pytest.fixture
def told(clock):
    """What the loop tells."""
    return telemetry.Telemetry("gpu-feature-discovery", "1.2.3", clock=clock)


@pytest.fixture
def server(told):
    """The port on a free number."""
    server = telemetry.Server("127.0.0.1:0", told, janitor_s=0.02)
    yield server
    server.close()


def ended(told, *, result="ok", unready="", is_confirmed=True):
    """A pass of a quarter of a second."""
    told.pass_ended(0.25, result=result, unready=unready, is_confirmed=is_confirmed)


def value(told, name):
    """One number of /metrics."""
    text = told.answer("/metrics")[2].decode()
    return next(line.rpartition(" ")[2] for line in text.splitlines() if line.startswith(f"{name} "))


def fetched(server, page, method="GET"):
    """(status, text) of a page."""
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{page}", method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_readiness_follows_the_last_pass(told):
    """Not ready before the first pass, ready after a good one, not ready with the reason after a failed one."""
    assert told.answer("/readyz")[0] == 503
    ended(told)
    assert told.answer("/readyz") == (200, "text/plain; charset=utf-8", b"ok\n")
    ended(told, result="stale", unready="driver-not-loaded: no module")
    assert told.answer("/readyz")[::2] == (503, b"driver-not-loaded: no module\n")
    assert told.answer("/healthz")[0] == 200


def test_a_hanging_pass_makes_it_not_ready_but_leaves_it_alive(told):
    """Restarting would not help against a driver that hangs."""
    ended(told)
    told.became_unready("nvmlInit has not returned for 5 s")
    assert told.answer("/readyz")[::2] == (503, b"nvmlInit has not returned for 5 s\n")
    assert told.answer("/healthz")[0] == 200


def test_a_loop_that_no_longer_turns_is_dead(told, clock):
    """Both probes fail with the age once it has stood still for too long, and recover when it turns."""
    ended(told)
    clock.now += telemetry.STALLED_AFTER_S
    assert told.answer("/healthz")[0] == 200
    clock.now += 1
    assert told.answer("/healthz")[::2] == (503, b"the main loop has not turned for 31 s\n")
    assert told.answer("/readyz")[0] == 503
    assert value(told, "gpu_discovery_ready") == "0.0"
    told.loop_turned()
    assert told.answer("/readyz")[0] == 200


def test_metrics_tell_passes_and_the_age_of_what_is_published(told, clock):
    """The age counts from the last pass that confirmed it."""
    assert value(told, "gpu_discovery_published_age_seconds") == "NaN"
    ended(told)
    clock.now += 10
    ended(told, result="stale", unready="gone", is_confirmed=False)
    clock.now += 5
    assert value(told, "gpu_discovery_published_age_seconds") == "15.0"
    assert value(told, "gpu_discovery_pass_duration_seconds_count") == "2.0"
    assert value(told, "gpu_discovery_pass_duration_seconds_sum") == "0.5"
    assert value(told, 'gpu_discovery_passes_total{result="stale"}') == "1.0"
    assert value(told, "gpu_discovery_ready") == "0.0"
    assert value(told, 'gpu_discovery_build_info{program="gpu-feature-discovery",version="1.2.3"}') == "1.0"


def test_every_result_counts_from_zero(told):
    """So that the first failure is an increase; and no series tells when another began."""
    for result in telemetry.RESULTS:
        assert value(told, f'gpu_discovery_passes_total{{result="{result}"}}') == "0.0"
    ended(told)
    assert b"_created" not in told.answer("/metrics")[2]


def test_metrics_tell_gpus_and_writes(told):
    """By state and by sink."""
    told.gpus_counted({"present": 7, "lost": 1, "unreadable": 0})
    told.published(("file", "stdout"))
    told.published(("file",))
    assert value(told, 'gpu_discovery_gpus{state="present"}') == "7.0"
    assert value(told, 'gpu_discovery_gpus{state="lost"}') == "1.0"
    assert value(told, 'gpu_discovery_writes_total{sink="file"}') == "2.0"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (":9400", ("", 9400)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("[::1]:9400", ("::1", 9400)),
        ("node-7:80", ("node-7", 80)),
    ],
)
def test_addresses(address, expected):
    """Host and port, IPv6 in brackets, no host for all."""
    assert telemetry.parse_address(address) == expected


@pytest.mark.parametrize("address", ["", "9400", "host:", "host:http", "host:99999", "::1:9400", "host:-1", "host:٣"])
def test_what_is_no_address_is_refused_with_examples(address):
    """A usage error that shows how to write it."""
    with pytest.raises(errors.SettingsError, match="examples"):
        telemetry.parse_address(address)


def test_pages_are_served(server, told):
    """The three pages, HEAD without a body, 404 with the list, and no other method."""
    ended(told)
    assert fetched(server, "/healthz") == (200, "ok\n")
    assert fetched(server, "/readyz?verbose=1") == (200, "ok\n")
    assert "gpu_discovery_build_info" in fetched(server, "/metrics")[1]
    assert fetched(server, "/healthz", "HEAD") == (200, "")
    assert fetched(server, "/")[0] == 404
    assert fetched(server, "/healthz", "POST")[0] == 501


def test_all_addresses_are_served_where_no_host_is_given(told):
    """Under IPv4 as well, when the socket is one of IPv6."""
    server = telemetry.Server(":0", told, janitor_s=0.02)
    assert fetched(server, "/healthz")[0] == 200
    server.close()


def test_a_port_that_is_taken_is_an_error_that_names_it(server, told):
    """With the address and the option."""
    with pytest.raises(errors.SettingsError, match=rf"127.0.0.1:{server.port} failed.*--http-address"):
        telemetry.Server(f"127.0.0.1:{server.port}", told)


def test_a_host_that_is_none_is_an_error(told):
    """A name that does not resolve."""
    with pytest.raises(errors.SettingsError, match=r"no-such-host\.invalid"):
        telemetry.Server("no-such-host.invalid:0", told)


def test_silent_clients_do_not_keep_a_probe_out(server):
    """More connections than are served at once: the oldest is dropped, the probe is answered."""
    with contextlib.ExitStack() as stack:
        silent = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=2))
            for _ in range(2 * telemetry.MOST_CONNECTIONS)
        ]
        assert fetched(server, "/healthz") == (200, "ok\n")
        assert silent[0].recv(1) == b""


def test_a_client_that_drips_is_dropped_when_its_time_is_up(told):
    """However much it still sends; the janitor's visit is what ends it."""
    server = telemetry.Server("127.0.0.1:0", told, connection_s=0.0, janitor_s=0.02)
    with socket.create_connection(("127.0.0.1", server.port), timeout=2) as client:
        client.sendall(b"GET /hea")
        assert client.recv(1) == b""
    server.close()


def test_nonsense_is_answered_with_an_error_and_the_server_lives(server):
    """Bytes that are no request, and a request line without end."""
    for sent in (b"\x00\xff\r\n\r\n", b"GET /" + b"x" * 70_000 + b" HTTP/1.0\r\n\r\n"):
        client = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        with client, contextlib.suppress(ConnectionError):
            client.sendall(sent)
            client.recv(100)
    assert fetched(server, "/healthz")[0] == 200
