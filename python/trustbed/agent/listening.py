"""Who listens on a host, by the kernel's socket tables (proc_net(5)).

It opens no connection, so no listener notices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

Transport: TypeAlias = Literal["tcp", "udp"]

_LISTEN = "0A"
_UNCONNECTED = "07"


def parse(table: str, transport: Transport) -> set[int]:
    """The ports in a table on which a socket listens.

    Listening for TCP, bound and not connected for UDP.
    """
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


def ports(read: Callable[[str], str | None]) -> set[tuple[Transport, int]]:
    """Every listening port.

    `read` returns the text of a table by its name in /proc/net, if there.
    """
    found: set[tuple[Transport, int]] = set()
    transports: tuple[Transport, ...] = ("tcp", "udp")
    for transport in transports:
        for version in ("", "6"):
            table = read(f"{transport}{version}")
            if table is not None:
                found |= {(transport, port) for port in parse(table, transport)}
    return found
