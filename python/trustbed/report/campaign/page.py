"""The report of a campaign as one self-contained HTML page.

Shows the model that ``trustbed report --json`` prints, and measures nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trustbed.report import definitions, words
from trustbed.report.campaign import figures as campaign_figures
from trustbed.report.campaign import words as campaign_words
from trustbed.report.campaign.figures import Series
from trustbed.report.html.elements import Cell, Figure, Input, Line, Provenance, Table
from trustbed.report.html.payload import Payload
from trustbed.report.html.render import fill
from trustbed.report.placing import whole_file

if TYPE_CHECKING:
    from trustbed.campaign.model import CampaignModel, CampaignState, HostState, PairResults
    from trustbed.campaign.statistics.aggregate import Aggregate
    from trustbed.campaign.statistics.avoidance import HostShare
    from trustbed.campaign.statistics.path import PathSummary
    from trustbed.campaign.statistics.two_point import TwoPointSums


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A pair of hosts at the top of the page."""

    anchor: str
    name: str
    hosts: str
    use: str
    word: str
    network: str
    discarded: str
    wanting: str
    rounds: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A pair of hosts with all its results."""

    anchor: str
    title: str
    rounds: str
    table: Table
    series: Series | None
    causes: Figure | None
    notes: Sequence[str]
    predictions: Sequence[str]


def statements(model: CampaignModel) -> list[Statement]:
    """One for each pair."""
    return [
        _statement(number, pair, model.campaign) for number, pair in enumerate(model.pairs, start=1)
    ]


def _statement(number: int, pair: PairResults, campaign: CampaignState) -> Statement:
    judged = pair.judged
    use, word = _share(pair)
    return Statement(
        anchor=f"pair-{number}",
        name=pair.pair,
        hosts=f"{pair.sender} → {pair.receiver}",
        use=use,
        word=word,
        network=words.sentence(campaign_words.network(pair.statement))
        if judged
        else "No round has been judged yet.",
        discarded=words.sentence(campaign_words.discarded(pair)),
        wanting=words.sentence(campaign_words.wanting(pair.statement, campaign)) if judged else "",
        rounds=words.sentence(campaign_words.rounds(pair, campaign)),
    )


def _share(pair: PairResults) -> tuple[str, str]:
    """The badge of a pair: the share of its rounds that may be used."""
    known = sum(pair.uses.values())
    if not known:
        return "not_judged", "not judged"
    bad = pair.uses["discard"]
    if not bad:
        return (
            ("review", "look first")
            if pair.uses["review"] > known / 2
            else ("trust", "none discarded")
        )
    return "discard" if bad >= known / 2 else "review", f"{words.percent(bad / known)} discarded"


def sections(model: CampaignModel, payload: Payload) -> list[Section]:
    """One for each pair. Adds their charts to the payload."""
    return [
        _section(number, pair, model, payload) for number, pair in enumerate(model.pairs, start=1)
    ]


def _section(number: int, pair: PairResults, model: CampaignModel, payload: Payload) -> Section:
    timeline = campaign_figures.timeline_of(pair)
    drawn = bool(timeline.throughput or timeline.absent)
    loads = (
        [words.sentence(campaign_words.host(role, load)) for role, load in pair.hosts.items()]
        if pair.judged
        else []
    )
    flags = [
        f"{FLAGS.get(name, name.replace('_', ' '))}: {words.counted(count, 'round')}."
        for name, count in pair.flags.items()
    ]
    return Section(
        anchor=f"pair-{number}",
        title=f"{pair.pair}: {pair.sender} → {pair.receiver}",
        rounds=words.sentence(campaign_words.rounds(pair, model.campaign)),
        table=papers(pair),
        series=campaign_figures.series(model, pair, payload) if drawn else None,
        causes=campaign_figures.causes(pair, payload),
        notes=[*_path(pair.path), *loads, *flags],
        predictions=[
            words.sentence(campaign_words.prediction(one))
            for one in pair.predictions
            if one.error_median is not None
        ],
    )


def _path(path: PathSummary) -> list[str]:
    """Results of test packets and estimators."""
    delay = [] if path.delay is None else [f"One-way delays: {campaign_words.delay(path.delay)}."]
    return [
        *delay,
        *(f"Available bandwidth: {campaign_words.available(one)}." for one in path.bandwidth),
    ]


FLAGS = {
    "no_capture": "Without a capture, so not judged",
    "one_end_only": "Captured at one end only",
    "capture_loss": "The capture lost frames",
    "not_joined": "Captured at both ends, and the two captures do not fit together",
    "clock_stepped": "The clock of a host was stepped",
    "no_ping": "No ping was answered",
    "not_all_judged": "Not every connection was found in the capture",
    "not_judged": "Judging failed: judged.json of the round has the error",
    "samples_malformed": "Lines of a host's samples are malformed and left out",
}


def papers(pair: PairResults) -> Table:
    """The table of the papers: a line per index and role."""
    columns = [
        ("Connections", "round"),
        ("Ideal X₀", "ideal"),
        ("Min", ""),
        ("Mean", "ideal"),
        ("Max", ""),
        ("RTT", "papers"),
        ("Loss", "papers"),
        ("Spacing", "papers"),
        ("More rounds", "wanting"),
    ]
    lines = [
        Line(
            name=f"{one.index} {one.role}",
            cells=[
                Cell.of(
                    words.count,
                    one.connections,
                    f"{one.failures} failed" if one.failures else "",
                ),
                Cell.of(words.rate, one.x0),
                Cell.of(words.rate, one.throughput_min),
                Cell(
                    words.rate(one.throughput_mean) + ("!" if one.exceeds_window_bound else ""),
                    one.throughput_mean,
                    _reach(one),
                ),
                Cell.of(words.rate, one.throughput_max),
                Cell.of(words.duration, one.rtt_mean, _pings(one)),
                Cell.of(
                    words.percent,
                    one.loss_pooled,
                    f"mean {words.percent(one.loss_mean)}" if one.loss_mean else "",
                ),
                Cell.of(words.duration, one.spacing_mean),
                Cell.of(words.count, one.rounds_wanting),
            ],
        )
        for one in pair.aggregates
    ]
    return Table(first="Index and role", columns=columns, lines=lines)


def _pings(one: Aggregate) -> str:
    return "" if one.rtt_base_mean is None else f"pings {words.duration(one.rtt_base_mean)}"


def _reach(one: Aggregate) -> str:
    interval = one.throughput_interval
    return (
        ""
        if interval is None
        else f"{words.rate(max(0.0, interval.low))} to {words.rate(interval.high)}"
    )


def two_point(model: CampaignModel) -> Table | None:
    """Losses between the hosts, one-way delays, the receiver's turnaround.

    A line per pair and role that was captured at both ends.
    """
    columns = [
        ("Connections", ""),
        ("Frames whose fate is known", ""),
        ("Lost between", "ends"),
        ("Spurious", "ends"),
        ("Reordered", ""),
        ("Minimum one-way delay", "ends"),
        ("above it, p50", ""),
        ("above it, p95", ""),
        ("Path, p50", "ends"),
        ("In the receiver, p50", "ends"),
    ]
    lines = [
        Line(name=f"{pair.pair} {row.role}", cells=_two_point_cells(row))
        for pair in model.pairs
        for row in sorted(pair.two_point, key=lambda row: str(row.role))
    ]
    return Table(first="Pair and role", columns=columns, lines=lines) if lines else None


def _two_point_cells(row: TwoPointSums) -> list[Cell]:
    left_out = row.connections - row.counted
    times = (
        row.owd_min_seconds,
        row.owd_increase_p50_seconds,
        row.owd_increase_p95_seconds,
        row.path_p50_seconds,
    )
    counts = (
        (row.lost_between, row.lost_between_share),
        (row.needless, row.needless_share),
        (row.reordered, row.reordered_share),
    )
    host = row.turnaround_p50_seconds
    return [
        Cell.of(
            words.count,
            row.connections,
            f"{left_out} without losses" if left_out else "",
        ),
        Cell.of(words.count, row.sent),
        *(
            Cell.of(words.percent, share, words.count(count) if count else "")
            for count, share in counts
        ),
        *(Cell.of(words.duration, time) for time in times),
        Cell.of(
            words.duration,
            host,
            "" if host is None else f"{words.percent(row.receiver_share)} of a round trip",
        ),
    ]


def hosts(model: CampaignModel) -> Table:
    """A line per host.

    Its share of rounds to be discarded as sender and as receiver, and how long it was down.
    """
    parts = {(one.host, one.role): one for one in model.avoid.hosts.parts}
    columns = [
        ("Discarded as sender", "avoid"),
        ("Discarded as receiver", "avoid"),
        ("Down", ""),
        ("Rounds lost by it", ""),
    ]
    lines = [
        Line(
            name=one.host,
            cells=[
                *(_part(parts.get((one.host, role))) for role in ("sender", "receiver")),
                Cell(
                    campaign_words.downtime(one) if one.down else "–",
                    one.down_seconds,
                    _down_since(one),
                ),
                Cell.of(words.count, one.lost_rounds),
            ],
        )
        for one in model.hosts
    ]
    return Table(first="Host", columns=columns, lines=lines)


def _down_since(one: HostState) -> str:
    return f"not there since {campaign_words.moment(one.since_ns)}" if one.up is False else ""


def _part(row: HostShare | None) -> Cell:
    if row is None:
        return Cell("–")
    if not row.rounds:
        return Cell(words.UNKNOWN, None, "no round judged")
    return Cell(
        words.percent(row.share) + (" · avoid" if row.avoid else ""),
        row.share,
        f"{words.count(row.discarded)} of {words.count(row.rounds)}, "
        f"{campaign_words.between(row.share_low, row.share_high)}",
    )


def vitals(model: CampaignModel) -> list[tuple[str, str, str]]:
    """The numbers at the head of the page: what, how much, and what it means."""
    pairs, campaign = model.pairs, model.campaign
    judged = sum(sum(pair.uses.values()) for pair in pairs)
    bad = sum(pair.statement.discarded for pair in pairs)
    lost = sum(
        count or 0
        for pair in pairs
        for name, count in pair.rounds.items()
        if name in campaign_words.OUTCOMES[2:]
    )
    left = sum(campaign_words.to_come(pair) for pair in pairs)
    return [
        (
            "Rounds judged",
            words.count(judged),
            f"{words.counted(len(pairs), 'pair')} of hosts, {_duration(campaign)}",
        ),
        (
            "Measured a host",
            words.count(bad),
            f"{words.percent(bad / judged)} of them" if judged else "",
        ),
        ("Did not take place", words.count(lost), f"{words.count(max(0, left))} still to come"),
    ]


def _duration(campaign: CampaignState) -> str:
    return words.duration((campaign.last_ns - campaign.began_ns) / 1e9)


def render(model: CampaignModel, about: Mapping[str, object], *, text: str = "") -> str:
    """The page as a string.

    ``about`` states which version made it, with which command, and when; ``text`` is the
    campaign's file.
    """
    payload, reported = Payload(), model.campaign
    shown = sections(model, payload)
    return fill(
        "campaign_page.html.j2",
        payload,
        title=reported.name,
        about=reported.about,
        summary=campaign_words.headline(model),
        standing=_state(reported),
        vitals=vitals(model),
        statements=statements(model),
        absences=[one for one in model.hosts if one.up is False],
        sections=shown,
        two_point=two_point(model),
        hours=campaign_figures.hours(model, payload),
        hours_words=campaign_words.hours(model.avoid),
        hosts=hosts(model),
        hosts_words=[
            *campaign_words.hosts(model.avoid),
            *campaign_words.absences(model.hosts),
        ],
        made=_made(reported),
        text=text,
        definitions=definitions.of("campaign"),
        titles=definitions.titles("campaign"),
        moment=campaign_words.moment,
        provenance=Provenance.of(
            about,
            [
                Input(
                    name=reported.file,
                    sha256=reported.sha256 or hashlib.sha256(text.encode()).hexdigest(),
                )
            ],
        ),
    )


def _state(reported: CampaignState) -> str:
    state = campaign_words.state(reported)
    began, last = map(campaign_words.moment, (reported.began_ns, reported.last_ns))
    return f"{state[0].upper()}{state[1:]}. Began {began}, last heard of {last}."


def _made(reported: CampaignState) -> str:
    more = (
        f", continued {words.counted(reported.sessions - 1, 'time')}"
        if reported.sessions > 1
        else ""
    )
    return (
        f"Seed {reported.seed}, a round of every pair every "
        f"{campaign_words.length(reported.period_ns)}, "
        f"{words.counted(reported.pairs_at_once, 'connection pair')} at once "
        f"({reported.arrangement}), sizes in {reported.order} order, "
        f"{campaign_words.windows(reported.windows_bytes)}{more}. "
        f"Intervals are at {words.percent(reported.confidence)}."
    )


def write(path: Path, model: CampaignModel, about: Mapping[str, object], *, text: str = "") -> None:
    """The page as a file, complete or not at all."""
    page = render(model, about, text=text)
    with whole_file(path) as stream:
        stream.write(page)
