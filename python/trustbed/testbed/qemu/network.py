"""A guest's end of its veth link.

The same addresses, gateway and routes as a host in a namespace has, by the same messages to its
kernel.

What rtnetlink(7) does not reach (values of /proc/sys, the choice of congestion control, the card's
offloads) is done by commands there.
"""

from __future__ import annotations

import ipaddress
import os
import select
import struct
import time
from typing import IO

from trustbed.testbed.netns import batch
from trustbed.testbed.netns.plan import GATEWAY_MAC, GATEWAYS, INTERFACE, VethLink

_LENGTH = struct.Struct("<I")
_LOOPBACK = 1


class Relay:
    """A transport to the kernel of a guest.

    ``trustbed-agent guest netlink`` there, and its two pipes here. An answer comes within the
    time.
    """

    def __init__(self, requests: IO[bytes], answers: IO[bytes], *, seconds: float) -> None:
        self._requests = requests
        self._answers = answers
        self._seconds = seconds

    def sendall(self, message: bytes, /) -> None:
        """Passes requests on."""
        self._requests.write(_LENGTH.pack(len(message)) + message)
        self._requests.flush()

    def recv(self, size: int, /) -> bytes:
        """The next answer.

        Raises:
            OSError: The relay has ended, or does not answer within the time.
        """
        deadline = time.monotonic() + self._seconds
        length: int = _LENGTH.unpack(self._read(_LENGTH.size, deadline))[0]
        return self._read(length, deadline)[:size]

    def _read(self, count: int, deadline: float) -> bytes:
        """So many bytes: they pass the channel in pieces."""
        found = b""
        while len(found) < count:
            # Not select: a runner with many hosts has more files than it knows.
            poller = select.poll()
            poller.register(self._answers, select.POLLIN)
            ready = poller.poll(max(0.0, deadline - time.monotonic()) * 1000)
            piece = os.read(self._answers.fileno(), count - len(found)) if ready else b""
            if not piece:
                raise OSError("the guest's kernel does not answer")
            found += piece
        return found


def script(veth: VethLink, *, offloads: bool) -> str:
    """What must hold in a guest before its interface comes up, as a shell does it there.

    The last line gives the interface's index.
    """
    values = [
        (f"ipv6/conf/{what}/{key}", "0")
        for what in ("all", "default")
        for key in ("accept_ra", "autoconf", "router_solicitations")
    ]
    if 6 not in veth.versions:
        values += [(f"ipv6/conf/{what}/disable_ipv6", "1") for what in ("all", "default")]
    values.append(("ipv4/ping_group_range", "0 2147483647"))
    lines = ["set -e", "cd /proc/sys/net", *(f"echo '{value}' > {key}" for key, value in values)]
    if veth.host.congestion_control is not None:
        # The kernel loads the module of that name itself, if it has one.
        lines.append(f"echo '{veth.host.congestion_control}' > ipv4/tcp_congestion_control")
    if not offloads:
        lines.append(f"trustbed-agent guest offloads {INTERFACE}")
    lines.append(f"cat /sys/class/net/{INTERFACE}/ifindex")
    return "\n".join(lines)


def equip(veth: VethLink, relay: Relay, interface: int, *, mtu: int, queue_packets: int) -> None:
    """Interfaces, addresses, the gateway, routes.

    In the order in which a host in a namespace gets them.

    Raises:
        OSError: The guest's kernel refused; ``filename`` names the request.
    """
    batch.set_up(_LOOPBACK, kernel=relay)
    batch.set_up(
        interface, mtu=mtu, queue_packets=queue_packets, quiet=6 in veth.versions, kernel=relay
    )
    batch.add_addresses(interface, veth.addresses, relay)
    gateways = [(ipaddress.ip_address(GATEWAYS[version]), GATEWAY_MAC) for version in veth.versions]
    batch.add_neighbours(interface, gateways, relay)
    batch.add_routes(interface, veth.routes, veth.host.congestion_control, relay)
