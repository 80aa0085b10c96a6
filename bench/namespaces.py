"""Two hosts on a veth link: network namespaces joined by a veth pair, for the bench and for tests.

Nothing outside them is touched. Root makes them as root; anybody else in a user namespace, where
that is permitted.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

_WAYS: tuple[tuple[str, ...], ...] = (
    ("--net", "--mount"),
    ("--user", "--map-root-user", "--net", "--mount"),
)


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
        return [
            "nsenter",
            "--target",
            str(self.holder.pid),
            *user,
            "--net",
            "--mount",
            "--",
            *command,
        ]

    def run(
        self, *command: str, check: bool = True, given: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end, with a text on its standard input."""
        return subprocess.run(
            self.enter(command),
            check=check,
            input=given,
            capture_output=True,
            text=True,
            timeout=100,
        )

    def ip(self, line: str) -> None:
        """Runs ``ip`` with the words of a line."""
        self.run("ip", *line.split())

    def start(
        self, *command: str, stdout: int | IO[str] = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        """Starts a command."""
        return subprocess.Popen(
            self.enter(command),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )


@contextlib.contextmanager
def veth() -> Iterator[tuple[Host, Host]]:
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


def _way(ways: Sequence[tuple[str, ...]] = _WAYS) -> tuple[str, ...]:
    reasons = []
    for way in ways:
        command = [
            "unshare",
            *way,
            "ip",
            "link",
            "add",
            "left",
            "type",
            "veth",
            "peer",
            "name",
            "right",
        ]
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
    holder = subprocess.Popen(
        [*command, "sh", "-c", "echo ready; exec sleep 600"], stdout=subprocess.PIPE, text=True
    )
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


OFFLOADS = """
import ctypes, fcntl, socket, struct, sys
COMMANDS = {"transmit checksum": 0x17, "scatter": 0x19, "TSO": 0x1F, "GSO": 0x24, "GRO": 0x2C}
door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for name in sys.argv[2:]:
    for command in COMMANDS.values():
        value = bytearray(struct.pack("=II", command, sys.argv[1] == "on"))
        address = (ctypes.c_char * len(value)).from_buffer(value)
        fcntl.ioctl(door, 0x8946, struct.pack("16sP16x", name.encode(), ctypes.addressof(address)))
"""
"""Switches segmentation, receive and checksum offloads on or off.

Arguments: on|off, interfaces. The requests are those of ``linux/ethtool.h``.
"""


@contextlib.contextmanager
def star(
    names: Sequence[str], addresses: int = 1, *, rootless: bool = False
) -> Iterator[tuple[Host, list[Host]]]:
    """A namespace in the middle, and hosts each on a veth link of its own to it.

    In the middle the interfaces have the hosts' names, all with one Ethernet address; host number n
    (from 1) has eth0 with `mac(n)` and the addresses `address(n, 0)`, `address(n, 1)` …; it knows
    its neighbours without asking. Nothing is offloaded. Whoever moves packets in the middle joins
    them. Root has all that its rights are good for, unless it is to do without them.

    Raises:
        NoNamespaces: Why there cannot be any.
    """
    way = _way(_WAYS[1:] if rootless else _WAYS)
    user = "--user" in way
    with contextlib.ExitStack() as stack:
        middle = stack.enter_context(_host(["unshare", *way], user=user))
        hosts = [
            stack.enter_context(_host(middle.enter(["unshare", "--net", "--mount"]), user=user))
            for _ in names
        ]
        for number, (name, host) in enumerate(zip(names, hosts, strict=True), 1):
            middle.ip(f"link add {name} type veth peer name eth0 netns {host.holder.pid}")
            middle.ip(f"link set {name} addrgenmode none address {mac(255)}")
            middle.ip(f"link set {name} up")
            host.ip("link set lo up")
            host.ip(f"link set eth0 addrgenmode none address {mac(number)}")
            host.ip("link set eth0 up")
            others = [
                address(other, one)
                for other in range(1, len(names) + 1)
                if other != number
                for one in range(addresses)
            ]
            lines = [f"address add {address(number, one)}/32 dev eth0" for one in range(addresses)]
            lines += [f"route add 10.0.0.0/8 dev eth0 src {address(number, 0)}"]
            lines += [
                f"neighbour add {other} lladdr {mac(255)} dev eth0 nud permanent"
                for other in others
            ]
            host.run("ip", "-batch", "-", given="\n".join(lines))
            host.run(sys.executable, "-c", OFFLOADS, "off", "eth0")
        middle.run(sys.executable, "-c", OFFLOADS, "off", *names)
        yield middle, hosts


def mac(number: int) -> str:
    """The Ethernet address of a host of a star; that of the middle is number 255."""
    return f"02:00:00:00:00:{number:02x}"


def address(host: int, number: int) -> str:
    """An address of a host of a star."""
    return f"10.{host}.{number // 250}.{number % 250 + 1}"
