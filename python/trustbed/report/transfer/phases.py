"""The phases and exchanges of one transfer, as charts and pages show them.

Takes rows of the tables ``phases`` and ``exchanges`` as Arrow holds them (integer nanoseconds);
computes no state and no share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trustbed.report import words
from trustbed.report.records import Json, Row

LISTED = 20
"""At most so many exchanges of a transfer are listed."""


def columns(phases: Iterable[Row], start_ns: int) -> Json:
    """The columns that the band of states is drawn from.

    ``t`` and ``end`` are seconds since ``start_ns``, the first data packet; what lies before it is
    left out. ``low`` and ``high`` (0…1) divide the height among the states of a mixed phase.
    """
    drawn: dict[str, list[object]] = {name: [] for name in ("t", "end", "state", "low", "high")}
    phase, reached = None, 0.0
    for row in phases:
        if row["phase"] != phase:
            phase, reached = row["phase"], 0.0
        length = row["end_ns"] - row["start_ns"]
        low, reached = reached, min(1.0, reached + row["time_ns"] / length if length else 1.0)
        if row["end_ns"] <= start_ns:
            continue
        drawn["t"].append(max(0.0, (row["start_ns"] - start_ns) / 1e9))
        drawn["end"].append((row["end_ns"] - start_ns) / 1e9)
        drawn["state"].append(row["state"])
        drawn["low"].append(low)
        drawn["high"].append(reached)
    return drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One exchange as a line of the page's table."""

    number: str
    size: str
    rate: str
    waited: str
    think: str
    retransmitted: str

    @classmethod
    def of(cls, row: Row) -> Exchange:
        """From a row of the table ``exchanges``."""
        return cls(
            number=words.count(row["exchange"]),
            size=words.size(row["bytes"]),
            rate=words.rate(row["rate_bytes_per_second"]),
            waited=_time(row["peer_ns"]),
            think=_time(row["think_ns"]),
            retransmitted=words.count(row["retransmitted"]),
        )


def _time(nanoseconds: int | None) -> str:
    return "–" if nanoseconds is None else words.duration(nanoseconds / 1e9)


def listed(exchanges: Sequence[Row]) -> list[Exchange]:
    """The first exchanges of a transfer that has more than one."""
    return [Exchange.of(row) for row in exchanges[:LISTED]] if len(exchanges) > 1 else []
