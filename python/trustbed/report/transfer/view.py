"""Turns the model into what the template prints.

Sentences, rows, figures, in the order of the page.

What is shown where is decided here and in :mod:`~trustbed.report.transfer.selection`; the template
only positions it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trustbed.diagnose.causes import CAUSES, VERDICTS
from trustbed.diagnose.diagnosis import FLAGS
from trustbed.diagnose.time_budget import STATES, Shares
from trustbed.report import words
from trustbed.report.burst import page as burst
from trustbed.report.html.elements import Figure
from trustbed.report.html.payload import Payload
from trustbed.report.html.thinning import thinned
from trustbed.report.records import Row
from trustbed.report.transfer import chapters, phases
from trustbed.report.transfer.charts.transfer import silences_are_visible
from trustbed.report.transfer.comparison import Difference, differences, in_a_sentence
from trustbed.report.transfer.evidence import Measured, measured
from trustbed.report.transfer.figures import Drawer, Scale
from trustbed.report.transfer.model import Capture, Page, Series
from trustbed.report.transfer.selection import BUDGET, points, sections

VITAL = 4
"""Number of rows of evidence beside the verdict."""

NOT_DRAWN = (
    "From where this capture was taken, the sender's silences and its outstanding data are "
    "estimates: they are counted above and not drawn."
)

BADGES = {"trust": "Trust", "review": "Review", "discard": "Discard", "not_judged": "Not judged"}

_CAPTURE_POINTS = {
    "sender": "captured beside the sender",
    "receiver": "captured beside the receiver",
    "middle": "captured between sender and receiver",
}
_SOURCE_SUFFIXES = {
    "given": ", as given",
    "handshake": ", inferred from the handshake",
    "answers": ", inferred from response times",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A piece of the bar that shows what the time went to."""

    state: str
    role: str
    share: float
    percent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A verdict as shown above a transfer."""

    name: str
    badge: str
    meaning: str
    confidence: str
    headline: str

    @classmethod
    def of(cls, transfer: Row) -> Verdict:
        """From a judged row."""
        name = transfer["verdict"]
        return cls(
            name=name,
            badge=BADGES[name],
            meaning=VERDICTS[name],
            confidence=f"{transfer['confidence']:.2f}",
            headline=words.sentence(transfer.get("headline") or CAUSES[transfer["cause"]].meaning),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One transfer with all its evidence.

    ``row`` and ``story`` are in the overview at the top of the page.
    """

    anchor: str
    capture: int
    name: str
    endpoints: str
    facts: str
    story: str | None
    verdict: Verdict
    reasons: Sequence[str]
    alternatives: Sequence[tuple[str, str, str]]
    without_stalls: str | None
    next_step: str | None
    flags: Sequence[str]
    evidence: Sequence[Measured]
    shares: Sequence[Share]
    budget: str | None
    exchanges: Sequence[phases.Exchange]
    more_exchanges: int
    findings: Sequence[Row]
    control: str | None
    differences: Sequence[Difference]
    beside: str
    figures: Sequence[Figure]
    row: Sequence[Figure]
    without_charts: str
    not_drawn: str

    @property
    def vital(self) -> Sequence[Measured]:
        """The numbers beside the verdict."""
        return self.evidence[:VITAL]


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """The transfer that another one is compared with."""

    name: str
    transfer: Row
    series: Series | None


def _alternatives(transfer: Row) -> list[tuple[str, str, str]]:
    return [
        (
            words.sentence(CAUSES[other["cause"]].meaning),
            words.sentence(other["hint"])
            + (" The packets favour neither." if other["indeterminate"] else ""),
            words.sentence(other["settled_by"]),
        )
        for other in transfer.get("alternatives") or ()
    ]


def shares_shown(shares: Shares | None) -> list[Share]:
    """The shares of at least a two-thousandth of the time; a smaller piece is invisible."""
    return [
        Share(
            state=word,
            role=f"share-{state.replace('_', '-')}",
            share=shares.by_state[state],
            percent=words.percent(shares.by_state[state]),
        )
        for state, word in STATES.items()
        if shares is not None and shares.by_state[state] >= 0.0005
    ]


