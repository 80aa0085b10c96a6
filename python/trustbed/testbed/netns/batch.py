"""Addresses and routes by the thousand, many requests of rtnetlink(7) in one message.

pyroute2 sends one request at a time, a millisecond each, which is enough where a testbed needs few
requests. Its ``IPBatch`` (0.9.6) compiles requests without sending them, and does not do for a host
with some thousand addresses: it takes a millisecond for each all the same, its sequence numbers
repeat after 256 requests, so that an error names no request, and every request demands an
acknowledgement. Here the kernel answers what failed and the last of a message, by number.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from trustbed.testbed.netns.plan import Address, Route

_NEWLINK, _NEWADDR, _NEWROUTE, _NEWNEIGH, _ERROR = 16, 20, 24, 28, 2
_REQUEST, _ACK, _EXCL, _CREATE = 1, 4, 0x200, 0x400
_IFA_ADDRESS, _IFA_LOCAL, _IFA_FLAGS = 1, 2, 8
_NODAD, _NOPREFIXROUTE = 0x02, 0x200
_RTA_DST, _RTA_OIF, _RTA_GATEWAY, _RTA_PREFSRC, _RTA_METRICS, _RTAX_CC_ALGO = 1, 4, 5, 7, 8, 16
_TABLE_MAIN, _PROTOCOL_STATIC, _SCOPE_UNIVERSE, _UNICAST, _ONLINK = 254, 4, 0, 1, 4
_HEADER = struct.Struct("=IHHII")
_UP = 1
_IFLA_MTU, _IFLA_TXQLEN, _IFLA_AF_SPEC, _IFLA_INET6_ADDR_GEN_MODE = 4, 13, 26, 8
_NO_ADDRESS_OF_ITS_OWN = 1  # addrgenmode none: no link-local IPv6 address
_PERMANENT, _NDA_DST, _NDA_LLADDR = 0x80, 1, 2
_AT_ONCE = 200
_SECONDS = 60.0


class Kernel(Protocol):
    """The receiver of requests: a socket of this machine, or a transport to a guest's kernel."""

    def sendall(self, message: bytes, /) -> object:
        """Passes requests on."""

    def recv(self, size: int, /) -> bytes:
        """The next answer."""


def add_addresses(
    interface: int, addresses: Sequence[Address], kernel: Kernel | None = None
) -> None:
    """Adds all addresses to the interface of that index, each alone on its network.

    In the calling thread's namespace.

    Raises:
        OSError: The kernel refused; ``filename`` is the address.
    """
    _send(
        ((_NEWADDR, _address(interface, address)) for address in addresses),
        [str(address) for address in addresses],
        kernel,
    )


def add_routes(
    interface: int,
    routes: Sequence[Route],
    congestion_control: str | None = None,
    kernel: Kernel | None = None,
) -> None:
    """Adds the routes through the interface.

    TCP along them uses the congestion control, if one is named.

    Raises:
        OSError: The kernel refused; ``filename`` is the network.
    """
    _send(
        ((_NEWROUTE, _route(interface, route, congestion_control)) for route in routes),
        [str(route.to) for route in routes],
        kernel,
    )


def add_neighbours(
    interface: int, neighbours: Sequence[tuple[Address, str]], kernel: Kernel | None = None
) -> None:
    """Sets the hardware addresses of others, permanently.

    Raises:
        OSError: The kernel refused; ``filename`` is the address.
    """
    requests = ((_NEWNEIGH, _neighbour(interface, address, mac)) for address, mac in neighbours)
    _send(requests, [str(address) for address, _ in neighbours], kernel)


def set_up(
    interface: int,
    *,
    mtu: int | None = None,
    queue_packets: int | None = None,
    quiet: bool = False,
    kernel: Kernel | None = None,
) -> None:
    """Brings an interface up; ``quiet`` is without an IPv6 address of its own making.

    Raises:
        OSError: The kernel refused; ``filename`` names the request.
    """
    requests: list[tuple[str, int, bytes]] = []
    if mtu is not None:
        requests.append(
            (f"an MTU of {mtu} bytes", 0, _attribute(_IFLA_MTU, struct.pack("=I", mtu)))
        )
    if queue_packets is not None:
        requests.append(
            ("its queue", 0, _attribute(_IFLA_TXQLEN, struct.pack("=I", queue_packets)))
        )
    if quiet:
        mode = _attribute(_IFLA_INET6_ADDR_GEN_MODE, struct.pack("=B", _NO_ADDRESS_OF_ITS_OWN))
        requests.append(
            (
                "no address of its own",
                0,
                _attribute(_IFLA_AF_SPEC, _attribute(socket.AF_INET6, mode)),
            )
        )
    requests.append(("up", _UP, b""))
    for name, flags, attributes in requests:
        _send(
            [(_NEWLINK, struct.pack("=BxHiII", 0, 0, interface, flags, flags) + attributes)],
            [name],
            kernel,
        )


