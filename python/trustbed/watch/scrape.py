"""A small HTTP server for scrapers, in a thread of its own: ``/metrics`` and nothing else.

It has neither encryption nor passwords: bind it to loopback, the default, or to a network whose
hosts may know how much passes. On loopback it answers only who asks for loopback by name, so that
no page in a browser reads it under a name of its own (DNS rebinding).
"""

from __future__ import annotations

import io
import ipaddress
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from trustbed.watch.openmetrics import CONTENT_TYPE

LOOPBACK = "127.0.0.1"
PLAIN = "text/plain; charset=utf-8"
MOST_CLIENTS = 16
"""Connections served at a time; further ones are closed at once."""
LONGEST_SILENCE = 60
"""Seconds that a request may take to come, and a client be silent between two."""


_Connection = socket.socket | tuple[bytes, socket.socket]


def parse_address(text: str) -> tuple[str, int]:
    """``9464``, ``127.0.0.1:9464`` or ``[::1]:9464``.

    Raises:
        ValueError: It is none of them.
    """
    host, separator, port = text.rpartition(":")
    if not separator:
        host = LOOPBACK
    elif host.startswith("[") and host.endswith("]"):
        host = str(ipaddress.IPv6Address(host[1:-1]))
    elif host != "localhost":
        host = str(ipaddress.IPv4Address(host))
    if not port.isdecimal() or int(port) > 65535:
        raise ValueError(f"{port!r} is no port")
    return host, int(port)


def names_loopback(host: str | None) -> bool:
    """Whether a Host header (RFC 9110, section 7.2) names this machine's loopback.

    A client of HTTP/1.0 may send none.
    """
    if host is None:
        return True
    name = host.strip().lower()
    if name.startswith("["):
        name, bracket, rest = name[1:].partition("]")
        if not bracket or (rest and not (rest.startswith(":") and rest[1:].isdecimal())):
            return False
    else:
        name, colon, port = name.partition(":")
        if colon and not port.isdecimal():
            return False
    if name in ("localhost", "localhost."):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 16

    def __init__(self, address: tuple[str, int], text: Callable[[], str]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.text = text
        self.free = threading.BoundedSemaphore(MOST_CLIENTS)
        super().__init__(address, _Handler)
        self.is_loopback = ipaddress.ip_address(str(self.server_address[0])).is_loopback

    def process_request(self, request: _Connection, client_address: object) -> None:
        """Gives a client a thread of its own, if there are few of them."""
        if not self.free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self.free.release()
            raise

    def process_request_thread(self, request: _Connection, client_address: object) -> None:
        """Serves a client until it leaves."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.free.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """A scraper that went away is no news."""


class _Timed(io.RawIOBase):
    """What a client sends before a moment."""

    def __init__(self, connection: socket.socket) -> None:
        self.deadline = 0.0
        self._connection = connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - as in RawIOBase
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "trustbed"
    sys_version = ""
    timeout = LONGEST_SILENCE

    def setup(self) -> None:
        super().setup()
        self._timed = _Timed(self.connection)
        self.rfile = io.BufferedReader(self._timed)

    def handle_one_request(self) -> None:
        """A request that comes byte by byte has no more time than one that does not come."""
        self._timed.deadline = time.monotonic() + LONGEST_SILENCE
        super().handle_one_request()

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, *, body: bool) -> None:
        assert isinstance(self.server, _Server)
        if self.server.is_loopback and not names_loopback(self.headers.get("Host")):
            self._send(
                421, "text/plain; charset=utf-8", "only loopback is served here\n", body=body
            )
        elif self.path.partition("?")[0] not in ("/metrics", "/"):
            self._send(404, PLAIN, "only /metrics is here\n", body=body)
        else:
            self._send(200, CONTENT_TYPE, self.server.text(), body=body)

    def _send(self, status: int, kind: str, text: str, *, body: bool) -> None:
        content = text.encode()
        self.connection.settimeout(LONGEST_SILENCE)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Standard error is for what goes wrong."""


class Endpoint:
    """Serves what ``text`` returns until the block is left; listens before it is entered.

    Raises:
        OSError: The address cannot be used.
    """

    def __init__(self, address: tuple[str, int], text: Callable[[], str]) -> None:
        self._server = _Server(address, text)
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.1},
            name="metrics",
            daemon=True,
        )

    @property
    def url(self) -> str:
        """Where scrapers find it."""
        host, port = self._server.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{shown}:{port}/metrics"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends it; has no effect if it has ended."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()
