"""How far a run or campaign is while it is carried out, from its directory."""

from __future__ import annotations

import time
from dataclasses import dataclass

from trustbed.campaign.runner.directory import CampaignDirectory
from trustbed.campaign.runner.journal import state_of
from trustbed.errors import TrustbedError
from trustbed.report import words
from trustbed.report.campaign.words import moment, standing
from trustbed.run.directory import RunDirectory
from trustbed.ui.library import Item


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a run or campaign is.

    Attributes:
        state: Whether it is finished, at work, or waits to be continued.
        done: Rounds or repetitions that ended.
        planned: Those that were asked for; ``None``: unknown.
        facts: What else there is to say, a few words each.
        absent: Hosts that cannot be reached, a sentence each.
    """

    state: str
    at_work: bool
    what: str
    done: int
    planned: int | None
    facts: tuple[str, ...]
    absent: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """How far it is."""
        if self.planned is None:
            return f"{words.counted(self.done, self.what)} done"
        return f"{words.count(self.done)} of {words.counted(self.planned, self.what)}"


def progress_of(item: Item) -> Progress | None:
    """The progress of a run or campaign whose directory the URL names."""
    if item.path is None:
        return None
    try:
        if item.entry.kind == "campaign":
            return _campaign(CampaignDirectory(item.path))
        return _run(RunDirectory(item.path)) if item.entry.kind == "run" else None
    except (TrustbedError, OSError, ValueError):
        return None  # it is being replaced at this moment


def _campaign(directory: CampaignDirectory) -> Progress | None:
    at_work = directory.is_held
    manifest = directory.check_readable()
    campaign, state = manifest.campaign, state_of(directory.journal.lines())
    pairs = [state.of(one.pair) for one in campaign.pairs]
    outcomes: dict[str, int] = {}
    for pair in pairs:
        for name, count in pair.outcomes.items():
            outcomes[name] = outcomes.get(name, 0) + count
    scheduled_ns = state.scheduled_ns or manifest.began_ns
    left = (scheduled_ns + campaign.lasts_ns - time.time_ns()) / 1e9
    running = [
        f"{one.pair} round {state.of(one.pair).running}"
        for one in campaign.pairs
        if state.of(one.pair).running is not None
    ]
    facts = [f"began {moment(manifest.began_ns)}"]
    facts += [f"{words.duration(left)} left"] if left > 0 and not state.ended else []
    facts += [f"{name} {words.count(count)}" for name, count in sorted(outcomes.items())]
    facts += [f"now {words.listed(running[:4])}"] if running else []
    return Progress(
        state=standing(finished=state.ended, at_work=at_work),
        at_work=at_work,
        what="round",
        done=sum(outcomes.values()),
        planned=campaign.rounds_per_pair * len(campaign.pairs),
        facts=tuple(facts),
        absent=tuple(
            f"{name} is unreachable since {moment(host.at_ns)}: {host.why}"
            for name, host in sorted(state.hosts.items())
            if not host.up
        ),
    )


def _run(directory: RunDirectory) -> Progress | None:
    at_work = directory.is_held
    manifest = directory.manifest()
    planned = len(manifest.get("order") or ())
    there = [one.name for one in directory.path.glob("rep-*") if one.is_dir()]
    done = sum(directory.is_complete(name) for name in there)
    judged = sum(directory.is_judged(name) for name in there)
    return Progress(
        state=standing(finished=done == planned, at_work=at_work),
        at_work=at_work,
        what="repetition",
        done=done,
        planned=planned or None,
        facts=(f"{words.count(judged)} judged",),
    )
