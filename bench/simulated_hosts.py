"""Hosts that only play: one process answers for all of them, over SSH and the control protocol.

``python -m bench.simulated_hosts DIRECTORY HOSTS SECONDS`` listens at an address of loopback for
each host (:func:`address_of`) and prints ``port PORT`` once it does. ``DIRECTORY`` has the keys
(``host_key``, ``user_key.pub``) and one real round (``round``), whose reports and files every
simulated round repeats; its connections take ``SECONDS``.

A host knows the commands of :mod:`trustbed.testbed.remote.program` by their scripts, and runs
nothing: agents, ``mkdir``, ``cat`` and ``rm`` are a table of answers. It keeps no replay buffer, so
a lost transport ends its session.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import platform
import shlex
import struct
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import asyncssh

import trustbed
from trustbed.agent.control import frames
from trustbed.agent.control.frames import Frame, Kind
from trustbed.campaign.runner.directory import CAPTURES, RECORD
from trustbed.testbed.remote import program as programs

SAMPLES = ("sender.samples.jsonl", "receiver.samples.jsonl")
_PIECE = 32 << 10
_EVERY = 16
_PORTS = {"probe": "10.0.0.2:5001", "data": "10.0.0.2:5002"}


def address_of(number: int) -> str:
    """The address of a host, by its number from 0."""
    return f"127.1.{number // 250}.{number % 250 + 1}"


def _own_name(path: str) -> str:
    """The name of a file of ours, by the one that it has on its host."""
    return Path(path).name.partition("-")[2]


class Round:
    """What hosts report of a round, and the files that they write in it."""

    def __init__(self, directory: Path, seconds: float) -> None:
        record = json.loads((directory / RECORD).read_text(encoding="utf-8"))
        self.seconds = seconds
        self.files = {
            name: file.read_bytes() if (file := directory / name).is_file() else b""
            for name in (*CAPTURES, *SAMPLES)
        }
        self.reports: Mapping[str, Mapping[str, Any]] = {
            "ping": record["ping"],
            "pairs send": record["sent"],
            "pairs receive": record["received"],
            **record["watched"],
        }

    def ready(self, verb: str) -> dict[str, Any]:
        """What an agent answers to its configuration."""
        if verb == "ping":
            return {"interface": self.reports["ping"].get("interface")}
        return {"listening": _PORTS} if verb == "pairs" else {}

    def report(self, verb: str, config: Mapping[str, Any]) -> Mapping[str, Any]:
        """What an agent reports."""
        if verb in ("sample", "capture"):
            role = _own_name(config["path"]).partition(".")[0]
            return self.reports[f"{role}.{'samples' if verb == 'sample' else verb}"]
        return self.reports.get(f"{verb} {config['role']}" if "role" in config else verb, {})

    def lasts(self, verb: str, config: Mapping[str, Any]) -> float | None:
        """The seconds after which an agent ends by itself; None: when it is stopped."""
        if verb == "ping":
            return float(config["count"] * config.get("interval_ns", 0) / 1e9)
        if verb == "pairs" and config["role"] == "send":
            return self.seconds
        return 0.0 if verb == "facts" else None


class Command:
    """A command on a host: an agent, or one that writes a file or nothing."""

    def __init__(self, host: Host, number: int, words: list[str]) -> None:
        self._host, self._number, self._words = host, number, words
        self._typed = bytearray()
        self._config: dict[str, Any] | None = None
        self._window = frames.WINDOW_BYTES
        self._waiting = b""
        self._timer: asyncio.TimerHandle | None = None
        self._ending = False

    def begin(self) -> None:
        """Starts it."""
        self._host.send(self._number, Kind.STARTED, struct.pack("<i", self._number + 1000))
        if self._words[0] == "cat":
            self._write(self._host.round.files[_own_name(self._words[1])], last=True)
        elif self._words[0] in ("mkdir", "rm"):
            self._write(b"", last=True)

    def take(self, frame: Frame) -> None:
        """What the controller sends it."""
        if frame.kind is Kind.ROOM:
            self._window += frames.granted(frame.content)
            self._flush()
        elif frame.kind is Kind.INPUT:
            self._host.send(self._number, Kind.ROOM, frames.room(0, len(frame.content)))
            self._typed += frame.content
            while (end := self._typed.find(b"\n")) >= 0:
                line = json.loads(self._typed[:end])
                del self._typed[: end + 1]
                self._obey(line)
        elif frame.kind in (Kind.INPUT_END, Kind.SIGNAL) and not self._ending:
            self._write(b"", last=True)

    def _obey(self, line: dict[str, Any]) -> None:
        verb = self._words[1]
        if self._config is None:
            self._config = line
            self._answer("ready", self._host.round.ready(verb))
        elif line["do"] == "start":
            self._answer("started", {"start_ns": time.time_ns()})
            lasts = self._host.round.lasts(verb, self._config)
            if lasts is not None:
                self._timer = asyncio.get_running_loop().call_later(lasts, self._report)
        elif line["do"] == "stop":
            self._report()

    def _answer(self, event: str, facts: Mapping[str, Any], *, last: bool = False) -> None:
        self._write(json.dumps({"event": event, **facts}).encode() + b"\n", last=last)

    def _report(self) -> None:
        if not self._ending:
            assert self._config is not None
            report = self._host.round.report(self._words[1], self._config)
            self._answer("report", report, last=True)

    def _write(self, content: bytes, *, last: bool) -> None:
        if last:
            self._ending = True
            if self._timer is not None:
                self._timer.cancel()
        self._waiting += content
        self._flush()

    def _flush(self) -> None:
        while self._waiting and self._window > 0:
            piece = self._waiting[: min(_PIECE, self._window)]
            self._waiting = self._waiting[len(piece) :]
            self._window -= len(piece)
            self._host.send(self._number, Kind.OUTPUT, piece)
        if self._ending and not self._waiting:
            self._host.end(self._number)


class Host:
    """The control channel of one host, over a lasting transport."""

    def __init__(self, one: Round, write: Callable[[bytes], None], directory: str) -> None:
        self.round = one
        self._write = write
        self._pending = bytearray()
        self._buffer = bytearray()
        self._received = 0
        self._commands: dict[int, Command] = {}
        self.left = False
        self.send(0, Kind.RESUME, struct.pack("<Q", 0))
        hello = {"version": trustbed.__version__, "kernel": "simulated", "directory": directory}
        self.send(0, Kind.HELLO, json.dumps(hello).encode())

    def send(self, channel: int, kind: Kind, content: bytes = b"") -> None:
        """Sends a frame; those of one moment together, as the agent does."""
        if not self._pending:
            asyncio.get_running_loop().call_soon(self._flush)
        self._pending += frames.pack(channel, kind, content)

    def _flush(self) -> None:
        with contextlib.suppress(OSError):  # nobody is connected any more
            self._write(bytes(self._pending))
        self._pending.clear()

    def end(self, number: int) -> None:
        """A command ends."""
        if self._commands.pop(number, None) is not None:
            for kind in (Kind.OUTPUT_END, Kind.ERRORS_END):
                self.send(number, kind)
            self.send(number, Kind.ENDED, struct.pack("<i", 0))

    def take(self, piece: bytes) -> None:
        """What the controller sends."""
        self._buffer += piece
        for frame in frames.unpack(self._buffer):
            if frame.kind in (Kind.RESUME, Kind.RECEIVED):
                continue
            self._received += 1
            if self._received % _EVERY == 0:
                self.send(0, Kind.RECEIVED, struct.pack("<Q", self._received))
            if frame.kind is Kind.CLOCK:
                self.send(0, Kind.TIME, struct.pack("<q", time.time_ns()) + frame.content)
            elif frame.kind is Kind.LEAVE:
                self.left = True
            elif frame.kind is Kind.OPEN:
                words = json.loads(frame.content)["words"]
                command = Command(self, frame.channel, words)
                self._commands[frame.channel] = command
                command.begin()
            elif (found := self._commands.get(frame.channel)) is not None:
                found.take(frame)


_numbers = itertools.count(1)


async def _serve(one: Round, process: asyncssh.SSHServerProcess[bytes]) -> None:
    words = shlex.split(process.command or "")
    script = words[2]
    if script == programs._LOOK:
        lines = (programs._BEGINS, "Linux", platform.machine(), "/simulated", "present")
        process.stdout.write("".join(f"{line}\n" for line in lines).encode())
    elif script == programs._KEEP:
        host = Host(one, process.stdout.write, f"/simulated/session-{next(_numbers)}")
        while not host.left and (piece := await process.stdin.read(1 << 16)):
            host.take(piece)
    process.exit(0 if script in (programs._LOOK, programs._KEEP) else 127)


async def _listen(directory: Path, hosts: int, seconds: float) -> None:
    one = Round(directory / "round", seconds)

    async def serve(process: asyncssh.SSHServerProcess[bytes]) -> None:
        try:
            await _serve(one, process)
        except (asyncssh.Error, OSError):
            process.close()

    options = asyncssh.SSHServerConnectionOptions(
        server_host_keys=[str(directory / "host_key")],
        authorized_client_keys=str(directory / "user_key.pub"),
        process_factory=serve,
        encoding=None,
    )
    port, listening = 0, []
    for number in range(hosts):
        server = await asyncssh.listen(address_of(number), port, options=options, backlog=16)
        port = server.get_port()
        listening.append(server)
    print(f"port {port}", flush=True)
    # The bench ends it by closing its standard input.
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    for server in listening:
        server.close()


if __name__ == "__main__":
    asyncio.run(_listen(Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
