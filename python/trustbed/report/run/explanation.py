"""``trustbed explain RUN`` as text: one verdict per transfer, other captures' views beside it.

What is to be discarded stands first, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from trustbed.diagnose import budget_words
from trustbed.diagnose.conditions import Case
from trustbed.diagnose.evidence import Evidence
from trustbed.diagnose.thresholds import THRESHOLDS
from trustbed.diagnose.time_budget import Shares
from trustbed.report import words
from trustbed.report.paint import Paint
from trustbed.report.records import Row
from trustbed.report.text import INDENT, PLAIN, fitted, wrapped
from trustbed.report.text import WIDEST as WIDEST


class View(Protocol):
    """A transfer as one capture shows it."""

    @property
    def row(self) -> Row:
        """Its row of the run's table of transfers, as JSON carries it."""


class Explained(Protocol):
    """A transfer of a repetition with its verdict and the views of the other captures."""

    @property
    def repetition(self) -> int:
        """The number of the repetition."""

    @property
    def verdict(self) -> View:
        """The view that gives the verdict."""

    @property
    def views(self) -> Sequence[View]:
        """The other ones."""

    @property
    def headline(self) -> str:
        """The verdict in a few words."""


def render(
    name: str, found: Sequence[Explained], *, columns: int = WIDEST, paint: Paint = PLAIN
) -> str:
    """The verdicts of a run with a newline at its end."""
    width = fitted(columns)
    repetitions = len({one.repetition for one in found})
    lines = [
        paint(
            "strong",
            f"{name} · {words.counted(repetitions, 'repetition')} · "
            f"{words.counted(len(found), 'judged transfer')}",
        ),
        "",
        *_to_discard(found, width, paint),
    ]
    for one in found:
        lines += [*_one(one, width, paint), ""]
    lines += wrapped(
        f"Next: trustbed explain {name} REPETITION TRANSFER: the rule that decided, number by "
        "number",
        width,
    )
    return "\n".join(lines) + "\n"


def _to_discard(found: Sequence[Explained], width: int, paint: Paint) -> Iterator[str]:
    discarded = [one for one in found if one.verdict.row["verdict"] == "discard"]
    if not discarded:
        yield "Nothing is to be discarded."
        yield ""
        return
    yield paint("discard", f"To be discarded: {len(discarded)} of {len(found)}")
    for one in discarded:
        yield from wrapped(
            f"repetition {one.repetition}, {one.verdict.row['transfer']}: {one.headline}",
            width,
            first="  ",
            rest="    ",
        )
    yield ""


def _one(one: Explained, width: int, paint: Paint) -> Iterator[str]:
    row, margin = one.verdict.row, " " * INDENT
    amounts = ", ".join(
        (
            words.size(row.get("unique_bytes")),
            words.duration(row.get("duration_seconds")),
            budget_words.rates(Case.of(Evidence.from_transfer(row), THRESHOLDS)),
        )
    )
    head = f"{row['verdict']:<{INDENT}}"
    lines = wrapped(
        f"{words.endpoints(row)}  repetition {one.repetition}, transfer {row['transfer']} "
        f"({amounts})",
        width,
        first=head,
        rest=margin,
    )
    yield paint(row["verdict"], head) + lines[0][len(head) :]
    yield from lines[1:]
    title = one.headline[:1].upper() + one.headline[1:]
    yield from wrapped(
        f"{title} ({_stated(row)}; captured at {row['capture']})", width, first=margin, rest=margin
    )
    shares = Shares.from_transfer(row)
    if shares is not None and (spent := shares.spent(row.get("duration_seconds"))):
        yield from wrapped(spent, width, first=margin, rest=f"{margin}  ")
    yield from _beside(one, width, margin)


def other_views(one: Explained, judged: Row, *, columns: int = WIDEST, paint: Paint = PLAIN) -> str:
    """What the other captures of the run say, below the explanation of the one that counts.

    ``judged`` is that one as judged now; the run's tables may be from another version.
    """
    width, row = fitted(columns), one.verdict.row
    lines = list(_beside(one, width, "  "))
    if (judged["verdict"], judged["cause"]) != (row["verdict"], row["cause"]):
        lines += wrapped(
            f"The tables of the run hold another verdict, {row['verdict']} ({_stated(row)}): they "
            "were made by another version of trustbed.",
            width,
            first="  ",
            rest="  ",
        )
    if not lines:
        return ""
    title = f"Other captures (the verdict is that of {one.verdict.row['capture']})"
    return "\n".join(["", paint("strong", title), *lines]) + "\n"


def _beside(one: Explained, width: int, margin: str) -> Iterator[str]:
    """What the other captures say, one line each; those that disagree say so."""
    stated = one.verdict.row["verdict"], one.verdict.row["cause"]
    for view in one.views:
        row = view.row
        agrees = (row["verdict"], row["cause"]) == stated
        yield from wrapped(
            f"{row['capture']}: {row['verdict']}, {_stated(row)}"
            + ("" if agrees else " (another reading)"),
            width,
            first=f"{margin}· ",
            rest=f"{margin}  ",
        )


def _stated(row: Row) -> str:
    return f"{row['cause']}, confidence {row['confidence']:.2f}"
