"""The results of a campaign, from its directory.

What the network gives between its hosts, and which rounds measured a host instead, when and where.

Reads the judgement of each round and the times in the journal; reads no captures and no samples. A
round is held as a few numbers, so that weeks of rounds fit into memory: some four hundred bytes per
connection.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from sys import intern
from typing import Any

import msgspec
from msgspec.structs import replace

from trustbed.campaign import (
    VERDICTS,
    Connection,
    Hours,
    Load,
    Paths,
    SeenRound,
    Tally,
    TwoPointSummary,
    aggregate,
    predict,
    rounds_wanting,
)
from trustbed.campaign import hosts as looked_at
from trustbed.campaign import timeline as over_time
from trustbed.campaign.model import (
    Avoid,
    CampaignModel,
    CampaignState,
    CauseConnections,
    CauseRounds,
    HostState,
    MeanLoad,
    PairResults,
    Statement,
    Throughput,
)
from trustbed.campaign.records import JudgedRound
from trustbed.campaign.runner.directory import (
    CAMPAIGN,
    CampaignDirectory,
    CampaignFacts,
    PairEntry,
    RoundDirectory,
)
from trustbed.campaign.runner.history import History, history_of
from trustbed.campaign.runner.journal import PairState, State, state_of
from trustbed.campaign.statistics.avoidance import HourTable
from trustbed.campaign.statistics.timeline import MOST, Timeline
from trustbed.findings import Finding
from trustbed.run.session_about import session_about
from trustbed.scenario.campaign_model import ROLES, HostPair, Role, Wanted
from trustbed.workload import mean, mean_interval

POINTS = 3000
"""Points of all pairs together, nearly.

A page with ten times as many would be slow and too large.
"""
FEWEST_POINTS = 60


def read_model(path: str | os.PathLike[str], *, timeline: bool = False) -> CampaignModel:
    """The results of a campaign so far; it may be running meanwhile.

    ``timeline``: with the timeline of each pair.

    Raises:
        RunDirectoryError: There is none, or something in it is damaged.
    """
    directory = CampaignDirectory(Path(path))
    manifest = directory.check_readable()
    campaign, began = manifest.campaign, manifest.began_ns
    state = state_of(directory.journal.lines())
    history = history_of(directory.journal.lines(), period_ns=campaign.period_ns)
    sums = _read(directory, campaign.pairs, history)
    wanted = Wanted(level=campaign.confidence, half_width=campaign.half_width)
    until = max(began + 1, history.last_ns or 0)
    most = max(FEWEST_POINTS, min(MOST, POINTS // max(1, len(sums))))

    def drawn(name: str, one: _Sum) -> Timeline:
        stretches = history.stretches.get(name, ())
        return over_time(one.rounds, stretches, from_ns=began, to_ns=until, most=most)

    facts = {name: getattr(campaign, name) for name in CampaignFacts.__struct_fields__}
    return CampaignModel(
        campaign=CampaignState(
            **facts,
            began_ns=began,
            ends_ns=began + campaign.lasts_ns,
            last_ns=until,
            at_work=directory.is_held,
            finished=state.ended,
            sessions=state.sessions,
            disk_bytes=directory.used_bytes(),
            removed_captures=state.removed_captures,
        ),
        hosts=tuple(_host(name, state, history, until) for name in campaign.hosts),
        pairs=tuple(
            one.results(
                state.of(name),
                campaign.rounds_per_pair,
                wanted,
                drawn(name, one) if timeline else msgspec.UNSET,
            )
            for name, one in sums.items()
        ),
        avoid=_avoid([one.pair for one in sums.values()], sums, wanted.level),
    )


def as_json(model: CampaignModel) -> Mapping[str, Any]:
    """A model as JSON carries it."""
    found: Mapping[str, Any] = _plain(model)
    return found


def _plain(found: object) -> Any:  # noqa: ANN401 - JSON
    return msgspec.json.decode(msgspec.json.encode(found))


def open_campaign(path: str | os.PathLike[str]) -> Campaign:
    """Opens a campaign's directory; the campaign may be running meanwhile.

    Raises:
        RunDirectoryError: There is none, or its manifest is damaged.
    """
    campaign = Campaign(Path(path))
    CampaignDirectory(campaign.path).check_readable()
    return campaign


@dataclass(frozen=True, repr=False)
class Campaign:
    """A campaign: its pairs of hosts with their results, its hosts, and its report.

    Attributes:
        path: The campaign's directory.
    """

    path: Path

    @cached_property
    def model(self) -> CampaignModel:
        """Everything that the report shows (:func:`read_model`). Read once."""
        return read_model(self.path, timeline=True)

    @property
    def pairs(self) -> Sequence[PairResults]:
        """The pairs of hosts: rounds, verdicts, causes and throughput of each."""
        return self.model.pairs

    @property
    def hosts(self) -> Sequence[HostState]:
        """The hosts: whether each is up, when it was down, and what that cost."""
        return self.model.hosts

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables that :meth:`rows` returns."""
        return ("pairs", "hosts", "connections", "findings")

    @property
    def findings(self) -> Sequence[RoundFinding]:
        """The findings of all judged rounds, each with its ``pair`` and ``round``."""
        return [
            RoundFinding(**asdict(finding), pair=one.pair, round=one.number)
            for one in self._judged()
            for finding in one.judged().findings
        ]

    def rows(self, table: str = "pairs") -> Iterator[Mapping[str, Any]]:
        """The rows of a table as JSON carries them.

        ``connections`` and ``findings`` are read round by round, and take the memory of one.
        """
        if table in ("pairs", "hosts"):
            return iter(_plain(self.pairs if table == "pairs" else self.hosts))
        if table not in self.tables:
            raise KeyError(table)
        return (
            {"pair": one.pair, "round": one.number, **_plain(row)}
            for one in self._judged()
            for row in getattr(one.judged(), table)
        )

    def rounds(self) -> Iterator[tuple[PairEntry, SeenRound]]:
        """The judged rounds, in the order of pairs and numbers."""
        directory = CampaignDirectory(self.path)
        campaign = directory.check_readable().campaign
        history = history_of(directory.journal.lines(), period_ns=campaign.period_ns)
        sums = _read(directory, campaign.pairs, history)
        return ((pair, one) for pair in campaign.pairs for one in sums[pair.pair].rounds)

    def _judged(self) -> Iterator[RoundDirectory]:
        return (one for one in CampaignDirectory(self.path).rounds() if one.is_judged)

    def report(
        self, path: str | os.PathLike[str], *, about: Mapping[str, Any] | None = None
    ) -> None:
        """Writes the report: one self-contained HTML page."""
        from trustbed.report.campaign import page

        text = campaign_text_of(self.path)
        page.write(Path(path), self.model, about or session_about(), text=text)

    def __repr__(self) -> str:
        return f"<Campaign {self.path}: {len(self.pairs)} pairs of hosts>"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundFinding(Finding):
    """A finding about a round of a pair of hosts."""

    pair: str
    round: int


