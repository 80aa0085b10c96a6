"""A host that sends whatever it likes spoils its own session: arbitrary frames, arbitrary bytes."""

from __future__ import annotations

import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.patience import PATIENCE
from trustbed.agent.control import Control, ControlledProcess, Peer, frames
from trustbed.agent.control.frames import Kind
from trustbed.testbed import TestbedError

PEER = Peer(
    title="the host test",
    when_gone="look there",
    when_missing="install it there",
    when_unread="free some space there",
)
STARTED = frames.pack(1, Kind.STARTED, struct.pack("<I", 77))
CHANNELS = st.sampled_from([0, 1, 2, 2**32 - 1])
CONTENT = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"[" * 2000, b"{}", b"\xff" * 800, struct.pack("<BI", 1, 2**32 - 1)]),
)


@pytest.fixture(autouse=True, scope="module")
def died() -> Iterator[list[BaseException | None]]:
    """What ended a thread."""
    found: list[BaseException | None] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "excepthook", lambda of: found.append(of.exc_value))
        yield found


@settings(max_examples=60)
@given(st.lists(st.tuples(CHANNELS, st.sampled_from(Kind), CONTENT), max_size=12))
def test_arbitrary_frames(
    died: list[BaseException | None], sent: list[tuple[int, Kind, bytes]]
) -> None:
    session(b"".join(frames.pack(*one) for one in sent))
    assert died == []


@settings(max_examples=60)
@given(st.binary(max_size=400))
def test_arbitrary_bytes(died: list[BaseException | None], sent: bytes) -> None:
    session(sent)
    assert died == []


def test_an_answer_with_a_time_of_another_length_ends_the_session() -> None:
    def answer(its: socket.socket) -> None:
        asked = _first(its, Kind.CLOCK)
        its.sendall(frames.pack(0, Kind.TIME, bytes(8) + asked.content + b"more"))

    with _host(answer) as control, pytest.raises(TestbedError, match="malformed frame"):
        control.read_clock(seconds=PATIENCE)


def session(sent: bytes) -> None:
    """One with a command that runs on a host which sends this and hangs up."""

    def answer(its: socket.socket) -> None:
        _first(its, Kind.OPEN)
        its.sendall(STARTED + sent)

    with _host(answer) as control:
        try:
            process = ControlledProcess.start(
                control, ["true"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        except TestbedError:
            return
        with process:
            with pytest.raises(TestbedError):
                control.wait(lambda: False, PATIENCE)
            assert len(str(process.poll())) < 20


@contextmanager
def _host(answer: Callable[[socket.socket], None]) -> Iterator[Control]:
    """A session with a host that does this, and hangs up."""
    ours, its = socket.socketpair()

    def serve() -> None:
        with its, suppress(OSError):  # we may hang up first
            answer(its)

    answering = threading.Thread(target=serve)
    answering.start()
    control = Control(ours, PEER)
    try:
        yield control
    finally:
        control.close()
        answering.join()


def _first(its: socket.socket, kind: Kind) -> frames.Frame:
    """The first frame of that kind."""
    received = bytearray()
    while True:
        received += its.recv(1 << 16)
        for frame in frames.unpack(received):
            if frame.kind is kind:
                return frame
