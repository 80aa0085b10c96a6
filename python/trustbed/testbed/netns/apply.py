"""Makes the testbed of a plan.

Namespaces, veth links, addresses, neighbours, routes; of a guest only its namespace and the end of
its veth link; a container has a namespace already.

Removing the namespaces undoes all of it.

No interface ever appears in the host's own network, so testbeds cannot collide there, and nothing
of the host's changes. A step that fails raises; nothing is skipped.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyroute2 import IPRoute
from pyroute2.ethtool.ioctl import IoctlEthtool, NotSupportedError
from pyroute2.netlink.exceptions import NetlinkError

from trustbed.errors import TestbedError, reason_and_file
from trustbed.scenario.egress import Egress
from trustbed.testbed.netns import batch, namespaces
from trustbed.testbed.netns.plan import (
    GATEWAY_MAC,
    GATEWAYS,
    INTERFACE,
    OFFLOADS_OFF,
    Plan,
    VethLink,
    bridge_of,
    inner_of,
    tap_of,
)

_PERMANENT = 0x80
# Of the ends in the switch namespace. The two ends of a veth link must differ in their index: the
# kernel takes an interface whose peer has the same one for one without a peer, and may leave it
# without carrier for a second (linkwatch_urgent_event).
_FIRST_INDEX = 1001
_NO_ADDRESS_OF_ITS_OWN = 1  # addrgenmode none: no link-local IPv6 address


def make(
    plan: Plan,
    name: Callable[[str], str],
    switch: str,
    existing: Mapping[str, Path] | None = None,
) -> None:
    """Makes the testbed.

    Args:
        plan: What it consists of.
        name: Gives the namespace of a host.
        switch: The name of the switch namespace.
        existing: The namespaces that hosts have already: those of containers.

    Raises:
        TestbedError: The kernel refused; the error names the request.
    """
    with _explained("the switch namespace"):
        switch_file = namespaces.make(name(switch))
        with namespaces.inside(switch_file):
            _no_autoconfiguration()
            _disable_ipv6()
            with IPRoute() as kernel:
                _up(kernel, "lo")
    for veth in plan.veths:
        with _explained(f"host {veth.host.name}"):
            own = (existing or {}).get(veth.host.name)
            called = name(veth.host.name)
            namespace = namespaces.make(called) if own is None else namespaces.adopt(called, own)
            if veth.host.guest is not None:
                continue  # its network is its own; the namespace is where QEMU runs
            with namespaces.inside(namespace):
                _settle(veth)
            _lay(plan, veth, switch_file, namespace)
            with namespaces.inside(namespace):
                _equip(veth)


def settle_tap(plan: Plan, veth: VethLink, *, bridged: bool) -> None:
    """Sets the end of a guest's link, in the calling thread's namespace, up like any other.

    A tap is that end itself; where it is ``bridged``, the end is a veth whose peer a bridge joins
    to the tap, and the kernel cuts the guest's super-packets as it sends them through the peer.

    Raises:
        TestbedError: The kernel refused.
    """
    both = {"mtu": plan.mtu, "txqlen": plan.queue_packets}
    with _explained(f"host {veth.host.name}"), IPRoute() as kernel:
        if not bridged:
            index = kernel.link_lookup(ifname=veth.port)[0]
            kernel.link("set", index=index, address=veth.port_mac, **both)
            _offloads_off(veth.port)
            _up(kernel, veth.port)
            return
        tap, bridge, inner = (of(veth.port) for of in (tap_of, bridge_of, inner_of))
        _unfiltered()
        kernel.link(
            "add",
            ifname=veth.port,
            kind="veth",
            address=veth.port_mac,
            peer={"ifname": inner, **both},
            **both,
        )
        kernel.link(
            "add",
            ifname=bridge,
            kind="bridge",
            br_stp_state=0,
            br_forward_delay=0,
            br_mcast_snooping=0,
            **both,
        )
        master = kernel.link_lookup(ifname=bridge)[0]
        for port in (tap, inner):
            index = kernel.link_lookup(ifname=port)[0]
            kernel.link("set", index=index, master=master, **both)
        for port in (veth.port, inner):
            _offloads_off(port)
        for interface in (bridge, tap, inner, veth.port):
            _up(kernel, interface)


def _unfiltered() -> None:
    """Keeps frames that a bridge forwards from this machine's filters of IP packets."""
    for what in ("iptables", "ip6tables", "arptables"):
        name = f"net.bridge.bridge-nf-call-{what}"
        if Path("/proc/sys", *name.split(".")).exists():
            namespaces.set_system_value(name, "0")


def _settle(veth: VethLink) -> None:
    """Configures a host before it has an interface."""
    _no_autoconfiguration()
    if 6 not in veth.versions:
        _disable_ipv6()
    # Unprivileged ICMP sockets, so that ping works for every user.
    namespaces.set_system_value("net.ipv4.ping_group_range", f"0 {_largest_group()}")
    if veth.host.congestion_control is not None:
        _choose_congestion_control(veth.host.congestion_control)


def _no_autoconfiguration() -> None:
    for what in ("all", "default"):
        if Path("/proc/sys/net/ipv6/conf", what).exists():
            for key in ("accept_ra", "autoconf", "router_solicitations", "accept_dad"):
                namespaces.set_system_value(f"net.ipv6.conf.{what}.{key}", "0")


