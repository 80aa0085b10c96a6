"""When each round of a pair of hosts begins, which rounds are skipped, and why.

Every pair has one round in every period. A host takes part in one round at a time, as sender or
receiver: pairs that share a host have different slots, evenly distributed over the period, so that
in the best case no round waits for another. A round that is due while one of its hosts is busy
waits until the host is free, for its own period at most.

- ``overrun``: when the round was due, the one before it was still running; or one of its hosts was
  busy for its whole period. Rounds never overlap and are never made up for.
- ``unreachable``: one of its hosts was down. Such a round is skipped at once, so no other round
  waits for it.
- ``missed``: the campaign was not running in its period.

Sizes follow from the rounds that have begun, not from the periods that have passed: if they were
bound to periods, the index after a slow one would be skipped each time it is due, and half of a
table of even length would never be measured if every second round is skipped.

No clock is read. The state is an argument of every call, so a campaign that was killed continues
from its records. Memory is a few numbers per pair, however long it lasts.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from trustbed.campaign.schedule.slots import slots
from trustbed.campaign.schedule.tables import indices
from trustbed.scenario.campaign_model import Campaign, HostPair, Index

APART_NS = 100_000_000
"""How far apart rounds of pairs without a common host begin, so that many do not begin at once."""

SkipReason = Literal["overrun", "unreachable", "missed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """A round that is to begin now.

    ``number`` counts periods from 0; ``due_ns`` is when it was due, before any waiting.
    """

    pair: HostPair
    number: int
    index: Index
    due_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """Rounds that are skipped.

    Attributes:
        pair: Their pair.
        numbers: Their numbers, as a range: a campaign that paused for a month has missed many.
        index: The sizes that they would have had. The next round that begins has them.
        due_ns: When the first of them was due.
        reason: Why.
        by: The pair that occupied a host, or the host that was down; ``None``: they were missed.
    """

    pair: HostPair
    numbers: range
    index: Index
    due_ns: int
    reason: SkipReason
    by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What the schedule needs of a round when a campaign continues.

    A round has to be recorded when it begins, not when it ends: otherwise a kill would leave no
    trace of it, and its number would be lost. ``began_ns`` is ``None`` for a round that was skipped
    or interrupted, so that its sizes come again.
    """

    pair: str
    number: int
    began_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a pair.

    Attributes:
        next: The first round that has neither begun nor been skipped.
        begun: Rounds that have begun.
        last_began_ns: When the last of them began.
        held_by: The pair for which the next round was waiting; ``None``: it was not waiting.
    """

    next: int = 0
    begun: int = 0
    last_began_ns: int | None = None
    held_by: str | None = None


_FIRST = Progress()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The decisions of the schedule at a moment.

    Attributes:
        begin: Rounds that begin now.
        skip: Rounds that are to be recorded as skipped.
        known: The progress of every pair after that, for the next call.
        wake_ns: When to call again, unless a round ends or a host changes before; ``None``: every
            round has begun or was skipped.
    """

    begin: tuple[Round, ...]
    skip: tuple[Skip, ...]
    known: Mapping[str, Progress]
    wake_ns: int | None


def progress(rows: Iterable[Recorded]) -> dict[str, Progress]:
    """The progress of every pair, from the records of its rounds, in any order."""
    found: dict[str, Progress] = {}
    for row in rows:
        before = found.get(row.pair, Progress())
        last = max(
            (one for one in (before.last_began_ns, row.began_ns) if one is not None), default=None
        )
        begun = before.begun + (row.began_ns is not None)
        found[row.pair] = Progress(
            next=max(before.next, row.number + 1), begun=begun, last_began_ns=last
        )
    return found


