"""The rounds of a pair of hosts over time, as columns for charts.

If there are few, every round is a point. Otherwise the rounds of a time slice with the same verdict
are one point: their mean, minimum and maximum. The hosts' load is over all rounds of a slice:
means, and of disturbances the worst, since a mean over an hour would hide them. Slices are aligned
with the hours of UTC. Rounds that did not take place are stretches of time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec

from trustbed.campaign.records import Load
from trustbed.campaign.statistics.round_summary import VERDICTS, SeenRound
from trustbed.scenario.campaign_model import Role
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
Columns: TypeAlias = dict[str, list[int | float | str | None]]
RowT = TypeVar("RowT", bound=msgspec.Struct)


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """Rounds that were skipped or not complete.

    Their number, time, and kind (a round's outcome, or the reason of a skip).
    """

    kind: str
    from_ns: int
    to_ns: int
    rounds: int = 1


class Range(NamedTuple):
    """Throughput in bytes/second: the mean of some rounds, the lowest and the highest."""

    mean: float
    low: float
    high: float


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """The rounds of a moment with the same verdict; throughputs in bytes/second."""

    at_ns: int
    use: str
    rounds: int
    data_mean: float | None
    data_min: float | None
    data_max: float | None
    probe_mean: float | None
    probe_min: float | None
    probe_max: float | None

    def range(self, role: Role) -> Range | None:
        """The throughput of a role's connections; ``None`` is unknown."""
        if role == "data":
            mean, low, high = self.data_mean, self.data_min, self.data_max
        else:
            mean, low, high = self.probe_mean, self.probe_min, self.probe_max
        if mean is None or low is None or high is None:
            return None
        return Range(mean, low, high)


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """The hosts' load and the pings at a moment."""

    at_ns: int
    rounds: int
    rtt_base_seconds: float | None
    idle_open_window_fraction: float | None
    sender_busy_share: float | None
    sender_steal_share: float | None
    sender_throttled_share: float | None
    sender_wakeup_latency_seconds: float | None
    receiver_busy_share: float | None
    receiver_steal_share: float | None
    receiver_throttled_share: float | None
    receiver_wakeup_latency_seconds: float | None


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """The timeline of a pair.

    Times ``at_ns`` are since the epoch: when the round began, or the middle of the slice.

    Attributes:
        slice_ns: Length of a slice; ``None``: every round by itself.
        undated: Rounds whose start is unknown; they are left out.
        throughput: Columns of :class:`Point`.
        evidence: Columns of :class:`Moment`.
        absent: Columns of :class:`Stretch`, neighbours of one kind together.
    """

    slice_ns: int | None
    from_ns: int
    to_ns: int
    undated: int
    throughput: Columns
    evidence: Columns
    absent: Columns

    @property
    def points(self) -> list[Point]:
        """The rows of ``throughput``."""
        return _rows(Point, self.throughput)

    @property
    def moments(self) -> list[Moment]:
        """The rows of ``evidence``."""
        return _rows(Moment, self.evidence)

    @property
    def stretches(self) -> list[Stretch]:
        """The rows of ``absent``."""
        return _rows(Stretch, self.absent)

    def values(self, name: str) -> list[float | None]:
        """A quantity of ``evidence``, moment by moment; ``None`` is unknown."""
        return [getattr(moment, name) for moment in self.moments]


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
) -> Timeline:
    """The timeline of a pair."""
    dated = [one for one in rounds if one.at_ns is not None]
    count = len(dated) + sum(one.rounds for one in stretches)
    width = slice_width(max(to_ns - from_ns, 1), most) if count > most else None
    slices: dict[int, list[SeenRound]] = {}
    for one in sorted(dated, key=lambda one: (one.at_ns, one.number)):
        assert one.at_ns is not None, "only those"
        at = one.at_ns if width is None else one.at_ns // width * width + width // 2
        slices.setdefault(at, []).append(one)
    return Timeline(
        slice_ns=width,
        from_ns=from_ns,
        to_ns=to_ns,
        undated=len(rounds) - len(dated),
        throughput=_columns(
            _point(at, use, own)
            for at, all_of in slices.items()
            for use in _USES
            if (own := [one for one in all_of if (one.use or NOT_JUDGED) == use])
        ),
        evidence=_columns(_moment(at, all_of) for at, all_of in slices.items()),
        absent=_columns(_joined(stretches, width)),
    )


def _point(at: int, use: str, rounds: Sequence[SeenRound]) -> Point:
    data = [one.data for one in rounds if one.data is not None]
    probes = [one.probe for one in rounds if one.probe is not None]
    return Point(
        at_ns=at,
        use=use,
        rounds=len(rounds),
        data_mean=mean(data),
        data_min=min(data, default=None),
        data_max=max(data, default=None),
        probe_mean=mean(probes),
        probe_min=min(probes, default=None),
        probe_max=max(probes, default=None),
    )


def _moment(at: int, rounds: Sequence[SeenRound]) -> Moment:
    sender, receiver = ([getattr(one, role) for one in rounds] for role in ("sender", "receiver"))
    return Moment(
        at_ns=at,
        rounds=len(rounds),
        rtt_base_seconds=mean([one.rtt_base for one in rounds if one.rtt_base is not None]),
        idle_open_window_fraction=_most(one.idle_open_window for one in rounds),
        **{f"sender_{name}": value for name, value in _load(sender).items()},
        **{f"receiver_{name}": value for name, value in _load(receiver).items()},
    )


def _load(loads: Sequence[Load]) -> dict[str, float | None]:
    latency = _most(one.wakeup_latency_max_ns for one in loads)
    return {
        "busy_share": mean([one.busy_share for one in loads if one.busy_share is not None]),
        "steal_share": _most(one.steal_share for one in loads),
        "throttled_share": _most(one.throttled_share for one in loads),
        "wakeup_latency_seconds": None if latency is None else latency / 1e9,
    }


def _most(values: Iterable[float | None]) -> float | None:
    return max((one for one in values if one is not None), default=None)


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
        index = last.get(one.kind)
        if index is not None and begin <= found[index].to_ns:
            found[index] = msgspec.structs.replace(
                found[index],
                to_ns=max(end, found[index].to_ns),
                rounds=found[index].rounds + one.rounds,
            )
        else:
            last[one.kind] = len(found)
            found.append(msgspec.structs.replace(one, from_ns=begin, to_ns=end))
    return found


def _rows(row: type[RowT], columns: Columns) -> list[RowT]:
    names = list(columns)
    return [
        row(**dict(zip(names, values, strict=True)))
        for values in zip(*columns.values(), strict=True)
    ]


def _columns(rows: Iterable[Point | Moment | Stretch]) -> Columns:
    found: Columns = {}
    for row in rows:
        for name in row.__struct_fields__:
            found.setdefault(name, []).append(getattr(row, name))
    return found
