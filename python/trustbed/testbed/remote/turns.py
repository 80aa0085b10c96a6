"""How many connections are made at once: turns, and the limits that consist of them.

A turn ends with what it was taken for, or after its time: a host that answers never, slowly or in
pieces goes on without one, and delays the next by that time at most. Turns at one server last as
long as their handshakes, since those that wait there wait for that server in any case.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from pathlib import Path

from trustbed.testbed.remote.loop import Loop

AT_ONCE = 32
"""How many handshakes a controller is busy with at a time."""
AT_ONE_SERVER = 8
"""How many of them one server has.

Sshd drops some of those beyond ten that have not logged in yet (MaxStartups).
"""
TURN_SECONDS = 2.0
"""How long a handshake counts: most take a tenth of that, and their server's time is not ours."""
APART_SECONDS = 0.05
"""A handshake begins up to so much after its turn, at random, so that servers and the network are
not asked by many in the same instant.
"""
COPIES_AT_ONCE = 8
"""How many hosts the agent is copied to at a time."""
COPY_SECONDS = 10.0
"""How long a copy counts: 6 MB take that at 5 Mbit/s."""


class Turn:
    """A turn that has begun."""

    def __init__(self, free: asyncio.Semaphore, seconds: float | None) -> None:
        self._free: asyncio.Semaphore | None = free
        loop = asyncio.get_running_loop()
        self._timer = None if seconds is None else loop.call_later(seconds, self.end)

    def end(self) -> None:
        """Ends it, in the loop's thread; does nothing if it has ended."""
        if self._timer is not None:
            self._timer.cancel()
        if self._free is not None:
            self._free.release()
            self._free = None


class Turns:
    """A number of turns, each for so many seconds at most."""

    def __init__(self, at_once: int, seconds: float | None = None) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._seconds = seconds

    async def take(self) -> Turn:
        """Waits for the next one, in the loop's thread."""
        await self._free.acquire()
        return Turn(self._free, self._seconds)


class Limits:
    """The limits of one controller."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._handshakes = Turns(at_once, TURN_SECONDS)
        self._copies = Turns(COPIES_AT_ONCE, COPY_SECONDS)
        self._servers: dict[tuple[str, int | None], Turns] = {}

    @contextlib.asynccontextmanager
    async def handshake(self, address: str, port: int | None) -> AsyncIterator[None]:
        """A handshake with a server, once it is its turn."""
        server = self._servers.setdefault((address, port), Turns(AT_ONE_SERVER))
        there = await server.take()
        try:
            turn = await self._handshakes.take()
            try:
                await asyncio.sleep(random.uniform(0, APART_SECONDS))
                yield
            finally:
                turn.end()
        finally:
            there.end()

    @contextlib.contextmanager
    def copying(self, loop: Loop) -> Iterator[None]:
        """A copy to a host, once it is its turn; for other threads than the loop's.

        Raises:
            CancelledError: The waiting was interrupted.
        """
        turn = loop.run(self._copies.take())
        try:
            yield
        finally:
            with contextlib.suppress(CancelledError):
                loop.call(turn.end)


@dataclass(frozen=True, kw_only=True)
class Access:
    """What every connection of a controller shares.

    Attributes:
        loop: Where connections live.
        known_hosts: The file of host keys, if not OpenSSH's own.
        limits: How many are made at once.
    """

    loop: Loop = field(default_factory=Loop)
    known_hosts: Path | None = None
    limits: Limits = field(default_factory=Limits)
