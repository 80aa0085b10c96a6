"""What is told of hosts' resources during a campaign's rounds, by the hosts and by others: one table, with source and resolution.

:mod:`~trustbed.resources.table` says what can stand in the table, :mod:`~trustbed.resources.samples` reads what the agent on a host
saw, :mod:`~trustbed.resources.prometheus` and :mod:`~trustbed.resources.cloudwatch` ask others, :mod:`~trustbed.resources.asking` does
so while the campaign goes on, :mod:`~trustbed.resources.kept` keeps what they said, :mod:`~trustbed.resources.rounds` puts all of it
together. A new source is one more file like those two, and its keys in :mod:`trustbed.scenario.outside`.

Resources are context. What judges a transfer cannot see them: it lies below this room.
"""

from __future__ import annotations

from trustbed.resources.answer import SourceError
from trustbed.resources.asking import Asking
from trustbed.resources.rounds import campaign_resources, round_resources, write_resources

__all__ = ["Asking", "SourceError", "campaign_resources", "round_resources", "write_resources"]
