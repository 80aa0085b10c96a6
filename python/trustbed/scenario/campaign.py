"""Reads a campaign file.

Pairs of hosts of an inventory, the rounds that they take part in, and what is stored.

What depends on the hosts (whether they answer, whether the receiver can be reached, whether a disk
is full) is checked when the campaign runs.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trustbed.scenario.campaign_model import (
    ARRANGEMENTS,
    ESTIMATORS,
    ORDERS,
    PINGS,
    PUBLISHED_WINDOWS,
    TABLE_NAMES,
    Arrangement,
    Campaign,
    Delay,
    Estimator,
    HostPair,
    Index,
    Order,
    Ping,
    Recording,
    Rounds,
    TableName,
    Wanted,
)
from trustbed.scenario.inventory import Checks, Inventory, described
from trustbed.scenario.inventory import load as load_inventory
from trustbed.scenario.model import SECOND
from trustbed.scenario.positions import lines_of
from trustbed.scenario.table import Source, Table
from trustbed.scenario.text import Nature, read_text, read_toml
from trustbed.scenario.workloads import LEAST_CLAMP, MOST_BUFFER, host_of

NATURE = Nature(
    name="a campaign",
    endings=(".toml",),
    otherwise="a scenario goes to trustbed run, a capture to trustbed analyze",
)
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,127}[A-Za-z0-9])?")
_INDEX_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,30}[A-Za-z0-9])?")
_MOST_ROUNDS = 1_000_000
_MOST_PAIRS_AT_ONCE = 1000
_MOST_PINGS = 1000
_MOST_PROBES = 100_000
_SHORTEST_GAP = 1_000_000
_LEAST_ESTIMATE = 10 * SECOND
_MOST_INDICES = 1000
_MOST_TRANSFER = 1 << 40
_MOST_DISK = 1 << 50
_LEAST_DISK = 1 << 20
_LEAST_HALF_WIDTH = 0.0001
_INVENTORY_KEYS = ("defaults", "known_hosts", "groups")
_PAIR = '[[pairs]] and below it: sender = "alpha", receiver = "beta"'


@dataclass(frozen=True, slots=True)
class CampaignFile:
    """A campaign and the text that it was read from."""

    file: Path
    text: str
    campaign: Campaign

    @property
    def sha256(self) -> str:
        """Of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def load(path: Path) -> CampaignFile:
    """Reads a campaign, and the inventory that it names.

    Raises:
        ScenarioError: One of them is invalid; the message names the position and what to write
            instead.
    """
    text = read_text(path, NATURE)
    values = read_toml(path, text, NATURE)
    root = Table(Source(path, lines_of(text)), (), values)
    inventory = _inventory(root)
    hosts = [host.name for host in inventory.hosts]
    rounds = _rounds(root)
    campaign = Campaign(
        name=root.text("name", path.stem),
        about=root.text("about", ""),
        seed=root.whole("seed", 1, most=2**63 - 1),
        inventory=inventory,
        pairs=_pairs(root, hosts),
        rounds=rounds,
        recording=_recording(root),
        wanted=_wanted(root),
    )
    root.close()
    _check_room(root, campaign)
    return CampaignFile(path, text, campaign)


def _inventory(root: Table) -> Inventory:
    """The inventory file that the campaign names, or the hosts in the campaign itself."""
    file = root.file("inventory")
    if file is None:
        if "hosts" not in root:
            hint = (
                'inventory = "hosts.toml", or [hosts.alpha] and below it: ssh = "alpha.example.net"'
            )
            raise root.missing(("inventory", "hosts"), "there is no host", hint)
        return described(root)
    if "hosts" in root:
        raise root.error(
            "hosts",
            "there is an inventory as well",
            "name hosts in one of the two; leave the other out",
        )
    wrong = next((key for key in _INVENTORY_KEYS if key in root), None)
    if wrong is not None:
        raise root.error(wrong, "belongs to hosts in the campaign itself", f"write it into {file}")
    return load_inventory(file)


# Pairs of hosts.


def _pairs(root: Table, hosts: Sequence[str]) -> tuple[HostPair, ...]:
    tables = root.rows("pairs", _PAIR)
    if not tables:
        raise root.missing(("pairs",), "there is no pair of hosts", _PAIR)
    found: dict[str, HostPair] = {}
    for table in tables:
        pair = _pair(table, hosts)
        if pair.name in found:
            other = found[pair.name]
            twice = f"{other.sender} and {other.receiver} are also named {pair.name}"
            raise table.error(
                "name" if "name" in table else None, twice, "give each a name of its own"
            )
        found[pair.name] = pair
    return tuple(found.values())


