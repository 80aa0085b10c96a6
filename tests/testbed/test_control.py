"""The control channel of a host.

The agent's end runs here, behind a terminal that passes bytes as a guest's serial port does.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import stat
import struct
import subprocess
import threading
import time
import tty
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Refuses
from tests.patience import PATIENCE, wait_until
from trustbed.agent.client import AgentError, binary
from trustbed.agent.control import Control, ControlledProcess, Peer, commands, files, frames
from trustbed.agent.control.channel import Channel, Sink
from trustbed.agent.control.commands import AgentProcess, ControlledAgent
from trustbed.agent.control.control import SIGNS
from trustbed.agent.control.frames import Kind
from trustbed.agent.control.peer import Clock, Reading
from trustbed.agent.control.streams import Streams
from trustbed.testbed import TestbedError

PEER = Peer(
    title="the host test",
    when_gone="look there",
    when_missing="install it there",
    when_unread="free some space there",
)


@pytest.fixture
def control() -> Iterator[Control]:
    """A channel to the agent's end, which sends its hello."""
    port, its = os.openpty()
    tty.setraw(its)
    ours, behind = socket.socketpair()
    with contextlib.ExitStack() as stack:
        # Around it is what ends all that it has started, as the end of the machine does it for a
        # guest.
        agent = subprocess.Popen([binary(), "exec", "--", binary(), "control", os.ttyname(its)])
        stack.callback(agent.wait)
        stack.callback(agent.terminate)
        threads = [
            threading.Thread(target=move, daemon=True)
            for move in (
                lambda: _move(lambda: os.read(port, 4096), behind.sendall),
                lambda: _move(lambda: behind.recv(4096), _writer(port)),
            )
        ]
        for thread in threads:
            thread.start()
        channel = Control(ours, PEER)
        stack.callback(behind.close)
        stack.callback(channel.close)
        assert channel.wait(lambda: channel.hello is not None, PATIENCE), "no hello"
        os.close(its)  # not before the agent has it open: a terminal without another end hangs up
        yield channel
    for thread in threads:
        thread.join(PATIENCE)  # a later test's file may get the number that they read and write
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


def started(control: Control, *words: str, **options: Any) -> ControlledProcess:  # noqa: ANN401 - those of ControlledProcess.start
    """A command whose output is read here."""
    return ControlledProcess.start(
        control, words, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    )


def run(
    control: Control, *words: str, content: bytes | None = None
) -> tuple[int | None, bytes, bytes]:
    """A command to its end: code, output, errors."""
    stdin = subprocess.DEVNULL if content is None else subprocess.PIPE
    with started(control, *words, stdin=stdin) as process:
        if process.stdin is not None:
            process.stdin.write(content or b"")
        out, err = process.output(PATIENCE)
        return process.poll(), out, err


def test_the_host_reports_its_facts(control: Control) -> None:
    assert control.hello is not None
    assert control.hello["kernel"] == os.uname().release
    assert control.hello["directory"] == str(Path.cwd())


def test_a_command_has_the_environment_of_its_host_and_what_is_given(control: Control) -> None:
    with started(
        control, "sh", "-c", "echo $PATH $GIVEN", environment={"GIVEN": "more"}
    ) as process:
        assert process.output(PATIENCE)[0].decode() == f"{os.environ['PATH']} more\n"


def test_a_command_has_streams_and_a_code(control: Control) -> None:
    assert run(control, "sh", "-c", "echo out; echo err >&2; exit 3") == (3, b"out\n", b"err\n")
    assert run(control, "sh", "-c", "kill -9 $$") == (137, b"", b"")
    assert run(control, "cat", content=b"what it reads") == (0, b"what it reads", b"")
    assert run(control, "cat") == (0, b"", b"")


