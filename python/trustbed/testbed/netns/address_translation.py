"""The path from a testbed into the network of this host, by address translation.

Undone with the testbed. IPv4 only.

The host that leads outside gets a second veth link, whose other end lies in the host's own network.
Addresses are translated twice (RFC 3022): where the testbed ends, so that the outer network need
not know its addresses, and where this machine's network begins, so that hosts beyond need not know
those of the veth link. trustbed writes what it changes outside (a table of nftables, the switch for
forwarding, two rules where iptables drops what is forwarded) into the testbed's file before it does
it. The table is made first and removed last: where there is none of that name, nothing is left to
undo. Forwarding becomes what it was before the first with the last of several.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import ipaddress
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trustbed.errors import TestbedError
from trustbed.testbed.netns import namespaces, registry, rootless
from trustbed.testbed.netns.registry import Outside

if TYPE_CHECKING:
    from trustbed.testbed.netns.plan import Plan
    from trustbed.testbed.netns.registry import Entry

_UPLINK = "out0"
_OWN = "/proc/thread-self/ns/net"
_POOL = ipaddress.ip_network("198.18.0.0/15")
"""Addresses for tests of networks (RFC 2544, RFC 6890): unassigned and seldom in use."""
_TABLE = "trustbed"
_VARIABLE = "TRUSTBED_PASTA"


def connect(entry: Entry, plan: Plan, host: str, namespace: Path) -> None:
    """Joins the host in that namespace, the others' router, with the network of this process.

    Raises:
        TestbedError: The kernel lacks what is needed, or no addresses are free.
    """
    identity = entry.record.id
    network = _free_network(identity)
    outer, inner = (str(address) for address in network.hosts())
    interface = f"tb-{identity}"
    here = namespaces.inode(_OWN)
    try:
        with _alone():
            others = _others_in(here, interface)
            changed = Outside(
                network_namespace=here,
                interface=interface,
                table=interface,
                forwarding_was=(
                    others[0].forwarding_was
                    if others
                    else namespaces.system_value("net.ipv4.ip_forward")
                ),
                iptables=_drops_what_is_forwarded(),
            )
            entry.update(outside=changed)
            _masquerade(interface, [inner])
            namespaces.set_system_value("net.ipv4.ip_forward", "1")
        _lay(interface, outer, inner, network.prefixlen, namespace)
        if changed.iptables:
            _iptables("-I", interface)
        sources = [
            str(a)
            for veth in plan.veths
            if veth.host.name != host
            for a in veth.addresses
            if a.version == 4
        ]
        with namespaces.inside(namespace):
            namespaces.set_system_value("net.ipv4.ip_forward", "1")
            _masquerade(_TABLE, sources)
    except (OSError, RuntimeError) as error:
        raise TestbedError(f"the network of this host cannot be reached: {error}", _HINT) from error
    except Exception as error:
        code = getattr(error, "code", None)
        if code is None:
            raise
        raise TestbedError(
            f"the network of this host cannot be reached: {os.strerror(code).lower()}", _HINT
        ) from error


def through_pasta() -> None:
    """Runs this program again, for an ordinary user, in a network that pasta makes.

    That network leads to the host's (passt(1)).

    Returns only if that is not needed, because networks can be made right here.

    Raises:
        TestbedError: There is no pasta.
    """
    if (
        os.environ.get(_VARIABLE) and os.getppid() == 0
    ):  # started by pasta, which is in another namespace of processes
        namespaces.end_with_parent()  # killing the called process then kills pasta
    if rootless.may_make_networks() or os.environ.get(_VARIABLE):
        return
    program = shutil.which("pasta")
    if program is None:
        raise TestbedError(
            (
                "an ordinary user reaches the network of this host through pasta only, which "
                "is not installed"
            ),
            "install it (Debian: passt), run as root, or do without --outside",
        )
    registry.settle()
    os.environ[_VARIABLE] = "1"
    sys.stdout.flush()
    signal.signal(
        signal.SIGPIPE, signal.SIG_DFL
    )  # Python ignores it, and pasta takes that for a failure
    # Without --no-map-gw the gateway's address would lead to this host's own loopback.
    options = ["--config-net", "--ipv4-only", "--no-map-gw", "--quiet"]
    os.execv(program, [program, *options, "--", *sys.orig_argv])


_HINT = (
    "the kernel must have veth and nftables with masquerading (modprobe nf_tables nft_masq "
    "nft_chain_nat)"
)


def undo(changed: Outside | None) -> None:
    """Undoes what a testbed changed in the outer network.

    Does nothing if that network is gone, or if the changes were undone already.
    """
    if changed is None:
        return
    number = changed.network_namespace
    if number is None:
        return  # it was never known, so nothing was changed there
    with _alone(), namespaces.inside_of_number(number) as found:
        # The kernel reuses inode numbers: a network of the same number without anything of ours is
        # another one.
        if found and changed.table in _tables():
            _undo(changed)


def _undo(changed: Outside) -> None:
    from pyroute2 import IPRoute

    if changed.iptables:
        _iptables("-D", changed.interface, check=False)
    with IPRoute() as kernel:
        for index in kernel.link_lookup(ifname=changed.interface):
            with _absent_is_fine():
                kernel.link("del", index=index)
    if not _others_in(changed.network_namespace, changed.interface):
        namespaces.set_system_value("net.ipv4.ip_forward", changed.forwarding_was)
    with _absent_is_fine():
        _forget(changed.table)


def _others_in(network_namespace: int | None, interface: str) -> list[Outside]:
    """The changes of other testbeds in the caller's network that are not undone yet.

    Their tables still exist.
    """
    changes = [record.outside for record in registry.records() if record.outside is not None]
    there = [
        other
        for other in changes
        if other.network_namespace == network_namespace and other.interface != interface
    ]
    existing = _tables() if there else set()
    return [other for other in there if other.table in existing]


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """One at a time changes a network.

    Of two that end at once, the second sees that it is the last.
    """
    directory = registry.open_directory()
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


def _free_network(identity: str) -> ipaddress.IPv4Network:
    """Four addresses to which no route leads; the testbed's id gives where the search begins."""
    from pyroute2 import IPRoute

    taken = []
    with IPRoute() as kernel:
        for route in kernel.get_routes(family=2):
            to = route.get("dst")
            if to and route["dst_len"] > 0:
                taken.append(ipaddress.IPv4Network((to, route["dst_len"]), strict=False))
    count = _POOL.num_addresses // 4
    first = int.from_bytes(identity.encode(), "big") % count
    for step in range(count):
        found = ipaddress.IPv4Network((int(_POOL.network_address) + (first + step) % count * 4, 30))
        if not any(found.overlaps(other) for other in taken):
            return found
    raise TestbedError(
        f"no four addresses of {_POOL} are free here",
        "every one of them is routed somewhere; do without --outside",
    )


