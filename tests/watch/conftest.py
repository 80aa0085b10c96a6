"""Two hosts on a cable, made for a test: network namespaces joined by a veth pair, and the program run in one of them.

Nothing outside them is touched. Where namespaces are not permitted the tests are skipped with the reason; in CI that is a failure.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

TRUSTBED = str(Path(sys.executable).with_name("trustbed"))
# As root, or else as nobody in particular, who is root in namespaces of their own.
WAYS: tuple[tuple[str, ...], ...] = (("--net", "--mount"), ("--user", "--map-root-user", "--net", "--mount"))

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
class Host:
    """A namespace, held open by a process that sleeps."""

    holder: subprocess.Popen[str]
    user: bool

    def enter(self, command: Sequence[str]) -> list[str]:
        """The command, run inside."""
        user = ["--user", "--preserve-credentials"] if self.user else []
        return ["nsenter", "--target", str(self.holder.pid), *user, "--net", "--mount", "--", *command]

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end."""
        return subprocess.run(self.enter(command), check=check, capture_output=True, text=True, timeout=60)

    def ip(self, line: str) -> None:
        """Runs ``ip`` with the words of a line."""
        self.run("ip", *line.split())

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Starts a command."""
        return subprocess.Popen(self.enter(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def python(self, code: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a Python program to its end."""
        return self.run(sys.executable, "-c", code, *words)


@dataclass
class Network:
    """``near`` with the interface left (10.0.0.1), ``far`` with right (10.0.0.2)."""

    near: Host
    far: Host
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def watch(self, *options: str) -> subprocess.Popen[str]:
        """Starts to watch ``left`` and waits until it does: the endpoint of its metrics is its first line on standard error."""
        child = self.near.start(TRUSTBED, "watch", "left", "--metrics", "0", *options)
        self.started.append(child)
        assert child.stderr is not None
        first = child.stderr.readline()
        assert first.startswith("metrics at "), first + child.stderr.read()
        child.url = first.split()[-1]  # type: ignore[attr-defined]
        return child

    def bursts(self, number: int = 60, size: int = 300) -> None:
        """Datagrams both ways, in bursts of different lengths."""
        sender = self.far.start(sys.executable, "-c", DATAGRAMS, "10.0.0.1", str(number // 2), str(size))
        self.near.python(DATAGRAMS, "10.0.0.2", str(number), str(size))
        sender.communicate(timeout=60)

    def transfer(self, size: int) -> None:
        """A TCP transfer: super-packets that way, acknowledgements this way."""
        server = self.far.start(sys.executable, "-c", SERVER)
        self.started.append(server)
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        self.near.python(CLIENT, str(size))
        server.communicate(timeout=60)


def end(child: subprocess.Popen[str], number: int = signal.SIGINT) -> tuple[int, str, str]:
    """Sends a signal and waits: exit code, standard output, standard error."""
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    return child.returncode, out, err


def _way() -> tuple[str, ...]:
    reasons = []
    for way in WAYS:
        command = ["unshare", *way, "ip", "link", "add", "left", "type", "veth", "peer", "name", "right"]
        try:
            tried = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            pytest.skip(f"no {error.filename}")
        if tried.returncode == 0:
            return way
        reasons.append(tried.stderr.strip())
    pytest.skip(f"no network namespaces: {' / '.join(reasons)}")


@contextlib.contextmanager
def _host(command: Sequence[str], *, user: bool) -> Iterator[Host]:
    holder = subprocess.Popen([*command, "sh", "-c", "echo ready; exec sleep 600"], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        yield Host(holder, user)
    finally:
        holder.kill()
        holder.wait()
        if holder.stdout is not None:
            holder.stdout.close()


@pytest.fixture
def network() -> Iterator[Network]:
    """Two hosts on a cable, silent."""
    way = _way()
    user = "--user" in way
    with contextlib.ExitStack() as stack:
        near = stack.enter_context(_host(["unshare", *way], user=user))
        # The second one is made from within the first, so that both belong to one user.
        far = stack.enter_context(_host(near.enter(["unshare", "--net", "--mount"]), user=user))
        near.ip("link add left type veth peer name right")
        near.ip(f"link set right netns {far.holder.pid}")
        for host, name, address in ((near, "left", "10.0.0.1/24"), (far, "right", "10.0.0.2/24")):
            host.ip("link set lo up")
            host.ip(f"link set {name} addrgenmode none")
            host.ip(f"address add {address} dev {name}")
            host.ip(f"link set {name} up")
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
