"""What each indicator said, and of which time. Pure: rows of tables in, values out.

A value belongs to the interval in which it was seen; each indicator has intervals of its own, and
is
compared with what the sender held back in those. Times count from the beginning of the workload.

Bias: one that looks at the moment of its sample only (whether a process is stopped) is taken to
speak for the second before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from studies.indicators.plan import WAKEUP_MS
from trustbed.diagnose.host import STOPPED

Row = Mapping[str, Any]
Rows = Iterable[Row]


class Seen(NamedTuple):
    """A value of an interval."""

    from_ns: int
    until_ns: int
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Indicator:
    """A sign that could tell.

    ``scale`` is what a value is shown in; ``costs`` names what was measured with it on.
    """

    name: str
    words: str
    unit: str
    costs: str
    always: bool = False
    """Whether every run takes it, unless told otherwise."""

    def shown(self, value: float) -> str:
        """A value in its unit."""
        return f"{value:.3g} ms" if self.unit == "ms" else f"{value:.2%}"


_WAKEUPS = f"wake-ups {WAKEUP_MS} ms"
CHEAP = (
    Indicator(
        name="queue",
        words="run-queue delay of the sender's process",
        unit="share",
        costs="processes",
        always=True,
    ),
    Indicator(
        name="missed",
        words="run-queue delay, or stopped at the look (`processor_missed`)",
        unit="share",
        costs="processes",
        always=True,
    ),
    Indicator(
        name="pressure",
        words="PSI: some task waited for a processor",
        unit="share",
        costs="machine",
        always=True,
    ),
    Indicator(
        name="throttled", words="throttled by the host's own quota", unit="share", costs="cgroups"
    ),
    Indicator(name="steal", words="steal", unit="share", costs="machine", always=True),
    Indicator(
        name="wake-ups",
        words=f"wake-ups {WAKEUP_MS} ms apart: share of the time late",
        unit="share",
        costs=_WAKEUPS,
    ),
    Indicator(
        name="latest wake-up",
        words=f"wake-ups {WAKEUP_MS} ms apart: the latest",
        unit="ms",
        costs=_WAKEUPS,
    ),
)
SPIN = (
    Indicator(name="spin", words="spin monitor: share of a core lost", unit="share", costs="spin"),
    Indicator(name="spin longest", words="spin monitor: the longest gap", unit="ms", costs="spin"),
)
BY_NAME = {indicator.name: indicator for indicator in (*CHEAP, *SPIN)}


def seen(
    tables: Mapping[str, Rows], *, senders: Collection[int], origin_ns: int
) -> dict[str, list[Seen]]:
    """What every indicator said during a transfer, by its name.

    Those that nobody asked are left out.

    Args:
        tables: The samples of the repetition by kind: ``machine``, ``processes``, ``indicator``,
            ``spin``.
        senders: The sending host's processes.
        origin_ns: When the workload began, as the samples count.
    """
    found: dict[str, list[Seen]] = {}
    processes = [row for row in tables.get("processes", ()) if row["process"] in senders]
    machine, indicator = list(tables.get("machine", ())), list(tables.get("indicator", ()))
    if processes:
        found["queue"] = _most(_looked(row, row["waited_ns"], origin_ns) for row in processes)
        found["missed"] = _most(_looked(row, _missed(row), origin_ns) for row in processes)
    for name, key in (("pressure", "processor_some_share"), ("steal", "steal_share")):
        found[name] = [
            one for row in machine if (one := _told(row, row[key], origin_ns)) is not None
        ]
    # A host without a quota is never throttled: that is known, although nobody counts it.
    found["throttled"] = [
        one
        for row in indicator
        if (one := _looked(row, row["throttled_ns"] or 0, origin_ns)) is not None
    ]
    found["wake-ups"] = [
        one
        for row in indicator
        if (one := _told(row, row["wakeups_late_share"], origin_ns)) is not None
    ]
    found["latest wake-up"] = [
        one
        for row in indicator
        if (one := _told(row, _milliseconds(row["wakeup_latency_most_ns"]), origin_ns)) is not None
    ]
    found |= _spun(list(tables.get("spin", ())), origin_ns)
    return {name: values for name, values in found.items() if values}


def _spun(seconds: list[Row], origin_ns: int) -> dict[str, list[Seen]]:
    known = [
        (row["from_ns"] - origin_ns, row["until_ns"] - origin_ns, row)
        for row in seconds
        if row["share"] is not None
    ]
    return {
        "spin": [Seen(begin, end, 1.0 - row["share"]) for begin, end, row in known],
        "spin longest": [
            Seen(begin, end, _milliseconds(row["longest_gap_ns"]) or 0.0)
            for begin, end, row in known
        ],
    }


def _missed(row: Row) -> int | None:
    """A stopped process waits for nothing: all of the interval counts."""
    missed: int | None = row["interval_ns"] if row["state"] in STOPPED else row["waited_ns"]
    return missed


def _looked(row: Row, time_ns: int | None, origin_ns: int) -> Seen | None:
    """A time that was counted, as a share of the interval.

    What the kernel counted in a burst may exceed it a little.
    """
    if time_ns is None or not row["interval_ns"]:
        return None
    return _told(row, min(time_ns / row["interval_ns"], 1.0), origin_ns)


def _told(row: Row, value: float | None, origin_ns: int) -> Seen | None:
    if value is None or not row["interval_ns"]:
        return None
    until = row["at_ns"] - origin_ns
    return Seen(until - row["interval_ns"], until, value)


def _most(values: Iterator[Seen | None]) -> list[Seen]:
    """Several processes are looked at in one moment: the one that missed most speaks."""
    found: dict[tuple[int, int], Seen] = {}
    for one in values:
        if one is not None and (one[:2] not in found or found[one[:2]].value < one.value):
            found[one[:2]] = one
    return [found[key] for key in sorted(found)]


def _milliseconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e6
