"""Reads hosts, routers and links; expands shorthands (dumbbell, chain) to links with ends.

A host with an access link of its own gets a router behind it: in a dumbbell that router is the one
of its side.
"""

from __future__ import annotations

import ipaddress
import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from trustbed.scenario.containers import read_container
from trustbed.scenario.egress import read_egress
from trustbed.scenario.error import nearest
from trustbed.scenario.guests import read_guest
from trustbed.scenario.inventory import Inventory, InventoryHost
from trustbed.scenario.links import both_directions
from trustbed.scenario.machines import (
    address_of_machine,
    check_network,
    read_inventory,
    read_machine,
)
from trustbed.scenario.model import Direction, Host, Link
from trustbed.scenario.table import Table

NETWORK = ipaddress.ip_network("10.77.0.0/16")
"""Default network for hosts without an address.

Each run has a network of its own, so that two runs may use the same addresses.
"""
_BROADCAST = ipaddress.IPv4Address("255.255.255.255")
SHAPES = ("graph", "dumbbell", "chain")
_NAME = re.compile(r"[a-z]([a-z0-9_-]{0,30}[a-z0-9])?")
_RESERVED = "net"
"""The switch namespace, which holds the links."""
_MOST_HOSTS = 20_000
_MOST_PROCESSORS = 1 << 16
_MOST_ENDS = 1024
"""The emulator keeps a path for every pair of ends.

Hosts, or the routers that hosts with links of their own are behind.
"""


@dataclass(frozen=True, slots=True)
class Network:
    """Hosts, routers and links, each with its ends.

    ``inventory`` says how to reach hosts that are machines; these have neither routers nor links.
    """

    hosts: tuple[Host, ...]
    routers: tuple[str, ...]
    links: tuple[Link, ...]
    inventory: Inventory | None = None


def check_name(table: Table, key: str | None, name: str) -> None:
    """A name must be printable and valid for a namespace."""
    if not _NAME.fullmatch(name):
        raise table.error(
            key,
            f"{name!r} is not a valid name",
            "use small letters, digits, - and _ between them, a letter first, at most 32",
        )


def read(root: Table, joined: Collection[str] = ()) -> Network:
    """The network of a scenario; ``joined``: hosts that others join behind the same router."""
    root.must("hosts", "[hosts.client] and [hosts.server]")
    tables = root.tables("hosts")
    inventory = read_inventory(root)
    found = _hosts(root, tables, inventory)
    if machines := [host.name for host in found if host.machine is not None]:
        check_network(root, machines, [host.name for host in found if host.machine is None])
        for table in tables.values():
            table.close()
        return Network(found, (), (), inventory)
    hosts = tuple(
        replace(host, access_up=Direction(), access_down=Direction())
        if host.name in joined and host.access_up is None
        else host
        for host in found
    )
    plans = _links(root)
    shape = root.table("topology")
    kind = "graph" if shape is None else shape.choice("shape", SHAPES, "graph")
    if shape is None or kind == "graph":
        network = _graph(root, shape, hosts, plans)
    elif kind == "dumbbell":
        network = _dumbbell(shape, hosts, plans)
    else:
        network = _chain(shape, hosts, plans)
    if shape is not None:
        shape.close()
    for table in [*tables.values(), *(plan.table for plan in plans)]:
        table.close()
    ends = len({host.router or host.name for host in network.hosts})
    if ends > _MOST_ENDS:
        hint = (
            f"at most {_MOST_ENDS}: hosts that are alike can be one with a count, or behind "
            f"one router of a dumbbell"
        )
        raise root.error("hosts", f"{ends} ends of the network are too many", hint)
    if not network.links:
        raise root.missing(
            ("link", "links"),
            "no link joins the hosts",
            'for example: [link] and below it rate = "20Mbit/s"',
        )
    return network


# Hosts.