def test_streams_longer_than_the_window_arrive_whole(control: Control) -> None:
    content = bytes(range(256)) * (4 * frames.WINDOW_BYTES // 256)
    with started(control, "cat", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        feeder = threading.Thread(
            target=lambda: (process.stdin.write(content), process.stdin.close())
        )  # type: ignore[union-attr]
        feeder.start()
        assert process.stdout is not None
        found = process.stdout.read(1)
        while len(found) < len(content):
            found += process.stdout.read(len(content))
        feeder.join()
        assert found == content
        assert process.wait(PATIENCE) == 0


def test_a_slow_reader_does_not_delay_others(control: Control) -> None:
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
        assert endless.channel.wait(lambda one: one.code is not None, PATIENCE)
        assert endless.channel.code in (128 + signal.SIGPIPE, 1)


def test_output_goes_into_files(control: Control, tmp_path: Path) -> None:
    with (
        (tmp_path / "out").open("wb") as file,
        ControlledProcess.start(control, ["echo", "output"], stdout=file) as process,
    ):
        assert process.wait(PATIENCE) == 0
    assert (tmp_path / "out").read_bytes() == b"output\n"


def test_a_terminal_is_passed_through(control: Control) -> None:
    with started(
        control,
        "sh",
        "-c",
        "stty size; read a; stty size",
        stdin=subprocess.PIPE,
        terminal=(33, 77),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        printed = b""
        while b"33 77\r\n" not in printed:
            printed += process.stdout.read(100)
        process.resize(10, 20)
        process.stdin.write(b"\r")
        assert process.wait(PATIENCE) == 0
        assert b"10 20\r\n" in process.stdout.read(100)


def test_a_program_that_cannot_be_run_is_named(control: Control, refuses: Refuses) -> None:
    with refuses(TestbedError):
        ControlledProcess.start(control, ["no-such-program"])
    with refuses(TestbedError):
        ControlledProcess.start(control, ["/etc/passwd"])
    assert run(control, "echo", "still here") == (0, b"still here\n", b"")


def test_a_command_that_takes_too_long_is_ended(control: Control) -> None:
    process = started(control, "sleep", "600")
    with process, pytest.raises(subprocess.TimeoutExpired):
        process.output(0.1)
    assert process.channel.code == 128 + signal.SIGTERM


def test_the_clock_is_read_with_its_error(control: Control) -> None:
    reading = control.read_clock(5)
    assert abs(reading.ahead_ns) <= reading.error_ns, "both ends have the same clock here"
    assert reading.error_ns > 0


def test_a_clock_is_read_until_five_rounds_are_not_shorter_than_the_shortest() -> None:
    clock = Clock(20)
    for number, trip in enumerate((8, 4, 6, 2, 2, 3, 9, 2, 5)):
        assert not clock.is_read
        clock.ask(100 * number)
        clock.take(100 * number + trip // 2 + 7, 100 * number + trip)
    assert clock.is_read
    assert clock.best == Reading(ahead_ns=7, error_ns=1, at_ns=302)
    few = Clock(2)
    for _ in range(2):
        assert not few.is_read
        few.take(0, 1)
    assert few.is_read


def test_room_is_given_back_before_the_window_is_used_up() -> None:
    sent: list[tuple[int, Kind, bytes]] = []
    streams = Streams(threading.Condition(), lambda *frame: sent.append(frame))
    read, write = os.pipe()
    channel = Channel(None, 1, ["x"])  # type: ignore[arg-type] # it has no host
    channel.sinks[1] = Sink(write)
    streams.add(channel)
    taken = given = 0
    while taken < 2 * frames.WINDOW_BYTES:
        streams.receive(channel, Kind.OUTPUT, bytes(1000))
        streams.write(channel, 1)
        taken += len(os.read(read, 1000))
        given += sum(frames.granted(content) for _, _, content in sent)
        assert given <= taken <= given + frames.WINDOW_BYTES // 2
        assert {kind for _, kind, _ in sent} <= {Kind.ROOM}
        sent.clear()
    streams.drop(channel)
    os.close(read)


def test_a_host_that_goes_away_is_noticed(control: Control) -> None:
    with started(control, "sleep", "600") as process:
        control._link.transport.shutdown(socket.SHUT_RDWR)
        with pytest.raises(TestbedError, match="is gone"):
            process.wait(PATIENCE)
        assert process.poll() == 128 + signal.SIGKILL, "it has gone too"
    with pytest.raises(TestbedError, match="is gone"):
        ControlledProcess.start(control, ["true"])


def gone(control: Control) -> None:
    """The host goes away."""
    control._link.transport.shutdown(socket.SHUT_RDWR)
    control._thread.join(PATIENCE)
    assert control.is_gone


def test_writing_to_a_host_that_is_gone_reaches_no_other_file(
    control: Control, tmp_path: Path
) -> None:
    wake = control._wake
    process = started(control, "sleep", "600")
    gone(control)
    number = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    if number != wake:
        os.dup2(number, wake)  # as the next file that is opened could have it
    process.end()
    control.close()
    for one in {number, wake}:
        os.close(one)
    assert (tmp_path / "file").read_bytes() == b""


def test_a_command_for_a_host_that_is_gone_leaves_nothing_open(control: Control) -> None:
    gone(control)
    before = sorted(Path("/proc/self/fd").iterdir())
    for _ in range(3):
        with pytest.raises(TestbedError, match="is gone"):
            started(control, "true", stdin=subprocess.PIPE)
    assert sorted(Path("/proc/self/fd").iterdir()) == before


def test_a_file_is_fetched_and_takes_no_memory_there_any_more(
    control: Control, tmp_path: Path, refuses: Refuses
) -> None:
    (tmp_path / "there").write_bytes(bytes(range(256)) * 2000)
    files.fetch(control, str(tmp_path / "there"), tmp_path / "here", seconds=PATIENCE)
    assert (tmp_path / "here").read_bytes() == bytes(range(256)) * 2000
    assert not (tmp_path / "there").exists()
    with refuses(TestbedError):
        files.fetch(control, str(tmp_path / "there"), tmp_path / "here", seconds=PATIENCE)


def test_a_fetched_file_is_its_owner_s_alone_whatever_lay_there(
    control: Control, tmp_path: Path
) -> None:
    (tmp_path / "there").write_bytes(b"what others sent")
    draft = tmp_path / ".here.part"
    draft.write_bytes(b"of a fetch that was killed")
    draft.chmod(0o666)
    before = os.umask(0o022)
    try:
        files.fetch(control, str(tmp_path / "there"), tmp_path / "here", seconds=PATIENCE)
    finally:
        os.umask(before)
    assert (tmp_path / "here").read_bytes() == b"what others sent"
    assert stat.S_IMODE((tmp_path / "here").stat().st_mode) == 0o600


@contextlib.contextmanager
def short_files() -> Iterator[None]:
    """No file of this process can be longer than this, as on a disk that is full.

    Python has the signal for it ignored.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_is_full_here_is_not_taken_for_one_there(
    control: Control, tmp_path: Path, refuses: Refuses
) -> None:
    (tmp_path / "there").write_bytes(bytes(100_000))
    (tmp_path / "here").write_bytes(b"of an earlier time")
    with (
        short_files(),
        refuses(TestbedError),
    ):
        files.fetch(control, str(tmp_path / "there"), tmp_path / "here", seconds=PATIENCE)
    assert (tmp_path / "there").exists(), "it is still there"
    assert (tmp_path / "here").read_bytes() == b"of an earlier time", "and here is no half of it"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["here", "there"]


def test_a_host_fills_no_disk_here(
    control: Control, tmp_path: Path, refuses: Refuses, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").write_bytes(bytes(300_000))
    with refuses(TestbedError):
        files.fetch(
            control,
            str(tmp_path / "there"),
            tmp_path / "here",
            seconds=PATIENCE,
            most_bytes=299_999,
        )
    with refuses(TestbedError):
        files.fetch(control, "/dev/zero", tmp_path / "here", seconds=PATIENCE, most_bytes=1 << 20)
    monkeypatch.setattr(files, "FREE_BYTES", shutil.disk_usage(tmp_path).total)
    with pytest.raises(TestbedError, match="would leave less than"):
        files.fetch(control, str(tmp_path / "there"), tmp_path / "here", seconds=PATIENCE)
    assert [file.name for file in tmp_path.iterdir()] == ["there"], "no half of it is here"
    monkeypatch.undo()
    there = str(tmp_path / "there")
    files.fetch(control, there, tmp_path / "here", seconds=PATIENCE, most_bytes=300_000)
    assert (tmp_path / "here").stat().st_size == 300_000


def test_every_kind_of_file_has_a_largest_size() -> None:
    assert set(files.MOST_BYTES_BY_VERB) == {verb for verb, keys in files.OUTPUTS.items() if keys}


def test_what_an_agent_writes_to_its_errors_is_bounded(control: Control, tmp_path: Path) -> None:
    with (tmp_path / "errors").open("wb") as file:
        words = "sh", "-c", "yes >&2"
        with started(control, *words, stderr=file, most_bytes=100_000) as process:
            assert process.wait(PATIENCE) is not None, "it is ended"
            assert process.exceeds
    assert (tmp_path / "errors").stat().st_size <= 100_000


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 100_000, b"[1]", b"\xff"])
def test_a_hello_that_is_none_ends_the_session_and_nothing_else(content: bytes) -> None:
    ours, its = socket.socketpair()
    with its:
        channel = Control(ours, PEER)
        its.sendall(frames.pack(0, Kind.HELLO, content))
        with pytest.raises(TestbedError, match="malformed frame"):
            channel.wait(lambda: channel.hello is not None, PATIENCE)
        channel.close()


def test_of_every_verb_it_is_known_which_files_it_writes() -> None:
    printed = subprocess.run(
        [binary(), "nothing"], capture_output=True, text=True, timeout=PATIENCE, check=False
    ).stdout
    verbs = set(json.loads(printed)["hint"].rpartition(": ")[2].split(", "))
    assert {"capture", "control"} < verbs
    # The first three take words, and the emulator runs beside the veth links alone.
    assert verbs - {"control", "exec", "guest", "emulate"} <= set(files.OUTPUTS)


@pytest.fixture
def hung() -> Iterator[Control]:
    """A channel to a host that starts every command, and does nothing else any more."""
    ours, its = socket.socketpair()
    with its:
        answering = threading.Thread(
            target=lambda: (
                its.recv(1 << 16)
                and its.sendall(frames.pack(1, Kind.STARTED, struct.pack("<I", 77)))
            )
        )
        answering.start()
        channel = Control(ours, PEER)
        yield channel
        answering.join()
        channel.close()


def test_an_agent_on_a_host_that_hangs_is_given_up(
    hung: Control, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "_END_SECONDS", 0.05)
    agent = sampler(hung, tmp_path, lambda: None)
    agent.close(seconds=0.05)
    assert agent._errors == -1, "and nothing of it is open here"


def sampler(control: Control, directory: Path, fetch: Callable[[], None]) -> ControlledAgent:
    """An agent that has no configuration yet."""
    process = started(
        control, str(binary()), "sample", stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    errors = os.open(directory / "errors", os.O_RDWR | os.O_CREAT)
    return ControlledAgent(AgentProcess(process), errors, "sample on test", fetch)


def test_a_host_that_is_silent_is_gone_and_one_that_answers_is_not(
    control: Control, refuses: Refuses
) -> None:
    ours, its = socket.socketpair()
    with its:
        silent = Control(ours, replace(PEER, silence_seconds=0.2))
        with refuses(TestbedError):
            silent.wait(lambda: False, PATIENCE)
        silent.close()
        requests = bytearray(its.recv(1 << 16))
        assert [frame.kind for frame in frames.unpack(requests)] == [Kind.CLOCK] * SIGNS
    # The same questions, to an end that answers them; it has time, or a busy machine would be taken
    # for a silent one.
    control.peer = replace(PEER, silence_seconds=PATIENCE)
    for _ in range(SIGNS + 1):
        control._due = 0.0
        control._notify()
        wait_until(lambda: control._due > 0 and control._owed == 0, "an answer")
    assert not control.is_gone


def test_an_agent_converses(control: Control, tmp_path: Path) -> None:
    fetched: list[str] = []
    with sampler(control, tmp_path, lambda: fetched.append("all")) as agent:
        agent.configure(
            {"path": str(tmp_path / "seen.jsonl"), "interval_ns": 50_000_000, "sockets": False},
            PATIENCE,
        )
        assert agent.ready["event"] == "ready"
        agent.begin()
        time.sleep(0.2)
        assert fetched == []
        assert agent.stop(PATIENCE)["event"] == "report"
        assert fetched == ["all"]


def test_an_agent_that_refuses_gives_the_reason(
    control: Control, tmp_path: Path, refuses: Refuses
) -> None:
    agent = sampler(control, tmp_path, lambda: None)
    with refuses(AgentError):
        agent.configure({"paths": "odd"}, PATIENCE)


def test_files_of_an_agent_have_the_names_that_its_host_gives_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = {"interface": "eth0", "path": "captures/client.pcapng"}
    (written,) = files.written("capture", config, lambda file: f"/there/{file.name}")
    here = tmp_path / "captures/client.pcapng"
    assert written == files.Written("path", here, "/there/client.pcapng", 64 << 30)
    assert files.there(config, (written,)) == {"interface": "eth0", "path": "/there/client.pcapng"}
    assert files.written("bulk", {"role": "receive"}, str) == ()


def test_frames_are_read_as_they_were_written() -> None:
    buffer = bytearray(
        frames.pack(7, Kind.OUTPUT, b"out")
        + frames.pack(0, Kind.HELLO)
        + frames.pack(1, Kind.ENDED, b"cut")[:-1]
    )
    assert list(frames.unpack(buffer)) == [(7, Kind.OUTPUT, b"out"), (0, Kind.HELLO, b"")]
    assert buffer == frames.pack(1, Kind.ENDED, b"cut")[:-1]
    buffer += b"t"
    assert list(frames.unpack(buffer)) == [(1, Kind.ENDED, b"cut")]


@pytest.mark.parametrize(
    "head",
    [
        frames.pack(0, Kind.OPEN)[:4] + b"\x63" + bytes(7),
        frames.pack(0, Kind.OPEN)[:8] + b"\0\0\0\1",
    ],
)
def test_what_is_no_frame_is_refused(head: bytes) -> None:
    with pytest.raises(frames.Malformed, match="is impossible"):
        list(frames.unpack(bytearray(head)))
