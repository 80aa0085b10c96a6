"""Carries a campaign out.

Rounds of connection pairs between hosts that exist, begun when the schedule says so, and kept.

:mod:`~trustbed.campaign.runner.directory` knows what lies in a campaign's directory,
:mod:`~trustbed.campaign.runner.journal` what has happened to it,
:mod:`~trustbed.campaign.runner.round` makes one round, :mod:`~trustbed.campaign.runner.runner` all
of them. Nothing here judges: the caller passes a judge.
"""

from __future__ import annotations

from trustbed.campaign.runner.directory import CampaignDirectory
from trustbed.campaign.runner.listener import RoundListener
from trustbed.campaign.runner.runner import Runner

__all__ = ["CampaignDirectory", "RoundListener", "Runner"]