def _hosts(
    root: Table, tables: Mapping[str, Table], inventory: Inventory | None
) -> tuple[Host, ...]:
    outer = root.table("hosts")
    assert outer is not None, "read() has checked that it exists"
    taken: dict[str, str] = {}
    given: dict[str, tuple[str, ...]] = {}
    counts: dict[str, int] = {}
    machines: dict[str, InventoryHost] = {}
    for name, table in tables.items():
        check_name(outer, name, name)
        if name == _RESERVED:
            raise outer.error(
                name, f"{name} is the name of the switch namespace", "give the host another name"
            )
        if (machine := read_machine(table, inventory)) is not None:
            machines[name] = machine
            counts[name], given[name] = 1, (address_of_machine(table, machine),)
            continue
        counts[name] = table.whole("count", 1, least=1, most=_MOST_HOSTS)
        given[name] = _given_addresses(table, name, counts[name], taken)
    free = (
        str(address)
        for address in NETWORK.hosts()
        if str(address) not in taken and address.packed[-1] not in (0, 255)
    )
    hosts = []
    for name, table in tables.items():
        addresses = given[name] or tuple(itertools.islice(free, counts[name]))
        if len(addresses) < counts[name]:
            raise table.error(
                "count",
                f"{NETWORK} has no addresses left for all of them",
                "give addresses, for example from 10.128.0.0/9",
            )
        access = table.table("access")
        up = down = None
        if access is not None:
            up, down = both_directions(access)
            access.close()
        hosts.append(
            Host(
                name=name,
                addresses=addresses,
                access_up=up,
                access_down=down,
                guest=read_guest(table),
                container=read_container(table),
                egress=read_egress(table),
                pin=_pin(table),
                machine=machines.get(name),
            )
        )
    return tuple(hosts)


def _pin(table: Table) -> tuple[int, ...]:
    value = table.raw("pin")
    found = [value] if type(value) is int else value
    if found is None or found == "none":
        return ()
    if (
        not isinstance(found, list)
        or not found
        or not all(type(one) is int and 0 <= one < _MOST_PROCESSORS for one in found)
    ):
        raise table.error(
            "pin", "must be numbers of processors, from 0", "for example: pin = 1, or pin = [0, 1]"
        )
    return tuple(sorted(set(found)))


def _given_addresses(table: Table, name: str, count: int, taken: dict[str, str]) -> tuple[str, ...]:
    if "address" in table and "addresses" in table:
        raise table.error(
            "address", "address and addresses mean the same", "leave one of the two out"
        )
    key = "address" if "address" in table else "addresses"
    found: list[str] = []
    for text in table.texts(key):
        found += _addresses(table, key, text, count)
    if found and len(found) != count:
        message = (
            f"{len(found)} {'address' if len(found) == 1 else 'addresses'} for a count of {count}"
        )
        raise table.error(
            key, message, f"give {count}, or a network such as 10.1.0.0/16, or leave them out"
        )
    for address in found:
        if address in taken:
            raise table.error(
                key,
                f"{address} is the address of {taken[address]} too",
                "give every host addresses of its own",
            )
        taken[address] = name
    return tuple(found)


def _addresses(table: Table, key: str, text: str, count: int) -> list[str]:
    hint = "write one like 10.1.0.5, or a network from which they are taken, like 10.1.0.0/24"
    try:
        if "/" in text:
            network = ipaddress.IPv4Network(text)
            if network.num_addresses - 2 < count:
                raise table.error(
                    key, f"{text} has no room for {count} hosts", "give a larger network"
                )
            addresses = list(itertools.islice(network.hosts(), count))
        else:
            addresses = [ipaddress.IPv4Address(text)]
    except ValueError as error:
        raise table.error(key, f"{text!r} is no IPv4 address: {error}", hint) from None
    for address in addresses:
        if any(
            (
                address.is_loopback,
                address.is_multicast,
                address.is_unspecified,
                address.is_link_local,
                address == _BROADCAST,
            )
        ):
            raise table.error(
                key,
                f"{address} cannot be the address of a host",
                "take one of a private network, for example 10.1.0.5",
            )
    return [str(address) for address in addresses]


# Links.


@dataclass(frozen=True, slots=True)
class _Plan:
    """A link as the file describes it."""

    name: str
    table: Table
    up: Direction
    down: Direction


def _links(root: Table) -> list[_Plan]:
    tables = root.tables("links")
    single = root.table("link")
    if single is not None:
        if "link" in tables:
            raise root.error(
                "link",
                "[link] and [links.link] are two links of one name",
                "give one of them another name, below [links.…]",
            )
        tables = {"link": single, **tables}
    plans = []
    for name, table in tables.items():
        check_name(table, None, name)
        up, down = both_directions(table)
        plans.append(_Plan(name, table, up, down))
    return plans


