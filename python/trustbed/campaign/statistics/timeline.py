"""The rounds of a pair of hosts over time, as columns that a picture is drawn from.

As long as there are few, every round is a point. Of many, those of a slice of time with the same
verdict are one: their mean, the least and the largest. What hosts were like is taken over all
rounds of a slice: means, and of disturbances the worst, since a mean over an hour would hide them.
Slices are aligned with the hours of UTC. What did not take place is kept as stretches of time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trustbed.campaign.statistics.round_summary import VERDICTS, Load, SeenRound
from trustbed.workload import mean

MOST = 400
"""Rounds, whether they took place or not, that are drawn one by one."""
NOT_JUDGED = "not_judged"
_SECOND = 10**9
_MINUTE, _HOUR = 60 * _SECOND, 3600 * _SECOND
_WIDTHS = (
    *(seconds * _SECOND for seconds in (1, 2, 5, 10, 15, 30)),
    *(minutes * _MINUTE for minutes in (1, 2, 5, 10, 15, 20, 30)),
    *(hours * _HOUR for hours in (1, 2, 3, 4, 6, 8, 12, 24, 48, 96, 168)),
)
_USES = (*VERDICTS, NOT_JUDGED)
Columns = dict[str, list[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Rounds that did not take place, or not as they should.

    How many, when, and why (a round's outcome, or the reason of a skip).
    """

    kind: str
    from_ns: int
    to_ns: int
    rounds: int = 1


def slice_width(span_ns: int, most: int) -> int:
    """The smallest width in ns of which at most about ``most`` cover a span."""
    return next((width for width in _WIDTHS if span_ns <= width * most), -(-span_ns // most))


def timeline(
    rounds: Sequence[SeenRound],
    stretches: Sequence[Stretch],
    *,
    from_ns: int,
    to_ns: int,
    most: int = MOST,
) -> dict[str, Any]:
    """What is drawn of a pair: ``slice_ns`` (``None``: every round by itself), and columns.

    ``throughput`` has one row per point, with the verdict ``use`` and how many ``rounds`` it stands
    for; ``evidence`` one row per moment; ``absent`` one row per stretch without usable rounds,
    neighbours of one kind together. Times ``at_ns`` are since the epoch: when the round began, or
    the middle of the slice. Rounds of which nobody knows when they began are left out, and counted
    as ``undated``.
    """
    dated = [one for one in rounds if one.at_ns is not None]
    count = len(dated) + sum(one.rounds for one in stretches)
    width = slice_width(max(to_ns - from_ns, 1), most) if count > most else None
    slices: dict[int, list[SeenRound]] = {}
    for one in sorted(dated, key=lambda one: (one.at_ns, one.number)):
        assert one.at_ns is not None, "only those"
        at = one.at_ns if width is None else one.at_ns // width * width + width // 2
        slices.setdefault(at, []).append(one)
    return {
        "slice_ns": width,
        "from_ns": from_ns,
        "to_ns": to_ns,
        "undated": len(rounds) - len(dated),
        "throughput": _columns(
            _point(at, use, own)
            for at, all_of in slices.items()
            for use in _USES
            if (own := _of_use(all_of, use))
        ),
        "evidence": _columns(_evidence(at, all_of) for at, all_of in slices.items()),
        "absent": _columns(
            {"kind": one.kind, "from_ns": one.from_ns, "to_ns": one.to_ns, "rounds": one.rounds}
            for one in _joined(stretches, width)
        ),
    }


def _of_use(rounds: Iterable[SeenRound], use: str) -> list[SeenRound]:
    return [one for one in rounds if (one.use or NOT_JUDGED) == use]


def _point(at: int, use: str, rounds: Sequence[SeenRound]) -> dict[str, Any]:
    data = [one.data for one in rounds if one.data is not None]
    probes = [one.probe for one in rounds if one.probe is not None]
    return {
        "at_ns": at,
        "use": use,
        "rounds": len(rounds),
        "data_mean": mean(data),
        "data_min": min(data, default=None),
        "data_max": max(data, default=None),
        "probe_mean": mean(probes),
        "probe_min": min(probes, default=None),
        "probe_max": max(probes, default=None),
    }


def _evidence(at: int, rounds: Sequence[SeenRound]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "at_ns": at,
        "rounds": len(rounds),
        "rtt_base_seconds": mean([one.rtt_base for one in rounds if one.rtt_base is not None]),
        "idle_open_window_fraction": max(
            (one.withheld for one in rounds if one.withheld is not None), default=None
        ),
    }
    for role, loads in (
        ("sender", [one.sender for one in rounds]),
        ("receiver", [one.receiver for one in rounds]),
    ):
        row |= {f"{role}_{name}": value for name, value in _load(loads).items()}
    return row


def _load(loads: Sequence[Load]) -> dict[str, float | None]:
    late = max(
        (one.wakeup_latency_max_ns for one in loads if one.wakeup_latency_max_ns is not None),
        default=None,
    )
    return {
        "busy_share": mean([one.busy_share for one in loads if one.busy_share is not None]),
        "steal_share": max(
            (one.steal_share for one in loads if one.steal_share is not None), default=None
        ),
        "throttled_share": max(
            (one.throttled_share for one in loads if one.throttled_share is not None), default=None
        ),
        "wakeup_latency_seconds": None if late is None else late / 1e9,
    }


def _joined(stretches: Iterable[Stretch], width: int | None) -> list[Stretch]:
    """In the order of time, neighbours of one kind as one.

    Where there are slices, each covers whole ones.
    """
    found: list[Stretch] = []
    last: dict[str, int] = {}
    for one in sorted(stretches, key=lambda one: (one.from_ns, one.kind)):
        begin, end = one.from_ns, max(one.to_ns, one.from_ns)
        if width is not None:
            begin, end = begin // width * width, max(-(-end // width), begin // width + 1) * width
        place = last.get(one.kind)
        if place is not None and begin <= found[place].to_ns:
            found[place] = replace(
                found[place],
                to_ns=max(end, found[place].to_ns),
                rounds=found[place].rounds + one.rounds,
            )
        else:
            last[one.kind] = len(found)
            found.append(replace(one, from_ns=begin, to_ns=end))
    return found


def _columns(rows: Iterable[dict[str, Any]]) -> Columns:
    found: Columns = {}
    for row in rows:
        for name, value in row.items():
            found.setdefault(name, []).append(value)
    return found
