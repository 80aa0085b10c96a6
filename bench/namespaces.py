"""Two hosts on a cable: network namespaces joined by a veth pair, for the bench and for tests.

Nothing outside them is touched. Root makes them as root; anybody else in a user namespace, where that is permitted.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

_WAYS: tuple[tuple[str, ...], ...] = (("--net", "--mount"), ("--user", "--map-root-user", "--net", "--mount"))


class NoNamespaces(Exception):
    """They are not permitted here, or a program is missing."""


@dataclass(frozen=True)
class Host:
    """A namespace, held open by a process that sleeps."""

    holder: subprocess.Popen[str]
    user: bool

    def enter(self, command: Sequence[str]) -> list[str]:
        """The command that runs a command inside."""
        user = ["--user", "--preserve-credentials"] if self.user else []
        return ["nsenter", "--target", str(self.holder.pid), *user, "--net", "--mount", "--", *command]

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end."""
        return subprocess.run(self.enter(command), check=check, capture_output=True, text=True, timeout=60)

    def ip(self, line: str) -> None:
        """Runs ``ip`` with the words of a line."""
        self.run("ip", *line.split())

    def start(self, *command: str, stdout: int | IO[str] = subprocess.PIPE) -> subprocess.Popen[str]:
        """Starts a command."""
        return subprocess.Popen(self.enter(command), stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True)


@contextlib.contextmanager
def cable() -> Iterator[tuple[Host, Host]]:
    """One host with the interface left (10.0.0.1), one with right (10.0.0.2); silent.

    Raises:
        NoNamespaces: Why there cannot be any.
    """
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
        yield near, far


def _way() -> tuple[str, ...]:
    reasons = []
    for way in _WAYS:
        command = ["unshare", *way, "ip", "link", "add", "left", "type", "veth", "peer", "name", "right"]
        try:
            tried = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise NoNamespaces(f"no {error.filename}") from error
        if tried.returncode == 0:
            return way
        reasons.append(tried.stderr.strip())
    raise NoNamespaces(f"no network namespaces: {' / '.join(reasons)}")


@contextlib.contextmanager
def _host(command: Sequence[str], *, user: bool) -> Iterator[Host]:
    holder = subprocess.Popen([*command, "sh", "-c", "echo ready; exec sleep 600"], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        if holder.stdout.readline() != "ready\n":
            raise NoNamespaces(f"{' '.join(command)} failed")
        yield Host(holder, user)
    finally:
        holder.kill()
        holder.wait()
        if holder.stdout is not None:
            holder.stdout.close()
