"""The charts of a campaign's page, each with its title, caption and a line on how to read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trustbed.campaign.statistics.timeline import Timeline
from trustbed.diagnose.causes import cause_in_words
from trustbed.report import words
from trustbed.report.campaign import charts as charts
from trustbed.report.campaign import words as campaign_words
from trustbed.report.campaign.words import USE_WORDS
from trustbed.report.html.elements import Figure
from trustbed.report.html.payload import Payload

if TYPE_CHECKING:
    from trustbed.campaign.model import CampaignModel, PairResults
    from trustbed.scenario.campaign_model import Role

KINDS = {
    "partial": "partial",
    "failed": "failed",
    "overrun": "overrun",
    "unreachable": "unreachable",
    "missed": "missed",
    "interrupted": "interrupted",
}
_EVIDENCE = (
    ("stolen", "share", {role: f"{role}_steal_share" for role in ("sender", "receiver")}),
    ("throttled", "share", {role: f"{role}_throttled_share" for role in ("sender", "receiver")}),
    ("busy", "share", {role: f"{role}_busy_share" for role in ("sender", "receiver")}),
    (
        "late wake-ups",
        "seconds",
        {role: f"{role}_wakeup_latency_seconds" for role in ("sender", "receiver")},
    ),
    ("idle with open window", "share", {"sender": "idle_open_window_fraction"}),
    ("pings", "seconds", {"round trip": "rtt_base_seconds"}),
)
"""Title, kind, and the column of each line."""
_READING = (
    "Every mark is what the data connections of a round came to on average; the dashed line is "
    "what the network gives. Look down from a low red mark: if the hosts were stolen from, "
    "throttled or woke up late at that moment, the round measured them. A low mark above quiet "
    "hosts is the network’s."
)
HOURS_READING = (
    "The height is the share of the rounds begun in that hour that are to be discarded, the thin "
    "bar its interval, the dashed line the share of all rounds. Hours whose intervals reach down "
    "to the line may be as good as the others."
)
CAUSES_READING = (
    "Long green bars are good: the network, or the requested load, limited these connections."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One of several charts above each other; ``size`` is the class of its position."""

    chart: int
    words: str
    size: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Charts above each other on one axis of time.

    ``note`` states what a mark represents where it is not one round.
    """

    panels: Sequence[Panel]
    note: str
    missing: Sequence[str]
    reading: str


def uses(model: CampaignModel) -> dict[str, str]:
    """The names of the verdicts that occur.

    The same for all charts of a page, so that they are drawn alike.
    """
    seen = {use for pair in model.pairs for use in timeline_of(pair).throughput.get("use", ())}
    return {use: word for use, word in USE_WORDS.items() if use in seen}


def timeline_of(pair: PairResults) -> Timeline:
    """The timeline of a pair in a model that was read with it."""
    assert isinstance(pair.timeline, Timeline), "read_model(timeline=True)"
    return pair.timeline


def series(model: CampaignModel, pair: PairResults, payload: Payload) -> Series:
    """The rounds of a pair over time."""
    timeline, called = timeline_of(pair), uses(model)
    network = pair.statement.network.throughput_mean
    panels: list[Panel] = []
    roles: list[tuple[Role, float | None, str]] = [
        ("data", network, "tall"),
        ("probe", None, "panel"),
    ]
    for role, mean, size in roles:
        spec = charts.throughput(timeline, role=role, words=called, mean=mean)
        if spec["datasets"]:
            panels.append(Panel(chart=payload.add(spec), words=_range(timeline, role), size=size))
    missing = []
    for title, kind, columns in _EVIDENCE:
        known = {
            word: column
            for word, column in columns.items()
            if any(value is not None for value in timeline.values(column))
        }
        if not known:
            missing.append(title)
            continue
        spec = charts.evidence(timeline, known, title=title, kind=kind)
        panels.append(
            Panel(chart=payload.add(spec), words=_most(timeline, title, kind, known), size="panel")
        )
    down = {
        one.host: _closed(one.down, timeline.to_ns)
        for one in model.hosts
        if one.host in (pair.sender, pair.receiver) and one.down
    }
    spec = charts.absences(timeline, down, KINDS)
    panels.append(Panel(chart=payload.add(spec), words=_absent(timeline), size="events"))
    return Series(panels=panels, note=_note(timeline), missing=missing, reading=_READING)


def _closed(spans: Sequence[tuple[int, int | None]], last: int) -> list[tuple[int, int]]:
    return [(begin, last if end is None else end) for begin, end in spans]


def _range(timeline: Timeline, role: Role) -> str:
    ranges = [point.range(role) for point in timeline.points]
    low = min((one.low for one in ranges if one is not None), default=None)
    high = max((one.high for one in ranges if one is not None), default=None)
    what = "data connections" if role == "data" else "probes"
    return f"Throughput of the {what} over time, from {words.rate(low)} to {words.rate(high)}."


def _most(timeline: Timeline, title: str, kind: str, columns: Mapping[str, str]) -> str:
    shape = words.percent if kind == "share" else words.duration
    most = {
        word: max(one for one in timeline.values(column) if one is not None)
        for word, column in columns.items()
    }
    reported = [f"{word} {shape(value)} at most" for word, value in most.items()]
    return f"{title[0].upper()}{title[1:]} over time: {', '.join(reported)}."


def _absent(timeline: Timeline) -> str:
    counts: dict[str, int] = {}
    for stretch in timeline.stretches:
        counts[stretch.kind] = counts.get(stretch.kind, 0) + stretch.rounds
    reported = ", ".join(
        f"{words.counted(count, 'round')} {KINDS.get(kind, kind)}" for kind, count in counts.items()
    )
    return (
        f"What did not take place as it should: {reported}."
        if reported
        else "Every round took place as it should."
    )


def _note(timeline: Timeline) -> str:
    parts = []
    if timeline.slice_ns is not None:
        parts.append(
            f"A mark stands for the rounds of {campaign_words.length(timeline.slice_ns)} with "
            "the same verdict: their mean, with a line from the least to the largest. Of what was "
            "stolen, throttled, missed and late the worst round of that time is drawn, of the "
            "rest the mean."
        )
    if timeline.undated:
        parts.append(
            f"The start of {words.counted(timeline.undated, 'round')} is not recorded; "
            "they are not drawn."
        )
    return " ".join(parts)


def causes(pair: PairResults, payload: Payload) -> Figure | None:
    """What limited the data connections."""
    found = [
        charts.CauseBar(
            cause=cause_in_words(one.cause, one.verdict),
            use=one.verdict,
            connections=one.connections,
        )
        for one in pair.causes
        if one.role == "data"
    ]
    if not found:
        return None
    whole = sum(one.connections for one in found)
    reported = [f"{one.cause} {words.percent(one.connections / whole)}" for one in found[:3]]
    probes = [
        f"{cause_in_words(one.cause, one.verdict)} {words.count(one.connections)}"
        for one in pair.causes
        if one.role == "probe"
    ]
    caption = f"Of {words.counted(whole, 'data connection')}: {', '.join(reported)}." + (
        f" Probes: {', '.join(probes[:3])}." if probes else ""
    )
    return Figure(
        chart=payload.add(charts.causes(found, USE_WORDS)),
        title="What limited the data connections",
        caption=caption,
        definition="use",
        reading=CAUSES_READING,
    )


def hours(model: CampaignModel, payload: Payload) -> Figure | None:
    """Rounds to be discarded by the hour of the day; nothing where there are none to be shown."""
    found = model.avoid.hours
    if not found.rounds:
        return None
    return Figure(
        chart=payload.add(charts.hours(found.hours, found.share)),
        title="Rounds to be discarded by the hour of the day",
        caption=f"{campaign_words.share(found)} of all judged rounds.",
        definition="avoid",
        reading=HOURS_READING,
    )