def _joined(plan: _Plan, ends: tuple[str, str]) -> Link:
    return Link(name=plan.name, ends=ends, forward=plan.up, backward=plan.down)


def _endless(plan: _Plan) -> bool:
    return not any(key in plan.table for key in ("between", "from", "to"))


def _with_ends(plans: Sequence[_Plan], nodes: Sequence[str]) -> list[Link]:
    """The links that name their ends themselves."""
    links = []
    for plan in plans:
        table = plan.table
        if "between" in table:
            ends = table.texts("between")
            if "from" in table or "to" in table:
                raise table.error(
                    "between",
                    "between is both directions, from and to one",
                    "leave one of the two out",
                )
            if len(ends) != 2:
                raise table.error(
                    "between",
                    f"a link has two ends, not {len(ends)}",
                    'for example: between = ["client", "server"]',
                )
            unidirectional = False
        else:
            for key in ("from", "to"):
                table.must(key, 'between = ["client", "server"], or from and to for one direction')
            ends = (table.text("from", ""), table.text("to", ""))
            unidirectional = True
        key = "from" if unidirectional else "between"
        for end in ends:
            if end not in nodes:
                raise table.error(key, f"no host or router named {end}", nearest(end, nodes))
        if ends[0] == ends[1]:
            raise table.error(key, f"joins {ends[0]} to itself", "a link has two different ends")
        if unidirectional and ("down" in table or "up" in table):
            raise table.error(
                "down" if "down" in table else "up",
                "a link of one direction has neither up nor down",
                "put its keys into the link",
            )
        links.append(
            Link(
                name=plan.name,
                ends=(ends[0], ends[1]),
                forward=plan.up,
                backward=None if unidirectional else plan.down,
            )
        )
    return links


# Shapes.


def _routers(shape: Table | None, hosts: Sequence[Host]) -> list[str]:
    names = [] if shape is None else list(shape.texts("routers"))
    known = {host.name for host in hosts}
    for name in names:
        assert shape is not None, "names come from it"
        check_name(shape, "routers", name)
        if name in known:
            raise shape.error(
                "routers", f"{name} is the name of a host or another router", "give it another name"
            )
        known.add(name)
    return names


def access_router(host: str) -> str:
    """The name of the router behind a host's access link, where no shape names it."""
    return f"{host}-access"


def _graph(root: Table, shape: Table | None, hosts: Sequence[Host], plans: list[_Plan]) -> Network:
    routers = _routers(shape, hosts)
    behind: dict[str, str] = {}
    ready = []
    for host in hosts:
        if host.access_up is None:
            ready.append(host)
            continue
        router = access_router(host.name)
        if router in routers or any(other.name == router for other in hosts):
            raise root.error(
                "hosts",
                f"{router} is the router behind the access link of {host.name}",
                "give the other one another name",
            )
        behind[host.name] = router
        ready.append(replace(host, router=router))
    if len(plans) == 1 and len(hosts) == 2 and not routers and _endless(plans[0]):
        links = [_joined(plans[0], (hosts[0].name, hosts[1].name))]
    else:
        endless = next((plan for plan in plans if _endless(plan)), None)
        if endless is not None:
            names = ", ".join(f'"{host.name}"' for host in hosts[:2])
            hint = (
                f"for example: between = [{names}]"
                if len(hosts) > 1
                else "give it between, and a second host to lead to"
            )
            raise endless.table.missing(("between", "from", "to"), "does not name its ends", hint)
        links = _with_ends(plans, [*(host.name for host in hosts), *routers])
    moved = [
        Link(
            name=link.name,
            ends=(behind.get(link.ends[0], link.ends[0]), behind.get(link.ends[1], link.ends[1])),
            forward=link.forward,
            backward=link.backward,
        )
        for link in links
    ]
    return Network(tuple(ready), (*routers, *behind.values()), tuple(moved))


