"""A control channel whose transport is lost again and again.

The agent's end listens on a socket, and the process that connects to it is killed.
"""

from __future__ import annotations

import hashlib
import random
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.patience import PATIENCE, wait_until
from tests.testbed.conftest import processes_with
from tests.testbed.test_control import PEER, run, started
from trustbed.agent.client import binary
from trustbed.agent.control import Control, frames, link
from trustbed.agent.control.frames import Kind
from trustbed.agent.control.link import EVERY, Link
from trustbed.agent.control.peer import Peer
from trustbed.testbed import TestbedError


def test_an_end_that_acknowledges_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "MOST_FRAMES", 100)
    ours, its = socket.socketpair()
    with its:
        one = Link(ours, lasts=True)
        for _ in range(100):
            one.send(1, Kind.ROOM, frames.room(1, 1))
        with pytest.raises(frames.Malformed, match="does not read"):
            one.send(1, Kind.ROOM, frames.room(1, 1))
        one.close()


def test_an_end_that_resumes_again_and_again_fills_no_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link, "MOST_BYTES", 10_000)
    ours, its = socket.socketpair()
    with its:
        one = Link(ours, lasts=True)
        for _ in range(50):
            one.send(1, Kind.INPUT, bytes(100))
        its.sendall(frames.pack(0, Kind.RESUME, bytes(8)) * 10)
        assert one.receive()
        with pytest.raises(frames.Malformed, match="resumes again"):
            list(one.frames())
        one.close()