class Schedule:
    """The rounds of a campaign that began at a moment.

    It remembers nothing: :meth:`next` is a function of its arguments.
    """

    def __init__(self, campaign: Campaign, began_ns: int) -> None:
        """``began_ns`` is any moment of the clock whose times :meth:`next` takes."""
        self.campaign = campaign
        self.began_ns = began_ns
        self.slot_count, self.offsets_ns = _offsets(campaign)
        self._indices = indices(campaign.rounds)
        self._pairs = {pair.name: pair for pair in campaign.pairs}
        self._positions = {pair.name: position for position, pair in enumerate(campaign.pairs)}

    @property
    def ends_ns(self) -> int:
        """When the last period has passed; a round may still be running then."""
        return self.began_ns + self.campaign.lasts_ns

    def due_ns(self, pair: str, number: int) -> int:
        """When a round of a pair is due."""
        return self.began_ns + self.offsets_ns[pair] + number * self.campaign.rounds.period_ns

    def index(self, pair: str, begun: int) -> Index:
        """The sizes of a pair's next round after ``begun`` rounds."""
        cycle, position = divmod(begun, len(self._indices))
        if self.campaign.rounds.order == "cyclic":
            return self._indices[position]
        return sorted(
            self._indices, key=lambda index: _hash(self.campaign.seed, pair, cycle, index.name)
        )[position]

    def next(
        self,
        now_ns: int,
        *,
        running: Collection[str],
        down: Collection[str],
        known: Mapping[str, Progress],
    ) -> Step:
        """The rounds that begin or are skipped at a moment.

        Has to be called when a campaign begins or continues, when a round has ended, when a host
        goes up or down, and at :attr:`Step.wake_ns`. Called later, or with a clock that was stepped
        back, it begins and skips rounds later; none comes twice.

        Args:
            now_ns: The moment.
            running: Pairs whose round has begun and not ended.
            down: Hosts that do not answer.
            known: The progress of every pair, from the last step or from :func:`progress`; pairs
                that are not in it have had no round.

        Raises:
            ValueError: A running or known pair is not in the campaign, or two running pairs share a
                host.
        """
        running = frozenset(running)
        self._check(running, known)
        after = {name: known.get(name, _FIRST) for name in self._pairs}
        skipped: list[Skip] = []
        waiting: list[Round] = []
        for pair in self._due(now_ns, after):
            skips, due = self._account(
                pair, now_ns, running=pair.name in running, down=down, progress=after[pair.name]
            )
            skipped += skips
            if skips:
                after[pair.name] = replace(
                    after[pair.name], next=skips[-1].numbers.stop, held_by=None
                )
            waiting += due
        begun = self._begin(now_ns, waiting, running, after)
        return Step(
            begin=begun, skip=tuple(skipped), known=after, wake_ns=self._wake(now_ns, after)
        )

    def _due(self, now_ns: int, after: Mapping[str, Progress]) -> list[HostPair]:
        """The pairs whose next round is due, in the order of the file."""
        passed, period = now_ns - self.began_ns, self.campaign.rounds.period_ns
        offsets = self.offsets_ns
        return [
            self._pairs[name]
            for name, progress in after.items()
            if offsets[name] + progress.next * period <= passed
        ]

    def _check(self, running: frozenset[str], known: Mapping[str, Progress]) -> None:
        for name in (*(running - self._pairs.keys()), *(known.keys() - self._pairs.keys())):
            raise ValueError(
                f"{name} is no pair of this campaign; the records belong to another one"
            )
        busy = Counter(host for name in running for host in self._pairs[name].hosts)
        for host, rounds in busy.items():
            if rounds > 1:
                raise ValueError(
                    f"{rounds} rounds are running that share {host}; a host takes part in "
                    f"one at a time"
                )

    def _account(
        self,
        pair: HostPair,
        now_ns: int,
        *,
        running: bool,
        down: Collection[str],
        progress: Progress,
    ) -> tuple[list[Skip], list[Round]]:
        """The skipped rounds of a pair, and the one that may begin, if there is one."""
        rounds = self.campaign.rounds
        current = (now_ns - self.began_ns - self.offsets_ns[pair.name]) // rounds.period_ns
        first, passed = progress.next, min(current, rounds.count)

        def skip(start: int, stop: int, reason: SkipReason, by: str | None) -> list[Skip]:
            if stop <= start:
                return []
            index, due = self.index(pair.name, progress.begun), self.due_ns(pair.name, start)
            return [
                Skip(
                    pair=pair,
                    numbers=range(start, stop),
                    index=index,
                    due_ns=due,
                    reason=reason,
                    by=by,
                )
            ]

        if running:
            return skip(first, min(current + 1, rounds.count), "overrun", pair.name), []
        held = min(first + 1, passed) if progress.held_by is not None else first
        lost = skip(first, held, "overrun", progress.held_by) + skip(held, passed, "missed", None)
        number = max(first, passed)
        if number > current or number >= rounds.count:
            return lost, []
        gone = next((host for host in pair.hosts if host in down), None)
        if gone is not None:
            return lost + skip(number, number + 1, "unreachable", gone), []
        index, due = self.index(pair.name, progress.begun), self.due_ns(pair.name, number)
        return lost, [Round(pair=pair, number=number, index=index, due_ns=due)]

    def _begin(
        self, now_ns: int, due: list[Round], running: Collection[str], after: dict[str, Progress]
    ) -> tuple[Round, ...]:
        """The rounds whose hosts are free.

        The pair that began longest ago comes first, and reserves its hosts while it waits.

        That may delay a neighbour; without it two pairs that take turns could block a third for
        ever.
        """
        holders = {host: name for name in running for host in self._pairs[name].hosts}
        begun = []
        for one in sorted(due, key=lambda one: self._turn(one, after[one.pair.name])):
            name = one.pair.name
            holder = next((holders[host] for host in one.pair.hosts if host in holders), None)
            for host in one.pair.hosts:
                holders.setdefault(host, name)
            if holder is not None:
                after[name] = replace(after[name], held_by=holder)
            else:
                begun.append(one)
                after[name] = Progress(
                    next=one.number + 1, begun=after[name].begun + 1, last_began_ns=now_ns
                )
        return tuple(begun)

    def _turn(self, one: Round, progress: Progress) -> tuple[bool, int, int, int]:
        last = progress.last_began_ns
        return (last is not None, last or 0, one.due_ns, self._positions[one.pair.name])

    def _wake(self, now_ns: int, after: Mapping[str, Progress]) -> int | None:
        """The next moment at which a round is due, or at which a waiting one is skipped."""
        passed, rounds = now_ns - self.began_ns, self.campaign.rounds
        period, offsets = rounds.period_ns, self.offsets_ns
        dues = (
            offsets[name] + progress.next * period
            for name, progress in after.items()
            if progress.next < rounds.count
        )
        first = min((due if due > passed else due + period for due in dues), default=None)
        return None if first is None else self.began_ns + first


def _offsets(campaign: Campaign) -> tuple[int, dict[str, int]]:
    """The number of slots of a period, and the offset of each pair in it.

    Pairs of a slot begin :data:`APART_NS` after one another, closer where more of them do not fit
    into half of the slot: the other half keeps them apart from the next, which may have their
    hosts. A single slot has no such next one.
    """
    taken = slots([pair.hosts for pair in campaign.pairs])
    count = max(taken) + 1
    length = campaign.rounds.period_ns // count
    room = length if count == 1 else length // 2
    apart = {slot: min(APART_NS, room // pairs) for slot, pairs in Counter(taken).items()}
    before: Counter[int] = Counter()
    offsets = {}
    for pair, slot in zip(campaign.pairs, taken, strict=True):
        offsets[pair.name] = slot * campaign.rounds.period_ns // count + before[slot] * apart[slot]
        before[slot] += 1
    return count, offsets


def _hash(*parts: object) -> bytes:
    return hashlib.sha256("\n".join(str(part) for part in parts).encode()).digest()