def _disable_ipv6() -> None:
    for what in ("all", "default"):
        if Path("/proc/sys/net/ipv6/conf", what).exists():
            namespaces.set_system_value(f"net.ipv6.conf.{what}.disable_ipv6", "1")


def _largest_group() -> int:
    """The largest group id that exists here: in a user namespace there is often only one."""
    first, _, count = Path("/proc/self/gid_map").read_text(encoding="ascii").splitlines()[0].split()
    return min(int(first) + int(count) - 1, 2**31 - 1)


def _choose_congestion_control(name: str) -> None:
    """For connections within the host.

    Those along its routes have it from there, which a namespace is always permitted.
    """
    try:
        namespaces.set_system_value("net.ipv4.tcp_congestion_control", name)
    except OSError as error:
        available = namespaces.system_value("net.ipv4.tcp_available_congestion_control")
        if name not in available.split():
            hint = f"this kernel has {available}; others may be modules: modprobe tcp_{name}"
            raise TestbedError(f"TCP has no congestion control {name} here", hint) from error


def _lay(plan: Plan, veth: VethLink, switch: Path, namespace: Path) -> None:
    """The veth link, both ends where they belong from the first moment."""
    host = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with namespaces.inside(switch), IPRoute() as kernel:
            both = {"mtu": plan.mtu, "txqlen": plan.queue_packets}
            peer = {"ifname": INTERFACE, "address": veth.mac, "net_ns_fd": host, **both}
            index = _FIRST_INDEX + plan.veths.index(veth)
            kernel.link(
                "add",
                ifname=veth.port,
                index=index,
                kind="veth",
                address=veth.port_mac,
                peer=peer,
                **both,
            )
            _offloads_off(veth.port)
            _up(kernel, veth.port)
    finally:
        os.close(host)


def _equip(veth: VethLink) -> None:
    """The host's end: addresses, the gateway, routes."""
    with IPRoute() as kernel:
        _up(kernel, "lo")
        index = kernel.link_lookup(ifname=INTERFACE)[0]
        _offloads_off(INTERFACE)
        if 6 in veth.versions:
            kernel.link(
                "set",
                index=index,
                IFLA_AF_SPEC={
                    "attrs": [
                        (
                            "AF_INET6",
                            {"attrs": [("IFLA_INET6_ADDR_GEN_MODE", _NO_ADDRESS_OF_ITS_OWN)]},
                        )
                    ]
                },
            )
        _up(kernel, INTERFACE)
        batch.add_addresses(index, veth.addresses)
        for version in veth.versions:
            kernel.neigh(
                "add", ifindex=index, dst=GATEWAYS[version], lladdr=GATEWAY_MAC, state=_PERMANENT
            )
        batch.add_routes(index, veth.routes, veth.host.congestion_control)
        if veth.host.egress is not None:
            _limit(kernel, index, veth.host.egress)


def _limit(kernel: IPRoute, interface: int, egress: Egress) -> None:
    """The token bucket filter of a host's interface."""
    try:
        kernel.tc(
            "add",
            "tbf",
            interface,
            rate=egress.rate // 8,
            burst=egress.burst_bytes,
            limit=egress.limit_bytes,
        )
    except NetlinkError as error:
        if error.code != errno.ENOENT:
            raise
        raise TestbedError(
            "the kernel has no token bucket filter for egress", "load its module: modprobe sch_tbf"
        ) from error


def _up(kernel: IPRoute, interface: str) -> None:
    kernel.link("set", index=kernel.link_lookup(ifname=interface)[0], state="up")


def _offloads_off(interface: str) -> None:
    driver = IoctlEthtool(interface)
    try:
        for feature in OFFLOADS_OFF:
            driver.set_offload_flag(feature, 0)
        now = driver.get_offload_flags()
    finally:
        driver.close()
    unchanged = [feature for feature in OFFLOADS_OFF if now[feature]]
    if unchanged:
        raise TestbedError(
            f"{interface}: {', '.join(unchanged)} stays on",
            "links would see packets of the wrong size; try another kernel",
        )


@contextmanager
def _explained(where: str) -> Iterator[None]:
    """Turns errors inside into one that names the host, and what may be missing."""
    try:
        yield
    except NetlinkError as error:
        raise TestbedError(
            f"{where} cannot be made: {os.strerror(error.code).lower()}", hint(error.code)
        ) from error
    except NotSupportedError as error:
        raise TestbedError(
            f"{where} cannot be made: offloads of {error} cannot be changed", hint(errno.ENOTSUP)
        ) from error
    except OSError as error:
        message = reason_and_file(error)
        raise TestbedError(f"{where} cannot be made: {message}", hint(error.errno or 0)) from error


def hint(number: int) -> str:
    """What to do about an error number of the kernel."""
    if number in (errno.EPERM, errno.EACCES):
        return (
            "a testbed needs CAP_NET_ADMIN, CAP_SYS_ADMIN and a /proc/sys that can be "
            "written: run as root"
        )
    if number in (errno.ENOSPC, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EUSERS):
        return "this host has no room for more; `trustbed testbed list` shows what is there"
    if number in (errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.ENODEV):
        return (
            "the kernel lacks something: veth, a bridge (which a guest with virtio-net needs, but "
            "not with offloads = false), or network namespaces; as root: modprobe veth bridge"
        )
    return "`trustbed testbed clean` removes what killed runs have left; then try again"
