"""What the pages show, in the words and units of reports."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast
from urllib.parse import quote, urlencode

import pyarrow.dataset as pads

from trustbed.compare.metrics import METRICS, base
from trustbed.compare.words import value as value_in_words
from trustbed.diagnose.causes import CAUSES, cause_in_words
from trustbed.diagnose.causes import VERDICTS as VERDICT_WORDS
from trustbed.diagnose.diagnosis import Diagnosis
from trustbed.diagnose.judge import judge_row
from trustbed.diagnose.quality import CaptureQuality
from trustbed.diagnose.thresholds import THRESHOLDS
from trustbed.diagnose.time_budget import STATES, Shares
from trustbed.report import columns, words
from trustbed.report.campaign.words import moment
from trustbed.report.records import Json, Row
from trustbed.report.transfer import comparison, evidence, rows
from trustbed.report.transfer import view as report
from trustbed.report.transfer.overview import VERDICTS
from trustbed.ui.library import Holdings, Item

if TYPE_CHECKING:
    from trustbed.diagnose.evidence import Workload

BADGES = report.BADGES
LISTED = 500
"""Entries of a page of a list of captures, runs, campaigns or results; lines of a result."""
STRIP = 160
"""Rounds or repetitions that a strip of squares shows, the latest."""
_ENDPOINT = 24
"""Characters of an address with its port in a list."""

Ref: TypeAlias = str
"""A transfer in a URL: KEY/NAME, and /SOURCE where that is not the name of the entry."""


def ref(key: str, transfer: str, source: str, name: str) -> Ref:
    """The path of a transfer; ``name`` is that of its entry."""
    parts = [key, transfer, *([] if source == name else [source])]
    return "/".join(quote(part, safe="/") for part in parts)


@dataclass(frozen=True, kw_only=True)
class Line:
    """A transfer in a list."""

    ref: Ref
    verdict: str
    badge: str
    source: str
    sender: str
    receiver: str
    endpoints: str
    cause: str
    cause_name: str
    confidence: str
    throughput: str
    size: str
    duration: str
    start: str
    testbed: str


def lines(found: Sequence[Row], holdings: Holdings) -> list[Line]:
    """Rows of the table of all transfers as lines of a list."""
    return [
        Line(
            ref=ref(
                row["capture"],
                row["transfer"] or "?",
                row["source"] or "",
                holdings.items[row["capture"]].entry.name,
            ),
            verdict=row["verdict"] or "not_judged",
            badge=BADGES[row["verdict"] or "not_judged"],
            source=_titled(holdings.items[row["capture"]], row["source"], row["transfer"]),
            sender=words.endpoint(row["src"] or words.UNKNOWN, row["src_port"], _ENDPOINT),
            receiver=words.endpoint(row["dst"] or words.UNKNOWN, row["dst_port"], _ENDPOINT),
            endpoints=words.endpoints({**row, "src": row["src"] or "?", "dst": row["dst"] or "?"}),
            cause=cause_in_words(row["cause"], row["verdict"]) if row["cause"] else words.UNKNOWN,
            cause_name=row["cause"] or "",
            confidence=words.UNKNOWN if row["confidence"] is None else f"{row['confidence']:.2f}",
            throughput=words.rate(row["throughput_bytes_per_second"]),
            size=words.size(row["unique_bytes"]),
            duration=words.duration(row["duration_seconds"]),
            start=(row["start"] or "")[:19].replace("T", " "),
            testbed=row["testbed"],
        )
        for row in found
    ]


def _titled(item: Item, source: str | None, transfer: str | None) -> str:
    return f"{item.name if source == item.entry.name else source} {transfer}"


@dataclass(frozen=True, kw_only=True)
class Facet:
    """A value that a list can be narrowed to."""

    name: str
    label: str
    count: str
    chosen: bool
    query: str


def label_of(facet: str, value: str) -> str:
    """A value of a facet in words."""
    if facet == "verdict":
        return BADGES.get(value, value)
    return cause_in_words(value) if facet == "cause" else value


# One transfer.


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """A transfer with everything that a store has of it.

    Attributes:
        row: Its columns as JSON carries them, and the words of its diagnosis.
        reasons: The numbers that decided; none where more was known than the store holds.
    """

    item: Item
    source: str
    name: str
    ref: Ref
    row: Row
    start_ns: int
    verdict: report.Verdict
    reasons: Sequence[str]
    next_step: str
    facts: str
    endpoints: str
    shares: Sequence[report.Share]
    evidence: Sequence[evidence.Measured]
    findings: Sequence[Json]
    phases: Sequence[Json]

    @property
    def title(self) -> str:
        """Its capture and its name."""
        return _titled(self.item, self.source, self.name)


def transfer(item: Item, name: str, source: str) -> Transfer | None:
    """A transfer of an entry; ``None`` if there is none of this name."""
    mine = (pads.field("transfer") == name) & (pads.field("source") == source)
    table = item.table("transfers", mine)
    if not table.num_rows:  # a store may have no more than verdicts
        table = item.table("verdicts", mine)
    if not table.num_rows:
        return None
    batch = table.slice(0, 1).combine_chunks().to_batches()[0]
    plain = next(columns.plain_rows(batch))
    row = next(columns.text_rows(batch))
    diagnosis = _judged_again(plain, item)
    whole = rows.with_words(row, diagnosis) if diagnosis is not None else {**row, "reasons": []}
    agrees = diagnosis is not None and (diagnosis.cause, diagnosis.verdict) == (
        row["cause"],
        row["verdict"],
    )
    if not agrees:
        whole |= {"headline": None, "reasons": [], "alternatives": [], "next_step": None}
    whole["verdict"] = row["verdict"] or "not_judged"
    whole["confidence"] = row["confidence"] or 0.0
    return Transfer(
        item=item,
        source=source,
        name=name,
        ref=ref(item.entry.key, name, source, item.entry.name),
        row=whole,
        start_ns=plain["start_ns"] or 0,
        verdict=report.Verdict.of(whole) if row["cause"] in CAUSES else _unknown(whole),
        reasons=[words.sentence(reason) for reason in whole["reasons"]],
        next_step=words.sentence(whole.get("next_step") or ""),
        facts=report.facts_of(whole),
        endpoints=words.endpoints(whole),
        shares=report.shares_shown(Shares.from_transfer(whole)),
        evidence=evidence.measured(whole, THRESHOLDS),
        findings=_findings(item, pads.field("scope") == name, source),
        phases=_phases(item, mine),
    )


def _unknown(row: Row) -> report.Verdict:
    """A verdict with a cause that this version does not know."""
    name = row["verdict"]
    return report.Verdict(
        name=name,
        badge=BADGES[name],
        meaning=VERDICT_WORDS[name],
        confidence=f"{row['confidence']:.2f}",
        headline=words.sentence(cause_in_words(row["cause"] or "unknown cause", name)),
    )


def _judged_again(plain: Row, item: Item) -> Diagnosis | None:
    """The diagnosis from the row alone, for its words; the stored verdict is what counts."""
    if plain.get("too_short") is not False:
        return None
    options = item.entry.options
    capacity = options.get("capacity")
    return judge_row(
        plain,
        CaptureQuality(),
        workload=cast("Workload", options.get("workload", "unknown")),
        capacity=None if capacity is None else float(capacity),
    )


def _findings(item: Item, where: pads.Expression, source: str | None = None) -> list[Json]:
    table = item.table("findings", where)
    found = [row for batch in table.to_batches() for row in columns.text_rows(batch)]
    return [row for row in found if source is None or row["source"] == source]


def capture_findings(item: Item) -> list[Json]:
    """The findings of an entry that are not about single transfers."""
    found = _findings(item, pads.scalar(True))
    return [row for row in found if not str(row["scope"])[:1].isdigit() or "." not in row["scope"]]


def _phases(item: Item, where: pads.Expression) -> list[Json]:
    table = item.table("phases", where)
    return [row for batch in table.to_batches() for row in columns.plain_rows(batch)]


def phase_columns(one: Transfer) -> Json:
    """The band of states over time: begin and end in nanoseconds, role, low and high (0…1)."""
    from trustbed.report.transfer import phases

    band = phases.columns(one.phases, one.start_ns)
    return {
        "t": [round(value * 1e9) for value in band["t"]],
        "end": [round(value * 1e9) for value in band["end"]],
        "role": [f"share-{state.replace('_', '-')}" for state in band["state"]],
        "word": [STATES.get(state, state) for state in band["state"]],
        "low": band["low"],
        "high": band["high"],
    }


@dataclass(frozen=True, kw_only=True)
class Both:
    """A quantity of two transfers."""

    term: str
    first: str
    second: str
    difference: str
    crossed: tuple[bool, bool]


def compared(first: Transfer, second: Transfer) -> list[Both]:
    """Two transfers, quantity by quantity; the difference is the second's from the first."""
    known = {one.term: one.difference for one in comparison.differences(second.row, first.row)}
    found = [
        Both(
            term=one.term,
            first=one.value,
            second=other.value,
            difference=known.pop(one.term, ""),
            crossed=(bool(one.crossed), bool(other.crossed)),
        )
        for one, other in zip(first.evidence, second.evidence, strict=True)
    ]
    more = [
        Both(
            term=one.term,
            first=one.control,
            second=one.here,
            difference=one.difference,
            crossed=(False, False),
        )
        for one in comparison.differences(second.row, first.row)
        if one.term in known
    ]
    return [*found, *more]