def _lay(interface: str, outer: str, inner: str, prefix: int, namespace: Path) -> None:
    from pyroute2 import IPRoute

    number = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with IPRoute() as kernel:
            kernel.link(
                "add", ifname=interface, kind="veth", peer={"ifname": _UPLINK, "net_ns_fd": number}
            )
            index = kernel.link_lookup(ifname=interface)[0]
            kernel.addr("add", index=index, address=outer, prefixlen=prefix)
            kernel.link("set", index=index, state="up")
    finally:
        os.close(number)
    with namespaces.inside(namespace), IPRoute() as kernel:
        index = kernel.link_lookup(ifname=_UPLINK)[0]
        kernel.addr("add", index=index, address=inner, prefixlen=prefix)
        kernel.link("set", index=index, state="up")
        kernel.route("add", dst="default", gateway=outer)


def _masquerade(table: str, sources: Sequence[str]) -> None:
    """Packets from these addresses leave with the address of their outgoing interface."""
    from pyroute2.nftables.expressions import ipv4addr, masq
    from pyroute2.nftables.main import NFTables

    tables = NFTables(nfgen_family=2)
    try:
        tables.table("add", name=table)
        # 4 is NF_INET_POST_ROUTING, 100 the priority of address translation of sources.
        tables.chain(
            "add",
            table=table,
            name="leaving",
            hook="postrouting",
            type="nat",
            policy=1,
            priority=100,
        )
        for source in sources:
            tables.rule(
                "add", table=table, chain="leaving", expressions=(ipv4addr(src=source), masq())
            )
    finally:
        tables.close()


def _tables() -> set[str]:
    """The names of the tables that exist: none where the kernel knows nothing of tables."""
    from pyroute2.netlink.exceptions import NetlinkError
    from pyroute2.nftables.main import NFTables

    tables = NFTables(nfgen_family=2)
    try:
        return {str(table.get("name")) for table in tables.get_tables()}
    except NetlinkError as error:
        if error.code in (errno.EINVAL, errno.EOPNOTSUPP, errno.EPROTONOSUPPORT):
            return set()
        raise
    finally:
        tables.close()


def _forget(table: str) -> None:
    from pyroute2.nftables.main import NFTables

    tables = NFTables(nfgen_family=2)
    try:
        tables.table("del", name=table)
    finally:
        tables.close()


def _drops_what_is_forwarded() -> bool:
    """Whether iptables forwards only what a rule accepts, as it does where Docker runs.

    Then the testbed needs rules of its own.
    """
    if shutil.which("iptables") is None:
        return False
    listed = subprocess.run(
        ["iptables", "-w", "-S", "FORWARD"], capture_output=True, text=True, check=False
    ).stdout
    return "-P FORWARD DROP" in listed


def _iptables(what: str, interface: str, *, check: bool = True) -> None:
    for direction in ("-i", "-o"):
        command = ["iptables", "-w", what, "FORWARD", direction, interface, "-j", "ACCEPT"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if check and ended.returncode:
            raise RuntimeError(f"{' '.join(command)}: {ended.stderr.strip()}")


@contextlib.contextmanager
def _absent_is_fine() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if getattr(error, "code", None) not in (errno.ENOENT, errno.ENODEV):
            raise
