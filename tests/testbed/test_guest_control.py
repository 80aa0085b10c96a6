"""The control channel of a guest: the agent's end runs here, behind a terminal that passes bytes as a virtio serial port does."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
import tty
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trustbed.agent import AgentError, binary
from trustbed.testbed import TestbedError
from trustbed.testbed.qemu import GuestProcess, frames
from trustbed.testbed.qemu.commands import AgentProcess, GuestAgent, outputs, there
from trustbed.testbed.qemu.control import Control
from trustbed.testbed.qemu.frames import Kind

ENVIRONMENT = {"PATH": os.environ["PATH"], "TERM": "dumb"}


@pytest.fixture
def control() -> Iterator[Control]:
    """A channel to the agent's end, which says hello."""
    port, its = os.openpty()
    tty.setraw(its)
    ours, behind = socket.socketpair()
    with contextlib.ExitStack() as stack:
        agent = subprocess.Popen([binary(), "guest", "control", os.ttyname(its)])
        stack.callback(agent.wait)
        stack.callback(agent.kill)
        for move in (lambda: _move(lambda: os.read(port, 4096), behind.sendall), lambda: _move(lambda: behind.recv(4096), _writer(port))):
            thread = threading.Thread(target=move, daemon=True)
            thread.start()
        channel = Control(ours, "test")
        stack.callback(behind.close)
        stack.callback(channel.close)
        assert channel.wait(lambda: channel.hello is not None, 20), "no hello"
        os.close(its)  # not before the agent has it open: a terminal without another end hangs up
        yield channel
    os.close(port)


def _move(read: object, write: object) -> None:
    with contextlib.suppress(OSError, ValueError):
        while piece := read():  # type: ignore[operator]
            write(piece)  # type: ignore[operator]


def _writer(port: int) -> object:
    def write(piece: bytes) -> None:
        while piece:
            piece = piece[os.write(port, piece) :]

    return write


def started(control: Control, *words: str, **options: Any) -> GuestProcess:  # noqa: ANN401 - those of GuestProcess.start
    """A command whose output is read here."""
    return GuestProcess.start(
        control, words, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "environment": ENVIRONMENT, **options}
    )


def run(control: Control, *words: str, content: bytes | None = None) -> tuple[int | None, bytes, bytes]:
    """A command to its end: code, output, errors."""
    stdin = subprocess.DEVNULL if content is None else subprocess.PIPE
    with started(control, *words, stdin=stdin) as process:
        out, err = process.output(20, content or b"")
        return process.poll(), out, err


def test_the_guest_says_what_it_is(control: Control) -> None:
    assert control.hello is not None
    assert control.hello["kernel"] == os.uname().release


def test_a_command_has_streams_and_a_code(control: Control) -> None:
    assert run(control, "sh", "-c", "echo out; echo err >&2; exit 3") == (3, b"out\n", b"err\n")
    assert run(control, "sh", "-c", "kill -9 $$") == (137, b"", b"")
    assert run(control, "cat", content=b"what it reads") == (0, b"what it reads", b"")
    assert run(control, "cat") == (0, b"", b"")


