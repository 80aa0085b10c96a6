"""A small HTTP server for scrapers, in a thread of its own: ``/metrics`` and nothing else.

It has neither encryption nor passwords: bind it to loopback, the default, or to a network whose
hosts may know how much passes.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from trustbed.watch.openmetrics import CONTENT_TYPE

LOOPBACK = "127.0.0.1"


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


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 16

    def __init__(self, address: tuple[str, int], text: Callable[[], str]) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.text = text
        super().__init__(address, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A scraper that went away is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "trustbed"
    sys_version = ""
    timeout = 60

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, *, body: bool) -> None:
        assert isinstance(self.server, _Server)
        found = self.path.partition("?")[0] in ("/metrics", "/")
        content = (self.server.text() if found else "only /metrics is here\n").encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", CONTENT_TYPE if found else "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        """Standard error is for what goes wrong."""


class Endpoint:
    """Serves what ``text`` returns until the block is left.

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
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
