"""The way to the kernel of a guest: answers come in pieces, or not at all."""

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
    """A relay, and the ends of whoever answers: what it reads, what it writes."""
    with ExitStack() as stack:
        asked, requests = (
            stack.enter_context(os.fdopen(number, mode, buffering=0))
            for number, mode in zip(os.pipe(), ("rb", "wb"), strict=True)
        )
        answers, said = (
            stack.enter_context(os.fdopen(number, mode, buffering=0))
            for number, mode in zip(os.pipe(), ("rb", "wb"), strict=True)
        )
        yield Relay(requests, answers, seconds=PATIENCE), asked, said


def test_a_request_is_passed_on_with_its_length(ends: tuple[Relay, IO[bytes], IO[bytes]]) -> None:
    relay, asked, _ = ends
    relay.sendall(b"request")
    assert asked.read(100) == struct.pack("<I", 7) + b"request"


def test_an_answer_that_comes_in_pieces_is_whole(ends: tuple[Relay, IO[bytes], IO[bytes]]) -> None:
    relay, _, said = ends
    answer = bytes(range(256)) * 300
    message = struct.pack("<I", len(answer)) + answer

    def speak() -> None:
        for piece in (message[:3], message[3:5000], message[5000:]):
            said.write(piece)

    speaker = threading.Thread(target=speak)
    speaker.start()
    assert relay.recv(1 << 20) == answer
    speaker.join()


def test_an_answer_that_does_not_come_is_not_waited_for_for_ever(
    ends: tuple[Relay, IO[bytes], IO[bytes]],
    refuses: Refuses,
) -> None:
    relay, _, said = ends
    relay._seconds = 0.5
    said.write(struct.pack("<I", 100) + b"the beginning of it")
    with refuses(OSError):
        relay.recv(1 << 16)


def test_a_relay_that_has_ended_is_noticed(
    ends: tuple[Relay, IO[bytes], IO[bytes]], refuses: Refuses
) -> None:
    relay, _, said = ends
    said.close()
    with refuses(OSError):
        relay.recv(1 << 16)