@dataclass
class Session:
    """The agent's end, and the transports to it."""

    directory: Path
    agent: subprocess.Popen[bytes]
    transports: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def connect(self) -> socket.socket:
        """A new transport."""
        ours, its = socket.socketpair()
        with its:
            self.transports.append(
                subprocess.Popen(
                    [binary(), "control", str(self.directory / "link"), "--attach"],
                    stdin=its,
                    stdout=its,
                )
            )
        return ours

    def channel(self, peer: Peer = PEER, keep_seconds: float = PATIENCE) -> Control:
        """A control channel over a first transport."""
        control = Control(self.connect(), peer, keep_seconds=keep_seconds)
        assert control.wait(lambda: control.hello is not None, PATIENCE), "no hello"
        return control

    def cut(self) -> None:
        """Loses the current transport."""
        self.transports[-1].kill()


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A session whose silence is longer than any test waits."""
    words = [
        binary(),
        "exec",
        "--",
        binary(),
        "control",
        "link",
        "--listen",
        "--silence",
        str(int(2 * PATIENCE)),
    ]
    with subprocess.Popen(words, cwd=tmp_path) as agent:
        made = Session(tmp_path, agent)
        try:
            wait_until((tmp_path / "link").exists, "its socket")
            yield made
        finally:
            agent.terminate()
            for transport in made.transports:
                transport.kill()
                transport.wait()


def resumed(control: Control, session: Session) -> None:
    """Goes on over a new transport as soon as the loss of the last one is known."""
    wait_until(lambda: control.is_away, "the loss of the transport")
    assert control.resume(session.connect(), str, PATIENCE)


def test_streams_arrive_whole_however_often_the_transport_is_lost(session: Session) -> None:
    control = session.channel()
    content = random.Random(1).randbytes(12 * frames.WINDOW_BYTES)
    with started(control, "cat", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        feeder = threading.Thread(
            target=lambda: (process.stdin.write(content), process.stdin.close())
        )  # type: ignore[union-attr]
        feeder.start()
        found = b""
        while piece := process.stdout.read(1 << 17):
            found += piece
            if len(found) // frames.WINDOW_BYTES >= len(session.transports):
                session.cut()
                resumed(control, session)
        feeder.join()
        assert hashlib.sha256(found).digest() == hashlib.sha256(content).digest()
        assert process.wait(PATIENCE) == 0
    assert len(control.losses) == len(session.transports) - 1 > 5
    assert all(
        loss.until_ns is not None and loss.from_ns <= loss.until_ns for loss in control.losses
    )
    assert len(control._link._replay) < 2 * EVERY, "received frames are not stored"
    control.close()
    assert session.agent.wait(PATIENCE) == 0, "it knows that the session is over"


def test_a_command_that_ends_without_a_transport_reports_it_afterwards(
    session: Session, tmp_path: Path
) -> None:
    control = session.channel()
    with started(
        control,
        "sh",
        "-c",
        f"read go; echo done > {tmp_path}/done; echo output; exit 7",
        stdin=subprocess.PIPE,
    ) as process:
        session.cut()
        wait_until(lambda: control.is_away, "the loss of the transport")
        assert process.stdin is not None
        process.stdin.write(b"go\n")  # it is sent when there is a transport again
        assert process.poll() is None
        assert not (tmp_path / "done").exists()
        assert control.resume(session.connect(), str, PATIENCE)
        wait_until((tmp_path / "done").exists, "its file")
        session.cut()
        wait_until(lambda: control.is_away, "the loss of the transport")
        assert control.resume(session.connect(), str, PATIENCE)
        assert process.output(PATIENCE) == (b"output\n", b"")
        assert process.poll() == 7
    assert run(control, "echo", "again") == (0, b"again\n", b"")
    control.close()


def test_a_transport_that_is_cut_in_silence_makes_room_for_the_next(session: Session) -> None:
    """Nothing is closed: neither side notices, and the old transport is still connected."""
    control = session.channel(replace(PEER, silence_seconds=2.0))
    session.transports[0].send_signal(signal.SIGSTOP)
    wait_until(lambda: control.is_away, "doubt")
    assert "silent" in control.losses[0].why
    control.peer = PEER  # a busy machine may be as silent
    assert control.resume(session.connect(), str, PATIENCE)
    assert run(control, "echo", "here") == (0, b"here\n", b"")
    session.transports[0].send_signal(signal.SIGCONT)
    assert session.transports[0].wait(PATIENCE) == 5, "the session goes on without it"
    assert run(control, "echo", "here") == (0, b"here\n", b"")
    control.close()


def test_a_wait_has_its_time_anew_when_the_transport_is_back(session: Session) -> None:
    control = session.channel()
    session.cut()
    wait_until(lambda: control.is_away, "the loss of the transport")
    come = threading.Event()
    asking = threading.Thread(target=lambda: control.wait(come.is_set, 0.01))
    asking.start()
    asking.join(0.2)
    assert asking.is_alive(), "though the time that it was given is over"
    assert control.resume(session.connect(), str, PATIENCE)
    asking.join(PATIENCE)
    assert not asking.is_alive()
    control.close()


def test_a_host_without_a_transport_is_gone_in_the_end(session: Session) -> None:
    control = session.channel(keep_seconds=0.5)
    session.cut()
    with pytest.raises(
        TestbedError,
        match=r"the host test is gone: .*; it could not be reached again within 0\.5 s",
    ):
        control.wait(lambda: False, PATIENCE)
    with pytest.raises(TestbedError, match="is gone"):
        control.resume(session.connect(), str, PATIENCE)
    control.close()


def test_a_caller_that_knows_the_host_is_gone_gives_up(session: Session) -> None:
    control = session.channel()
    session.cut()
    wait_until(lambda: control.is_away, "the loss of the transport")
    control.give_up("the user has checked")
    with pytest.raises(TestbedError, match="the host test is gone: the user has checked"):
        control.wait(lambda: False, PATIENCE)


def test_where_no_session_is_nothing_is_attached(tmp_path: Path) -> None:
    ended = subprocess.run(
        [binary(), "control", str(tmp_path / "link"), "--attach"],
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 3
    assert b"the session has ended" in ended.stderr


def test_a_silent_session_ends_with_all_that_it_started(tmp_path: Path) -> None:
    words = [binary(), "exec", "--", binary(), "control", "link", "--listen", "--silence", "5"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE) as agent:
        wait_until((tmp_path / "link").exists, "its socket")
        session = Session(tmp_path, agent)
        control = session.channel(keep_seconds=PATIENCE)
        started(control, "sleep", "673", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        session.cut()
        assert agent.wait(PATIENCE) == 4
    assert processes_with("sleep\x00673") == []
    session.transports[0].wait()
    control.close()


def test_what_cannot_have_come_is_none_of_ours() -> None:
    ours, its = socket.socketpair()
    link = Link(ours, lasts=True)
    its.sendall(frames.pack(0, Kind.RESUME, (1).to_bytes(8, "little")))
    assert link.receive()
    with pytest.raises(frames.Malformed, match="impossible count of frames: 1"):
        list(link.frames())
    link.close()
    its.close()
