"""Background traffic of a model: users on one side of the network, servers on the other.

``from`` and ``to`` name the hosts beside which they are: the model's clients and servers join the
router there, each with an access link of its own. A host without a router gets one, behind a link
that takes no time.
"""

from __future__ import annotations

import functools
import ipaddress
import itertools
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from trustbed.scenario.bottleneck import bottleneck, link_rates
from trustbed.scenario.model import Background, Direction, Host, Loss, Queue, Scenario
from trustbed.scenario.positions import Keys
from trustbed.scenario.table import Table
from trustbed.scenario.topology import Network, access_router
from trustbed.traffic import suite
from trustbed.traffic.hosts import HostPath
from trustbed.traffic.model import Model, ModelError, load
from trustbed.traffic.offer import DRAWS, Draw, Load, Offer, load_of, offer

NETWORK = ipaddress.ip_network("10.96.0.0/11")
"""Addresses of the users and servers of models: hosts of scenarios rarely have them."""
SUFFIX = ".model"
_QUEUE_NS = 200_000_000
"""An access link queues what it sends in this time."""
_LEAST_QUEUE = 64 << 10
CLIENTS, SERVERS = "clients", "servers"
_TABLE = "background"
"""The table of backgrounds, and the name of the one that ``background = { model = … }`` is."""


def is_model(text: object) -> bool:
    """Whether a background's ``model`` is a file of a model, or one that comes with trustbed."""
    return isinstance(text, str) and (text.endswith(SUFFIX) or text in suite.NAMES)


def joined(values: Keys) -> set[str]:
    """The hosts beside which a model's users or servers are: they need a router."""
    found: set[str] = set()
    for keys in by_name(values).values():
        if isinstance(keys, dict) and is_model(keys.get("model")):
            found |= {one for one in (keys.get("from"), keys.get("to")) if isinstance(one, str)}
    return found


def by_name(values: Keys) -> Keys:
    """The keys of every background by its name; ``background = { model = … }`` is one as well."""
    found = values.get(_TABLE)
    if not isinstance(found, dict):
        return {}
    own = {key: value for key, value in found.items() if not isinstance(value, dict)}
    if "model" not in own:
        return dict(found)
    others = {name: keys for name, keys in found.items() if isinstance(keys, dict)}
    return {_TABLE: own, **others}


def tables(root: Table) -> dict[str, Table]:
    """The same, as tables.

    Raises:
        ScenarioError: Something else than a table, or two of one name.
    """
    outer = root.table(_TABLE)
    if outer is None:
        return {}
    whole = {name: outer.raw(name) for name in outer}
    if "model" not in whole or isinstance(whole["model"], dict):
        return root.tables(_TABLE)
    if _TABLE in whole:
        raise outer.error(
            _TABLE,
            f"two backgrounds are called {_TABLE}: the keys in [{_TABLE}] are one of that name",
            f"move them to a table of their own: [{_TABLE}.NAME]",
        )
    return {
        name: Table(root.source, (_TABLE,) if name == _TABLE else (_TABLE, name), keys)
        for name, keys in by_name({_TABLE: whole}).items()
    }


_KEPT = 32
"""What is kept of each: a study has every member of the suite at every load."""


@functools.lru_cache(maxsize=_KEPT)
def _loaded(path: Path, _modified: int) -> Model:
    return load(path)


@functools.lru_cache(maxsize=_KEPT)
def _load(path: Path, modified: int) -> Load:
    return load_of(_loaded(path, modified))


@functools.lru_cache(maxsize=_KEPT)
def _offered(path: Path, modified: int, sessions: float, draw: Draw, hosts: int) -> Offer:
    return offer(_loaded(path, modified), sessions=sessions, draw=draw, most_hosts=hosts)


def offered(background: Background) -> Offer:
    """What the generator of a background of users draws from."""
    assert background.file is not None, "validated when the scenario was read"
    modified = background.file.stat().st_mtime_ns
    return _offered(
        background.file,
        modified,
        background.sessions,
        background.draw,
        background.most_hosts,
    )


def read_users(name: str, table: Table, beside: tuple[str, str]) -> Background:
    """A background of users, with the number of sessions that its rate asks for."""
    path = _file(table)
    try:
        load = _load(path, path.stat().st_mtime_ns)
    except ModelError as error:
        raise table.error("model", error.message, error.hint) from None
    sessions = table.number("sessions", None, least=1e-6, most=1e6)
    rate = table.rate_above_zero("rate", None)
    if sessions is not None and rate is not None:
        raise table.error("rate", "sessions and rate both say how much", "leave one of the two out")
    if rate is not None:
        sessions = rate / load.larger
    return Background(
        name=name,
        model="users",
        source=f"{name}-{CLIENTS}",
        to=f"{name}-{SERVERS}",
        beside=beside,
        transport="tcp",
        file=path,
        sessions=sessions or 1.0,
        draw=_draw(table),
        most_hosts=table.whole("hosts", 1000, least=1, most=10_000),
        congestion_control=table.text("congestion_control", None),
        start_ns=table.span("start", None),
        duration_ns=table.span_above_zero("duration", None),
    )