def campaign_text_of(path: str | os.PathLike[str]) -> str:
    """The campaign's file as it was when it began; empty if it is not there."""
    file = Path(path) / CAMPAIGN
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def _read(
    directory: CampaignDirectory, pairs: Sequence[PairEntry], history: History
) -> dict[str, _Sum]:
    sums = {
        one.pair: _Sum(HostPair(name=one.pair, sender=one.sender, receiver=one.receiver))
        for one in pairs
    }
    for round_directory in directory.rounds():
        if round_directory.is_judged and round_directory.pair in sums:
            sums[round_directory.pair].add(
                round_directory.number,
                history.began.get((round_directory.pair, round_directory.number)),
                round_directory.judged(),
            )
    return sums


def _host(name: str, state: State, history: History, until: int) -> HostState:
    line = state.hosts.get(name)
    down = history.down.get(name, [])
    return HostState(
        host=name,
        up=None if line is None else line.up,
        since_ns=None if line is None else line.at_ns,
        why=None if line is None else line.why,
        down=tuple(down),
        down_seconds=sum((until if end is None else end) - begin for begin, end in down) / 1e9,
        lost_rounds=history.lost_to[name],
    )


def _avoid(pairs: Sequence[HostPair], sums: Mapping[str, _Sum], level: float) -> Avoid:
    """Hours and hosts to avoid.

    Of each group of hosts also the ``hours`` of the day in which it is worse than at others.
    """
    tallies = {name: Tally() for name in sums}
    for name, one in sums.items():
        for seen in one.judged:
            tallies[name].add(discarded=seen.use == "discard")
    found = looked_at(pairs, tallies, level=level)
    groups = tuple(
        replace(group, hours=_hours([sums[name] for name in group.pairs], level).avoid)
        for group in found.avoid
    )
    return Avoid(
        level=level, hours=_hours(list(sums.values()), level), hosts=replace(found, avoid=groups)
    )