def test_streams_longer_than_the_window_arrive_whole(control: Control) -> None:
    content = bytes(range(256)) * (4 * frames.WINDOW_BYTES // 256)
    with started(control, "cat", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        feeder = threading.Thread(target=lambda: (process.stdin.write(content), process.stdin.close()))  # type: ignore[union-attr]
        feeder.start()
        assert process.stdout is not None
        found = process.stdout.read(1)
        while len(found) < len(content):
            found += process.stdout.read(len(content))
        feeder.join()
        assert found == content
        assert process.wait(10) == 0


def test_who_does_not_read_does_not_hold_up_others(control: Control) -> None:
    with started(control, "yes") as endless:
        assert run(control, "echo", "here") == (0, b"here\n", b"")
        assert endless.poll() is None
        endless.signal(signal.SIGTERM)
        endless.end()


def test_whose_output_is_closed_ends(control: Control) -> None:
    with started(control, "yes") as endless:
        assert endless.stdout is not None
        endless.stdout.read(10)
        endless.stdout.close()
        assert endless._channel.wait(lambda one: one.code is not None, 10)
        assert endless._channel.code in (128 + signal.SIGPIPE, 1)


def test_output_goes_into_files(control: Control, tmp_path: Path) -> None:
    with (
        (tmp_path / "out").open("wb") as file,
        GuestProcess.start(control, ["echo", "kept"], stdout=file, environment=ENVIRONMENT) as process,
    ):
        assert process.wait(10) == 0
    assert (tmp_path / "out").read_bytes() == b"kept\n"


def test_a_terminal_is_passed_through(control: Control) -> None:
    with started(control, "sh", "-c", "stty size; read a; stty size", stdin=subprocess.PIPE, terminal=(33, 77)) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        said = b""
        while b"33 77\r\n" not in said:
            said += process.stdout.read(100)
        process.resize(10, 20)
        process.stdin.write(b"\r")
        assert process.wait(10) == 0
        assert b"10 20\r\n" in process.stdout.read(100)


def test_what_is_not_there_is_said(control: Control) -> None:
    with pytest.raises(TestbedError, match="no-such-program is not in the guest test") as caught:
        GuestProcess.start(control, ["no-such-program"], environment=ENVIRONMENT)
    assert "busybox" in caught.value.hint
    with pytest.raises(TestbedError, match="/etc/passwd cannot be run in the guest test: permission denied"):
        GuestProcess.start(control, ["/etc/passwd"], environment=ENVIRONMENT)
    assert run(control, "echo", "still here") == (0, b"still here\n", b"")


def test_a_command_that_takes_too_long_is_ended(control: Control) -> None:
    process = started(control, "sleep", "600")
    with process, pytest.raises(subprocess.TimeoutExpired):
        process.output(0.1)
    assert process._channel.code == 128 + signal.SIGTERM


def test_the_clock_is_read_with_its_error(control: Control) -> None:
    reading = control.read_clock(5)
    assert abs(reading.ahead_ns) <= reading.error_ns, "both ends have the same clock here"
    assert reading.error_ns > 0


def test_a_guest_that_goes_away_is_noticed(control: Control) -> None:
    with started(control, "sleep", "600") as process:
        control._link.shutdown(socket.SHUT_RDWR)
        with pytest.raises(TestbedError, match="the guest test is gone"):
            process.wait(10)
        assert process.poll() == 128 + signal.SIGKILL, "it has gone too"
    with pytest.raises(TestbedError, match="the guest test is gone"):
        GuestProcess.start(control, ["true"], environment=ENVIRONMENT)


def test_an_agent_converses(control: Control, tmp_path: Path) -> None:
    fetched: list[str] = []
    process = GuestProcess.start(
        control,
        [str(binary()), "sample"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        environment=ENVIRONMENT,
    )
    errors = os.open(tmp_path / "errors", os.O_RDWR | os.O_CREAT)
    with GuestAgent(AgentProcess(process), errors, "sample on test", lambda: fetched.append("all")) as agent:
        agent.configure({"path": str(tmp_path / "seen.jsonl"), "interval_ns": 50_000_000, "sockets": False}, 10)
        assert agent.ready["event"] == "ready"
        agent.begin()
        time.sleep(0.2)
        assert fetched == []
        assert agent.stop(10)["event"] == "report"
        assert fetched == ["all"]


def test_an_agent_that_refuses_says_why(control: Control, tmp_path: Path) -> None:
    process = GuestProcess.start(
        control,
        [str(binary()), "sample"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        environment=ENVIRONMENT,
    )
    errors = os.open(tmp_path / "errors", os.O_RDWR | os.O_CREAT)
    agent = GuestAgent(AgentProcess(process), errors, "sample on test", lambda: None)
    with pytest.raises(AgentError, match="sample on test: configuration"):
        agent.configure({"paths": "odd"}, 10)


def test_files_of_an_agent_have_the_same_names_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = {"interface": "eth0", "path": "captures/client.pcapng"}
    assert outputs("capture", config) == [tmp_path / "captures/client.pcapng"]
    assert there("capture", config) == {"interface": "eth0", "path": str(tmp_path / "captures/client.pcapng")}
    assert outputs("bulk", {"role": "receive"}) == []


def test_frames_are_read_as_they_were_written() -> None:
    buffer = bytearray(frames.pack(7, Kind.OUTPUT, b"said") + frames.pack(0, Kind.HELLO) + frames.pack(1, Kind.ENDED, b"cut")[:-1])
    assert list(frames.unpack(buffer)) == [(7, Kind.OUTPUT, b"said"), (0, Kind.HELLO, b"")]
    assert buffer == frames.pack(1, Kind.ENDED, b"cut")[:-1]
    buffer += b"t"
    assert list(frames.unpack(buffer)) == [(1, Kind.ENDED, b"cut")]


@pytest.mark.parametrize("head", [frames.pack(0, Kind.OPEN)[:4] + b"\x63" + bytes(7), frames.pack(0, Kind.OPEN)[:8] + b"\0\0\0\1"])
def test_what_is_no_frame_is_refused(head: bytes) -> None:
    with pytest.raises(frames.Torn, match="is impossible"):
        list(frames.unpack(bytearray(head)))