_ANSWERED = 1.01
"""Time divided over time to the last acknowledgement: beyond it, something went unanswered."""


def _budget(transfer: Row, shares: Shares | None) -> str | None:
    """What the bar is of."""
    duration = transfer.get("duration_seconds")
    if shares is None or not duration:
        return None
    seconds = shares.whole_seconds(duration)
    answered = seconds * (1 - shares.by_state["handshake"]) <= duration * _ANSWERED
    end = "last acknowledgement" if answered else "last retransmission, which nobody answered"
    return f"The {words.duration(seconds)} from the handshake to the {end}, by what set the pace."


def facts_of(transfer: Row) -> str:
    """Its size, time, packets and capture point in a line."""
    index = _CAPTURE_POINTS.get(transfer.get("at") or "", "captured at an unknown point")
    parts = [
        words.size(transfer.get("unique_bytes")),
        words.duration(transfer.get("duration_seconds")),
        *([words.counted(packets, "packet")] if (packets := transfer.get("packets")) else ()),
        index + _SOURCE_SUFFIXES.get(transfer.get("at_source") or "", ""),
    ]
    return " · ".join(parts)


def _flags(transfer: Row) -> list[str]:
    return [FLAGS.get(flag, flag.replace("_", " ")) for flag in transfer.get("verdict_flags") or ()]


