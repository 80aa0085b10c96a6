"""Many hosts are connected side by side: how many at once, and that none delays another."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from tests.patience import wait_until
from tests.testbed.simulated import simulated
from trustbed.scenario import inventory
from trustbed.testbed import TestbedError
from trustbed.testbed.remote import Hosts, Keep, turns
from trustbed.testbed.remote.turns import AT_ONE_SERVER, Limits


def most_at_once(limits: Limits, servers: list[str]) -> int:
    """Handshakes that were made at the same time, of one with each of these servers."""

    async def count() -> int:
        now, most = 0, 0

        async def shake(server: str) -> None:
            nonlocal now, most
            async with limits.handshake(server, None):
                now += 1
                most = max(most, now)
                await asyncio.sleep(0.001)
                now -= 1

        await asyncio.gather(*map(shake, servers))
        return most

    return asyncio.run(count())


@pytest.fixture(autouse=True)
def closer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handshakes begin close to one another."""
    monkeypatch.setattr(turns, "APART_SECONDS", 0.001)


def test_handshakes_are_bounded_in_all_and_at_one_server() -> None:
    assert most_at_once(Limits(3), [f"h{number}" for number in range(20)]) == 3
    assert most_at_once(Limits(100), ["gate"] * 30) == AT_ONE_SERVER


def test_a_turn_ends_with_its_time_and_is_given_back_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "TURN_SECONDS", 0.01)

    async def overrun() -> None:
        limits, slow = Limits(1), asyncio.Event()

        async def shake(server: str) -> None:
            async with limits.handshake(server, None):
                if server == "slow":
                    await slow.wait()

        waits = asyncio.create_task(shake("slow"))
        await asyncio.gather(*(shake(f"h{number}") for number in range(5)))
        assert not waits.done(), "it goes on beside the others"
        slow.set()
        await waits
        assert limits._handshakes._free._value == 1

    asyncio.run(overrun())


class Bad:
    """A server that never says who it is, or says so in pieces without end."""

    def __init__(self, pieces: bytes) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._pieces = pieces
        self._ended = threading.Event()
        self._taken: list[socket.socket] = []
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        self._socket.settimeout(0.05)
        while not self._ended.is_set():
            with contextlib.suppress(TimeoutError):
                self._taken.append(self._socket.accept()[0])
            for one in self._taken:
                with contextlib.suppress(OSError):
                    one.sendall(self._pieces)

    @property
    def is_asked(self) -> bool:
        """Whether somebody has connected."""
        return bool(self._taken)

    def end(self) -> None:
        """Ends it."""
        self._ended.set()
        self._thread.join()
        for one in (self._socket, *self._taken):
            one.close()


@pytest.fixture
def bad() -> Iterator[list[Bad]]:
    """Servers that do not answer as one does."""
    made = [Bad(pieces) for pieces in (b"", b"", b"S", b"a line before it\r\n")]
    yield made
    for one in made:
        one.end()


def test_hosts_that_answer_never_or_in_pieces_delay_no_other(
    tmp_path: Path, bad: list[Bad], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "TURN_SECONDS", 0.05)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    with simulated(tmp_path, 3) as text:
        file = tmp_path / "hosts.toml"
        slow = [f"bad{number}" for number in range(len(bad))]
        more = (
            f'[hosts.{name}]\nssh = "127.0.0.1"\nport = {one.port}\n'
            for name, one in zip(slow, bad, strict=True)
        )
        file.write_text(text + "".join(more))
        keep = Keep(seconds=60, owner="test")
        with Hosts(inventory.load(file), at_once=2, keep=keep) as hosts:
            ended: dict[str, BaseException | None] = {}

            def connect(name: str) -> None:
                try:
                    hosts.connect_one(name)
                except (TestbedError, CancelledError) as error:
                    ended[name] = error
                else:
                    ended[name] = None

            threads = [threading.Thread(target=connect, args=(name,)) for name in slow]
            for thread in threads:
                thread.start()
            wait_until(lambda: all(one.is_asked for one in bad), "that all of them are tried")
            for name in ("h0", "h1", "h2"):
                connect(name)
            assert list(hosts) == ["h0", "h1", "h2"], ended
            never = slow[:2]
            assert not set(never) & ended.keys(), "they are still being waited for"
        for thread in threads:
            thread.join()
    assert all(isinstance(ended[name], CancelledError) for name in never)
