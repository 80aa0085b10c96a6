"""Connection pairs between many hosts, for weeks: which round comes when, what became of it, and what all of them say together.

Pure functions of a :class:`~trustbed.scenario.campaign_model.Campaign`, of moments and of rows; nothing here reads a clock, opens a socket
or knows how a host is reached. :mod:`~trustbed.campaign.tables` has the sizes, :mod:`~trustbed.campaign.schedule` the order of rounds,
:mod:`~trustbed.campaign.outcomes` the rules of failure, :mod:`~trustbed.campaign.aggregate` and :mod:`~trustbed.campaign.prediction` the
sums, :mod:`~trustbed.campaign.timeline` what they were over time.
"""

from __future__ import annotations

from trustbed.campaign.aggregate import Aggregate, Connection, aggregate, window_bound
from trustbed.campaign.outcomes import CONNECTION_FAILURES, ROUND_OUTCOMES, ConnectionFailure, RoundOutcome, failure, outcome
from trustbed.campaign.prediction import Prediction, predict
from trustbed.campaign.schedule import Progress, Recorded, Round, Schedule, Skip, Step, progress
from trustbed.campaign.tables import EC2, PLANETLAB, TABLES, indices
from trustbed.campaign.timeline import Discarded, Point, by_host, by_hour, thinned

__all__ = [
    "CONNECTION_FAILURES",
    "EC2",
    "PLANETLAB",
    "ROUND_OUTCOMES",
    "TABLES",
    "Aggregate",
    "Connection",
    "ConnectionFailure",
    "Discarded",
    "Point",
    "Prediction",
    "Progress",
    "Recorded",
    "Round",
    "RoundOutcome",
    "Schedule",
    "Skip",
    "Step",
    "aggregate",
    "by_host",
    "by_hour",
    "failure",
    "indices",
    "outcome",
    "predict",
    "progress",
    "thinned",
    "window_bound",
]
