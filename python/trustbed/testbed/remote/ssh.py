"""The SSH transport to a host.

Its connection, through jump hosts where there are some, and sessions on it.

What an inventory does not state comes from OpenSSH's configuration; keys come from files and from
an agent, and host keys are always checked (:mod:`~trustbed.testbed.remote.host_keys`). It never
asks for a password or a passphrase: campaigns run unattended.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import socket
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path
from typing import Any

import asyncssh
from asyncssh.encryption import get_default_encryption_algs

from trustbed.errors import TestbedError
from trustbed.scenario.error import ScenarioError
from trustbed.scenario.inventory import Checks, Jump, Ssh
from trustbed.scenario.table import Source
from trustbed.testbed.remote import host_keys as doorkeeper
from trustbed.testbed.remote import refusals
from trustbed.testbed.remote.host_keys import Doorkeeper
from trustbed.testbed.remote.loop import Loop
from trustbed.testbed.remote.transport import TAIL_BYTES, Ended, both_of, how
from trustbed.testbed.remote.turns import Access

CONNECT_SECONDS = 60.0
"""How long one connection may take, including its handshake.

``ConnectTimeout`` of OpenSSH's configuration can make it shorter.
"""
_CONFIGURATIONS = ("~/.ssh/config", "/etc/ssh/ssh_config")
_MOST_JUMPS = 8
_PIECE = 1 << 16
_WHY_SECONDS = 5.0
_CLOSE_SECONDS = 10.0


class SshTransport:
    """A connection. Its sessions end with it."""

    def __init__(
        self, loop: Loop, connections: Sequence[asyncssh.SSHClientConnection], title: str
    ) -> None:
        self._loop = loop
        self._connections = tuple(connections)
        self._title = title

    @classmethod
    def connect(cls, access: Access, host: Ssh, title: str) -> SshTransport:
        """Connects, when it is its turn.

        Raises:
            TestbedError: It failed; the error gives the reason and how to fix it.
        """
        return cls(access.loop, access.loop.run(_connected(host, access, title)), title)

    def run(self, words: Sequence[str], *, content: bytes = b"", seconds: float) -> Ended:
        """Runs a command there to its end: see :meth:`Transport.run`."""
        return self._loop.run(self._run(words, content, seconds))

    async def _run(self, words: Sequence[str], content: bytes, seconds: float) -> Ended:
        process = await self._session(words)
        try:
            async with asyncio.timeout(seconds):
                feeding = asyncio.ensure_future(_feed(process, content))
                try:
                    out, err = await both_of(
                        process.stdout, process.stderr, f"{words[0]} on {self._title}"
                    )
                    await feeding
                finally:
                    feeding.cancel()
                    await asyncio.gather(feeding, return_exceptions=True)
                await process.wait_closed()
        except TimeoutError:
            raise TestbedError(
                f"{self._title}: {words[0]} did not end within {seconds:g} s",
                "the host may be overloaded; try again",
            ) from None
        except (OSError, asyncssh.Error) as error:
            raise self._lost(error) from None
        finally:
            process.close()
        if process.exit_status is None and process.exit_signal is None:
            raise self._lost(None)
        return Ended(process.exit_status, out, err)

    async def _session(self, words: Sequence[str]) -> asyncssh.SSHClientProcess[bytes]:
        try:
            return await self._connections[-1].create_process(
                shlex.join(words), encoding=None, request_pty=False
            )
        except (OSError, asyncssh.Error) as error:
            raise self._lost(error) from None

    def _lost(self, error: Exception | None) -> TestbedError:
        return TestbedError(
            f"{self._title}: {refusals.lost(error)}", "connect again when it can be reached"
        )

    def open(self, words: Sequence[str]) -> SshStream:
        """Starts a command there that stays: see :meth:`Transport.open`."""
        return self._loop.run(self._open(words))

    async def _open(self, words: Sequence[str]) -> SshStream:
        ours, its = socket.socketpair()
        session = _Session()
        local, _ = await asyncio.get_running_loop().create_connection(
            lambda: _Local(session), sock=its
        )
        try:
            await self._connections[-1].create_session(
                lambda: session, shlex.join(words), encoding=None, request_pty=False
            )
        except BaseException as error:
            local.abort()
            ours.close()
            if isinstance(error, OSError | asyncssh.Error):
                raise self._lost(error) from None
            raise
        return SshStream(self._loop, ours, session)

    def close(self) -> None:
        """Ends the connection, and those that it went through."""
        self._loop.tidy(_close(self._connections))


class SshStream:
    """See :class:`~trustbed.testbed.remote.transport.Stream`."""

    def __init__(self, loop: Loop, link: socket.socket, session: _Session) -> None:
        self.link = link
        self._loop = loop
        self._session = session

    def wait(self, seconds: float) -> Ended | None:
        """How it ended, if it has within the time."""
        try:
            self._session.ended.result(seconds)
        except (FutureTimeout, CancelledError):
            return None
        return Ended(self._session.status, b"", bytes(self._session.errors))

    def why(self, otherwise: str) -> str:
        """Why it has ended."""
        ended = self.wait(_WHY_SECONDS)
        if ended is None:
            return otherwise
        gone = ended.code is None and not self._session.killed
        return refusals.lost(self._session.lost) if gone else how(ended)

    def end(self) -> None:
        """Closes the session if it has not ended by itself."""
        if not self._session.ended.done():
            self._loop.tidy(self._session.abort())


class _Session(asyncssh.SSHClientSession[bytes]):
    """A command there whose output goes to a socket of ours, at the pace of the slower one.

    Without the library's streams, which take a task for each direction of each host.
    """

    channel: asyncssh.SSHClientChannel[bytes]
    local: asyncio.Transport

    def __init__(self) -> None:
        self.ended: Future[None] = Future()
        self.errors = bytearray()
        self.status: int | None = None
        self.is_open = False
        self.killed = False
        self.lost: Exception | None = None

    def connection_made(self, chan: asyncssh.SSHClientChannel[bytes]) -> None:
        self.channel, self.is_open = chan, True

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        if datatype == asyncssh.EXTENDED_DATA_STDERR:
            self.errors += data
            del self.errors[:-TAIL_BYTES]
        elif not self.local.is_closing():  # without a reader it goes on, so that it can end
            self.local.write(data)

    def eof_received(self) -> bool:
        self.local.close()
        return True

    def pause_writing(self) -> None:
        self.local.pause_reading()

    def resume_writing(self) -> None:
        self.local.resume_reading()

    def exit_status_received(self, status: int) -> None:
        self.status = status

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        self.killed = True

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = exc
        self.local.close()
        if not self.ended.done():
            self.ended.set_result(None)

    async def abort(self) -> None:
        """Closes it, and waits a moment for that."""
        self.channel.close()
        with contextlib.suppress(asyncssh.Error, OSError, TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self.channel.wait_closed()


class _Local(asyncio.Protocol):
    """Our end of the socket: what comes there goes to the session."""

    def __init__(self, session: _Session) -> None:
        self._session = session

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._session.local = transport

    def data_received(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # it has ended; how, the session sees
            self._session.channel.write(data)

    def eof_received(self) -> bool:
        with contextlib.suppress(OSError):
            self._session.channel.write_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if self._session.is_open:
            self.eof_received()

    def pause_writing(self) -> None:
        self._session.channel.pause_reading()

    def resume_writing(self) -> None:
        self._session.channel.resume_reading()


async def _feed(process: asyncssh.SSHClientProcess[bytes], content: bytes) -> None:
    """Writes what a command is to read, at the pace of its host, and closes the stream.

    One that reads nothing, or has ended, does not mind.
    """
    with contextlib.suppress(OSError, asyncssh.Error):
        for at in range(0, len(content), _PIECE):
            process.stdin.write(content[at : at + _PIECE])
            await process.stdin.drain()
        process.stdin.write_eof()


# Connecting.


async def _connected(host: Ssh, access: Access, title: str) -> list[asyncssh.SSHClientConnection]:
    """Connections to all jump hosts in turn, and to the host."""
    made: list[asyncssh.SSHClientConnection] = []
    try:
        await _reach(host, access, title, made)
    except BaseException:
        await _close(made)
        raise
    return made


async def _reach(
    host: Ssh,
    access: Access,
    title: str,
    made: list[asyncssh.SSHClientConnection],
    depth: int = 0,
) -> None:
    if depth > _MOST_JUMPS or len(made) > _MOST_JUMPS:
        hint = "ProxyJump in OpenSSH's configuration may lead in a circle"
        raise TestbedError(f"{title} lies behind more than {_MOST_JUMPS} jump hosts", hint)
    settings = _settings(host)
    options = _options(settings, title)
    jumps = (
        host.jumps
        if host.jumps is not None
        else ()
        if made
        else _configured(options.tunnel, host.address, title)
    )
    for jump in jumps:
        # OpenSSH's configuration may put the first one behind others.
        through = Ssh(address=jump.address, user=jump.user, port=jump.port, keys=host.keys)
        await _reach(through, access, f"the jump host {jump}", made, depth + 1)
    key_files = doorkeeper.files(options, access.known_hosts, title)
    keys = doorkeeper.known(key_files, title)
    door = Doorkeeper()
    guarded = {
        "encryption_algs": _ciphers(options),
        "known_hosts": keys,
        "server_host_key_algs": doorkeeper.algorithms(options, keys),
        "client_factory": lambda: door,
    }
    try:
        async with (
            access.limits.handshake(options.host, options.port),
            asyncio.timeout(CONNECT_SECONDS),
        ):
            made.append(
                await asyncssh.connect(**settings, **guarded, tunnel=made[-1] if made else None)
            )
    except asyncssh.HostKeyNotVerifiable:
        raise doorkeeper.explained(title, options, keys, door.shown, key_files) from None
    except (OSError, TimeoutError, asyncssh.Error, ValueError) as error:
        raise refusals.explained(error, title, options, CONNECT_SECONDS) from error


def _settings(host: Ssh) -> Mapping[str, Any]:
    files = [
        path for path in (Path(name).expanduser() for name in _CONFIGURATIONS) if path.is_file()
    ]
    return {
        "host": host.address,
        "port": () if host.port is None else host.port,
        "username": () if host.user is None else host.user,
        "config": [str(path) for path in files],
        "client_keys": [str(key) for key in host.keys] or (),
        # A key with a passphrase is left to the agent that holds it.
        "ignore_encrypted": True,
    }


def _options(settings: Mapping[str, Any], title: str) -> asyncssh.SSHClientConnectionOptions:
    """What a connection would be made with, OpenSSH's configuration included."""
    try:
        return asyncssh.SSHClientConnectionOptions(**settings)
    except (OSError, ValueError, asyncssh.Error) as error:
        hint = "look into ~/.ssh/config and the keys that it or the inventory names"
        raise TestbedError(f"{title}: SSH cannot be set up: {error}", hint) from None


