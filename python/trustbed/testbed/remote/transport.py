"""The interface of a transport to another host.

A transport runs commands there, and keeps one running with a duplex stream to it.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from trustbed.errors import MOST_BYTES, wrote_too_much

TAIL_BYTES = 4000
"""The most of a program's standard error that is stored for an error message."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its code, or ``None`` if a signal killed it, and what it wrote."""

    code: int | None
    out: bytes
    err: bytes

    @property
    def message(self) -> str:
        """The last line of its standard error."""
        return last_line(self.err)


class Readable(Protocol):
    """A stream that another process writes."""

    async def read(self, n: int = -1, /) -> bytes:
        """The next bytes; none at the end."""


class Stream(Protocol):
    """A command that stays.

    Its standard input and output are the other end of ``link``; it ends when that is closed.
    """

    link: socket.socket

    def wait(self, seconds: float) -> Ended | None:
        """How it ended, or ``None`` if it has not within the time; ``out`` is empty."""

    def why(self, otherwise: str) -> str:
        """Why the stream has ended, as far as that is known; it may take a moment."""

    def end(self) -> None:
        """Ends its local part, by force if necessary.

        The remote command then ends by itself.
        """


class Transport(Protocol):
    """A transport to a host.

    No shell, local or remote, interprets the words of a command.
    """

    def run(self, words: Sequence[str], *, content: bytes = b"", seconds: float) -> Ended:
        """Runs a command there to its end, with something to read.

        Raises:
            TestbedError: The transport is lost, or the command took too long.
        """

    def open(self, words: Sequence[str]) -> Stream:
        """Starts a command there that stays.

        Raises:
            TestbedError: The transport is lost.
        """

    def close(self) -> None:
        """Closes the transport. Commands that still run there lose their standard input."""


async def both_of(out: Readable, err: Readable, who: str) -> tuple[bytes, bytes]:
    """Reads both output streams of a command to their ends.

    Raises:
        TestbedError: It is more than any program of ours writes, for example a start-up script that
            prints without end.
    """
    reading = [asyncio.ensure_future(_everything(stream, who)) for stream in (out, err)]
    try:
        written, complained = await asyncio.gather(*reading)
    finally:
        for one in reading:
            one.cancel()
        # The readers have stopped before the caller ends the command.
        await asyncio.gather(*reading, return_exceptions=True)
    return written, complained


async def _everything(stream: Readable, who: str) -> bytes:
    found = bytearray()
    while piece := await stream.read(1 << 16):
        found += piece
        if len(found) > MOST_BYTES:
            raise wrote_too_much(who)
    return bytes(found)


def last_line(octets: bytes) -> str:
    """The last line that is not blank, without control characters."""
    lines = octets[-TAIL_BYTES:].decode(errors="replace").strip().splitlines()
    return "".join(character for character in lines[-1] if character.isprintable()) if lines else ""


def how(ended: Ended) -> str:
    """How a long-running command has ended."""
    code = "was killed" if ended.code is None else f"ended with code {ended.code}"
    return f"what ran there {code}{f': {ended.message}' if ended.message else ''}"
