"""One table for all reported resources of hosts, whatever the source.

A row for each value, with its source and its resolution.

Whatever grows is a rate here, per second over the row's interval, so that a value of one second and
one of five minutes can be held against each other. Means over a minute weigh each value with the
part of its interval that lies in the minute; what they hide are peaks. Times are those of the clock
of whoever tells: a host's own for its samples, the server's for others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from trustbed.workload.tables import column

Source = Literal["proc", "cgroup", "prometheus", "cloudwatch"]
Scope = Literal["host", "process", "cgroup", "interface"]

MINUTE = 60_000_000_000
_FINE = MINUTE // 2
"""What is finer than this stands in the table per minute too: two values at least make a mean."""

_SHARES = {
    "cpu_utilisation_share": "of the node's processors: 1 − Δidle/Δtotal. Waiting for a disk "
    "counts as used. "
    "Of a process or a control group: its processor time as a share of all processors",
    "cpu_user_share": "of the node's processors: in programs",
    "cpu_nice_share": "of the node's processors: in programs of low priority",
    "cpu_system_share": "of the node's processors: in the kernel",
    "cpu_interrupt_share": "of the node's processors: in interrupts",
    "cpu_steal_share": "of the node's processors: taken by the hypervisor; null where the "
    "kernel does not report it",
    "cpu_idle_share": "of the node's processors: nothing to do",
    "cpu_iowait_share": "of the node's processors: nothing to do but wait for a disk",
    "pressure_processor_some_share": "of the time: some task waited for a processor (PSI)",
    "pressure_memory_some_share": "of the time: some task waited for memory",
    "pressure_memory_full_share": "of the time: all tasks waited for memory",
    "pressure_disk_some_share": "of the time: some task waited for a disk",
    "pressure_disk_full_share": "of the time: all tasks waited for a disk",
    "cpu_throttled_periods_share": "of a quota's periods: those in which it was used up",
}
_LEVELS = {
    "load_1min": ("1", "tasks that run or could, averaged over a minute"),
    "tasks_running": ("1", "tasks that run or could"),
    "memory_total_bytes": ("B", "memory that there is"),
    "memory_available_bytes": ("B", "memory that could be had without swapping"),
    "memory_free_bytes": ("B", "memory that nothing is in"),
    "memory_resident_bytes": ("B", "memory that a process holds"),
    "tcp_established": ("1", "TCP connections that are open"),
}
_RATES = {
    "cpu_waited_seconds_per_second": (
        "1",
        "how long the tasks of a process could have run and did not",
    ),
    "cpu_throttled_seconds_per_second": (
        "1",
        "how long tasks waited for the next period of a quota",
    ),
    "context_switches_per_second": ("1/s", "context switches"),
    "interrupts_per_second": ("1/s", "interrupts"),
    **{
        f"network_{way}_{what}_per_second": (
            unit,
            f"{what} {way}; without an interface's name, of all that the source counts",
        )
        for way in ("received", "sent")
        for what, unit in (
            ("bytes", "B/s"),
            ("packets", "1/s"),
            ("errors", "1/s"),
            ("drops", "1/s"),
        )
    },
    "driver_counter_per_second": (
        "1/s",
        (
            "a counter of a network card's driver (`ethtool -S`), named in `counter`; without "
            "a row it did not grow"
        ),
    ),
    "tcp_received_segments_per_second": ("1/s", "TCP segments received"),
    "tcp_sent_segments_per_second": ("1/s", "TCP segments sent, without retransmissions"),
    "tcp_retransmitted_segments_per_second": ("1/s", "TCP segments sent again"),
    "tcp_damaged_segments_per_second": ("1/s", "TCP segments received that were damaged"),
    "tcp_resets_sent_per_second": ("1/s", "TCP resets sent"),
    "tcp_opened_per_second": ("1/s", "TCP connections opened from here"),
    "tcp_accepted_per_second": ("1/s", "TCP connections opened from elsewhere"),
    "tcp_timeouts_per_second": ("1/s", "TCP retransmission time-outs"),
    "tcp_listen_drops_per_second": (
        "1/s",
        "TCP connections that a listener had no room for, or dropped",
    ),
}
METRICS: dict[str, tuple[str, str]] = {
    **{name: ("1", meaning) for name, meaning in _SHARES.items()},
    **_LEVELS,
    **_RATES,
}
"""Every metric that there is: its unit, and its meaning."""

RESOURCES = pa.schema(
    [
        column("pair", pa.string(), "", "the pair of hosts"),
        column("round", pa.int64(), "1", "its round"),
        column("role", pa.string(), "", "what the host was in it: `sender` or `receiver`"),
        column("host", pa.string(), "", "the host, as the inventory names it"),
        column(
            "source",
            pa.string(),
            "",
            "who tells it: `proc` and `cgroup` (the agent on the host), `prometheus`, `cloudwatch`",
        ),
        column(
            "scope",
            pa.string(),
            "",
            "of what: `host`, `process`, `cgroup`, `interface`; null in a row that tells a problem",
        ),
        column(
            "name",
            pa.string(),
            "",
            "of which process (its number), control group or interface; null for the host",
        ),
        column(
            "metric",
            pa.string(),
            "",
            "what is told: one of those below; null in a row that tells a problem",
        ),
        column("counter", pa.string(), "", "a driver's own name of its counter; null for all else"),
        column("unit", pa.string(), "", "of the value"),
        column(
            "time_ns",
            pa.int64(),
            "ns",
            (
                "beginning of the interval that the value is of, since the epoch, by the "
                "clock of its source"
            ),
        ),
        column("resolution_ns", pa.int64(), "ns", "length of the interval"),
        column(
            "covered_ns",
            pa.int64(),
            "ns",
            "how much of it the value is known for: less than all in the first and last minutes",
        ),
        column(
            "value",
            pa.float64(),
            "1",
            "the value, in its unit; null where the source does not know it",
        ),
        column(
            "problem",
            pa.string(),
            "",
            "why a source does not tell all that it was asked for; null in every other row",
        ),
    ]
)
ABOUT = (
    "One row per value: what hosts, and others, tell of the hosts' resources during a "
    "round of a campaign. Whatever is finer than "
    "half a minute stands there per minute too. It is context for whoever reads: no "
    "verdict is made of it."
)


class Observation(NamedTuple):
    """A value, and the interval that it is of.

    Of a mean ``covered_ns`` says how much of the interval it is from.
    """

    scope: Scope
    name: str | None
    metric: str
    time_ns: int
    resolution_ns: int
    value: float | None
    counter: str | None = None
    covered_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Of which host in which round, and who tells it."""

    pair: str
    round: int
    role: str
    host: str
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From a moment to another, in nanoseconds since the epoch."""

    from_ns: int
    until_ns: int

    @property
    def length_ns(self) -> int:
        """How long it is."""
        return self.until_ns - self.from_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a source does not tell all that it was asked for of a time."""

    span: Span
    text: str


