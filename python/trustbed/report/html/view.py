"""Turns the model into what the template prints: sentences, rows, figures, in the order of the page.

What is shown where is decided here and in :mod:`~trustbed.report.html.selection`; the template only places it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trustbed.diagnose.causes import CAUSES, VERDICTS
from trustbed.diagnose.diagnosis import FLAGS
from trustbed.report import words
from trustbed.report.charts.rates import LIMITS
from trustbed.report.charts.transfer import silences_are_seen
from trustbed.report.html import burst, chapters
from trustbed.report.html.comparison import Difference, differences, in_a_sentence
from trustbed.report.html.evidence import Measured, measured
from trustbed.report.html.figures import Drawer, Figure, Scale
from trustbed.report.html.model import Capture, Page, Series
from trustbed.report.html.payload import Payload
from trustbed.report.html.selection import BUDGET, points, sections
from trustbed.report.html.thinning import thinned
from trustbed.report.overview import Row

VITAL = 4
"""The first so many rows of the evidence stand beside the verdict."""

NOT_DRAWN = "From where this capture was taken, the sender's silences and its outstanding data are estimates: they are counted above and not drawn."

BADGES = {"trust": "Trust", "review": "Review", "discard": "Discard", "not_judged": "Not judged"}

_PLACES = {
    "sender": "captured beside the sender",
    "receiver": "captured beside the receiver",
    "middle": "captured between sender and receiver",
}
_PLACED_BY = {
    "given": ", as given",
    "handshake": ", seen from the handshake",
    "answers": ", seen from how soon each side's answers follow",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A piece of the bar that says what the time went to."""

    limit: str
    css: str
    share: float
    percent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A verdict as it stands above a transfer."""

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
            headline=sentence(transfer.get("headline") or CAUSES[transfer["cause"]]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One transfer with all its evidence; ``row`` and ``story`` stand in the overview at the top of the page."""

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


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text[-1:] in ".!?" else ".")


def endpoints(transfer: Row) -> str:
    """From where to where."""
    source = words.endpoint(transfer["src"], transfer.get("src_port"))
    return f"{source} → {words.endpoint(transfer['dst'], transfer.get('dst_port'))}"


def _alternatives(transfer: Row) -> list[tuple[str, str, str]]:
    return [
        (
            sentence(CAUSES.get(other["cause"], other["cause"])),
            sentence(other["hint"]),
            sentence(other["settled_by"]),
        )
        for other in transfer.get("alternatives") or ()
    ]


def _shares(transfer: Row) -> list[Share]:
    """What took at least a two-thousandth of the time: less is no piece that could be seen."""
    known = [(column, word, transfer.get(column)) for column, word in LIMITS.items()]
    return [
        Share(limit=word, css=column.replace("_", "-"), share=share, percent=words.percent(share))
        for column, word, share in known
        if share is not None and share >= 0.0005
    ]


def _facts(transfer: Row) -> str:
    place = _PLACES.get(transfer.get("at") or "", "captured at an unknown place")
    parts = [
        words.size(transfer.get("unique_bytes")),
        words.duration(transfer.get("duration_seconds")),
        words.counted(transfer["packets"], "packet"),
        place + _PLACED_BY.get(transfer.get("at_from") or "", ""),
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
    """What the charts of a page share: how fine they are, where their axes end, whether small ones stand at the top, where they go."""

    points: int
    scale: Scale
    rows: bool
    payload: Payload

    def figures(
        self, page: Page, transfer: Row, series: Series | None, control: Control | None
    ) -> tuple[list[Figure], list[Figure], str]:
        """The charts of a section, those of its row at the top, and why there are none."""
        if not series or not series.get("duration_seconds"):
            return [], [], "no series were kept for this transfer"
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


def _section(page: Page, number: int, place: int, transfer: Row, drawing: _Drawing) -> Section:
    capture = page.captures[place]
    several, is_main = len(page.captures) > 1, transfer is capture.main
    control = _control(page, capture, transfer)
    figures, row, without = drawing.figures(
        page, transfer, capture.series.get(transfer["transfer"]), control
    )
    return Section(
        anchor=f"transfer-{number}",
        capture=place,
        name=capture.title
        if several and is_main
        else f"{capture.title}, transfer {transfer['transfer']}"
        if several
        else f"Transfer {transfer['transfer']}",
        endpoints=endpoints(transfer),
        facts=_facts(transfer),
        story=capture.story if is_main else None,
        verdict=Verdict.of(transfer),
        reasons=[sentence(reason) for reason in transfer.get("reasons") or ()],
        alternatives=_alternatives(transfer),
        without_stalls=sentence(transfer["without_stalls"])
        if transfer.get("without_stalls")
        else None,
        next_step=sentence(transfer["next_step"]) if transfer.get("next_step") else None,
        flags=_flags(transfer),
        evidence=measured(transfer, page.thresholds),
        shares=_shares(transfer),
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
        not_drawn="" if silences_are_seen(transfer) else NOT_DRAWN,
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
    said = [part for part in parts if part]
    joined = said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"
    return f"Of {judged} transfers, {joined}."


def _burst(page: Page, place: int, payload: Payload) -> burst.Section | None:
    """How bursty the capture is, as far as that was asked."""
    capture, anchor = page.captures[place], f"burst-{place + 1}"
    several = len(page.captures) > 1
    title = (
        f"{capture.title}: how bursty is the traffic?" if several else "How bursty is the traffic?"
    )
    if capture.burst is not None:
        told = {
            finding["code"]
            for finding in capture.overview.findings
            if finding["scope"] == "capture"
        }
        own = [
            finding
            for finding in capture.burst.get("findings") or ()
            if finding["code"] not in told
        ]
        return burst.section(
            {**capture.burst, "findings": own}, payload, anchor=anchor, title=title
        )
    return (
        burst.missing(capture.without_burst, anchor=anchor, title=title)
        if capture.without_burst
        else None
    )


def view(page: Page, payload: Payload) -> Mapping[str, Any]:
    """Everything that the template names. Fills ``payload`` with the charts."""
    chosen = sections(page)
    series = [
        page.captures[place].series.get(transfer["transfer"]) or {} for place, transfer in chosen
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
    told = [
        _section(page, number, place, transfer, drawing)
        for number, (place, transfer) in enumerate(chosen, start=1)
    ]
    places = range(len(page.captures))
    return {
        "page": page,
        "several": len(page.captures) > 1,
        "summary": summary(page),
        "sections": told,
        "chapters": chapters.grouped(page, told),
        "groups": [
            (
                [section for section in told if section.capture == place],
                _burst(page, place, payload),
            )
            for place in places
        ],
        "testbeds": chapters.testbeds(page, payload),
        "short": sum(capture.overview.not_judged for capture in page.captures),
        "table": [
            {
                "capture": title,
                "transfer": transfer,
                "verdict": Verdict.of(transfer),
                "endpoints": endpoints(transfer),
            }
            for title, transfer in listed
        ],
        "unlisted": judged - len(listed),
        "uncharted": judged - len(chosen),
    }