def _hours(sums: Sequence[_Sum], level: float) -> HourTable:
    hours = Hours()
    for one in sums:
        for seen in one.judged:
            if seen.at_ns is not None:
                hours.add(seen.at_ns, discarded=seen.use == "discard")
    return hours.table(level)


class _Sum:
    """The rounds of a pair of hosts so far."""

    def __init__(self, pair: HostPair) -> None:
        self.pair = pair
        self.rounds: list[SeenRound] = []
        self._connections: list[Connection] = []
        self._two_point: dict[Role, TwoPointSummary] = {role: TwoPointSummary() for role in ROLES}
        self._causes: Counter[tuple[Role, str, str]] = Counter()
        self._flags: Counter[str] = Counter()
        self._paths = Paths()

    @property
    def judged(self) -> Iterator[SeenRound]:
        """The rounds with a verdict."""
        return (one for one in self.rounds if one.use is not None)

    def add(self, number: int, at_ns: int | None, judged: JudgedRound) -> None:
        """Adds a round."""
        self.rounds.append(SeenRound.of(number, at_ns, judged))
        self._flags.update(judged.flags)
        self._paths.add(judged.path)
        for row in judged.connections:
            own = msgspec.structs.replace(row, pair=self.pair.name)
            self._connections.append(Connection.of(own))
            self._two_point[row.role].add(row)
            if row.cause is not None:
                self._causes[row.role, intern(row.cause), intern(row.verdict or "")] += 1

    def results(
        self, state: PairState, asked: int, wanted: Wanted, timeline: Timeline | msgspec.UnsetType
    ) -> PairResults:
        """Their results."""
        return PairResults(
            pair=self.pair.name,
            sender=self.pair.sender,
            receiver=self.pair.receiver,
            rounds={
                "asked": asked,
                "running": state.running,
                **dict(sorted(state.outcomes.items())),
            },
            last_ns=state.last_ns,
            judged=len(self.rounds),
            uses={verdict: sum(one.use == verdict for one in self.rounds) for verdict in VERDICTS},
            statement=statement(self.rounds, wanted),
            causes=tuple(
                CauseConnections(role=role, cause=cause, verdict=verdict, connections=count)
                for (role, cause, verdict), count in self._causes.most_common()
            ),
            aggregates=aggregate(self._connections, wanted),
            predictions=predict(self._connections),
            two_point=tuple(
                one.sums(role) for role, one in self._two_point.items() if one.connections
            ),
            path=self._paths.summary(),
            flags=dict(self._flags),
            hosts={
                "sender": _mean_load([one.sender for one in self.rounds]),
                "receiver": _mean_load([one.receiver for one in self.rounds]),
            },
            timeline=timeline,
        )


def statement(rounds: Sequence[SeenRound], wanted: Wanted) -> Statement:
    """The throughput of the network between two hosts: of the data of usable rounds."""
    usable = [one for one in rounds if one.use != "discard"]
    why = Counter(cause for one in rounds if one.use == "discard" for cause in one.causes)
    network = [one.data for one in usable if one.data is not None]
    wanting = rounds_wanting(network, wanted)
    return Statement(
        rounds=len(rounds),
        discarded=len(rounds) - len(usable),
        why=tuple(CauseRounds(cause=cause, rounds=count) for cause, count in why.most_common()),
        network=_throughput(network, wanted),
        everything=_throughput([one.data for one in rounds if one.data is not None], wanted),
        rounds_wanting=wanting,
        rounds_wanting_all=None if wanting is None else -(-wanting * len(rounds) // len(network)),
    )


def _throughput(means: Sequence[float], wanted: Wanted) -> Throughput:
    return Throughput(
        rounds=len(means),
        throughput_mean=mean(means),
        throughput_interval=mean_interval(means, level=wanted.level),
    )


def _mean_load(loads: Sequence[Load]) -> MeanLoad:
    def known(name: str) -> list[float]:
        return [value for one in loads if (value := getattr(one, name)) is not None]

    return MeanLoad(
        busy_share=mean(known("busy_share")),
        steal_share=mean(known("steal_share")),
        throttled_share=mean(known("throttled_share")),
        wakeup_latency_max_ns=max(known("wakeup_latency_max_ns"), default=None),
    )