def per_minute(observations: Iterable[Observation]) -> Iterator[Observation]:
    """Means over whole minutes of the clock, of whatever is finer.

    A minute of which nothing is known is null.
    """
    sums: dict[tuple[Scope, str | None, str, str | None, int], tuple[float, int]] = {}
    for one in observations:
        if not 0 < one.resolution_ns < _FINE:
            continue
        begin, end = one.time_ns, one.time_ns + one.resolution_ns
        while begin < end:
            minute = begin // MINUTE * MINUTE
            part = min(end, minute + MINUTE) - begin
            key = (one.scope, one.name, one.metric, one.counter, minute)
            weighted, known = sums.get(key, (0.0, 0))
            sums[key] = (
                (weighted, known)
                if one.value is None
                else (weighted + one.value * part, known + part)
            )
            begin += part
    for (scope, name, metric, counter, minute), (weighted, known) in sums.items():
        yield Observation(
            scope, name, metric, minute, MINUTE, weighted / known if known else None, counter, known
        )


def table_of(
    place: Place, observations: Iterable[Observation], problems: Sequence[Problem] = ()
) -> pa.Table:
    """Rows of one source on one host.

    What it tells, the same per minute where it is finer, and what it does not tell.

    Returns:
        A table of the schema :data:`RESOURCES`.
    """
    told = list(observations)
    told += per_minute(told)
    count = len(told) + len(problems)
    fixed = {
        "pair": place.pair,
        "round": place.round,
        "role": place.role,
        "host": place.host,
        "source": place.source,
    }
    columns = {
        name: pa.repeat(pa.scalar(value, RESOURCES.field(name).type), count)
        for name, value in fixed.items()
    }
    rows: dict[str, list[Any]] = {
        "scope": [one.scope for one in told],
        "name": [one.name for one in told],
        "metric": [one.metric for one in told],
        "counter": [one.counter for one in told],
        "unit": [METRICS[one.metric][0] for one in told],
        "time_ns": [one.time_ns for one in told] + [one.span.from_ns for one in problems],
        "resolution_ns": [one.resolution_ns for one in told]
        + [one.span.length_ns for one in problems],
        "covered_ns": [_covered(one) for one in told] + [0] * len(problems),
        "value": [one.value for one in told],
        "problem": [None] * len(told) + [one.text for one in problems],
    }
    for name, values in rows.items():
        columns[name] = pa.array(
            values + [None] * (count - len(values)), RESOURCES.field(name).type
        )
    return pa.table(columns, schema=RESOURCES)


def _covered(one: Observation) -> int:
    if one.covered_ns is not None:
        return one.covered_ns
    return 0 if one.value is None else one.resolution_ns


def nothing() -> pa.Table:
    """A table without rows."""
    return RESOURCES.empty_table()
