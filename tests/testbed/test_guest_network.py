"""The relay to the kernel of a guest: answers come in pieces, or not at all."""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import IO

import pytest

from tests.conftest import Refuses
from tests.patience import PATIENCE
from trustbed.testbed.qemu.network import Relay


@pytest.fixture
def ends() -> Iterator[tuple[Relay, IO[bytes], IO[bytes]]]:
    """A relay, and the kernel's ends: what it reads, what it writes."""
    with ExitStack() as stack:
        read_end, requests = (
            stack.enter_context(os.fdopen(number, mode, buffering=0))
            for number, mode in zip(os.pipe(), ("rb", "wb"), strict=True)
        )
        answers, write_end = (
            stack.enter_context(os.fdopen(number, mode, buffering=0))
            for number, mode in zip(os.pipe(), ("rb", "wb"), strict=True)
        )
        yield Relay(requests, answers, seconds=PATIENCE), read_end, write_end


def test_a_request_is_passed_on_with_its_length(ends: tuple[Relay, IO[bytes], IO[bytes]]) -> None:
    relay, read_end, _ = ends
    relay.sendall(b"request")
    assert read_end.read(100) == struct.pack("<I", 7) + b"request"


def test_an_answer_that_comes_in_pieces_is_whole(ends: tuple[Relay, IO[bytes], IO[bytes]]) -> None:
    relay, _, write_end = ends
    answer = bytes(range(256)) * 300
    message = struct.pack("<I", len(answer)) + answer

    def answer_in_pieces() -> None:
        for piece in (message[:3], message[3:5000], message[5000:]):
            write_end.write(piece)

    writer = threading.Thread(target=answer_in_pieces)
    writer.start()
    assert relay.recv(1 << 20) == answer
    writer.join()


def test_an_answer_that_does_not_come_is_not_waited_for_for_ever(
    ends: tuple[Relay, IO[bytes], IO[bytes]],
    refuses: Refuses,
) -> None:
    relay, _, write_end = ends
    relay._seconds = 0.5
    write_end.write(struct.pack("<I", 100) + b"the beginning of it")
    with refuses(OSError):
        relay.recv(1 << 16)


def test_a_relay_that_has_ended_is_noticed(
    ends: tuple[Relay, IO[bytes], IO[bytes]], refuses: Refuses
) -> None:
    relay, _, write_end = ends
    write_end.close()
    with refuses(OSError):
        relay.recv(1 << 16)
