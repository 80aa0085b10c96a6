"""One table for all reported resources of hosts, whatever the source.

A row for each value, with its source and its resolution.

Counters become rates, per second over the row's interval, so that a value of one second and one of
five minutes can be compared. Means over a minute weigh each value with the part of its interval
that lies in the minute; they hide peaks. Times are by the clock of the source: the host's own for
its samples, the server's for other sources.
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
"""Finer values are also in the table per minute: two values at least make a mean."""

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
        f"network_{direction}_{what}_per_second": (
            unit,
            f"{what} {direction}; without an interface's name, of all that the source counts",
        )
        for direction in ("received", "sent")
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
"""Every metric: its unit, and its meaning."""

RESOURCES = pa.schema(
    [
        column("pair", pa.string(), "", "the pair of hosts"),
        column("round", pa.int64(), "1", "its round"),
        column("role", pa.string(), "", "the host's role in it: `sender` or `receiver`"),
        column("host", pa.string(), "", "the host, as the inventory names it"),
        column(
            "source",
            pa.string(),
            "",
            "the source: `proc` and `cgroup` (the agent on the host), `prometheus`, `cloudwatch`",
        ),
        column(
            "scope",
            pa.string(),
            "",
            "of what: `host`, `process`, `cgroup`, `interface`; null in a row with a problem",
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
            "the metric: one of those below; null in a row with a problem",
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
            "why a source does not report everything; null in every other row",
        ),
    ]
)
ABOUT = (
    "One row per value: the hosts' resources during a round of a campaign, as the hosts "
    "themselves and other metric sources report them. Values finer than half a minute are also "
    "there per minute. They are context for the reader: no verdict depends on them."
)


class Observation(NamedTuple):
    """A value and its interval.

    ``covered_ns``: of a mean, how much of the interval its values cover.
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
class Origin:
    """Of which host in which round, and by which source."""

    pair: str
    round: int
    role: str
    host: str
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """An interval of time, in nanoseconds since the epoch."""

    from_ns: int
    until_ns: int

    @property
    def length_ns(self) -> int:
        """Its length."""
        return self.until_ns - self.from_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why a source does not report everything for an interval."""

    span: Span
    text: str


def per_minute(observations: Iterable[Observation]) -> Iterator[Observation]:
    """Means over whole minutes of the clock, of values that are finer.

    A minute without a known value is null.
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
    origin: Origin, observations: Iterable[Observation], problems: Sequence[Problem] = ()
) -> pa.Table:
    """Rows of one source on one host.

    Its values, their means per minute where they are finer, and its problems.

    Returns:
        A table of the schema :data:`RESOURCES`.
    """
    values = list(observations)
    values += per_minute(values)
    count = len(values) + len(problems)
    fixed = {
        "pair": origin.pair,
        "round": origin.round,
        "role": origin.role,
        "host": origin.host,
        "source": origin.source,
    }
    columns = {
        name: pa.repeat(pa.scalar(value, RESOURCES.field(name).type), count)
        for name, value in fixed.items()
    }
    rows: dict[str, list[Any]] = {
        "scope": [one.scope for one in values],
        "name": [one.name for one in values],
        "metric": [one.metric for one in values],
        "counter": [one.counter for one in values],
        "unit": [METRICS[one.metric][0] for one in values],
        "time_ns": [one.time_ns for one in values] + [one.span.from_ns for one in problems],
        "resolution_ns": [one.resolution_ns for one in values]
        + [one.span.length_ns for one in problems],
        "covered_ns": [_covered(one) for one in values] + [0] * len(problems),
        "value": [one.value for one in values],
        "problem": [None] * len(values) + [one.text for one in problems],
    }
    for name, cells in rows.items():
        columns[name] = pa.array(cells + [None] * (count - len(cells)), RESOURCES.field(name).type)
    return pa.table(columns, schema=RESOURCES)


def _covered(one: Observation) -> int:
    if one.covered_ns is not None:
        return one.covered_ns
    return 0 if one.value is None else one.resolution_ns


def nothing() -> pa.Table:
    """A table without rows."""
    return RESOURCES.empty_table()
