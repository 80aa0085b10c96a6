"""Two hosts on a veth link, made for a test.

Network namespaces joined by a veth pair, and the program run in one of them.

Nothing outside them is touched. Where namespaces are not permitted the tests are skipped with the
reason; where the tests are strict that is a failure.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bench.namespaces import Host, NoNamespaces, veth
from tests.patience import PATIENCE

TRUSTBED = str(Path(sys.executable).with_name("trustbed"))

DATAGRAMS = """
import socket, sys, time
to, bursts, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(bursts):
    for _ in range(1 + number % 7):
        out.sendto(bytes(size + number % 50), (to, 9))
    time.sleep(0.004)
"""
SERVER = """
import socket
door = socket.create_server(("10.0.0.2", 5000))
print("ready", flush=True)
peer, _ = door.accept()
while len(peer.recv(1 << 16)): pass
"""
CLIENT = """
import socket, sys
out = socket.create_connection(("10.0.0.2", 5000))
out.sendall(bytes(int(sys.argv[1])))
"""


@dataclass
class Network:
    """``near`` with the interface left (10.0.0.1), ``far`` with right (10.0.0.2)."""

    near: Host
    far: Host
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def python(self, code: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a Python program on the near host."""
        return self.near.run(sys.executable, "-c", code, *words)

    def watch(self, *options: str) -> subprocess.Popen[str]:
        """Starts to watch ``left`` and waits until it does.

        The endpoint of its metrics is its first line on standard error.
        """
        child = self.near.start(TRUSTBED, "watch", "left", "--metrics", "0", *options)
        self.started.append(child)
        assert child.stderr is not None
        first = child.stderr.readline()
        assert first.startswith("metrics at "), first + child.stderr.read()
        child.url = first.split()[-1]  # type: ignore[attr-defined]
        return child

    def bursts(self, number: int = 60, size: int = 300) -> None:
        """Datagrams in both directions, in bursts of different lengths."""
        sender = self.far.start(
            sys.executable, "-c", DATAGRAMS, "10.0.0.1", str(number // 2), str(size)
        )
        self.started.append(sender)
        self.python(DATAGRAMS, "10.0.0.2", str(number), str(size))
        sender.communicate(timeout=PATIENCE)

    def transfer(self, size: int) -> None:
        """A TCP transfer: super-packets there, acknowledgements back."""
        server = self.far.start(sys.executable, "-c", SERVER)
        self.started.append(server)
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        self.python(CLIENT, str(size))
        server.communicate(timeout=PATIENCE)


def end(child: subprocess.Popen[str], number: int = signal.SIGINT) -> tuple[int, str, str]:
    """Sends a signal and waits: exit code, standard output, standard error."""
    child.send_signal(number)
    out, err = child.communicate(timeout=PATIENCE)
    return child.returncode, out, err


@pytest.fixture
def network() -> Iterator[Network]:
    """Two hosts on a veth link, silent."""
    with contextlib.ExitStack() as stack:
        try:
            near, far = stack.enter_context(veth())
        except NoNamespaces as error:
            pytest.skip(str(error))
        made = Network(near, far)
        try:
            yield made
        finally:
            for child in made.started:
                if child.poll() is None:
                    child.kill()
                for stream in (child.stdout, child.stderr):
                    if stream is not None:
                        stream.close()
                child.wait()
