"""Campaigns as the library offers them: carried out, and every round judged as it arrives.

:mod:`trustbed.campaign.runner` measures, :mod:`trustbed.campaign.judge` judges one round, and
:mod:`trustbed.campaign.results` sums all rounds up. What is derived can be made again.
"""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Mapping
from pathlib import Path

from trustbed.campaign.metrics import Queries
from trustbed.campaign.records import JudgedRound, RoundRecord
from trustbed.campaign.results import Campaign, open_campaign
from trustbed.campaign.runner.directory import CampaignDirectory, RoundDirectory
from trustbed.campaign.runner.judging import AT_ONCE, JudgingProcesses
from trustbed.campaign.runner.listener import RoundListener
from trustbed.campaign.runner.runner import Runner
from trustbed.errors import TestbedError
from trustbed.run.session_about import session_about
from trustbed.scenario import campaign as campaigns
from trustbed.scenario import campaign_model as model
from trustbed.testbed.remote import Hosts, Keep

__all__ = ["campaign", "default_directory", "measure"]

FILES_OF_HOST, FILES_OF_ROUND, OTHER_FILES = 5, 60, 200
"""Open files: a host's control channel over SSH, a running round's agents, and all others."""
KEEP_SECONDS = 300
"""How long an unreachable host keeps the data of a round that has met its time limits."""


def campaign(
    file: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    listener: RoundListener | None = None,
) -> Campaign:
    """Carries a campaign out, or continues an interrupted one, and judges every round.

    Args:
        file: The campaign file.
        out: Its directory; the file's name with ``.pairs`` if not given.
        listener: Is called as the campaign proceeds.

    Raises:
        TrustbedError: It cannot be read, begun or continued (``message`` and ``hint``).
    """
    study = campaigns.load(Path(file))
    directory = CampaignDirectory(Path(out) if out is not None else default_directory(study))
    measure(study, directory, about=session_about(), listener=listener)
    return open_campaign(directory.path)


def measure(
    study: campaigns.CampaignFile,
    directory: CampaignDirectory,
    *,
    about: Mapping[str, object],
    listener: RoundListener | None = None,
) -> None:
    """Runs a campaign, or continues it, until its last round has ended.

    Rounds are judged in processes of their own. Queries Prometheus and CloudWatch about the hosts
    meanwhile, if the inventory names them.

    Raises ``RunDirectoryError``, ``AgentError``, ``TestbedError``, ``CampaignError``, or
    ``SourceError`` where CloudWatch is a source and cannot be queried; each has a ``message`` and a
    ``hint``.
    """
    allow_files(len(study.campaign.hosts), len(study.campaign.pairs))
    queries = Queries(study.campaign, directory)

    names = [host.name for host in study.campaign.hosts]
    keep = Keep(
        seconds=keep_seconds(study.campaign),
        owner=f"{os.uname().nodename}:{directory.path.resolve()}",
    )
    with (
        JudgingProcesses() as judging,
        Hosts(study.campaign.inventory, names, keep=keep) as hosts,
    ):

        def judge(round_directory: RoundDirectory, record: RoundRecord) -> JudgedRound:
            queries.put(round_directory, record)
            return judging(round_directory)

        Runner(
            study,
            directory,
            hosts,
            judge=judge,
            judges=AT_ONCE,
            about=about,
            listener=listener,
            beside=queries,
        ).carry_out()


def allow_files(hosts: int, pairs: int) -> None:
    """Lets this process open as many files as so many hosts and pairs need, as far as it may.

    Raises:
        TestbedError: It may not open enough for the hosts' connections alone.
    """
    least = OTHER_FILES + FILES_OF_HOST * hosts
    wanted = least + FILES_OF_ROUND * min(pairs, hosts // 2)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    possible = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if possible < least:
        raise TestbedError(
            f"{hosts} hosts need {least} open files, and this process may have {hard}",
            f"raise the limit: ulimit -Hn {wanted} (nofile in limits.conf, LimitNOFILE= of a "
            "service)",
        )
    if soft != resource.RLIM_INFINITY and soft < possible:
        resource.setrlimit(resource.RLIMIT_NOFILE, (possible, hard))


def keep_seconds(campaign: model.Campaign) -> int:
    """How long a host without a transport continues its round and keeps its data.

    Longer than the time limits of a round.
    """
    return math.ceil(campaign.rounds.longest_ns / 1e9) + KEEP_SECONDS


def default_directory(study: campaigns.CampaignFile) -> Path:
    """The default directory of a campaign, in the current one."""
    return Path(f"{study.file.stem}.pairs")
