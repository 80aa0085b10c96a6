"""Resources of hosts during a campaign's rounds: the hosts' samples and other metric sources.

One table, with source and resolution.

:mod:`~trustbed.campaign.metrics.table` defines the table,
:mod:`~trustbed.campaign.metrics.samples` reads the samples of a host's agent,
:mod:`~trustbed.campaign.metrics.prometheus` and :mod:`~trustbed.campaign.metrics.cloudwatch` query
other sources, :mod:`~trustbed.campaign.metrics.queries` schedules the queries while the campaign
runs, :mod:`~trustbed.campaign.metrics.stored_answers` stores their answers, and
:mod:`~trustbed.campaign.metrics.rounds` puts the table together. A new source is one more file like
those two, and its keys in :mod:`trustbed.scenario.metric_sources`.

Resources are context. The judgement of a transfer cannot see them: it lies below this package.
"""

from __future__ import annotations

from trustbed.campaign.metrics.answer import SourceError
from trustbed.campaign.metrics.queries import Queries
from trustbed.campaign.metrics.rounds import campaign_resources, round_resources, write_resources

__all__ = ["Queries", "SourceError", "campaign_resources", "round_resources", "write_resources"]
