"""Connection pairs between many hosts, for weeks: which round comes when, what became of it, and what all of them say together.

Pure functions of a :class:`~trustbed.scenario.campaign_model.Campaign`, of moments and of rows; nothing here reads a clock, opens a socket
or knows how a host is reached. :mod:`~trustbed.campaign.tables` has the sizes, :mod:`~trustbed.campaign.schedule` the order of rounds,
:mod:`~trustbed.campaign.outcomes` the rules of failure, :mod:`~trustbed.campaign.aggregate` and :mod:`~trustbed.campaign.prediction` the
sums, :mod:`~trustbed.campaign.timeline` what is drawn over time, :mod:`~trustbed.campaign.path` what test packets and estimators say, and
:mod:`~trustbed.campaign.avoidance` which hours and hosts to avoid.
"""

from __future__ import annotations

from trustbed.campaign.aggregate import (
    Aggregate,
    Connection,
    aggregate,
    rounds_wanting,
    window_bound,
)
from trustbed.campaign.avoidance import Hours, Tally, hosts
from trustbed.campaign.crossings import Crossings
from trustbed.campaign.outcomes import (
    CONNECTION_FAILURES,
    ROUND_OUTCOMES,
    ConnectionFailure,
    RoundOutcome,
    failure,
    outcome,
)
from trustbed.campaign.path import Paths, path_of
from trustbed.campaign.prediction import Prediction, predict
from trustbed.campaign.schedule import Progress, Recorded, Round, Schedule, Skip, Step, progress
from trustbed.campaign.seen import VERDICTS, Load, SeenRound
from trustbed.campaign.tables import EC2, PLANETLAB, TABLES, indices
from trustbed.campaign.timeline import Stretch, timeline

__all__ = [
    "CONNECTION_FAILURES",
    "EC2",
    "PLANETLAB",
    "ROUND_OUTCOMES",
    "TABLES",
    "VERDICTS",
    "Aggregate",
    "Connection",
    "ConnectionFailure",
    "Crossings",
    "Hours",
    "Load",
    "Paths",
    "Prediction",
    "Progress",
    "Recorded",
    "Round",
    "RoundOutcome",
    "Schedule",
    "SeenRound",
    "Skip",
    "Step",
    "Stretch",
    "Tally",
    "aggregate",
    "failure",
    "hosts",
    "indices",
    "outcome",
    "path_of",
    "predict",
    "progress",
    "rounds_wanting",
    "timeline",
    "window_bound",
]
