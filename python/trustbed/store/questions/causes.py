"""How the share of each cause changed, since when, and how sure that is.

The share is of judged transfers. Blocks are captures, in the order of their first transfers; see
:mod:`~trustbed.store.questions.change_points`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from trustbed.store.captures import date_of
from trustbed.store.errors import StoreError
from trustbed.store.questions.change_points import (
    FEWEST,
    Block,
    Change,
    change_at,
    changes,
    halves,
    merged,
)
from trustbed.store.questions.hosts import values_of
from trustbed.store.store import Store
from trustbed.workload.intervals import LEVEL

LEAST_TRANSFERS = 5
"""A cause of fewer transfers is not tested."""


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """Judged transfers of a day, and those with the cause."""

    date: str
    transfers: int
    with_cause: int


class CauseHistory(msgspec.Struct, frozen=True, kw_only=True):
    """A cause over time.

    Attributes:
        verdict: The most frequent one of its transfers.
        tested: It has enough transfers, in enough captures.
        changed: Beyond chance, in all tests of this answer together (Bonferroni).
        changes: In order of time; where a date was given the one at that date.
    """

    cause: str
    verdict: str
    transfers: int
    share: float
    tested: bool
    changed: bool
    changes: tuple[Change, ...]
    days: tuple[Day, ...]


class CausesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer.

    Attributes:
        since_ns: The date that was given; None: changes were looked for.
        blocks: Captures, or groups of neighbouring ones, that were compared.
        fewest: Blocks that are needed on either side of a change.
        causes: The most frequent first.
    """

    testbed: str | None
    level: float
    since_ns: int | None
    transfers: int
    captures: int
    blocks: int
    fewest: int
    first_ns: int | None
    last_ns: int | None
    causes: tuple[CauseHistory, ...]


def ask(
    store: Store,
    *,
    testbed: str | None = None,
    cause: str | None = None,
    since_ns: int | None = None,
    level: float = LEVEL,
    seed: int = 1,
) -> CausesAnswer:
    """Answers it for all causes, or one of them.

    Raises:
        StoreError: No transfer has that cause.
    """
    counts = _counts(store, testbed)
    every = _per_capture(counts)
    verdicts = _totals(counts)
    wanted = sorted(verdicts, key=lambda one: (-sum(verdicts[one].values()), one))
    if cause is not None:
        if cause not in verdicts:
            known = ", ".join(wanted[:6]) or "there are none yet"
            raise StoreError(f"no judged transfer has the cause {cause}", f"causes: {known}")
        wanted = [cause]
    hits = {one: _hits(counts, one) for one in wanted}
    tests = sum(sum(verdicts[one].values()) >= LEAST_TRANSFERS for one in wanted)
    days = _days(every)
    whole = sum(of for _, of in every.values())
    found = []
    for one in wanted:
        captures = [Block(at, of, hits[one].get(key, 0)) for key, (at, of) in every.items()]
        blocks = _blocks(captures, since_ns)
        total = sum(verdicts[one].values())
        tested = total >= LEAST_TRANSFERS and len(blocks) >= 2 * FEWEST
        there = _changes(blocks, since_ns, level, tests, seed) if tested else ()
        found.append(
            CauseHistory(
                cause=one,
                verdict=max(verdicts[one], key=lambda name: (verdicts[one][name], name)),
                transfers=total,
                share=total / whole if whole else 0.0,
                tested=tested,
                # What was found by looking for it has passed its test.
                changed=any(since_ns is None or change.p * tests <= 1 - level for change in there),
                changes=there,
                days=_history(days, _days_of(every, hits[one])),
            )
        )
    moments = [at for at, _ in every.values()]
    return CausesAnswer(
        testbed=testbed,
        level=level,
        since_ns=since_ns,
        transfers=whole,
        captures=len(every),
        blocks=len(_blocks([Block(at, of, 0) for at, of in every.values()], since_ns)),
        fewest=FEWEST,
        first_ns=min(moments, default=None),
        last_ns=max(moments, default=None),
        causes=tuple(found),
    )


def _blocks(captures: Sequence[Block], since_ns: int | None) -> list[Block]:
    return merged(captures) if since_ns is None else halves(captures, since_ns)


def _changes(
    blocks: Sequence[Block], since_ns: int | None, level: float, tests: int, seed: int
) -> tuple[Change, ...]:
    if since_ns is None:
        return tuple(changes(blocks, level=level, tests=tests, seed=seed))
    one = change_at(blocks, since_ns, level=level, tests=tests, seed=seed)
    return () if one is None else (one,)


_Key = tuple[str, str]


def _counts(store: Store, testbed: str | None) -> pa.Table:
    """Judged transfers by capture, cause and verdict, with their first moment."""
    where = pads.field("verdict").isin(["trust", "review", "discard"])
    if testbed is not None:
        where &= pads.field("testbed") == testbed
    names = ["capture", "source", "cause", "verdict"]
    table = store.verdicts.table([*names, "start_ns"], where=where)
    keys = {
        name: pa.chunked_array(table.column(name).dictionary_encode()).unify_dictionaries()
        for name in names
    }
    start = table.column("start_ns").cast(pa.int64())
    grouped = (
        pa.table({**keys, "start": start})
        .group_by(names)
        .aggregate([("start", "min"), ("start", "count")])
    )
    texts = {name: grouped.column(name).cast(pa.string()) for name in names}
    return pa.table(
        {**texts, "at": grouped.column("start_min"), "count": grouped.column("start_count")}
    )


def _rows(table: pa.Table, *names: str) -> Iterable[tuple[Any, ...]]:
    return zip(*(values_of(table, name) for name in names), strict=True)


def _per_capture(counts: pa.Table) -> dict[_Key, tuple[int, int]]:
    """When each capture's transfers began, and how many there are."""
    grouped = counts.group_by(["capture", "source"]).aggregate([("at", "min"), ("count", "sum")])
    rows = _rows(grouped, "capture", "source", "at_min", "count_sum")
    return {(capture, source): (at, count) for capture, source, at, count in rows if at is not None}


def _totals(counts: pa.Table) -> dict[str, dict[str, int]]:
    """Transfers of each cause by verdict."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    grouped = counts.group_by(["cause", "verdict"]).aggregate([("count", "sum")])
    for cause, verdict, count in _rows(grouped, "cause", "verdict", "count_sum"):
        found[cause][verdict] = count
    return found


def _hits(counts: pa.Table, cause: str) -> dict[_Key, int]:
    chosen = counts.filter(pc.equal(counts.column("cause"), cause))
    grouped = chosen.group_by(["capture", "source"]).aggregate([("count", "sum")])
    rows = _rows(grouped, "capture", "source", "count_sum")
    return {(capture, source): count for capture, source, count in rows}


def _days(every: dict[_Key, tuple[int, int]]) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for at, of in every.values():
        found[date_of(at)] += of
    return found


def _days_of(every: dict[_Key, tuple[int, int]], hits: dict[_Key, int]) -> dict[str, int]:
    found: dict[str, int] = defaultdict(int)
    for key, count in hits.items():
        if key in every:
            found[date_of(every[key][0])] += count
    return found


def _history(days: dict[str, int], hits: dict[str, int]) -> tuple[Day, ...]:
    return tuple(
        Day(date=date, transfers=days[date], with_cause=hits.get(date, 0)) for date in sorted(days)
    )