# Captures, runs, campaigns and results.


@dataclass(frozen=True, kw_only=True)
class Square:
    """A round or repetition in a strip."""

    use: str
    title: str
    query: str = ""


@dataclass(frozen=True, kw_only=True)
class EntryLine:
    """A capture, run, campaign or result in a list; ``values`` counts those of a result."""

    key: str
    name: str
    testbed: str
    date: str
    size: str
    counts: Sequence[tuple[str, str, str]]
    values: str
    damaged: bool
    live: bool


def entries(items: Sequence[Item], live: Collection[str]) -> list[EntryLine]:
    """Entries as lines of a list; ``live`` has the keys of those at work."""
    return [
        EntryLine(
            key=item.entry.key,
            name=item.name,
            testbed=item.entry.testbed,
            date=item.entry.date,
            size=words.size(item.entry.size_bytes) if item.entry.size_bytes else "",
            counts=[
                (name, words.count(item.entry.verdicts[name]), BADGES[name])
                for name in VERDICTS
                if item.entry.verdicts.get(name)
            ],
            values=words.count(item.entry.tables["results"].rows)
            if item.entry.kind == "result"
            else "",
            damaged=bool(item.entry.damage),
            live=item.entry.key in live,
        )
        for item in items
    ]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell of a run's matrix and its repetitions."""

    label: str
    repetitions: Sequence[Square]
    usable: str
    why: str


