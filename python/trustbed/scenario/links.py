"""Reads links: what each direction does with packets.

Each direction starts from the keys of the link. Its own table (``up`` or ``down``) overrides them
one by one, so that ``up.loss = "1%"`` changes nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from trustbed import _core
from trustbed.scenario.error import ScenarioError
from trustbed.scenario.link_times import read_delay_steps, read_outages, read_rate_steps
from trustbed.scenario.model import (
    DISCIPLINES,
    DISTRIBUTIONS,
    SECOND,
    Bucket,
    Direction,
    Discipline,
    Jitter,
    Loss,
    Queue,
    Recorded,
    RecordedDelay,
    Reorder,
)
from trustbed.scenario.table import Table

_FULL_BYTES = 1514
"""A packet of full size, as links see it."""
_LOSS_KINDS = ("gilbert-elliott", "periodic")


def both_directions(table: Table) -> tuple[Direction, Direction]:
    """Up (from the first end to the second) and down."""
    shared = _direction(table, Direction())
    found = []
    for name in ("up", "down"):
        own = table.table(name)
        if own is None:
            found.append(_completed(shared, (table,)))
        else:
            found.append(_completed(_direction(own, shared), (own, table)))
            own.close()
    return found[0], found[1]


def _completed(one: Direction, tables: Sequence[Table]) -> Direction:
    """A direction with all its keys, which ``tables`` hold, the overriding ones first.

    What depends on several keys is computed and checked here.
    """

    def error(key: str, message: str, hint: str) -> ScenarioError:
        table = next((table for table in tables if key in table), tables[0])
        return table.error(key, message, hint)

    if one.jitter is not None and one.jitter.spread_ns > (delay := one.shortest_delay_ns):
        spread = one.jitter.spread_ns
        raise error(
            "jitter",
            f"{_milliseconds(spread)} of jitter is more than the delay of {_milliseconds(delay)}, "
            "and no packet arrives before it was sent",
            (f"give a jitter of at most {_milliseconds(delay)}, or " if delay else "give ")
            + f"a delay of at least {_milliseconds(spread)}",
        )
    if one.queue is None or one.queue.duration_ns is None:
        return one
    rate, duration = one.drain_rate, one.queue.duration_ns
    if rate is None:
        raise error(
            "queue",
            f"without a rate nothing says how much waits for {_milliseconds(duration)}",
            'give the link a rate, or the queue packets like "50p" or bytes like "64KiB"',
        )
    size = int(rate * duration / 8 / SECOND)
    if size < _FULL_BYTES:
        least = math.ceil(_FULL_BYTES * 8 * 1_000_000 / rate)
        raise error(
            "queue",
            f"{_milliseconds(duration)} at the link's rate are {size} bytes, which hold no "
            "full-size packet",
            f"give at least {least}us",
        )
    return replace(one, queue=replace(one.queue, bytes=size))


def _milliseconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1_000_000:g}ms"


def _direction(table: Table, base: Direction) -> Direction:
    """What the table changes of a direction. Does not close the table."""
    changed = base
    if "rate" in table and "rate_trace" in table:
        raise table.error(
            "rate_trace",
            "a link has a rate or a trace of rates, not both",
            "leave one of rate and rate_trace out",
        )
    if isinstance(table.raw("rate"), dict):
        changed = replace(changed, rate=None, rate_steps=read_rate_steps(table), rate_trace=None)
    elif "rate" in table:
        rate = table.rate_above_zero("rate", None)
        changed = replace(changed, rate=rate, rate_steps=(), rate_trace=None)
    if "rate_trace" in table:
        changed = replace(changed, rate=None, rate_steps=(), rate_trace=_opportunities(table))
    changed = replace(changed, duplicate=table.probability("duplicate", base.duplicate))
    changed = _delayed(table, changed)
    if "queue" in table:
        changed = replace(changed, queue=_queue(table))
    if "loss" in table:
        changed = replace(changed, loss=_loss(table))
    if "reorder" in table:
        changed = replace(changed, reorder=_reorder(table))
    if "outages" in table:
        changed = replace(changed, outages=read_outages(table))
    return _limited(table, changed)


def _limited(table: Table, base: Direction) -> Direction:
    """Policer and shaper."""
    changed = base
    if "policer" in table:
        changed = replace(changed, policer=_bucket(table, "policer"))
    if "shaper" in table:
        changed = replace(changed, shaper=_bucket(table, "shaper"))
    fastest = changed.fastest_rate
    if changed.shaper is not None and fastest is not None and changed.shaper.rate >= fastest:
        message = "a shaper that is not slower than the link has no effect"
        raise table.error(
            "shaper" if "shaper" in table else "rate",
            message,
            "give the shaper a rate below that of the link",
        )
    return changed


def _bucket(outer: Table, key: str) -> Bucket:
    table = outer.table(key)
    assert table is not None, "the key exists"
    for inner in ("rate", "burst"):
        table.must(inner, f'{key} = {{ rate = "10Mbit/s", burst = "64KiB" }}')
    rate, burst = table.rate_above_zero("rate", None), table.size("burst", 0)
    assert rate is not None, "the key exists"
    if burst < _FULL_BYTES:
        raise table.error(
            "burst",
            f"{burst} bytes are less than a packet of full size",
            f"give at least {_FULL_BYTES}B",
        )
    table.close()
    return Bucket(rate=rate, burst_bytes=burst)


def _delayed(table: Table, base: Direction) -> Direction:
    changed = base
    if isinstance(table.raw("delay"), dict):
        changed = replace(
            changed, delay_ns=0, delay_steps=read_delay_steps(table), delay_trace=None
        )
    elif "delay" in table:
        changed = replace(
            changed, delay_ns=table.span("delay", 0), delay_steps=None, delay_trace=None
        )
    if "delay_trace" in table:
        for other in ("delay", "jitter"):
            if other in table:
                raise table.error(
                    other,
                    f"{other} has no effect beside delay_trace, which gives every delay",
                    "leave one of the two out",
                )
        changed = replace(
            changed, delay_ns=0, delay_steps=None, jitter=None, delay_trace=_recorded_delay(table)
        )
    if "jitter" in table:
        changed = replace(changed, jitter=_jitter(table))
    return changed


def _jitter(outer: Table) -> Jitter | None:
    if isinstance(outer.raw("jitter"), str):
        spread = outer.span("jitter", 0)
        return Jitter(distribution="uniform", spread_ns=spread) if spread else None
    table = outer.table("jitter")
    assert table is not None, "the key exists"
    table.must("spread", 'jitter = { distribution = "normal", spread = "2ms" }')
    found = Jitter(
        distribution=table.choice("distribution", DISTRIBUTIONS, "uniform"),
        spread_ns=table.span_above_zero("spread", 0),
        keep_order=table.flag("keep_order", True),
    )
    table.close()
    return found


def _recorded_delay(outer: Table) -> RecordedDelay:
    if isinstance(outer.raw("delay_trace"), str):
        return RecordedDelay(delays=_delays(outer, "delay_trace"))
    table = outer.table("delay_trace")
    assert table is not None, "the key exists"
    table.must("file", 'delay_trace = { file = "delays.txt", step = "10ms" }')
    found = RecordedDelay(
        delays=_delays(table, "file"),
        step_ns=table.span_above_zero("step", None),
        keep_order=table.flag("keep_order", True),
    )
    table.close()
    return found


def _opportunities(table: Table) -> Recorded:
    """A millisecond on every line, in order; the last is the length of the recording."""
    found = _recorded(
        table,
        "rate_trace",
        int,
        "a whole number, the millisecond of an opportunity to send",
        rises_by=0,
    )
    if found.values[-1] == 0:
        raise table.error(
            "rate_trace",
            f"{found.file} ends at 0 ms and cannot be repeated",
            "its last line is also its length",
        )
    return found


def _delays(table: Table, key: str) -> Recorded:
    """A delay on every line, in milliseconds or with its unit."""

    def nanoseconds(text: str) -> int:
        return int(_core.parse_span(f"{text}ms" if text.replace(".", "", 1).isdecimal() else text))

    return _recorded(table, key, nanoseconds, "a delay in milliseconds, or with its unit")


def _recorded(
    table: Table, key: str, read: Callable[[str], int], what: str, *, rises_by: int | None = None
) -> Recorded:
    """A number on every line.

    Where order matters, each exceeds the one before it by at least ``rises_by``.
    """
    file = table.file(key)
    assert file is not None, "the key exists"
    values: list[int] = []
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise table.error(
            key,
            f"cannot be read, {file}: {error}",
            "give a text file with one number on every line",
        ) from None
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            value = read(line.strip())
        except ValueError:
            value = -1
        if value < 0:
            raise table.error(
                key,
                f"{file}, line {number}: {line.strip()!r} is not {what}",
                "every line holds one; # begins a comment",
            )
        if rises_by is not None and values and value < values[-1] + rises_by:
            raise table.error(
                key,
                f"{file}, line {number}: {value} comes after {values[-1]}",
                "put the lines in order"
                if rises_by == 0
                else "put the lines in order, every number once",
            )
        values.append(value)
    if not values:
        raise table.error(key, f"{file} contains no number", f"every line holds {what}")
    return Recorded(file=file, values=tuple(values))


def _queue(outer: Table) -> Queue:
    if isinstance(outer.raw("queue"), str):
        if outer.raw("queue").strip() == "unlimited":
            return Queue(discipline="unlimited")
        depth = outer.depth("queue", least_bytes=_FULL_BYTES)
        return Queue(packets=depth.packets, bytes=depth.bytes, duration_ns=depth.duration_ns)
    if isinstance(number := outer.raw("queue"), int):
        raise outer.error(
            "queue",
            f"{number} is not a queue depth without a unit",
            f'write packets like "{number}p", bytes like "64KiB", or a time like "50ms"',
        )
    table = outer.table("queue")
    assert table is not None, "the key exists"
    discipline: Discipline = table.choice("discipline", DISCIPLINES, "drop-tail")
    depth = table.depth("limit", least_bytes=_FULL_BYTES)
    found = Queue(
        discipline=discipline,
        packets=depth.packets,
        bytes=depth.bytes,
        duration_ns=depth.duration_ns,
    )
    if discipline == "codel":
        found = replace(
            found,
            target_ns=table.span_above_zero("target", None),
            interval_ns=table.span_above_zero("interval", None),
        )
    elif discipline == "red":
        found = _red(table, found)
    elif discipline == "drop-tail":
        table.must("limit", 'queue = { discipline = "drop-tail", limit = "50p" }')
    elif "limit" in table:
        raise table.error(
            "limit",
            "a queue without limit has none",
            'write queue = "unlimited", or another discipline',
        )
    table.close()
    return found


def _red(table: Table, queue: Queue) -> Queue:
    for key in ("low", "high"):
        table.must(key, 'queue = { discipline = "red", low = 5, high = 15, limit = "50p" }')
    low, high = table.whole("low", 0, least=0), table.whole("high", 0, least=1)
    if low >= high:
        raise table.error(
            "low",
            "the low mark must lie below the high one",
            "packets are dropped at random between the two",
        )
    weight = table.probability("weight", 0.002)
    if weight == 0:
        raise table.error(
            "weight",
            "with a weight of 0 the average queue depth never changes",
            "give more than 0, for example 0.002",
        )
    return replace(
        queue,
        low_packets=low,
        high_packets=high,
        probability=table.probability("probability", 0.1),
        weight=weight,
    )


def _loss(outer: Table) -> Loss | None:
    if not isinstance(outer.raw("loss"), dict):
        share = outer.probability("loss", 0.0)
        return Loss(model="independent", probability=share) if share else None
    table = outer.table("loss")
    assert table is not None, "the key exists"
    if "trace" in table:
        lost = _recorded(
            table, "trace", int, "a whole number, the number of a lost packet, from 0", rises_by=1
        )
        found = Loss(
            model="recorded",
            lost=lost,
            period_packets=table.whole("period", None, least=lost.values[-1] + 1),
        )
    else:
        table.must("model", 'loss = { model = "gilbert-elliott", to_bad = "1%", to_good = "30%" }')
        found = (
            _gilbert(table)
            if table.choice("model", _LOSS_KINDS, "") == "gilbert-elliott"
            else _periodic(table)
        )
    table.close()
    return found


def _gilbert(table: Table) -> Loss:
    """Two states, after Gilbert (1960) and Elliott (1963).

    Probabilities of a transition, and of losing a packet in each state.
    """
    for key in ("to_bad", "to_good"):
        table.must(
            key,
            'loss = { model = "gilbert-elliott", to_bad = "1%", to_good = "30%", in_bad = "100%" }',
        )
    return Loss(
        model="gilbert-elliott",
        to_bad=table.probability("to_bad", 0.0),
        to_good=table.probability("to_good", 0.0),
        in_good=table.probability("in_good", 0.0),
        in_bad=table.probability("in_bad", 1.0),
    )


def _periodic(table: Table) -> Loss:
    table.must("every", 'loss = { model = "periodic", every = 100 }')
    every = table.whole("every", 1, least=1)
    return Loss(model="periodic", every=every, first=table.whole("first", every, least=1))


def _reorder(outer: Table) -> Reorder | None:
    table = outer.table("reorder")
    assert table is not None, "the key exists"
    for key in ("probability", "delay"):
        table.must(key, 'reorder = { probability = "1%", delay = "5ms" }')
    found = Reorder(
        probability=table.probability("probability", 0.0),
        delay_ns=table.span_above_zero("delay", 0),
    )
    table.close()
    return found if found.probability else None
