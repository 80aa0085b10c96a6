"""Two hosts with an emulator between them, made for a test.

Three namespaces, and the agent in the middle one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.namespaces import OFFLOADS, Host, address, mac
from tests.patience import PATIENCE
from trustbed.agent.client import binary

NEAR, FAR = address(1, 0), address(2, 0)
SILENCE_SECONDS = 1.0
"""How long an answer that must not come is waited for.

The emulator's report states whether one came later.
"""
ECHO = """
import os, select, socket, struct, sys, time
to, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
apart = sys.argv[4] == "apart"
six = ":" in to
request, answer = (128, 129) if six else (8, 0)
family, protocol = (socket.AF_INET6, socket.IPPROTO_ICMPV6) if six else (socket.AF_INET,
socket.IPPROTO_ICMP)
door = socket.socket(family, socket.SOCK_RAW, protocol)
own = os.getpid() & 0xFFFF
def message(number):
    content = struct.pack("!BBHHH", request, 0, 0, own, number)
    total = sum(struct.unpack("!4H", content))
    total = (total & 0xFFFF) + (total >> 16)
    # the kernel sums up the other protocol's
    return content if six else content[:2] + struct.pack("!H", ~total & 0xFFFF) + content[4:]
def received(until):
    while (left := until - time.monotonic()) > 0 and select.select([door], [], [], left)[0]:
        content = door.recv(2048)[0 if six else 20:]
        if content[0] == answer and struct.unpack("!H", content[4:6])[0] == own:
            return struct.unpack("!H", content[6:8])[0]
sent = {}
for number in range(count):
    sent[number] = time.monotonic()
    door.sendto(message(number), (to, 0))
    if apart and number + 1 < count:
        continue
    while sent and (found := received(time.monotonic() + seconds)) is not None:
        print((time.monotonic() - sent.pop(found)) * 1000)
    if sent and not apart:
        break
"""
"""Asks for echoes.

Each request when the last one was answered, or (apart) all of them, whatever is answered.
"""


class Emulator:
    """The agent in the middle. It is ready; :meth:`start` and :meth:`end` are up to the test."""

    def __init__(self, middle: Host, configuration: dict[str, Any] | str) -> None:
        self.child = subprocess.Popen(
            middle.enter([str(binary()), "emulate"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        # Whatever the agent does not do in time, it does not do: its output ends, and the test
        # fails where it reads.
        self._limit = threading.Timer(PATIENCE, self.child.kill)
        self._limit.start()
        text = configuration if isinstance(configuration, str) else json.dumps(configuration)
        try:
            self.first = self.request(text)
        except BaseException:
            self.close()
            raise

    def request(self, line: str) -> dict[str, Any]:
        """Writes a line, and reads one."""
        assert self.child.stdin is not None
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()
        return self.next_event()

    def next_event(self) -> dict[str, Any]:
        """The next event."""
        assert self.child.stdout is not None
        event: dict[str, Any] = json.loads(self.child.stdout.readline())
        return event

    def start(self) -> None:
        """Packets are moved from now on."""
        assert self.first["event"] == "ready", self.first
        assert self.request('{"do":"start"}')["event"] == "started"

    def end(self) -> dict[str, Any]:
        """The end of standard input, and the report."""
        assert self.child.stdin is not None
        self.child.stdin.close()
        return self.last()

    def last(self) -> dict[str, Any]:
        """The last event of an agent that ends."""
        assert self.child.stdout is not None
        events = [json.loads(line) for line in self.child.stdout]
        self.child.wait()
        last: dict[str, Any] = events[-1]
        return last

    def close(self) -> None:
        """Whatever it is doing."""
        self._limit.cancel()
        self.child.kill()
        for stream in (self.child.stdin, self.child.stdout, self.child.stderr):
            if stream is not None:
                stream.close()
        self.child.wait()


@dataclass
class Box:
    """The three namespaces."""

    middle: Host
    near: Host
    far: Host
    made: list[Emulator] = field(default_factory=list)

    def configuration(
        self, up: dict[str, Any], down: dict[str, Any] | None = None, **more: object
    ) -> dict[str, Any]:
        """Two hosts and a pipe in each direction."""
        ends = [{"name": "near", "addresses": [NEAR]}, {"name": "far", "addresses": [FAR]}]
        topology = {"chain": {"ends": ends, "up": [up], "down": [up if down is None else down]}}
        ports = [
            {"host": name, "interface": name, "mac": mac(number)}
            for number, name in enumerate(("near", "far"), 1)
        ]
        return {"topology": topology, "ports": ports, **more}

    def emulator(self, configuration: dict[str, Any] | str) -> Emulator:
        """An agent that is ready, or has reported why it is not."""
        made = Emulator(self.middle, configuration)
        self.made.append(made)
        return made

    def ping(self, count: int, *, to: str = FAR) -> list[float]:
        """Round-trip times in milliseconds.

        Each request leaves when the one before it was answered, so that none finds no room.
        """
        return [
            float(line)
            for line in self.near_python(
                ECHO, to, str(count), str(PATIENCE / 2), "answered"
            ).splitlines()
        ]

    def ping_in_vain(self, count: int) -> list[float]:
        """The same where no answer is expected; those that come all the same."""
        return [
            float(line)
            for line in self.near_python(
                ECHO, FAR, str(count), str(SILENCE_SECONDS), "apart"
            ).splitlines()
        ]

    def near_python(self, code: str, *words: str) -> str:
        """What a Python program prints on the near host."""
        return self.near.run(sys.executable, "-c", code, *words).stdout

    def offloads(self, state: str) -> None:
        """Switches the offloads of the near host."""
        self.near_python(OFFLOADS, state, "eth0")


@dataclass(frozen=True)
class LedgerFile:
    """A ledger on disk."""

    head: dict[str, Any]
    records: list[dict[str, int]]

    @classmethod
    def read(cls, path: Path) -> LedgerFile:
        """Reads it by its own header."""
        head_line, _, body = path.read_bytes().partition(b"\n")
        head = json.loads(head_line)
        size = head["record_bytes"]
        assert len(body) % size == 0
        return cls(head, [_record(head, body[at : at + size]) for at in range(0, len(body), size)])


def _record(head: dict[str, Any], content: bytes) -> dict[str, int]:
    values, at = {}, 0
    for column in head["columns"]:
        width = int(column["type"][1:]) // 8
        values[column["name"]] = int.from_bytes(
            content[at : at + width], head["byte_order"], signed=column["type"][0] == "i"
        )
        at += width
    return values
