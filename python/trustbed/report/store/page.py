"""The pages of a store's answers: self-contained HTML, as of every other report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trustbed.diagnose.causes import cause_in_words
from trustbed.report import definitions, words
from trustbed.report.campaign import charts as campaign_charts
from trustbed.report.campaign.words import USE_WORDS, between, moment
from trustbed.report.html.elements import Cell, Figure, Line, Provenance, Table
from trustbed.report.html.payload import Payload
from trustbed.report.html.render import fill
from trustbed.report.placing import whole_file
from trustbed.report.records import Row
from trustbed.report.store import charts
from trustbed.report.store import words as store_words

if TYPE_CHECKING:
    from trustbed.store.questions.causes import CausesAnswer
    from trustbed.store.questions.hosts import HostsAnswer
    from trustbed.store.questions.papers import PapersAnswer

SHOWN = 400
"""Lines of a table."""
DRAWN = 12
"""Charts of causes."""
_BARS = 40
"""Runs in a chart."""
EXPLAINED = 40
"""Runs whose faults are listed."""

Vitals = Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a page."""

    anchor: str
    title: str
    definition: str
    sentences: Sequence[str]
    figures: Sequence[Figure] = ()
    table: Table | None = None


def hosts(found: HostsAnswer, url: str, about: Row) -> str:
    """Which hosts and hours to avoid."""
    payload = Payload()
    hour_figures = (
        [
            Figure(
                chart=payload.add(
                    campaign_charts.hours(found.hours.hours, found.hours.share, what="measurements")
                ),
                title="Measurements to be discarded by the hour of the day",
                caption=f"{store_words.share(found.hours)} in all.",
                definition="avoid",
                reading="The thin bar is the interval of the share, the dashed line the share of "
                "all. Hours whose intervals reach down to the line may be as good as the others.",
            )
        ]
        if found.hours.rounds
        else []
    )
    parts = sorted(
        found.hosts.parts, key=lambda one: (not one.avoid, -(one.share or 0), one.host, one.role)
    )
    lines = [
        Line(
            name=f"{one.host} as {one.role}",
            use="discard" if one.avoid else "",
            cells=[
                Cell.of(words.count, one.rounds),
                Cell.of(words.count, one.discarded),
                Cell.of(words.percent, one.share, between(one.share_low, one.share_high)),
                Cell("avoid" if one.avoid else "", float(one.avoid)),
            ],
        )
        for one in parts[:SHOWN]
    ]
    columns = [
        ("Measurements", "measurement"),
        ("To be discarded", "measurement"),
        ("Share", "avoid"),
        ("Advice", "avoid"),
    ]
    discarded = found.discarded / found.transfers if found.transfers else None
    return _page(
        "store_hosts",
        payload,
        url,
        about,
        summary=store_words.hosts_headline(found),
        standing=f"Hosts and hours{store_words.of(found.testbed)} whose numbers are to be "
        "discarded more often than those of all others.",
        vitals=[
            ("Judged transfers", words.count(found.transfers), ""),
            ("To be discarded", words.count(found.discarded), words.percent(discarded)),
            (
                "Measurements",
                words.count(found.measurements),
                f"{words.counted(found.pairs, 'pair')} of hosts",
            ),
        ],
        sections=[
            Section(
                anchor="hosts",
                title="Hosts",
                definition="measurement",
                sentences=store_words.hosts(found),
                table=Table(first="Host", columns=columns, lines=lines),
            ),
            Section(
                anchor="hours",
                title="Hours of the day",
                definition="avoid",
                sentences=store_words.hours(found),
                figures=hour_figures,
            ),
        ],
    )


def causes(found: CausesAnswer, url: str, about: Row) -> str:
    """How the shares of causes changed."""
    payload = Payload()
    ordered = sorted(found.causes, key=lambda one: not one.changes)
    sections = [
        Section(
            anchor=f"cause-{number}",
            title=_capital(cause_in_words(one.cause, one.verdict)),
            definition="change",
            sentences=store_words.cause(one, found),
            figures=[
                Figure(
                    chart=payload.add(charts.share(found, one)),
                    title=f"Share of {one.cause} by day",
                    caption=f"{words.percent(one.share)} of all judged transfers.",
                    definition="share",
                    reading="A dot is a day, the line the share between changes; a dashed line is "
                    "a change, the bar at its foot the interval of its moment.",
                )
            ]
            if number <= DRAWN
            else [],
        )
        for number, one in enumerate(ordered, start=1)
    ]
    return _page(
        "store_causes",
        payload,
        url,
        about,
        summary=store_words.causes_headline(found),
        standing=f"What limited the transfers{store_words.of(found.testbed)}, from "
        f"{moment(found.first_ns)} to {moment(found.last_ns)}.",
        vitals=[
            ("Judged transfers", words.count(found.transfers), ""),
            ("Captures", words.count(found.captures), f"in {words.counted(found.blocks, 'block')}"),
            (
                "Changes",
                words.count(sum(len(one.changes) for one in found.causes)),
                f"{words.counted(len(found.causes), 'cause')}",
            ),
        ],
        sections=sections,
    )


