"""Campaigns without hosts, and a simulation of them in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trustbed.campaign import Progress, Recorded, Round, Schedule, Skip, progress
from trustbed.scenario.campaign_model import Campaign, HostPair, Index, Rounds
from trustbed.scenario.inventory import Inventory

SECOND = 10**9
PERIOD = 300 * SECOND
BEGAN = 1_700_000_000 * SECOND
THREE = tuple(Index(name=name, probe_bytes=1, data_bytes=1) for name in "abc")


def campaign(pairs: Sequence[str], *, seed: int = 1, **rounds: object) -> Campaign:
    """A campaign between these pairs, each written ``sender-receiver``."""
    found = []
    for name in pairs:
        sender, receiver = name.split("-")
        found.append(HostPair(name=name, sender=sender, receiver=receiver))
    plan = Rounds(**{"count": 10, "period_ns": PERIOD, "table": THREE} | rounds)  # type: ignore[arg-type]
    return Campaign(
        name="study",
        inventory=Inventory(file=Path("hosts.toml"), hosts=()),
        pairs=tuple(found),
        rounds=plan,
        seed=seed,
    )


@dataclass(frozen=True)
class Down:
    """A host that does not answer from one moment until before another."""

    host: str
    since: int
    until: int


@dataclass(frozen=True)
class Kill:
    """The runner is killed with every running round, and continues after a pause."""

    at: int
    pause: int


@dataclass
class World:
    """Hosts, rounds with durations, and a runner that follows the schedule.

    The clock jumps from event to event.

    Attributes:
        lasting: The duration of a round.
        calls: Additional moments at which the runner calls the schedule.
        began: (moment, round) of every round that began and was not killed.
        killed: (moment, round) of the killed ones.
        skipped: (moment, skip).
    """

    schedule: Schedule
    lasting: Callable[[Round], int]
    downs: Sequence[Down] = ()
    kills: Sequence[Kill] = ()
    calls: Sequence[int] = ()
    began: list[tuple[int, Round]] = field(default_factory=list)
    killed: list[tuple[int, Round]] = field(default_factory=list)
    skipped: list[tuple[int, Skip]] = field(default_factory=list)

    def down(self, now: int) -> list[str]:
        return [one.host for one in self.downs if one.since <= now < one.until]

    def carry_out(self) -> World:
        """Runs until every round has ended or was skipped."""
        now = self.schedule.began_ns
        known: dict[str, Progress] = {}
        running: dict[str, tuple[int, int, Round]] = {}  # name: (end, begin, round)
        kills = sorted(self.kills, key=lambda kill: kill.at)
        moments = sorted(
            {*self.calls, *(moment for one in self.downs for moment in (one.since, one.until))}
        )
        while True:
            for name in [name for name, (end, _, _) in running.items() if end <= now]:
                _, begin, one = running.pop(name)
                self.began.append((begin, one))
            step = self.schedule.next(now, running=running.keys(), down=self.down(now), known=known)
            known = dict(step.known)
            self.skipped += [(now, skip) for skip in step.skip]
            for one in step.begin:
                assert not {
                    host for _, _, other in running.values() for host in other.pair.hosts
                } & {*one.pair.hosts}
                running[one.pair.name] = (now + self.lasting(one), now, one)
            upcoming = [end for end, _, _ in running.values()] + [
                moment for moment in moments if moment > now
            ]
            if step.wake_ns is None and not running:
                self.began.sort(key=lambda pair: (pair[0], pair[1].pair.name))
                return self
            assert step.wake_ns is None or step.wake_ns > now
            then = min(upcoming + ([] if step.wake_ns is None else [step.wake_ns]))
            if kills and kills[0].at <= then:
                kill = kills.pop(0)
                now = max(now, kill.at) + kill.pause
                self.killed += [(begin, one) for _, begin, one in running.values()]
                running.clear()
                known = progress(self.recorded())
            else:
                now = then

    def recorded(self) -> list[Recorded]:
        """The records of all rounds."""
        rows = [
            Recorded(pair=one.pair.name, number=one.number, began_ns=moment)
            for moment, one in self.began
        ]
        for _, skip in self.skipped:
            rows += [
                Recorded(pair=skip.pair.name, number=number, began_ns=None)
                for number in skip.numbers
            ]
        return rows + [
            Recorded(pair=one.pair.name, number=one.number, began_ns=None) for _, one in self.killed
        ]
