"""Runs a campaign: scheduled rounds of connection pairs between existing hosts, and their storage.

:mod:`~trustbed.campaign.runner.directory` is the campaign's directory,
:mod:`~trustbed.campaign.runner.journal` its events, :mod:`~trustbed.campaign.runner.round` runs one
round, :mod:`~trustbed.campaign.runner.runner` all of them. Nothing here judges: the caller passes a
judge.
"""

from __future__ import annotations

from trustbed.campaign.runner.directory import CampaignDirectory
from trustbed.campaign.runner.listener import RoundListener
from trustbed.campaign.runner.runner import Runner

__all__ = ["CampaignDirectory", "RoundListener", "Runner"]