def _pair(table: Table, hosts: Sequence[str]) -> HostPair:
    for key, example in (("sender", hosts[0]), ("receiver", hosts[-1])):
        table.must(key, f'{key} = "{example}"')
    sender, receiver = host_of(table, "sender", hosts), host_of(table, "receiver", hosts)
    if sender == receiver:
        raise table.error(
            "receiver",
            f"{receiver} would send to itself, bypassing every network",
            "name another host",
        )
    name = table.text("name", f"{sender}-{receiver}")
    if _NAME.fullmatch(name) is None:
        raise table.error(
            "name",
            f"{name!r} is not a valid name for a pair of hosts",
            "up to 129 letters, digits, dots, dashes and underscores",
        )
    address = table.text("address", None)
    pair = HostPair(
        name=name,
        sender=sender,
        receiver=receiver,
        address=None
        if address is None
        else Checks(table.source).measured((*table.path, "address"), address),
    )
    table.close()
    return pair


# Rounds.


def _rounds(root: Table) -> Rounds:
    table = root.table("rounds")
    if table is None:
        raise root.missing(
            ("rounds",),
            "the length of the campaign is missing",
            '[rounds] and below it: lasts = "24h"',
        )
    period = table.span_above_zero("period", 300 * SECOND, example="300s")
    order: Order = table.choice("order", ORDERS, "cyclic")
    arrangement: Arrangement = table.choice("arrangement", ARRANGEMENTS, "concurrent")
    ping: Ping = table.choice("ping", PINGS, "auto")
    sizes = _table(table)
    probe_window, data_window = _windows(table, sizes)
    bandwidth, long_packets = _bandwidth(table)
    found = Rounds(
        count=_count(table, period),
        period_ns=period,
        table=sizes,
        order=order,
        arrangement=arrangement,
        pairs_at_once=table.whole("pairs_at_once", 3, least=1, most=_MOST_PAIRS_AT_ONCE),
        probe_window_bytes=probe_window,
        data_window_bytes=data_window,
        pings=table.whole("pings", 10, most=_MOST_PINGS),
        ping_interval_ns=table.span_above_zero("ping_interval", SECOND, example="1s"),
        ping=ping,
        limit_ns=table.span_above_zero("time_limit", 300 * SECOND, example="300s"),
        delay=_delay(table),
        bandwidth=bandwidth,
        long_packets=long_packets,
    )
    if found.pinging_ns >= period:
        message = (
            f"{found.pings} pings take {_seconds(found.pinging_ns)}, and a period is "
            f"{_seconds(period)}"
        )
        raise table.error(
            "pings" if "pings" in table else "period",
            message,
            "configure fewer pings, or a longer period",
        )
    if found.before_ns >= period:
        message = (
            f"everything before the connections may take {_seconds(found.before_ns)}, and a "
            f"period is {_seconds(period)}"
        )
        raise table.error(
            "bandwidth" if "bandwidth" in table else "delay",
            message,
            "configure less, or a longer period",
        )
    table.close()
    return found


def _count(table: Table, period: int) -> int:
    """The number of rounds of every pair: ``count``, or the whole periods that fit."""
    if "count" in table:
        if "lasts" in table:
            raise table.error("lasts", "has no effect beside count", "leave one of the two out")
        return table.whole("count", 1, least=1, most=_MOST_ROUNDS)
    if "lasts" not in table:
        raise table.missing(
            ("lasts", "count"),
            "the length of the campaign is missing",
            'lasts = "24h", or count = 288',
        )
    count: int = table.span_above_zero("lasts", period, example="24h") // period
    if count < 1:
        raise table.error(
            "lasts",
            f"{table.raw('lasts')} is less than a period of {_seconds(period)}",
            "let it last longer",
        )
    if count > _MOST_ROUNDS:
        raise table.error(
            "lasts",
            f"holds {count:,} periods of {_seconds(period)}",
            f"at most {_MOST_ROUNDS:,} are possible",
        )
    return count


def _table(table: Table) -> TableName | tuple[Index, ...]:
    if "table" not in table or isinstance(table.raw("table"), str):
        found: TableName = table.choice("table", TABLE_NAMES, "bulk")
        return found
    example = 'table = [{ probe = "16KiB", data = "8MiB" }]'
    rows = table.rows("table", f'table = "bulk", or {example}')
    if not 1 <= len(rows) <= _MOST_INDICES:
        raise table.error(
            "table", f"has {len(rows)} indices", f"give from 1 to {_MOST_INDICES}: {example}"
        )
    indices: dict[str, Index] = {}
    for number, row in enumerate(rows, 1):
        for key, size in (("probe", "16KiB"), ("data", "8MiB")):
            row.must(key, f'{key} = "{size}"')
        index = Index(
            name=row.text("name", str(number)),
            probe_bytes=row.size("probe", 0, least=1, most=_MOST_TRANSFER),
            data_bytes=row.size("data", 0, least=1, most=_MOST_TRANSFER),
        )
        if _INDEX_NAME.fullmatch(index.name) is None:
            raise row.error(
                "name",
                f"{index.name!r} is not a valid name for an index",
                "up to 32 letters, digits, dots, dashes and underscores",
            )
        if index.name in indices:
            raise row.error(
                "name" if "name" in row else None,
                f"there is an index {index.name} already",
                "give each a name of its own",
            )
        row.close()
        indices[index.name] = index
    return tuple(indices.values())


