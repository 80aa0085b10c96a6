"""What a store holds and says, as text for a terminal: at most 100 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from trustbed.diagnose.causes import cause_in_words
from trustbed.report import words
from trustbed.report.paint import Paint
from trustbed.report.store import words as store_words
from trustbed.report.text import PLAIN, cut, fitted, joined, table, wrapped
from trustbed.report.text import WIDEST as WIDEST

if TYPE_CHECKING:
    from trustbed.store.entry import Entry
    from trustbed.store.questions.causes import CausesAnswer
    from trustbed.store.questions.hosts import HostsAnswer
    from trustbed.store.questions.papers import PapersAnswer
    from trustbed.store.store import Removed

SHOWN = 20
"""Hosts, causes and runs."""
_NAME = 32
_VERDICTS = ("trust", "review", "discard", "not_judged")


def entries(
    found: Sequence[Entry],
    names: Mapping[str, str],
    paint: Paint = PLAIN,
    *,
    columns: int = WIDEST,
) -> str:
    """The entries of a store, one a line, by the names of their keys."""
    if not found:
        return "nothing is in the store\n"
    # Counts give way on a narrow terminal; other commands need the key.
    head = ["testbed", "date", "name", "kind", "key"]
    head += [one.replace("_", " ") for one in _VERDICTS]
    rows = [
        [
            one.testbed,
            one.date,
            _shortened(names[one.key]),
            one.kind,
            one.key[:12],
            *(words.count(one.verdicts.get(verdict, 0)) for verdict in _VERDICTS),
        ]
        for one in found
    ]
    return "\n".join(table(head, rows, paint, left=5, width=columns)) + "\n"


def _shortened(name: str) -> str:
    """A name in the list; of one with directories the end tells more."""
    if len(name) <= _NAME or "/" not in name:
        return cut(name, _NAME)
    return f"…{name[1 - _NAME :]}"


def entry(one: Entry) -> str:
    """An entry with everything that its manifest says."""
    facts = [
        ("name", one.name),
        ("kind", one.kind),
        ("key", one.key),
        ("subject", one.subject),
        ("testbed", one.testbed),
        *([("paper", one.paper)] if one.paper else []),
        ("date", one.date),
        ("files", f"{words.listed(one.files[:3])}{' …' if len(one.files) > 3 else ''}"),
        ("size", words.size(one.size_bytes)),
        ("version", f"{one.version}, schema {one.schema_version}"),
        ("options", " ".join(f"{name}={value}" for name, value in one.options.items()) or "–"),
        ("verdicts", ", ".join(f"{count} {name}" for name, count in one.verdicts.items()) or "–"),
        (
            "tables",
            ", ".join(
                f"{name} ({words.counted(held.rows, 'row')})" for name, held in one.tables.items()
            ),
        ),
        ("directory", one.directory),
        ("stored by", one.stored_by),
        *(("damage", line) for line in one.damage),
    ]
    return "".join(f"{name:<11}{value}\n" for name, value in facts)


def removed(found: Sequence[Removed], *, dry_run: bool) -> str:
    """What gc removed."""
    if not found:
        return "nothing to remove\n"
    word = "would remove" if dry_run else "removed"
    lines = [f"{word} {one.name} ({one.why}, {words.size(one.size_bytes)})" for one in found]
    return "\n".join(lines) + "\n"


def hosts(found: HostsAnswer, paint: Paint = PLAIN, *, columns: int = WIDEST) -> str:
    """Which hosts and hours to avoid."""
    width = fitted(columns)
    parts = sorted(
        (one for one in found.hosts.parts if one.rounds),
        key=lambda one: (not one.avoid, -(one.share or 0), -one.rounds, one.host),
    )
    rows = [
        [
            f"{one.host} as {one.role}",
            words.count(one.rounds),
            words.percent(one.share),
            "avoid" if one.avoid else "",
        ]
        for one in parts[:SHOWN]
    ]
    counts = (
        f"{words.counted(found.transfers, 'judged transfer')}, {words.count(found.discarded)} to "
        f"be discarded; {words.counted(found.measurements, 'measurement')} between "
        f"{words.counted(found.pairs, 'pair')} of hosts"
    )
    return joined(
        _head(store_words.hosts_headline(found), counts, width, paint),
        _paragraphs([*store_words.hosts(found), *store_words.hours(found)], width),
        table(["host", "measurements", "discarded", ""], rows, paint, width=width) if rows else [],
        _more(len(parts), "host"),
    )


def causes(found: CausesAnswer, paint: Paint = PLAIN, *, columns: int = WIDEST) -> str:
    """How the shares of causes changed."""
    width = fitted(columns)
    counts = (
        f"{words.counted(found.transfers, 'judged transfer')} of "
        f"{words.counted(found.captures, 'capture')}"
    )
    blocks = [
        [
            paint("strong", f"{cause_in_words(one.cause, one.verdict)} ({one.cause})"),
            *_paragraphs(store_words.cause(one, found), width, "  "),
        ]
        for one in sorted(found.causes, key=lambda one: not one.changes)[:SHOWN]
    ]
    more = _more(len(found.causes), "cause")
    return joined(_head(store_words.causes_headline(found), counts, width, paint), *blocks, more)


def papers(found: PapersAnswer, paint: Paint = PLAIN, *, columns: int = WIDEST) -> str:
    """Which runs would not survive review."""
    width = fitted(columns)
    blocks = [
        [
            f"{paint(one.standing, store_words.STANDINGS[one.standing])}: {one.run} "
            f"({one.date}, {one.testbed}{f', {one.paper}' if one.paper else ''})",
            *_paragraphs(store_words.run(one, found.fewest), width, "  "),
        ]
        for one in found.runs[:SHOWN]
    ]
    counts = (
        f"{words.counted(len(found.runs), 'run')}; a cell needs {found.fewest} usable repetitions"
    )
    more = _more(len(found.runs), "run")
    return joined(_head(store_words.papers_headline(found), counts, width, paint), *blocks, more)


def _more(count: int, what: str) -> list[str]:
    """A line about what a terminal does not list."""
    if count <= SHOWN:
        return []
    return [f"and {words.counted(count - SHOWN, what)} more: -o FILE or --json has all"]


def _head(headline: str, counts: str, width: int, paint: Paint) -> Iterator[str]:
    for line in wrapped(headline, width):
        yield paint("strong", line)
    yield from wrapped(counts, width)


def _paragraphs(sentences: Sequence[str], width: int, margin: str = "") -> Iterator[str]:
    for sentence in sentences:
        yield from wrapped(sentence, width, margin, margin)
