"""Connection pairs between many hosts, for weeks.

The schedule of rounds, their outcomes, and the statistics of all of them.

Pure functions of a :class:`~trustbed.scenario.campaign_model.Campaign`, of times and of rows;
nothing here reads a clock, opens a socket or knows how a host is reached.
:mod:`~trustbed.campaign.schedule.tables` has the sizes, :mod:`~trustbed.campaign.schedule.schedule`
the order of rounds, :mod:`~trustbed.campaign.schedule.outcomes` the rules of failure,
:mod:`~trustbed.campaign.statistics.aggregate` and :mod:`~trustbed.campaign.statistics.prediction`
the sums, :mod:`~trustbed.campaign.statistics.timeline` the rounds over time,
:mod:`~trustbed.campaign.statistics.path` the results of test packets and estimators, and
:mod:`~trustbed.campaign.statistics.avoidance` which hours and hosts to avoid.

The package is callable: ``trustbed.campaign("study.toml", out="study.pairs")`` is
:func:`trustbed.campaign.api.campaign`.
"""

from __future__ import annotations

import sys

import trustbed.callable_package as _callable
from trustbed.campaign.records import Load
from trustbed.campaign.schedule.outcomes import (
    CONNECTION_FAILURES,
    ROUND_OUTCOMES,
    ConnectionFailure,
    RoundOutcome,
    failure,
    outcome,
)
from trustbed.campaign.schedule.schedule import (
    Progress,
    Recorded,
    Round,
    Schedule,
    Skip,
    Step,
    progress,
)
from trustbed.campaign.schedule.tables import EC2, PLANETLAB, TABLES, indices
from trustbed.campaign.statistics.aggregate import (
    Aggregate,
    Connection,
    aggregate,
    rounds_wanting,
    window_bound,
)
from trustbed.campaign.statistics.avoidance import Hours, Tally, hosts
from trustbed.campaign.statistics.path import Paths, path_of
from trustbed.campaign.statistics.prediction import Prediction, predict
from trustbed.campaign.statistics.round_summary import VERDICTS, SeenRound
from trustbed.campaign.statistics.timeline import Stretch, timeline
from trustbed.campaign.statistics.two_point import TwoPointSummary

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
    "TwoPointSummary",
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

sys.modules[__name__].__class__ = _callable.CallablePackage
