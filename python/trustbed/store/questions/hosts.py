"""Which hosts produce numbers to be discarded, and at which hours of the day.

The unit is a measurement: the judged transfers from one host to another that began within one hour
of one capture, to be discarded if half of them or more are. Transfers of one capture share their
host and its moment, and would count many times what happened once. Rounds of campaigns are
measurements as well. What stands out, and how often it must have been seen, is as in campaigns:
:mod:`trustbed.campaign.statistics.avoidance`.
"""

from __future__ import annotations

from itertools import starmap
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from trustbed.campaign.statistics.avoidance import HostTable, Hours, HourTable, Tally, hosts
from trustbed.report.columns import values
from trustbed.scenario.campaign_model import HostPair
from trustbed.store.store import Store
from trustbed.workload.intervals import LEVEL

MOST_PAIRS = 500
"""Pairs of hosts that are compared: those with the most measurements."""
HOUR_NS = 3600 * 10**9
_KEYS = ("capture", "source", "testbed", "src", "dst")
_COLUMNS = [*_KEYS, "start_ns", "verdict"]
_PAIR = ("testbed", "src", "dst")


class HostsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer; shares are of measurements.

    Attributes:
        testbed: The one that was asked about; None: all.
        transfers: Judged transfers.
        discarded: Those of them to be discarded.
        rounds: Judged rounds of campaigns.
        measurements: Units that were compared.
        pairs: Pairs of hosts.
        pairs_left_out: Those with the fewest measurements, which were not compared.
    """

    testbed: str | None
    level: float
    transfers: int
    discarded: int
    rounds: int
    measurements: int
    pairs: int
    pairs_left_out: int
    hours: HourTable
    hosts: HostTable


def ask(store: Store, *, testbed: str | None = None, level: float = LEVEL) -> HostsAnswer:
    """Answers it from transfers and rounds of campaigns."""
    where = None if testbed is None else pads.field("testbed") == testbed
    transfers = _judged(store, where)
    rounds = _rounds(store, where)
    units = pa.concat_tables([_measurements(transfers), rounds])
    tallies = _by(units, [*_PAIR])
    several = len(set(values_of(tallies, "testbed"))) > 1
    ends = (
        # The 10.0.0.1 of one testbed is no host of another.
        [f"{bed}: {src}", f"{bed}: {dst}"] if several else [src, dst]
        for bed, src, dst in zip(*(values_of(tallies, name) for name in _PAIR), strict=True)
    )
    ordered = sorted(
        ((src, dst, tally) for (src, dst), tally in zip(ends, _tallies(tallies), strict=True)),
        key=lambda one: (-one[2].rounds, one[0], one[1]),
    )
    compared = {(src, dst): tally for src, dst, tally in ordered[:MOST_PAIRS]}
    named = {f"{src} → {dst}": tally for (src, dst), tally in compared.items()}
    pairs = [HostPair(name=f"{src} → {dst}", sender=src, receiver=dst) for src, dst in compared]
    return HostsAnswer(
        testbed=testbed,
        level=level,
        transfers=transfers.num_rows,
        discarded=pc.sum(pc.equal(transfers.column("verdict"), "discard")).as_py() or 0,
        rounds=rounds.num_rows,
        measurements=units.num_rows,
        pairs=len(ordered),
        pairs_left_out=len(ordered) - len(compared),
        hours=_hours(units).table(level),
        hosts=hosts(pairs, named, level=level),
    )


def _judged(store: Store, where: pads.Expression | None) -> pa.Table:
    judged = pads.field("verdict").isin(["trust", "review", "discard"])
    return store.verdicts.table(_COLUMNS, where=judged if where is None else judged & where)


def _measurements(transfers: pa.Table) -> pa.Table:
    """The judged transfers as measurements: ends, hour since the epoch, whether it is bad."""
    words = {
        name: transfers.column(name).dictionary_encode().unify_dictionaries().combine_chunks()
        for name in _KEYS
    }
    keys = {name: column.indices for name, column in words.items()}  # quicker to group than words
    hour = pc.divide(transfers.column("start_ns").cast(pa.int64()), HOUR_NS)
    bad = pc.equal(transfers.column("verdict"), "discard").cast(pa.int32())
    grouped = (
        pa.table({**keys, "hour": hour, "bad": bad})
        .group_by([*keys, "hour"])
        .aggregate([("bad", "sum"), ("bad", "count")])
    )
    half = pc.greater_equal(pc.multiply(grouped.column("bad_sum"), 2), grouped.column("bad_count"))
    ends = {name: words[name].dictionary.take(grouped.column(name)) for name in _PAIR}
    return pa.table({**ends, "hour": grouped.column("hour"), "bad": half.cast(pa.int32())})


def _rounds(store: Store, where: pads.Expression | None) -> pa.Table:
    """The judged rounds of campaigns as measurements."""
    known = pads.field("use").is_valid() & pads.field("start_ns").is_valid()
    table = store.campaigns.table(
        ["testbed", "sender", "receiver", "start_ns", "use"],
        where=known if where is None else known & where,
    )
    return pa.table(
        {
            "testbed": table.column("testbed"),
            "src": table.column("sender"),
            "dst": table.column("receiver"),
            "hour": pc.divide(table.column("start_ns").cast(pa.int64()), HOUR_NS),
            "bad": pc.equal(table.column("use"), "discard").cast(pa.int32()),
        }
    )


def _by(units: pa.Table, keys: list[str]) -> pa.Table:
    return units.group_by(keys).aggregate([("bad", "sum"), ("bad", "count")])


def _tallies(grouped: pa.Table) -> list[Tally]:
    counts = zip(values_of(grouped, "bad_count"), values_of(grouped, "bad_sum"), strict=True)
    return list(starmap(Tally, counts))


def values_of(table: pa.Table, name: str) -> list[Any]:
    """The values of a column."""
    return [value for chunk in table.column(name).chunks for value in values(chunk)]


def _hours(units: pa.Table) -> Hours:
    grouped = _by(units, ["hour"])
    found = Hours()
    for hour, tally in zip(values_of(grouped, "hour"), _tallies(grouped), strict=True):
        if hour is not None:
            found.add_all(hour * HOUR_NS, tally)
    return found