def _windows(outer: Table, sizes: TableName | tuple[Index, ...]) -> tuple[int | None, int | None]:
    """The receiver's window clamps of probe and data, in bytes."""
    published = sizes in ("planetlab", "ec2")
    usual_probe, usual_data = PUBLISHED_WINDOWS if published else (None, None)
    table = outer.table("windows")
    if table is None:
        return usual_probe, usual_data
    probe: int | None = table.size("probe", usual_probe, least=LEAST_CLAMP, most=MOST_BUFFER)
    data: int | None = table.size("data", usual_data, least=LEAST_CLAMP, most=MOST_BUFFER)
    table.close()
    return probe, data


def _delay(outer: Table) -> Delay | None:
    table = outer.table("delay")
    if table is None:
        return None
    usual = Delay()
    gap = table.span_above_zero("mean_gap", usual.mean_gap_ns)
    if gap < _SHORTEST_GAP:
        raise table.error(
            "mean_gap", f"{table.raw('mean_gap')} is too short for probing", "give at least 1ms"
        )
    found = Delay(
        probes=table.whole("probes", usual.probes, least=1, most=_MOST_PROBES), mean_gap_ns=gap
    )
    table.close()
    return found


def _bandwidth(outer: Table) -> tuple[tuple[tuple[Estimator, int], ...], bool]:
    table = outer.table("bandwidth")
    if table is None:
        return (), False
    found: tuple[tuple[Estimator, int], ...] = tuple(
        (name, table.span_above_zero(name, 0, example="120s"))
        for name in ESTIMATORS
        if name in table
    )
    long_packets = table.flag("long_packets", False)
    table.close()
    if not found:
        raise outer.error(
            "bandwidth",
            "names no estimator",
            'name one with its time limit: bandwidth = { pathload = "120s" }',
        )
    for name, limit in found:
        if limit < _LEAST_ESTIMATE:
            raise table.error(
                name,
                f"{table.raw(name)} is too short for an estimate",
                f"give at least {_seconds(_LEAST_ESTIMATE)}",
            )
    return found, long_packets


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds / SECOND:g} s"


# What is stored, and the precision of the report.


def _recording(root: Table) -> Recording:
    table = root.table("recording")
    if table is None:
        return Recording()
    found = Recording(
        capture=table.flag("capture", True),
        snap_bytes=table.whole("snap", 128, least=64, most=262_144),
        disk_bytes=table.size("disk", None, least=_LEAST_DISK, most=_MOST_DISK),
    )
    if not found.capture and "snap" in table:
        raise table.error("snap", "has no effect without a capture", "leave it out, or capture")
    table.close()
    return found


def _wanted(root: Table) -> Wanted:
    table = root.table("report")
    if table is None:
        return Wanted()
    found = Wanted(
        level=table.probability("confidence", 0.95),
        half_width=table.probability("half_width", 0.05),
    )
    if not 0.5 <= found.level <= 0.9999:
        raise table.error(
            "confidence",
            f"{table.raw('confidence')} is not a valid confidence level",
            "give from 50% to 99.99%, usually 95%",
        )
    if found.half_width < _LEAST_HALF_WIDTH:
        raise table.error(
            "half_width",
            f"{table.raw('half_width')} is too narrow for any number of rounds",
            "give at least 0.01%, for example 5%",
        )
    table.close()
    return found


def _check_room(root: Table, campaign: Campaign) -> None:
    """A host takes part in one round at a time.

    At least the pings of all its pairs must fit into a period.
    """
    rounds = campaign.rounds
    host, pairs = Counter(host for pair in campaign.pairs for host in pair.hosts).most_common(1)[0]
    needed, what = pairs * rounds.pinging_ns, "pings"
    if needed <= rounds.period_ns and rounds.before_ns > rounds.pinging_ns:
        needed, what = pairs * rounds.before_ns, "pings, probes and estimates"
    if needed > rounds.period_ns:
        message = (
            f"{host} is in {pairs} pairs, the {what} of which take {_seconds(needed)} of a "
            f"period of {_seconds(rounds.period_ns)}"
        )
        hint = (
            f"a host takes part in one round at a time: fewer pairs, fewer pings, or a period "
            f"of at least {_seconds(needed)}"
        )
        raise root.error("pairs", message, hint)
