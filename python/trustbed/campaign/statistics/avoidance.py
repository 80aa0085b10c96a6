"""Which hours of the day and which hosts to avoid.

Those whose rounds are to be discarded more often than the others'.

A statement needs evidence. An hour or a host is to be avoided when all of this holds:

- Enough of its rounds were judged, and of the others: :data:`FEWEST` each.
- At least :data:`LEAST` of its rounds are to be discarded: less is no reason to change a plan.
- The interval of its share (Wilson) lies above that of all others. Intervals are as wide as so many
  comparisons need (Bonferroni): of 24 hours that do not differ, one would stand out too often by
  chance.
- An hour must have had rounds to be discarded on :data:`DAYS` days, and on at least half of those
  on which it was measured: one bad afternoon is no evidence about afternoons.

A host is judged as sender and as receiver. The one that stands out most is taken first, and its
rounds are left out when the others are compared, so that no host is blamed for its partner. Hosts
that only took part in the same rounds cannot be distinguished, and are named together.

Bias: verdicts are made from the sender's capture, so a sender is blamed more easily than a
receiver.
Consecutive rounds are taken for independent, though a disturbance lasts: a host that was bad for an
hour of its short campaign may stand out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import asdict

from trustbed.scenario.campaign_model import HostPair
from trustbed.workload import Interval, share_interval

FEWEST = 12
"""The fewest rounds for a statement."""
LEAST = 0.05
"""A smaller share of rounds to be discarded is no reason to avoid anything."""
DAYS = 3
"""The fewest days for a statement about hours."""
HOURS = 24
_HOUR_NS, _DAY_NS = 3600 * 10**9, 86_400 * 10**9


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """Judged rounds, those to be discarded, and their share with its own interval.

    The interval is of this share alone, whatever it is compared with.
    """

    rounds: int
    discarded: int
    share: float | None
    share_low: float | None
    share_high: float | None


class Hour(Share, frozen=True, kw_only=True):
    """An hour of the day: on how many days it was measured, and had rounds to be discarded."""

    hour: int
    days: int
    days_discarded: int
    avoid: bool


class HourRange(Share, frozen=True, kw_only=True):
    """Hours to be avoided, from the first up to, not including, ``to``, and all other hours."""

    first: int = msgspec.field(name="from")
    to: int
    days: int
    days_discarded: int
    others: Share


class HourTable(Share, frozen=True, kw_only=True):
    """All 24 hours; ``enough``: they could be compared.

    ``avoid`` has those to be avoided, neighbours together, over midnight where ``to`` is below
    ``from``.
    """

    days: int
    enough: bool
    avoid: tuple[HourRange, ...]
    hours: tuple[Hour, ...]


class HostPart(msgspec.Struct, frozen=True, order=True):
    """A host in a role."""

    host: str
    role: str


class HostShare(Share, frozen=True, kw_only=True):
    """The rounds of a host in a role; ``avoid``: it is the first of a group to be avoided."""

    host: str
    role: str
    avoid: bool


class HostGroup(Share, frozen=True, kw_only=True):
    """Hosts to be avoided.

    Attributes:
        parts: One, or several that took part in the same rounds, the sender first.
        pairs: The pairs of these rounds.
        others: The rounds that it was compared with.
        hours: Hours of the day in which it is worse than at others, where they were compared.
    """

    parts: tuple[HostPart, ...]
    pairs: tuple[str, ...]
    others: Share
    hours: tuple[HourRange, ...] = ()


class HostTable(Share, frozen=True, kw_only=True):
    """A row per host and role, and groups of them to be avoided, the worst first.

    ``enough``: at least one could be compared with others.
    """

    enough: bool
    avoid: tuple[HostGroup, ...]
    parts: tuple[HostShare, ...]


@dataclass(slots=True)
class Tally:
    """Judged rounds, and those of them that are to be discarded."""

    rounds: int = 0
    discarded: int = 0

    def add(self, *, discarded: bool) -> None:
        """Counts a round."""
        self.rounds += 1
        self.discarded += discarded

    def plus(self, other: Tally) -> Tally:
        """Both."""
        return Tally(self.rounds + other.rounds, self.discarded + other.discarded)

    def without(self, other: Tally) -> Tally:
        """This without a part of it."""
        return Tally(self.rounds - other.rounds, self.discarded - other.discarded)

    def interval(self, level: float) -> Interval:
        """The interval of the share to be discarded; from 0 to 1 if no round was judged."""
        return share_interval(self.discarded, self.rounds, level=level) or Interval(
            0.0, 1.0, "wilson"
        )

    def share(self, level: float) -> Share:
        """In numbers."""
        interval, known = self.interval(level), self.rounds > 0
        return Share(
            rounds=self.rounds,
            discarded=self.discarded,
            share=self.discarded / self.rounds if known else None,
            share_low=interval.low if known else None,
            share_high=interval.high if known else None,
        )


def stands_out(own: Tally, others: Tally, *, level: float, comparisons: int) -> bool:
    """Whether a share is above that of all others beyond chance, and large enough to matter."""
    if own.rounds < FEWEST or others.rounds < FEWEST or own.discarded < LEAST * own.rounds:
        return False
    strict = 1 - (1 - level) / max(1, comparisons)
    return own.interval(strict).low > others.interval(strict).high


# Hours.


@dataclass(slots=True)
class _Hour:
    tally: Tally = field(default_factory=Tally)
    days: set[int] = field(default_factory=set)
    bad_days: set[int] = field(default_factory=set)


class Hours:
    """Judged rounds by the hour of the day (UTC) in which they began."""

    def __init__(self) -> None:
        self._hours = [_Hour() for _ in range(HOURS)]

    def add(self, at_ns: int, *, discarded: bool) -> None:
        """Counts a judged round that began at a moment since the epoch."""
        self.add_all(at_ns, Tally(1, int(discarded)))

    def add_all(self, at_ns: int, tally: Tally) -> None:
        """Counts judged rounds that began in the hour of that moment."""
        day, within = divmod(at_ns, _DAY_NS)
        hour = self._hours[within // _HOUR_NS]
        hour.tally = hour.tally.plus(tally)
        hour.days.add(day)
        if tally.discarded:
            hour.bad_days.add(day)

    def table(self, level: float) -> HourTable:
        """In numbers."""
        whole = _sum(hour.tally for hour in self._hours)
        ready = [len(hour.days) >= DAYS and hour.tally.rounds >= FEWEST for hour in self._hours]
        rows = tuple(
            Hour(
                hour=number,
                **asdict(hour.tally.share(level)),
                days=len(hour.days),
                days_discarded=len(hour.bad_days),
                avoid=ready[number]
                and len(hour.bad_days) >= max(DAYS, len(hour.days) / 2)
                and stands_out(
                    hour.tally, whole.without(hour.tally), level=level, comparisons=sum(ready)
                ),
            )
            for number, hour in enumerate(self._hours)
        )
        ranges = _ranges([row.hour for row in rows if row.avoid])
        return HourTable(
            **asdict(whole.share(level)),
            days=_days(hour.days for hour in self._hours),
            enough=sum(ready) >= 2,
            avoid=tuple(self._range(first, count, whole, level) for first, count in ranges),
            hours=rows,
        )

    def _range(self, first: int, count: int, whole: Tally, level: float) -> HourRange:
        chosen = [self._hours[(first + offset) % HOURS] for offset in range(count)]
        own = _sum(hour.tally for hour in chosen)
        return HourRange(
            first=first,
            to=(first + count) % HOURS,
            **asdict(own.share(level)),
            days=_days(hour.days for hour in chosen),
            days_discarded=_days(hour.bad_days for hour in chosen),
            others=whole.without(own).share(level),
        )


def _days(found: Iterable[set[int]]) -> int:
    return len(set[int]().union(*found))


def _ranges(hours: Sequence[int]) -> list[tuple[int, int]]:
    """Ranges of neighbouring hours, also over midnight: the first, and how many."""
    taken = set(hours)
    if len(taken) == HOURS:
        return [(0, HOURS)]
    found = []
    for first in sorted(hour for hour in taken if (hour - 1) % HOURS not in taken):
        count = next(
            length for length in range(1, HOURS + 1) if (first + length) % HOURS not in taken
        )
        found.append((first, count))
    return found


# Hosts.


def hosts(pairs: Sequence[HostPair], tallies: Mapping[str, Tally], *, level: float) -> HostTable:
    """The table of hosts; ``tallies`` has the judged rounds of each pair by its name."""
    of = {pair.name: tallies.get(pair.name, Tally()) for pair in pairs}
    parts: dict[HostPart, set[str]] = {}
    for pair in pairs:
        parts.setdefault(HostPart(pair.sender, "sender"), set()).add(pair.name)
        parts.setdefault(HostPart(pair.receiver, "receiver"), set()).add(pair.name)
    groups, compared = _blamed(parts, of, level)
    blamed = {group.parts[0] for group in groups}
    return HostTable(
        **asdict(_sum(of.values()).share(level)),
        enough=compared,
        avoid=tuple(groups),
        parts=tuple(
            HostShare(
                host=part.host,
                role=part.role,
                **asdict(_sum(of[name] for name in names).share(level)),
                avoid=part in blamed,
            )
            for part, names in sorted(parts.items(), key=lambda one: one[0])
        ),
    )


def _sum(tallies: Iterable[Tally]) -> Tally:
    found = Tally()
    for one in tallies:
        found = found.plus(one)
    return found


def _blamed(
    parts: Mapping[HostPart, set[str]], of: Mapping[str, Tally], level: float
) -> tuple[list[HostGroup], bool]:
    """Hosts to be avoided, the worst first, and whether any could be compared with others."""
    left = {name for name, tally in of.items() if tally.rounds}
    groups: list[HostGroup] = []
    compared = False
    while True:
        same: dict[frozenset[str], list[HostPart]] = {}
        for part, names in sorted(
            parts.items(), key=lambda one: (one[0].role != "sender", one[0].host)
        ):
            if names & left:
                same.setdefault(frozenset(names & left), []).append(part)
        found = []
        for shared, members in same.items():
            own = _sum(of[name] for name in shared)
            others = _sum(of[name] for name in left - shared)
            compared = compared or min(own.rounds, others.rounds) >= FEWEST
            if stands_out(own, others, level=level, comparisons=len(same)):
                found.append((own.interval(level).low, sorted(shared), members, own, others))
        if not found:
            return groups, compared
        _, taken, members, own, others = max(found, key=lambda one: (one[0], one[1]))
        groups.append(
            HostGroup(
                parts=tuple(members),
                pairs=tuple(taken),
                **asdict(own.share(level)),
                others=others.share(level),
            )
        )
        left -= set(taken)
