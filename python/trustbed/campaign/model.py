"""The results of a campaign, as ``trustbed campaign status --json`` prints them.

Records only; :mod:`trustbed.campaign.results` fills them. docs/json.md has every key.
"""

from __future__ import annotations

import msgspec

from trustbed.campaign.records import HostRole, Number
from trustbed.campaign.runner.directory import CampaignFacts
from trustbed.campaign.statistics.aggregate import Aggregate
from trustbed.campaign.statistics.avoidance import HostTable, HourTable
from trustbed.campaign.statistics.path import PathSummary
from trustbed.campaign.statistics.prediction import Prediction
from trustbed.campaign.statistics.timeline import Timeline
from trustbed.campaign.statistics.two_point import TwoPointSums
from trustbed.scenario.campaign_model import Role
from trustbed.workload import Interval


class CampaignState(CampaignFacts, frozen=True, kw_only=True):
    """A campaign and its progress; ``at_work``: a session is running."""

    began_ns: int
    ends_ns: int
    last_ns: int
    at_work: bool
    finished: bool
    sessions: int
    disk_bytes: int
    removed_captures: int


class HostState(msgspec.Struct, frozen=True, kw_only=True):
    """A host: whether it is up, since when, when it was down, and the rounds lost by that."""

    host: str
    up: bool | None
    since_ns: int | None
    why: str | None
    down: tuple[tuple[int, int | None], ...]
    down_seconds: float
    lost_rounds: int


class CauseRounds(msgspec.Struct, frozen=True, kw_only=True):
    """Rounds to be discarded for a cause."""

    cause: str
    rounds: int


class CauseConnections(msgspec.Struct, frozen=True, kw_only=True):
    """Connections of a role with a cause and its verdict."""

    role: Role
    cause: str
    verdict: str
    connections: int


class Throughput(msgspec.Struct, frozen=True, kw_only=True):
    """Mean of rounds, each with the mean of its data connections, in bytes/second."""

    rounds: int
    throughput_mean: float | None
    throughput_interval: Interval | None


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """The throughput of the network between two hosts.

    Rounds that are to be discarded measured a host, and not the network.

    Attributes:
        why: Discarded rounds by the causes of their connections.
        network: Of the rounds that may be used.
        everything: Of all rounds.
        rounds_wanting: How many more usable rounds the wanted interval needs.
        rounds_wanting_all: How many more of any kind, if as many of them may be used as so far.
    """

    rounds: int
    discarded: int
    why: tuple[CauseRounds, ...]
    network: Throughput
    everything: Throughput
    rounds_wanting: int | None
    rounds_wanting_all: int | None


class MeanLoad(msgspec.Struct, frozen=True, kw_only=True):
    """A host's load over all rounds: means, and the largest wake-up latency."""

    busy_share: float | None
    steal_share: float | None
    throttled_share: float | None
    wakeup_latency_max_ns: Number | None


class PairResults(msgspec.Struct, frozen=True, kw_only=True):
    """The rounds of a pair of hosts so far.

    Attributes:
        rounds: How many were configured (``asked``), which is ``running``, and how many had each
            outcome.
        uses: Judged rounds by verdict.
        aggregates: Per index and role, as in the papers.
        predictions: Of data from probes.
        two_point: Per role where both hosts captured.
        path: Results of test packets and estimators, where they were configured.
        timeline: Its rounds over time, if the model was read with it.
    """

    pair: str
    sender: str
    receiver: str
    rounds: dict[str, int | None]
    last_ns: int | None
    judged: int
    uses: dict[str, int]
    statement: Statement
    causes: tuple[CauseConnections, ...]
    aggregates: tuple[Aggregate, ...]
    predictions: tuple[Prediction, ...]
    two_point: tuple[TwoPointSums, ...]
    path: PathSummary
    flags: dict[str, int]
    hosts: dict[HostRole, MeanLoad]
    timeline: Timeline | msgspec.UnsetType = msgspec.UNSET


class Avoid(msgspec.Struct, frozen=True, kw_only=True):
    """Which hours of the day (UTC) and which hosts to avoid, at a confidence level."""

    level: float
    hours: HourTable
    hosts: HostTable


class CampaignModel(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign, its hosts, its pairs of hosts, and what to avoid."""

    campaign: CampaignState
    hosts: tuple[HostState, ...]
    pairs: tuple[PairResults, ...]
    avoid: Avoid
