"""The plan of a testbed.

From hosts with addresses to namespaces, interfaces, hardware addresses, neighbours and routes.
Pure.

Every host has one interface, the end of a veth link whose other end lies in the switch namespace,
where the emulator moves packets from veth link to veth link: a veth pair, or a guest's tap, which a
bridge joins to a veth pair where the guest sends super-packets. No request crosses a veth link: all
routes lead to one gateway that does not exist, whose hardware address every host knows in advance,
so that no ARP request or neighbour solicitation has to pass a slow link. Frames carry that address
until the emulator writes the receiver's; it differs from those of the veth link's ends, so that the
switch namespace's own network stack ignores them.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from trustbed.agent.messages import Configuration
from trustbed.errors import TestbedError
from trustbed.scenario.containers import Container
from trustbed.scenario.egress import Egress
from trustbed.scenario.guests import Guest

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

SWITCH = "net"
"""The name of the switch namespace."""
INTERFACE = "eth0"
"""A host's end of its veth link."""
GATEWAY_MAC = "02:74:62:ff:ff:fe"
GATEWAYS: Mapping[int, str] = {4: "169.254.77.1", 6: "fe80::77:1"}
"""The gateway that does not exist, by version of IP."""
OFFLOADS_OFF = (
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "tx-checksumming",
)
"""Offloads that are off on every interface.

Links see packets of the size they have on a wire, with their checksums.
"""
MOST_HOSTS = 60_000
_NAME = re.compile(r"[a-z0-9]([a-z0-9_-]{0,30}[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A requested host, with addresses of its own.

    ``outside`` marks the one that routes to everything else; ``guest`` describes a virtual
    machine, ``container`` a container; ``egress`` limits what a host sends, at its own interface;
    ``pin`` has the processors on which its processes may run (none: all).
    """

    name: str
    addresses: tuple[str, ...]
    congestion_control: str | None = None
    outside: bool = False
    guest: Guest | None = None
    container: Container | None = None
    egress: Egress | None = None
    pin: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A route to other hosts through the gateway, with the source address of connections."""

    to: Network
    gateway: str
    source: Address


@dataclass(frozen=True, slots=True, kw_only=True)
class VethLink:
    """A host and its veth link, in full."""

    host: Host
    addresses: tuple[Address, ...]
    mac: str
    port: str
    port_mac: str
    routes: tuple[Route, ...]

    @property
    def versions(self) -> tuple[int, ...]:
        """The versions of IP that it has."""
        return tuple(sorted({address.version for address in self.addresses}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A testbed, before it exists."""

    veths: tuple[VethLink, ...]
    mtu: int = 1500
    queue_packets: int = 1000

    def veth(self, host: str) -> VethLink:
        """The veth link of a host.

        Raises:
            TestbedError: There is no such host.
        """
        found = next((veth for veth in self.veths if veth.host.name == host), None)
        if found is None:
            raise TestbedError(
                f"there is no host {host}",
                f"hosts: {', '.join(veth.host.name for veth in self.veths)}",
            )
        return found

    @property
    def guests(self) -> tuple[VethLink, ...]:
        """The veth links of the hosts that are machines of their own."""
        return tuple(veth for veth in self.veths if veth.host.guest is not None)

    @property
    def containers(self) -> tuple[VethLink, ...]:
        """The veth links of the hosts that are containers."""
        return tuple(veth for veth in self.veths if veth.host.container is not None)

    def ports(self) -> list[dict[str, str]]:
        """The veth links as the emulator's configuration describes them."""
        return [
            {"host": veth.host.name, "interface": veth.port, "mac": veth.mac} for veth in self.veths
        ]

    def emulator(
        self,
        topology: Configuration,
        *,
        seed: int,
        ledger: Configuration | None = None,
        priority: str = "fifo",
        idle: str = "poll",
    ) -> Configuration:
        """The configuration of the agent that emulates ``topology`` between these hosts."""
        config = {
            "topology": dict(topology),
            "ports": self.ports(),
            "seed": seed,
            "priority": priority,
            "idle": idle,
        }
        return config if ledger is None else {**config, "ledger": dict(ledger)}


def plan(hosts: Sequence[Host], *, mtu: int = 1500) -> Plan:
    """Plans a testbed of these hosts.

    Raises:
        TestbedError: A name or an address is impossible or there twice.
    """
    if not hosts:
        raise TestbedError("a testbed without hosts", "give it at least one")
    if len(hosts) > MOST_HOSTS:
        raise TestbedError(
            f"{len(hosts)} hosts are too many",
            f"at most {MOST_HOSTS}; one host can have thousands of addresses",
        )
    if not 576 <= mtu <= 65_535:
        raise TestbedError(
            f"an MTU of {mtu} bytes is impossible", "give one from 576 to 65535; Ethernet has 1500"
        )
    _check_names(hosts)
    addresses = [tuple(_address(host, text) for text in host.addresses) for host in hosts]
    _check_addresses(hosts, addresses)
    everything = _networks([address for own in addresses for address in own])
    veths = []
    for number, (host, own) in enumerate(zip(hosts, addresses, strict=True)):
        leads_outside = any(other.outside for other in hosts if other is not host)
        veths.append(
            VethLink(
                host=host,
                addresses=own,
                mac=_mac(number, 1),
                port=port_of(number),
                port_mac=_mac(number, 2),
                routes=tuple(_routes(own, everything, leads_outside=leads_outside)),
            )
        )
    return Plan(veths=tuple(veths), mtu=mtu)


def port_of(number: int) -> str:
    """The end of a host's veth link in the switch namespace, by the host's index."""
    return f"p{number}"


def tap_of(port: str) -> str:
    """The tap of a guest that a bridge joins to its port."""
    return f"{port}-tap"


def bridge_of(port: str) -> str:
    """That bridge."""
    return f"{port}-bridge"


def inner_of(port: str) -> str:
    """The peer of the port, in that bridge."""
    return f"{port}-inner"


def _check_names(hosts: Sequence[Host]) -> None:
    seen = set()
    for host in hosts:
        if not _NAME.fullmatch(host.name):
            raise TestbedError(
                f"{host.name!r} is no name of a host",
                "small letters, digits, - and _ between them, at most 32",
            )
        if host.name == SWITCH:
            raise TestbedError(
                f"a host cannot be called {SWITCH}", "that is the name of the switch namespace"
            )
        if host.name in seen:
            raise TestbedError(f"two hosts are called {host.name}", "give each a name of its own")
        seen.add(host.name)
    if sum(host.outside for host in hosts) > 1:
        raise TestbedError("more than one host leads outside", "choose one")
    if any(host.outside and host.guest is not None for host in hosts):
        raise TestbedError("a guest cannot lead outside", "let a host do it that is none")
    if any(host.guest is not None and host.container is not None for host in hosts):
        raise TestbedError("a host is a guest or a container", "leave one of the two out")


def _address(host: Host, text: str) -> Address:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        raise TestbedError(
            f"host {host.name}: {text!r} is not an IP address", "for example 10.77.0.1"
        ) from None
    if (
        found.is_multicast
        or found.is_loopback
        or found.is_unspecified
        or found.is_link_local
        or found == ipaddress.ip_address("255.255.255.255")
    ):
        raise TestbedError(
            f"host {host.name}: no host can have the address {found}",
            "take private ones, for example from 10.77.0.0/16",
        )
    return found


def _check_addresses(hosts: Sequence[Host], addresses: Sequence[Sequence[Address]]) -> None:
    owner: dict[Address, str] = {}
    for host, own in zip(hosts, addresses, strict=True):
        if not own:
            raise TestbedError(f"host {host.name} has no address", "for example 10.77.0.1")
        for address in own:
            if address in owner:
                both = (
                    host.name
                    if owner[address] == host.name
                    else f"{owner[address]} and {host.name}"
                )
                raise TestbedError(
                    f"the address {address} is there twice ({both})",
                    "every host needs addresses of its own",
                )
            owner[address] = host.name


def _mac(number: int, end: int) -> str:
    """A locally administered address (IEEE 802) with the host's number."""
    return f"02:74:62:{number >> 8:02x}:{number & 0xFF:02x}:{end:02x}"


def _networks(addresses: Sequence[Address]) -> dict[int, list[Network]]:
    """All addresses in as few networks as hold nothing else, by version of IP."""
    found: dict[int, list[Network]] = {}
    for version in (4, 6):
        alone: list[Network] = [
            ipaddress.ip_network(address) for address in addresses if address.version == version
        ]
        found[version] = list(ipaddress.collapse_addresses(alone))  # type: ignore[type-var] # all of one version
    return found


def _routes(
    own: Sequence[Address], everything: Mapping[int, Sequence[Network]], *, leads_outside: bool
) -> list[Route]:
    """To all others. A network may hold own addresses too: the kernel looks among those first."""
    routes = []
    alone = {ipaddress.ip_network(address) for address in own}
    for version in (4, 6):
        source = next((address for address in own if address.version == version), None)
        if source is None:
            continue
        networks = [network for network in everything[version] if network not in alone]
        if leads_outside:
            networks = [ipaddress.ip_network("0.0.0.0/0" if version == 4 else "::/0")]
        routes += [
            Route(to=network, gateway=GATEWAYS[version], source=source) for network in networks
        ]
    return routes
