"""What a store says, in sentences: the same on a page and on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trustbed.campaign.statistics.avoidance import DAYS, FEWEST
from trustbed.diagnose.causes import cause_in_words
from trustbed.report import words
from trustbed.report.campaign.words import between, moment, span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trustbed.campaign.statistics.avoidance import HostGroup, HostTable, HourRange, Share
    from trustbed.store.questions.causes import CauseHistory, CausesAnswer
    from trustbed.store.questions.change_points import Change
    from trustbed.store.questions.hosts import HostsAnswer
    from trustbed.store.questions.papers import PapersAnswer, RunStanding

STANDINGS = {
    "trust": "would survive review",
    "review": "needs a look",
    "discard": "would not survive review",
}


def of(testbed: str | None) -> str:
    """Of which testbed."""
    return "" if testbed is None else f" of {testbed}"


# Hosts and hours.


def share(row: Share) -> str:
    """Counts, their share and its interval."""
    counts = f"{words.count(row.discarded)} of {words.counted(row.rounds, 'measurement')}"
    return f"{counts} ({words.percent(row.share)}; {between(row.share_low, row.share_high)})"


def _against(row: HourRange | HostGroup) -> str:
    return f"{share(row)} are to be discarded, of the others {words.percent(row.others.share)}"


def hosts_headline(found: HostsAnswer) -> str:
    """The answer in one sentence."""
    named = [group.parts[0].host for group in found.hosts.avoid]
    hours = [span(one) for one in found.hours.avoid]
    if not found.measurements:
        return "Nothing that could be judged is in the store."
    if not named and not hours:
        return "No host and no hour stands out."
    parts = [f"Avoid {words.listed(named)}"] if named else []
    parts += [f"{'avoid' if named else 'Avoid'} {words.listed(hours)}"] if hours else []
    return f"{'; '.join(parts)}."


def hours(found: HostsAnswer) -> list[str]:
    """Which hours to avoid, a sentence each; or why none can be named."""
    table = found.hours
    if not table.enough:
        seen = f"{words.counted(table.rounds, 'measurement')} on {words.counted(table.days, 'day')}"
        return [
            f"No statement about hours is possible yet: {seen}. An hour counts from {FEWEST} "
            f"measurements on {DAYS} days on."
        ]
    if not table.avoid:
        return [f"No hour stands out: {share(table)} are to be discarded."]
    return [
        f"Avoid {span(one)}: {_against(one)}. It was so on {one.days_discarded} of "
        f"{words.counted(one.days, 'day')}."
        for one in table.avoid
    ]


def hosts(found: HostsAnswer) -> list[str]:
    """Which hosts to avoid, a sentence each; or why none can be named."""
    lines = [*_avoided(found.hosts)]
    if found.pairs_left_out:
        pairs = f"{words.counted(found.pairs_left_out, 'pair')} of hosts"
        lines.append(f"Not compared: {pairs} with the fewest measurements.")
    return lines


def _avoided(table: HostTable) -> Iterator[str]:
    if not table.enough:
        yield (
            "No statement about hosts is possible yet: a host counts from "
            f"{FEWEST} measurements on, and as many without it."
        )
    elif not table.avoid:
        yield f"No host stands out: {share(table)} are to be discarded."
    for group in table.avoid:
        first, *rest = (f"{one.host} as {one.role}" for one in group.parts)
        same = f" (or {' or '.join(rest)}: no other host met them)" if rest else ""
        yield f"Avoid {first}{same}: {_against(group)}."


# Causes.


def causes_headline(found: CausesAnswer) -> str:
    """The answer in one sentence."""
    changed = [one for one in found.causes if one.changed]
    if not found.transfers:
        return "Nothing that could be judged is in the store."
    since = "" if found.since_ns is None else f" since {moment(found.since_ns)}"
    if not changed:
        at_a_date = found.since_ns is not None
        tested = any(one.changes if at_a_date else one.tested for one in found.causes)
        return (
            f"No cause changed its share{since}."
            if tested
            else "There are too few captures to say whether a cause changed its share."
        )
    names = [cause_in_words(one.cause, one.verdict) for one in changed[:3]]
    more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
    return f"Changed{since}: {'; '.join(names)}{more}."


def change(one: Change, *, given: bool) -> str:
    """A change in a sentence."""
    points = 100 * (one.after - one.before)
    low, high = 100 * one.difference.low, 100 * one.difference.high
    when = (
        f"Since {moment(one.at_ns)} (p = {one.p:.3f})"
        if given
        else f"At {moment(one.at_ns)} (between {moment(one.at_low_ns)} and "
        f"{moment(one.at_high_ns)}, p = {one.p:.3f})"
    )
    before = f"{words.percent(one.before)} ({_range(one.before_interval)})"
    after = f"{words.percent(one.after)} ({_range(one.after_interval)})"
    text = (
        f"{when}: from {before} to {after}, {points:+.1f} percentage points "
        f"({low:+.1f} to {high:+.1f})."
    )
    return text.replace(" -", " −").replace("(-", "(−")


def _range(interval: object) -> str:
    return between(getattr(interval, "low", None), getattr(interval, "high", None))


def cause(history: CauseHistory, found: CausesAnswer) -> list[str]:
    """What became of a cause's share, a sentence for each change."""
    all_of_them = (
        f"{words.percent(history.share)} of all judged transfers "
        f"({words.count(history.transfers)})."
    )
    if not history.tested:
        return [f"{all_of_them} Too few to say whether that changed."]
    if not history.changes:
        why = (
            "No change beyond chance."
            if found.since_ns is None
            else f"Fewer than {found.fewest} captures before or since that date."
        )
        return [f"{all_of_them} {why}"]
    given = found.since_ns is not None
    told = [all_of_them, *(change(one, given=given) for one in history.changes)]
    if not history.changed:
        told.append("That is no change beyond chance.")
    return told


# Papers.


def papers_headline(found: PapersAnswer) -> str:
    """The answer in one sentence."""
    if not found.runs:
        return "No such run is in the store."
    lost = [run.run for run in found.runs if run.standing == "discard"]
    if not lost:
        look = sum(run.standing == "review" for run in found.runs)
        return (
            f"Every run would survive review; {words.count(look)} of "
            f"{words.count(len(found.runs))} need a look."
            if look
            else "Every run would survive review."
        )
    return (
        f"{words.count(len(lost))} of {words.counted(len(found.runs), 'run')} would not survive "
        f"review: {words.listed(list(dict.fromkeys(lost))[:5])}."
    )


def run(one: RunStanding, fewest: int) -> list[str]:
    """Why a run stands as it does."""
    lines = []
    if one.weak:
        worst = min(one.weak, key=lambda cell: (cell.usable, cell.label))
        lines.append(
            f"{words.count(len(one.weak))} of {words.counted(one.cells, 'cell')} keep fewer than "
            f"{fewest} usable repetitions: {worst.label or 'the only one'} has {worst.usable} of "
            f"{worst.repetitions}."
        )
    lines += [
        f"{words.counted(reason.repetitions, 'repetition')}: {reason.why}."
        for reason in one.reasons
    ]
    if one.incomplete:
        lines.append(f"{words.counted(one.incomplete, 'repetition')} not complete.")
    return lines