def cells(item: Item) -> list[Cell]:
    """The cells of a run, in their order."""
    found: dict[int, list[Json]] = {}
    for batch in item.table("runs").to_batches():
        for row in columns.text_rows(batch):
            found.setdefault(row["cell"] or 0, []).append(row)
    result = []
    for number in sorted(found):
        repetitions = sorted(found[number], key=lambda row: row["round"] or 0)
        usable = sum(row["use"] in ("trust", "review") for row in repetitions)
        why = dict.fromkeys(row["why"] for row in repetitions if row["why"])
        result.append(
            Cell(
                label=repetitions[0]["label"] or "the only cell",
                repetitions=[_repetition(row, item) for row in repetitions[-STRIP:]],
                usable=f"{words.count(usable)} of {words.count(len(repetitions))}",
                why="; ".join(list(why)[:3]),
            )
        )
    return result


def _repetition(row: Row, item: Item) -> Square:
    use = row["use"] or "not_judged"
    about = [
        row["directory"] or "",
        BADGES.get(use, use).lower(),
        *([row["why"]] if row["why"] else []),
    ]
    query = urlencode({"capture": item.entry.key, "q": row["directory"] or ""})
    return Square(
        use=use if use in BADGES else "not_judged", title=": ".join(about), query=f"?{query}"
    )


@dataclass(frozen=True, kw_only=True)
class PairLine:
    """A pair of hosts of a campaign."""

    pair: str
    sender: str
    receiver: str
    rounds: Sequence[Square]
    judged: str
    discarded: str
    throughput: str
    last: str


def pairs(item: Item) -> list[PairLine]:
    """The pairs of a campaign with their latest rounds."""
    found: dict[str, list[Json]] = {}
    for batch in item.table("campaigns").to_batches():
        for row in columns.text_rows(batch):
            found.setdefault(row["pair"], []).append(row)
    result = []
    for pair, rounds in found.items():
        rounds.sort(key=lambda row: row["round"] or 0)
        rates = [
            row["data_bytes_per_second"]
            for row in rounds
            if row["use"] != "discard" and row["data_bytes_per_second"] is not None
        ]
        begun = [row["start_seconds"] for row in rounds if row["start_seconds"] is not None]
        result.append(
            PairLine(
                pair=pair,
                sender=rounds[0]["sender"],
                receiver=rounds[0]["receiver"],
                rounds=[_round(row) for row in rounds[-STRIP:]],
                judged=words.count(len(rounds)),
                discarded=words.count(sum(row["use"] == "discard" for row in rounds)),
                throughput=words.rate(sum(rates) / len(rates) if rates else None),
                last=moment(round(begun[-1] * 1e9)) if begun else words.UNKNOWN,
            )
        )
    return result


def _round(row: Row) -> Square:
    use = row["use"] or "not_judged"
    about = [
        f"round {row['round']}",
        BADGES.get(use, use).lower(),
        words.rate(row["data_bytes_per_second"]),
        *(row["causes"] or ()),
    ]
    return Square(use=use, title=", ".join(about))


@dataclass(frozen=True, kw_only=True)
class ResultLine:
    """A value that another program measured."""

    source: str
    program: str
    test: str
    metric: str
    value: str
    invalid: str


def results(item: Item) -> list[ResultLine]:
    """The values of a result in the words of a comparison, file by file."""
    return [
        ResultLine(
            source=row["source"] or "",
            program=row["program"] or "",
            test=row["test"] or "",
            metric=_metric(row["metric"]),
            value=_value(row["value"], row["unit"] or ""),
            invalid=row["invalid"] or "",
        )
        for batch in item.table("results").slice(0, LISTED).to_batches()
        for row in columns.text_rows(batch)
    ]


def _metric(key: str | None) -> str:
    known = METRICS.get(base(key or ""))
    return (key or words.UNKNOWN) if known is None else known.title


def _value(number: float | None, unit: str) -> str:
    """With its unit: ``94.1 Mbit/s``, ``0.83 per MB``."""
    if unit in ("1/s", "bit/s"):
        return value_in_words(number, unit)
    own, _, per = unit.partition("/")
    shown = value_in_words(number, own)
    return f"{shown} per {per}" if per and number is not None else shown