def _dumbbell(shape: Table, hosts: Sequence[Host], plans: list[_Plan]) -> Network:
    sides = (_side(shape, "left", hosts), _side(shape, "right", hosts))
    both = next((name for name in sides[0] if name in sides[1]), None)
    if both is not None:
        raise shape.error("right", f"{both} is on both sides", "put it on one of them")
    absent = next((host.name for host in hosts if host.name not in (*sides[0], *sides[1])), None)
    if absent is not None:
        raise shape.error(None, f"{absent} is on neither side", f'for example: left = ["{absent}"]')
    if len(plans) != 1 or not _endless(plans[0]):
        raise shape.error(
            "shape",
            f"a dumbbell has one link without ends, not {len(plans)}",
            "its hosts' own links are their access = { … }",
        )
    routers = _routers(shape, hosts) or ["left", "right"]
    if len(routers) != 2:
        raise shape.error(
            "routers",
            f"a dumbbell has two routers, not {len(routers)}",
            'for example: routers = ["left", "right"]',
        )
    clash = next((name for name in routers if any(host.name == name for host in hosts)), None)
    if clash is not None:
        raise shape.error(
            None,
            f"{clash} is the name of a host and of a router",
            'name the routers: routers = ["west", "east"]',
        )
    ready = tuple(
        replace(
            host,
            router=routers[0 if host.name in sides[0] else 1],
            access_up=host.access_up or Direction(),
            access_down=host.access_down or Direction(),
        )
        for host in hosts
    )
    return Network(ready, tuple(routers), (_joined(plans[0], (routers[0], routers[1])),))


def _side(shape: Table, key: str, hosts: Sequence[Host]) -> tuple[str, ...]:
    shape.must(key, f'{key} = ["{hosts[0].name if hosts else "client"}"]')
    names = shape.texts(key)
    known = [host.name for host in hosts]
    for name in names:
        if name not in known:
            raise shape.error(key, f"no host named {name}", nearest(name, known))
    if not names:
        raise shape.error(key, "this side is empty", f'for example: {key} = ["{known[0]}"]')
    return names


def _chain(shape: Table, hosts: Sequence[Host], plans: list[_Plan]) -> Network:
    shape.must("path", 'path = ["client", "first", "second", "server"]')
    path = shape.texts("path")
    known = {host.name for host in hosts}
    twice = next((name for index, name in enumerate(path) if name in path[:index]), None)
    if twice is not None:
        raise shape.error(
            "path", f"{twice} is in the path twice", "name every host and router once"
        )
    if len(path) < 2 or path[0] not in known or path[-1] not in known:
        raise shape.error(
            "path",
            "a chain begins and ends with a host",
            nearest(path[0] if path and path[0] not in known else "", known),
        )
    absent = next((host.name for host in hosts if host.name not in path), None)
    if absent is not None:
        raise shape.error(
            "path", f"{absent} is not on the path", "put it there, or leave the host out"
        )
    if len(plans) != len(path) - 1 or not all(_endless(plan) for plan in plans):
        raise shape.error(
            "path",
            f"{len(path)} nodes need {len(path) - 1} links without ends, not {len(plans)}",
            "links join the nodes in the order of the path",
        )
    behind = next((host for host in hosts if host.access_up is not None), None)
    if behind is not None:
        raise shape.error(
            "shape",
            f"{behind.name} has an access link, which a chain does not support",
            "make it the first link of the path",
        )
    links = tuple(_joined(plan, (path[index], path[index + 1])) for index, plan in enumerate(plans))
    for name in path:
        if name not in known:
            check_name(shape, "path", name)
    return Network(tuple(hosts), tuple(name for name in path if name not in known), links)


def reached(network: Network, source: str) -> set[str]:
    """The hosts and routers that a host can reach. Hosts do not forward."""
    neighbours: dict[str, list[str]] = {}
    for link in network.links:
        neighbours.setdefault(link.ends[0], []).append(link.ends[1])
        if link.backward is not None:
            neighbours.setdefault(link.ends[1], []).append(link.ends[0])
    for host in network.hosts:
        if host.router is not None:
            neighbours.setdefault(host.name, []).append(host.router)
            neighbours.setdefault(host.router, []).append(host.name)
    hosts = {host.name for host in network.hosts}
    found, waiting = {source}, [source]
    while waiting:
        node = waiting.pop()
        if node in hosts and node != source:
            continue
        for following in neighbours.get(node, ()):
            if following not in found:
                found.add(following)
                waiting.append(following)
    return found
