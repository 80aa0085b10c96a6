"""Resources of hosts during a campaign's rounds: the hosts' samples and other metric sources.

One table, with source and resolution.

:mod:`~trustbed.campaign.metrics.table` says what can stand in the table,
:mod:`~trustbed.campaign.metrics.samples` reads what the agent on a host saw,
:mod:`~trustbed.campaign.metrics.prometheus` and :mod:`~trustbed.campaign.metrics.cloudwatch` ask
others, :mod:`~trustbed.campaign.metrics.asking` does so while the campaign goes on,
:mod:`~trustbed.campaign.metrics.kept` stores their answers,
:mod:`~trustbed.campaign.metrics.rounds` puts all of it together. A new source is one more file like
those two, and its keys in :mod:`trustbed.scenario.metric_sources`.

Resources are context. What judges a transfer cannot see them: it lies below this room.
"""

from __future__ import annotations

from trustbed.campaign.metrics.answer import SourceError
from trustbed.campaign.metrics.asking import Asking
from trustbed.campaign.metrics.rounds import campaign_resources, round_resources, write_resources

__all__ = ["Asking", "SourceError", "campaign_resources", "round_resources", "write_resources"]
