"""Carries a campaign out: rounds of connection pairs between hosts that exist, begun when the schedule says so, and kept.

:mod:`~trustbed.rounds.directory` knows what lies in a campaign's folder, :mod:`~trustbed.rounds.journal` what has happened to it,
:mod:`~trustbed.rounds.round` makes one round, :mod:`~trustbed.rounds.runner` all of them. Nothing here judges: what was measured is handed
to whoever does.
"""

from __future__ import annotations

from trustbed.rounds.directory import CampaignDirectory
from trustbed.rounds.listener import RoundListener
from trustbed.rounds.runner import Runner

__all__ = ["CampaignDirectory", "RoundListener", "Runner"]