def _draw(table: Table) -> Draw:
    coupled = table.flag("coupled", False)
    if coupled and "draw" in table:
        raise table.error("coupled", 'coupled is draw = "connections"', "leave it out")
    draw: Draw = table.choice("draw", DRAWS, "connections" if coupled else "independent")
    return draw


def _file(table: Table) -> Path:
    text = table.raw("model")
    if text in suite.NAMES:
        return suite.path(text)
    found = table.file("model")
    assert found is not None, "the key is there"
    return found.resolve()


def mean_load(background: Background) -> Load:
    """Its mean load."""
    assert background.file is not None, "validated when the scenario was read"
    one = _load(background.file, background.file.stat().st_mtime_ns)
    return one.times(background.sessions)


def check_loads(root: Table, scenario: Scenario) -> None:
    """Refuses users who offer more than the narrowest link between them carries.

    They wait for answers that come later and later, more of them every minute: what they do then
    depends on how long the run takes, and not on the model.

    Raises:
        ScenarioError: Some do, in the mean and in one direction.
    """
    rates, given = link_rates(scenario), tables(root)
    for one in scenario.backgrounds:
        if one.model != "users":
            continue
        load = mean_load(one)
        for side, source, target, bits in (
            (CLIENTS, one.source, one.to, load.client),
            (SERVERS, one.to, one.source, load.server),
        ):
            rate, edge = bottleneck(rates, source, target)
            if rate is None or edge is None or bits <= rate:
                continue
            table = given[one.name]
            most = 0.99 * rate / bits
            raise table.error(
                next((key for key in ("rate", "sessions") if key in table), "model"),
                f"the {side} offer {bits / 1e6:.3g} Mbit/s in the mean, and the link from "
                f"{edge[0]} to {edge[1]} carries {rate / 1e6:.3g} Mbit/s",
                f'give rate = "{most * load.larger // 1e3:.0f}kbit/s" or less (sessions = '
                f"{most * one.sessions:.3g}), or the link a higher rate",
            )


def numbered(counts: Sequence[int], taken: Collection[str]) -> list[tuple[str, ...]]:
    """So many addresses each, none of which is taken."""
    free = (
        str(address)
        for address in NETWORK.hosts()
        if address.packed[-1] not in (0, 255) and str(address) not in taken
    )
    return [tuple(itertools.islice(free, count)) for count in counts]


def with_users(network: Network, backgrounds: Sequence[Background]) -> Network:
    """The network with the clients and servers of all backgrounds of users."""
    taken = {address for host in network.hosts for address in host.addresses}
    routers = {host.name: host.router for host in network.hosts}
    added: list[Host] = []
    for background in backgrounds:
        if background.model != "users" or background.beside is None:
            continue
        found = offered(background)
        users, servers = numbered((len(found.clients), len(found.servers)), taken)
        taken |= {*users, *servers}
        for name, addresses, paths, beside in (
            (background.source, users, found.clients, background.beside[0]),
            (background.to, servers, found.servers, background.beside[1]),
        ):
            added.append(
                Host(
                    name=name,
                    addresses=addresses,
                    router=routers[beside],
                    access_up=Direction(),
                    access_down=Direction(),
                    paths=tuple(links(path) for path in paths),
                )
            )
    return replace(network, hosts=(*network.hosts, *added))


def without_users(scenario: Scenario) -> Scenario:
    """The scenario without background: its network as it is without users.

    A router that only they needed, behind a link that takes no time, is none.
    """
    users = {
        name
        for one in scenario.backgrounds
        if one.model == "users"
        for name in (one.source, one.to)
    }
    hosts = [host for host in scenario.hosts if host.name not in users]
    added = {
        host.router: host.name
        for host in hosts
        if users
        and host.router == access_router(host.name)
        and host.access_up == host.access_down == Direction()
    }
    return replace(
        scenario,
        backgrounds=(),
        hosts=tuple(
            replace(host, router=None, access_up=None, access_down=None)
            if host.router in added
            else host
            for host in hosts
        ),
        routers=tuple(router for router in scenario.routers if router not in added),
        links=tuple(
            replace(
                link,
                ends=(added.get(link.ends[0], link.ends[0]), added.get(link.ends[1], link.ends[1])),
            )
            for link in scenario.links
        ),
    )


def links(path: HostPath) -> tuple[Direction, Direction]:
    """The access link of a host of a model: toward the target link, and from it."""
    return (
        _direction(path.latency_ns, path.toward_rate, path.toward_loss),
        _direction(path.latency_ns, path.from_rate, path.from_loss),
    )


def _direction(latency_ns: int, rate: int | None, loss: float) -> Direction:
    queue = None
    if rate is not None:
        queue = Queue(bytes=max(_LEAST_QUEUE, rate * _QUEUE_NS // 8_000_000_000))
    return Direction(
        rate=rate,
        delay_ns=latency_ns,
        queue=queue,
        loss=Loss(model="independent", probability=min(loss, 0.99)) if loss > 0 else None,
    )
