"""Listens and serves: uvicorn, with bounds on connections, requests and silence."""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import socket
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from trustbed.ui.application import application
from trustbed.ui.captures import Captures
from trustbed.ui.guard import Guard
from trustbed.ui.library import Library, UiError

MOST_CLIENTS = 64
"""Connections at a time; further ones are refused."""
LONGEST_SILENCE_SECONDS = 30
"""A connection that has not sent a whole request by then is closed."""
LARGEST_REQUEST_BYTES = 32 << 10


class _Protocol(H11Protocol):
    """A connection that is closed unless it asks for something in time, also after an answer."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def _watch(self) -> None:
        cycle = getattr(self, "cycle", None)
        if cycle is not None and not cycle.response_complete:
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(LONGEST_SILENCE_SECONDS, self.transport.close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class Server:
    """Serves a library; listens before it runs.

    Raises:
        UiError: The address cannot be used.
    """

    def __init__(self, library: Library, address: tuple[str, int], captures: Captures) -> None:
        host, port = address
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            raise UiError(
                f"cannot listen on {host}:{port}: {(error.strerror or str(error)).lower()}",
                "--listen 0 takes a free port",
            ) from error
        self.host, self.port = self._socket.getsockname()[:2]
        self.token = secrets.token_urlsafe(24)
        self._captures = captures
        guard = Guard(
            application(library, captures),
            token=self.token,
            cookie=f"trustbed-{self.port}",
            loopback=ipaddress.ip_address(self.host).is_loopback,
        )
        config = uvicorn.Config(
            guard,
            http=_Protocol,
            ws="none",
            lifespan="off",
            loop="asyncio",
            access_log=False,
            log_level="error",
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=MOST_CLIENTS,
            timeout_keep_alive=LONGEST_SILENCE_SECONDS,
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=LARGEST_REQUEST_BYTES,
        )
        self._server = uvicorn.Server(config)

    @property
    def url(self) -> str:
        """The address with its token."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/?token={self.token}"

    def run(self, ready: Callable[[], Any] = lambda: None) -> None:
        """Serves until :meth:`stop`, or Ctrl-C; calls ``ready`` once connections are accepted."""
        self._socket.listen(MOST_CLIENTS)
        ready()
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._captures.close()
            self._socket.close()

    def stop(self) -> None:
        """Ends :meth:`run`, from any thread."""
        self._server.should_exit = True
