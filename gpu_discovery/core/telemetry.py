"""An optional HTTP port: is the loop alive, is what we publish true, and the numbers behind both.

``/healthz`` is 200 while the main loop turns; a pass that hangs in the driver does not stop it, and restarting us would
not help. ``/readyz`` is 200 while what is published is what the node is, else 503 with the reason. ``/metrics`` is in
Prometheus' text format.

The port is open to whoever reaches it, so it is bounded: few connections, each for a few seconds; when one more comes
the oldest is dropped, so slow clients cannot keep a probe out. This module loads the Prometheus client and the HTTP
server and is itself loaded only where a port is asked for.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import http.server
import socket
import socketserver
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import prometheus_client
from prometheus_client import exposition

from gpu_discovery.core import errors
from gpu_discovery.core.kit import loops

STALLED_AFTER_S = 30.0
"""A loop that has not turned for so long is dead; it turns every few seconds whatever the interval."""
RESULTS = ("ok", "stale", "failed")
MOST_CONNECTIONS = 16
CONNECTION_S = 5.0
JANITOR_S = 2.0
_NO_IPV6 = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)


class Telemetry:
    """What the loop tells and the port shows. Safe to use from any thread.

    ``program`` and ``version`` label the build.
    """

    def __init__(self, program: str, version: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._turned_at = clock()
        self._published_at: float | None = None
        self._unready = "no pass has ended yet"
        self._registry = prometheus_client.CollectorRegistry()
        self._make_metrics(program, version)

    def loop_turned(self) -> None:
        """The main loop is alive."""
        self._turned_at = self._clock()

    def pass_ended(self, duration_s: float, *, result: str, unready: str, is_confirmed: bool) -> None:
        """``result`` is one of ``RESULTS``; ``unready`` why not ready, empty when ready.

        ``is_confirmed``: what is published is what this pass read.
        """
        self._duration.observe(duration_s)
        self._passes.labels(result).inc()
        self._unready = unready
        if is_confirmed:
            self._published_at = self._clock()

    def became_unready(self, reason: str) -> None:
        """Between passes: the pass at hand hangs."""
        self._unready = reason

    def published(self, sinks: tuple[str, ...]) -> None:
        """These sinks were written to."""
        for sink in sinks:
            self._writes.labels(sink).inc()

    def gpus_counted(self, by_state: Mapping[str, int]) -> None:
        """GPUs by state: ``present``, ``lost``, ``unreadable``."""
        for state, number in by_state.items():
            self._gpus.labels(state).set(number)

    def answer(self, path: str) -> tuple[int, str, bytes]:
        """(HTTP status, content type, body) for a request path."""
        page = path.partition("?")[0]
        if page == "/healthz":
            return _verdict(self._stall())
        if page == "/readyz":
            return _verdict(self._stall() or self._unready)
        if page == "/metrics":
            return 200, exposition.CONTENT_TYPE_LATEST, exposition.generate_latest(self._registry)
        return 404, "text/plain; charset=utf-8", b"try /healthz, /readyz or /metrics\n"

    def _stall(self) -> str:
        """Why the loop is not alive; empty when it is."""
        age_s = self._clock() - self._turned_at
        return f"the main loop has not turned for {age_s:.0f} s" if age_s > STALLED_AFTER_S else ""

    def _make_metrics(self, program: str, version: str) -> None:
        registry = self._registry
        # No second series for each that tells when it began. The client's function has no annotations.
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        build = prometheus_client.Gauge(
            "gpu_discovery_build_info", "Always 1; the labels say what runs.", ["program", "version"], registry=registry
        )
        build.labels(program, version).set(1)
        self._duration = prometheus_client.Summary(
            "gpu_discovery_pass_duration_seconds",
            "How long passes took, from reading to publishing.",
            registry=registry,
        )
        self._passes = prometheus_client.Counter(
            "gpu_discovery_passes",
            "Passes by result: ok, stale (older labels are kept), failed (and nothing to keep).",
            ["result"],
            registry=registry,
        )
        for result in RESULTS:
            self._passes.labels(result)  # From the start, so that a first failure shows as an increase.
        self._writes = prometheus_client.Counter(
            "gpu_discovery_writes", "Times that labels were changed or put right.", ["sink"], registry=registry
        )
        self._gpus = prometheus_client.Gauge(
            "gpu_discovery_gpus", "GPUs by state: present, lost, unreadable.", ["state"], registry=registry
        )
        ready = prometheus_client.Gauge(
            "gpu_discovery_ready", "1 while what is published is what the node is.", registry=registry
        )
        ready.set_function(lambda: 0.0 if self._stall() or self._unready else 1.0)
        age = prometheus_client.Gauge(
            "gpu_discovery_published_age_seconds",
            "Time since a pass last confirmed what is published; NaN before the first.",
            registry=registry,
        )
        age.set_function(self._age_s)

    def _age_s(self) -> float:
        return float("nan") if self._published_at is None else self._clock() - self._published_at


class Server:
    """The port, served by threads of its own until closed."""

    def __init__(
        self,
        address: str,
        telemetry: Telemetry,
        *,
        connection_s: float = CONNECTION_S,
        janitor_s: float = JANITOR_S,
    ) -> None:
        """``janitor_s``: how often the time of connections is looked at.

        Raises SettingsError for an address that is none or can't be had.
        """
        host, port = parse_address(address)
        try:
            self._server = _listening(host, port, telemetry)
            self._server.connection_s = connection_s
        except OSError as error:
            message = f"listening on {address} failed: {error.strerror or error}; choose another --http-address"
            raise errors.SettingsError(message) from error
        self._thread = loops.start_thread("http", functools.partial(self._server.serve_forever, janitor_s))

    @property
    def port(self) -> int:
        """The port listened on, also when 0 was asked for."""
        port: int = self._server.socket.getsockname()[1]
        return port

    def close(self) -> None:
        """Stop listening and drop all connections."""
        self._server.shutdown()
        self._server.server_close()
        self._server.drop_all()
        self._thread.join(CONNECTION_S)


def parse_address(address: str) -> tuple[str, int]:
    """``host:port``, ``[v6]:port`` or ``:port`` → (host, port), host empty for all. Raises SettingsError."""
    host, colon, port = address.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65535 or (":" in host and not is_bracketed):
        raise errors.SettingsError(
            f"--http-address {address!r} is not host:port; examples: :9400, 127.0.0.1:9400, [::1]:9400"
        )
    return (host[1:-1] if is_bracketed else host), int(port)


def _verdict(problem: str) -> tuple[int, str, bytes]:
    return (503 if problem else 200), "text/plain; charset=utf-8", f"{problem or 'ok'}\n".encode()


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    connection_s = CONNECTION_S
    """A connection may take so long in all."""

    def __init__(self, address: tuple[str, int], family: socket.AddressFamily, telemetry: Telemetry) -> None:
        self.address_family = family
        self.telemetry = telemetry
        self._open: OrderedDict[socket.socket, float] = OrderedDict()
        self._lock = threading.Lock()
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Without http.server's look-up of our own name, which can wait for a name server."""
        if self.address_family is socket.AF_INET6 and self.server_address[0] == "::":
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "", 0

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve it on a thread; drop the oldest connection when there are too many."""
        with self._lock:
            if len(self._open) >= MOST_CONNECTIONS:
                _drop(self._open.popitem(last=False)[0])
            self._open[request] = time.monotonic() + self.connection_s
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """The connection is done with."""
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Every few seconds: drop connections whose time is up, however much they still send."""
        now = time.monotonic()
        with self._lock:
            for request in [request for request, until in self._open.items() if until < now]:
                del self._open[request]
                _drop(request)

    def drop_all(self) -> None:
        """End every connection."""
        with self._lock:
            for request in self._open:
                _drop(request)
            self._open.clear()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no event."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server
    timeout = CONNECTION_S
    server_version = "gpu-discovery"
    sys_version = ""

    def do_GET(self) -> None:
        self._reply(with_body=True)

    def do_HEAD(self) -> None:
        self._reply(with_body=False)

    def _reply(self, *, with_body: bool) -> None:
        status, content_type, body = self.server.telemetry.answer(self.path)
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's.
        """Probes are not events."""


def _drop(request: socket.socket) -> None:
    """Make whoever reads from it stop; its thread then closes it."""
    with contextlib.suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


def _listening(host: str, port: int, telemetry: Telemetry) -> _Server:
    """All addresses for an empty host: both families where there is IPv6, IPv4 alone where not."""
    if host:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        return _Server((host, port), family, telemetry)
    try:
        return _Server(("::", port), socket.AF_INET6, telemetry)
    except OSError as error:
        if error.errno not in _NO_IPV6:
            raise
        return _Server(("0.0.0.0", port), socket.AF_INET, telemetry)  # noqa: S104 - that is what was asked for.