def _distinct(names: Sequence[str]) -> list[str]:
    """Names of which those that repeat are numbered: a bar is one run's."""
    seen: Counter[str] = Counter()
    every = Counter(names)
    distinct = []
    for name in names:
        seen[name] += 1
        distinct.append(f"{name} ({seen[name]})" if every[name] > 1 else name)
    return distinct


def papers(found: PapersAnswer, url: str, about: Row) -> str:
    """Which runs of a paper would not survive review."""
    payload = Payload()
    shown = found.runs[:SHOWN]
    names = _distinct([f"{one.run} {one.date}" for one in shown])
    bars = [
        campaign_charts.CauseBar(cause=name, use=use, connections=count)
        for name, one in list(zip(names, shown, strict=True))[:_BARS]
        for use, count in one.uses.items()
        if use in USE_WORDS
    ]
    left = max(0, len(found.runs) - _BARS)
    figures = (
        [
            Figure(
                chart=payload.add(
                    campaign_charts.causes(bars, USE_WORDS, what="repetitions", of="run")
                ),
                title="Repetitions of each run by their use",
                caption=f"{words.counted(len(found.runs), 'run')}, the worst first"
                + (f"; {words.count(left)} more are not drawn." if left else "."),
                definition="use",
            )
        ]
        if bars
        else []
    )
    lines = [
        Line(
            name=name,
            use="discard" if one.standing == "discard" else "",
            cells=[
                Cell(store_words.STANDINGS[one.standing]),
                Cell(one.paper or "–", None, one.testbed),
                Cell.of(words.count, one.repetitions),
                Cell.of(words.count, one.uses.get("discard", 0)),
                Cell.of(words.count, one.uses.get("review", 0)),
                Cell(f"{len(one.weak)} of {one.cells}", float(len(one.weak))),
            ],
        )
        for name, one in zip(names, shown, strict=True)
    ]
    columns = [
        ("Standing", "survive"),
        ("Paper, testbed", ""),
        ("Repetitions", ""),
        ("Discard", "use"),
        ("Review", "use"),
        ("Weak cells", "survive"),
    ]
    standings: list[str] = [one.standing for one in found.runs]
    return _page(
        "store_papers",
        payload,
        url,
        about,
        summary=store_words.papers_headline(found),
        standing=f"Runs{'' if found.paper is None else f' of {found.paper}'}"
        f"{store_words.of(found.testbed)}: a cell needs {found.fewest} usable repetitions.",
        vitals=[
            (_capital(word), words.count(standings.count(name)), "runs")
            for name, word in store_words.STANDINGS.items()
        ],
        sections=[
            Section(
                anchor="runs",
                title="Runs",
                definition="survive",
                sentences=[],
                figures=figures,
                table=Table(first="Run", columns=columns, lines=lines),
            ),
            *(
                Section(
                    anchor=f"run-{number}",
                    title=f"{one.run} {store_words.STANDINGS[one.standing]}",
                    definition="survive",
                    sentences=store_words.run(one, found.fewest),
                )
                for number, one in enumerate(shown[:EXPLAINED], start=1)
                if one.standing != "trust"
            ),
        ],
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _page(
    name: str,
    payload: Payload,
    url: str,
    about: Row,
    *,
    summary: str,
    standing: str,
    vitals: Vitals,
    sections: Sequence[Section],
) -> str:
    return fill(
        "store_page.html.j2",
        payload,
        title=url,
        summary=summary,
        standing=standing,
        vitals=vitals,
        sections=sections,
        definitions=definitions.of(name),
        titles=definitions.titles(name),
        provenance=Provenance.of(about, []),
    )


def write(path: Path, text: str) -> None:
    """A page as a file, complete or not at all."""
    with whole_file(path) as stream:
        stream.write(text)
