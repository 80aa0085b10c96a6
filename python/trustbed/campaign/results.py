"""The results of a campaign, from its directory.

What the network gives between its hosts, and which rounds measured a host instead, when and where.

Reads what was found in each round and what the journal says of moments; reads no capture and no
sample. A round is held as a few numbers, so that weeks of rounds fit into memory: some four hundred
bytes per connection.
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
from trustbed.campaign.runner.directory import CAMPAIGN, CampaignDirectory, PairEntry
from trustbed.campaign.runner.history import History, history_of
from trustbed.campaign.runner.journal import PairState, State, state_of
from trustbed.campaign.statistics.timeline import MOST
from trustbed.run.session_about import session_about
from trustbed.scenario.campaign_model import ROLES, HostPair, Wanted
from trustbed.workload import mean, mean_interval

POINTS = 3000
"""Points of all pairs together, nearly.

A page with ten times as many would be slow and too large.
"""
FEWEST_POINTS = 60


def read_model(path: str | os.PathLike[str], *, timeline: bool = False) -> dict[str, Any]:
    """What a campaign has come to so far, as one plain model; it may be at work meanwhile.

    ``campaign`` says what it is and how far; ``hosts`` who was there last, when each was down and
    what that cost. ``pairs`` has, per pair of hosts, its rounds by outcome, its verdicts and
    causes, a ``statement`` in numbers, ``aggregates`` per index and role as in the papers,
    ``predictions`` of data from probes, ``two_point`` per role where both hosts captured, ``path``
    where test packets and estimators were asked for, and with ``timeline`` what is drawn of its
    rounds over time. ``avoid`` says which hours of the day (UTC) and which hosts to avoid.
    docs/json.md has every key.

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
    pairs = [
        one.told(state.of(name), campaign.rounds_per_pair, wanted) for name, one in sums.items()
    ]
    if timeline:
        most = max(FEWEST_POINTS, min(MOST, POINTS // len(sums)))
        for pair, (name, one) in zip(pairs, sums.items(), strict=True):
            pair["timeline"] = over_time(
                one.rounds, history.stretches.get(name, ()), from_ns=began, to_ns=until, most=most
            )
    return {
        "campaign": {
            **{
                key: value
                for key, value in msgspec.structs.asdict(campaign).items()
                if key not in ("pairs", "hosts")
            },
            "began_ns": began,
            "ends_ns": began + campaign.lasts_ns,
            "last_ns": until,
            "at_work": directory.is_held,
            "finished": state.ended,
            "sessions": state.sessions,
            "disk_bytes": directory.used_bytes(),
            "removed_captures": state.removed_captures,
        },
        "hosts": [_told_host(name, state, history, until) for name in campaign.hosts],
        "pairs": pairs,
        "avoid": _avoid([one.pair for one in sums.values()], sums, wanted.level),
    }


def open_campaign(path: str | os.PathLike[str]) -> Campaign:
    """Opens a campaign's directory; the campaign may be at work meanwhile.

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
    def model(self) -> dict[str, Any]:
        """Everything that the report shows (:func:`read_model`). Read once."""
        return read_model(self.path, timeline=True)

    @property
    def pairs(self) -> Sequence[Mapping[str, Any]]:
        """One row per pair of hosts: its rounds, verdicts, causes and throughput."""
        pairs: Sequence[Mapping[str, Any]] = self.model["pairs"]
        return pairs

    @property
    def hosts(self) -> Sequence[Mapping[str, Any]]:
        """One row per host: whether it is up, when it was down, and what that cost."""
        hosts: Sequence[Mapping[str, Any]] = self.model["hosts"]
        return hosts

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables that :meth:`rows` returns."""
        return ("pairs", "hosts", "connections", "findings")

    @property
    def findings(self) -> Sequence[Mapping[str, Any]]:
        """The findings of all judged rounds, each with its ``pair`` and ``round``."""
        return list(self.rows("findings"))

    def rows(self, table: str = "pairs") -> Iterator[Mapping[str, Any]]:
        """The rows of a table as JSON carries them.

        ``connections`` and ``findings`` are read round by round, and take the memory of one.
        """
        if table in ("pairs", "hosts"):
            return iter(self.pairs if table == "pairs" else self.hosts)
        if table not in self.tables:
            raise KeyError(table)
        return (
            {"pair": one.pair, "round": one.number, **row}
            for one in CampaignDirectory(self.path).rounds()
            if one.is_judged
            for row in one.judged()[table]
        )

    def report(
        self, path: str | os.PathLike[str], *, about: Mapping[str, Any] | None = None
    ) -> None:
        """Writes the report: one self-contained HTML page."""
        from trustbed.report.campaign import page

        text = campaign_text_of(self.path)
        page.write(Path(path), self.model, about or session_about(), text=text)

    def __repr__(self) -> str:
        return f"<Campaign {self.path}: {len(self.pairs)} pairs of hosts>"


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


def _told_host(name: str, state: State, history: History, until: int) -> dict[str, Any]:
    line = state.hosts.get(name)
    down = history.down.get(name, [])
    return {
        "host": name,
        "up": None if line is None else line.up,
        "since_ns": None if line is None else line.at_ns,
        "why": None if line is None else line.why,
        "down": [list(span) for span in down],
        "down_seconds": sum((until if end is None else end) - begin for begin, end in down) / 1e9,
        "lost_rounds": history.lost_to[name],
    }


def _avoid(pairs: Sequence[HostPair], sums: Mapping[str, _Sum], level: float) -> dict[str, Any]:
    """Hours and hosts to avoid.

    Of each group of hosts also the ``hours`` of the day in which it is worse than at others.
    """
    tallies = {name: Tally() for name in sums}
    for name, one in sums.items():
        for seen in one.judged:
            tallies[name].add(discarded=seen.use == "discard")
    found = looked_at(pairs, tallies, level=level)
    for group in found["avoid"]:
        group["hours"] = _hours([sums[name] for name in group["pairs"]], level)["avoid"]
    return {"level": level, "hours": _hours(list(sums.values()), level), "hosts": found}


def _hours(sums: Sequence[_Sum], level: float) -> dict[str, Any]:
    hours = Hours()
    for one in sums:
        for seen in one.judged:
            if seen.at_ns is not None:
                hours.add(seen.at_ns, discarded=seen.use == "discard")
    return hours.told(level)


class _Sum:
    """The rounds of a pair of hosts so far."""

    def __init__(self, pair: HostPair) -> None:
        self.pair = pair
        self.rounds: list[SeenRound] = []
        self._connections: list[Connection] = []
        self._two_point = {role: TwoPointSummary() for role in ROLES}
        self._causes: Counter[tuple[str, str, str]] = Counter()
        self._flags: Counter[str] = Counter()
        self._paths = Paths()

    @property
    def judged(self) -> Iterator[SeenRound]:
        """Those of which it is known what they measured."""
        return (one for one in self.rounds if one.use is not None)

    def add(self, number: int, at_ns: int | None, judged: Mapping[str, Any]) -> None:
        """Takes a round."""
        self.rounds.append(SeenRound.of(number, at_ns, judged))
        self._flags.update(judged["flags"])
        self._paths.add(judged.get("path"))
        for row in judged["connections"]:
            words = {name: intern(row[name]) for name in ("index", "role")}
            self._connections.append(Connection.of({**row, **words, "pair": self.pair.name}))
            self._two_point[words["role"]].add(row)  # type: ignore[index] # it is a role
            if row.get("cause") is not None:
                self._causes[words["role"], intern(row["cause"]), intern(row["verdict"])] += 1

    def told(self, state: PairState, asked: int, wanted: Wanted) -> dict[str, Any]:
        """What they come to."""
        both = [
            two_point.told(role)
            for role, two_point in self._two_point.items()
            if two_point.connections
        ]
        return {
            "pair": self.pair.name,
            "sender": self.pair.sender,
            "receiver": self.pair.receiver,
            "rounds": {
                "asked": asked,
                "running": state.running,
                **dict(sorted(state.outcomes.items())),
            },
            "last_ns": state.last_ns,
            "judged": len(self.rounds),
            "uses": {
                verdict: sum(one.use == verdict for one in self.rounds) for verdict in VERDICTS
            },
            "statement": statement(self.rounds, wanted),
            "causes": [
                {"role": role, "cause": cause, "verdict": verdict, "connections": count}
                for (role, cause, verdict), count in self._causes.most_common()
            ],
            "aggregates": [asdict(one) for one in aggregate(self._connections, wanted)],
            "predictions": [asdict(one) for one in predict(self._connections)],
            "two_point": both,
            "path": self._paths.told(),
            "flags": dict(self._flags),
            "hosts": {
                role: _mean_load([getattr(one, role) for one in self.rounds])
                for role in ("sender", "receiver")
            },
        }


def statement(rounds: Sequence[SeenRound], wanted: Wanted) -> dict[str, Any]:
    """What the network gives between two hosts.

    Throughput of the data of rounds that may be used, beside that of all rounds.

    A round counts with the mean of its data connections. Those of rounds that are to be discarded
    measured a host, and not the network; ``why`` counts them by the causes of their connections.
    ``rounds_wanting`` is how many more usable rounds the wanted interval needs,
    ``rounds_wanting_all`` how many more of any kind, if as many of them may be used as so far.
    """
    usable = [one for one in rounds if one.use != "discard"]
    why = Counter(cause for one in rounds if one.use == "discard" for cause in one.causes)
    found: dict[str, Any] = {
        "rounds": len(rounds),
        "discarded": len(rounds) - len(usable),
        "why": [{"cause": cause, "rounds": count} for cause, count in why.most_common()],
    }
    for name, chosen in (("network", usable), ("everything", rounds)):
        means = [one.data for one in chosen if one.data is not None]
        interval = mean_interval(means, level=wanted.level)
        found[name] = {
            "rounds": len(means),
            "throughput_mean": mean(means),
            "throughput_interval": None if interval is None else asdict(interval),
        }
    wanting = rounds_wanting([one.data for one in usable if one.data is not None], wanted)
    counted = found["network"]["rounds"]
    whole = None if wanting is None else -(-wanting * len(rounds) // counted)
    return {**found, "rounds_wanting": wanting, "rounds_wanting_all": whole}


def _mean_load(loads: Sequence[Load]) -> dict[str, Any]:
    keys = ("busy_share", "steal_share", "throttled_share")
    found: dict[str, Any] = {
        key: mean([value for one in loads if (value := getattr(one, key)) is not None])
        for key in keys
    }
    found["wakeup_latency_max_ns"] = max(
        (one.wakeup_latency_max_ns for one in loads if one.wakeup_latency_max_ns is not None),
        default=None,
    )
    return found