def _control(page: Page, capture: Capture, transfer: Row) -> Control | None:
    """The main transfer of the capture that is this one's control; only a main transfer has one."""
    if capture.beside is None or transfer is not capture.main:
        return None
    other = next(candidate for candidate in page.captures if candidate.title == capture.beside)
    return (
        None
        if other.main is None
        else Control(
            name=other.title, transfer=other.main, series=other.series.get(other.main["transfer"])
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drawing:
    """The common parts of a page's charts.

    Their resolution, the ends of their axes, whether small ones are at the top, their target.
    """

    points: int
    scale: Scale
    rows: bool
    payload: Payload

    def figures(
        self, page: Page, transfer: Row, series: Series | None, control: Control | None
    ) -> tuple[list[Figure], list[Figure], str]:
        """The charts of a section, those of its row at the top, and why there are none."""
        if not series or not series.get("duration_seconds"):
            return [], [], "no series were stored for this transfer"
        if self.payload.size_bytes > BUDGET:
            return [], [], "they would have made this page too large"
        drawn = thinned(series, self.points)
        beside = (control.name, control.series) if control and control.series else None
        drawer = Drawer(transfer, drawn, self.payload, beside=beside)
        return (
            drawer.whole(page.thresholds),
            drawer.in_a_row(page.thresholds, self.scale) if self.rows else [],
            "",
        )


def _section(page: Page, number: int, index: int, transfer: Row, drawing: _Drawing) -> Section:
    capture = page.captures[index]
    several, is_main = len(page.captures) > 1, transfer is capture.main
    control = _control(page, capture, transfer)
    shares = Shares.from_transfer(transfer)
    exchanges = phases.listed(capture.exchanges.get(transfer["transfer"]) or ())
    figures, row, without = drawing.figures(
        page, transfer, capture.series.get(transfer["transfer"]), control
    )
    return Section(
        anchor=f"transfer-{number}",
        capture=index,
        name=capture.title
        if several and is_main
        else f"{capture.title}, transfer {transfer['transfer']}"
        if several
        else f"Transfer {transfer['transfer']}",
        endpoints=words.endpoints(transfer),
        facts=facts_of(transfer),
        story=capture.story if is_main else None,
        verdict=Verdict.of(transfer),
        reasons=[words.sentence(reason) for reason in transfer.get("reasons") or ()],
        alternatives=_alternatives(transfer),
        without_stalls=words.sentence(transfer["without_stalls"])
        if transfer.get("without_stalls")
        else None,
        next_step=words.sentence(transfer["next_step"]) if transfer.get("next_step") else None,
        flags=_flags(transfer),
        evidence=measured(transfer, page.thresholds),
        shares=shares_shown(shares),
        budget=_budget(transfer, shares),
        exchanges=exchanges,
        more_exchanges=max(0, (transfer.get("exchanges") or 0) - len(exchanges))
        if exchanges
        else 0,
        findings=[
            finding
            for finding in capture.overview.findings
            if finding["scope"] == transfer["transfer"]
        ],
        control=control.name if control else None,
        differences=differences(transfer, control.transfer) if control else [],
        beside=in_a_sentence(control.name, transfer, control.transfer) if control else "",
        figures=figures,
        row=row,
        without_charts=without,
        not_drawn="" if silences_are_visible(transfer) else NOT_DRAWN,
    )


def summary(page: Page) -> str:
    """The page in one sentence."""
    count = {
        verdict: sum(capture.overview.verdicts.get(verdict, 0) for capture in page.captures)
        for verdict in BADGES
    }
    judged = sum(capture.overview.judged for capture in page.captures)
    if not judged:
        return "No transfer was long enough to judge."
    if judged == 1:
        return next(
            Verdict.of(transfer).headline
            for capture in page.captures
            for transfer in capture.overview.transfers
        )
    parts = [
        f"{count['trust']} may be used" if count["trust"] else "",
        f"{count['review']} {'needs' if count['review'] == 1 else 'need'} a look first"
        if count["review"]
        else "",
        f"{count['discard']} must not be used" if count["discard"] else "",
    ]
    message = [part for part in parts if part]
    return f"Of {judged} transfers, {words.listed(message)}."


def _burst(page: Page, index: int, payload: Payload) -> burst.Section | None:
    """How bursty the capture is, if requested."""
    capture, anchor = page.captures[index], f"burst-{index + 1}"
    several = len(page.captures) > 1
    title = (
        f"{capture.title}: how bursty is the traffic?" if several else "How bursty is the traffic?"
    )
    if capture.burst is not None:
        reported = {
            finding["code"]
            for finding in capture.overview.findings
            if finding["scope"] == "capture"
        }
        own = [
            finding
            for finding in capture.burst.get("findings") or ()
            if finding["code"] not in reported
        ]
        return burst.section(
            {**capture.burst, "findings": own}, payload, anchor=anchor, title=title
        )
    return (
        burst.missing(capture.without_burst, anchor=anchor, title=title)
        if capture.without_burst
        else None
    )


def view(page: Page, payload: Payload) -> Row:
    """Everything that the template names. Fills ``payload`` with the charts."""
    chosen = sections(page)
    series = [
        page.captures[index].series.get(transfer["transfer"]) or {} for index, transfer in chosen
    ]
    drawing = _Drawing(
        points=points(len(chosen)), scale=Scale.over(series), rows=len(chosen) > 1, payload=payload
    )
    listed = [
        (capture.title, transfer)
        for capture in page.captures
        for transfer in capture.overview.transfers
    ]
    judged = sum(capture.overview.judged for capture in page.captures)
    reported = [
        _section(page, number, index, transfer, drawing)
        for number, (index, transfer) in enumerate(chosen, start=1)
    ]
    indices = range(len(page.captures))
    return {
        "page": page,
        "several": len(page.captures) > 1,
        "summary": summary(page),
        "sections": reported,
        "chapters": chapters.grouped(page, reported),
        "groups": [
            (
                [section for section in reported if section.capture == index],
                _burst(page, index, payload),
            )
            for index in indices
        ],
        "testbeds": chapters.testbeds(page, payload),
        "short": sum(capture.overview.not_judged for capture in page.captures),
        "table": [
            {
                "capture": title,
                "transfer": transfer,
                "verdict": Verdict.of(transfer),
                "endpoints": words.endpoints(transfer),
            }
            for title, transfer in listed
        ],
        "unlisted": judged - len(listed),
        "uncharted": judged - len(chosen),
    }