def _address(interface: int, address: Address) -> bytes:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    fixed = struct.pack("=BBBBI", family, address.max_prefixlen, 0, 0, interface)
    flags = _NODAD | _NOPREFIXROUTE if address.version == 6 else 0
    return fixed + b"".join(
        (
            _attribute(_IFA_LOCAL, address.packed),
            _attribute(_IFA_ADDRESS, address.packed),
            _attribute(_IFA_FLAGS, struct.pack("=I", flags)),
        )
    )


def _route(interface: int, route: Route, congestion_control: str | None) -> bytes:
    family = socket.AF_INET if route.source.version == 4 else socket.AF_INET6
    fixed = struct.pack(
        "=BBBBBBBBI",
        family,
        route.to.prefixlen,
        0,
        0,
        _TABLE_MAIN,
        _PROTOCOL_STATIC,
        _SCOPE_UNIVERSE,
        _UNICAST,
        _ONLINK,
    )
    attributes = [
        _attribute(_RTA_OIF, struct.pack("=I", interface)),
        _attribute(_RTA_GATEWAY, socket.inet_pton(family, route.gateway)),
        _attribute(_RTA_PREFSRC, route.source.packed),
    ]
    if route.to.prefixlen:
        attributes.append(_attribute(_RTA_DST, route.to.network_address.packed))
    if congestion_control is not None:
        attributes.append(
            _attribute(_RTA_METRICS, _attribute(_RTAX_CC_ALGO, congestion_control.encode() + b"\0"))
        )
    return fixed + b"".join(attributes)


def _neighbour(interface: int, address: Address, mac: str) -> bytes:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    fixed = struct.pack("=B3xiHBB", family, interface, _PERMANENT, 0, _UNICAST)
    return (
        fixed
        + _attribute(_NDA_DST, address.packed)
        + _attribute(_NDA_LLADDR, bytes.fromhex(mac.replace(":", "")))
    )


def _attribute(kind: int, value: bytes) -> bytes:
    length = 4 + len(value)
    return struct.pack("=HH", length, kind) + value + bytes(-length % 4)


def _send(
    requests: Iterable[tuple[int, bytes]], names: Sequence[str], kernel: Kernel | None
) -> None:
    if kernel is not None:
        _converse(requests, names, kernel)
        return
    with socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE
    ) as own:
        own.bind((0, 0))
        own.settimeout(_SECONDS)
        _converse(requests, names, own)


def _converse(requests: Iterable[tuple[int, bytes]], names: Sequence[str], kernel: Kernel) -> None:
    for last, message in _messages(requests, len(names)):
        kernel.sendall(message)
        _receive(kernel, last, names)


def _messages(requests: Iterable[tuple[int, bytes]], total: int) -> Iterator[tuple[int, bytes]]:
    """Up to so many requests at once, of which only the last is to be answered in any case."""
    message = bytearray()
    for number, (kind, body) in enumerate(requests):
        is_last = number % _AT_ONCE == _AT_ONCE - 1 or number == total - 1
        # An interface is changed, everything else is new.
        flags = _REQUEST | (0 if kind == _NEWLINK else _CREATE | _EXCL) | (_ACK if is_last else 0)
        message += _HEADER.pack(_HEADER.size + len(body), kind, flags, number, 0) + body
        if is_last:
            yield number, bytes(message)
            message.clear()


def _receive(kernel: Kernel, last: int, names: Sequence[str]) -> None:
    while True:
        answer = kernel.recv(1 << 16)
        at = 0
        while at + _HEADER.size <= len(answer):
            length, kind, _, number, _ = _HEADER.unpack_from(answer, at)
            if kind == _ERROR:
                (code,) = struct.unpack_from("=i", answer, at + _HEADER.size)
                if code:
                    raise OSError(-code, os.strerror(-code), names[number])
                if number == last:
                    return
            at += max(_HEADER.size, length + 3 & ~3)