def _ciphers(options: asyncssh.SSHClientConnectionOptions) -> Sequence[str]:
    """The ciphers to request; nothing where OpenSSH's configuration decides.

    AES-GCM is first: the library's ChaCha20 takes three times the CPU time for short packets.
    """
    if options.config.get("Ciphers"):
        return ()
    names = (name.decode("ascii") for name in get_default_encryption_algs())
    return sorted(names, key=lambda name: "gcm" not in name)


def _configured(proxy_jump: object, address: str, title: str) -> tuple[Jump, ...]:
    """The jump hosts of OpenSSH's configuration.

    A host that is to be reached through itself is reached directly.
    """
    if not isinstance(proxy_jump, str):
        return ()
    checks = Checks(Source(Path("~/.ssh/config").expanduser()))
    try:
        jumps = [checks.jump(("ProxyJump",), one) for one in proxy_jump.split(",")]
    except ScenarioError as error:
        raise TestbedError(f"{title}: {error.message}", error.hint) from None
    return tuple(jump for jump in jumps if jump.address != address)


async def _close(connections: Sequence[asyncssh.SSHClientConnection]) -> None:
    for connection in reversed(connections):
        connection.close()
        with contextlib.suppress(OSError, asyncssh.Error, TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await connection.wait_closed()
        connection.abort()
