"""Who listens on a host, as the kernel's tables of sockets say (proc_net(5)): nothing is connected to, so nobody notices the question."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from trustbed.testbed import namespaces

Transport: TypeAlias = Literal["tcp", "udp"]

_LISTEN = "0A"
_UNCONNECTED = "07"


def parse(table: str, transport: Transport) -> set[int]:
    """The ports in a table on which a socket waits for somebody: listening for TCP, bound and not connected for UDP."""
    ports = set()
    for line in table.splitlines()[1:]:
        _, local, remote, state = line.split()[:4]
        waits = (
            state == _LISTEN
            if transport == "tcp"
            else state == _UNCONNECTED and remote.endswith(":0000")
        )
        if waits:
            ports.add(int(local.rpartition(":")[2], 16))
    return ports


def ports(namespace: Path) -> set[tuple[Transport, int]]:
    """All of them in a namespace."""
    found: set[tuple[Transport, int]] = set()
    transports: tuple[Transport, ...] = ("tcp", "udp")
    with namespaces.inside(namespace):
        for transport in transports:
            for version in ("", "6"):
                path = Path("/proc/thread-self/net", f"{transport}{version}")
                if path.exists():
                    found |= {
                        (transport, port)
                        for port in parse(path.read_text(encoding="ascii"), transport)
                    }
    return found
