"""Which runs of a paper would not survive review.

A run does not if a cell of its matrix keeps too few repetitions that may be used (trust or review),
whatever was planned: its number rests on what measured a host, or on too little. It needs a look if
any repetition is to be reviewed or discarded, was not completed or not judged. Bias: a run of few
planned repetitions fails without any fault of its testbed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec
import pyarrow.dataset as pads

from trustbed.report.records import Json
from trustbed.store.store import Store

FEWEST = 3
"""Usable repetitions of a cell: of fewer, an interval says next to nothing."""
MOST_REASONS = 5

Standing: TypeAlias = Literal["trust", "review", "discard"]


class CellStanding(msgspec.Struct, frozen=True, kw_only=True):
    """A cell: its repetitions, and those that may be used."""

    label: str
    repetitions: int
    usable: int


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why repetitions are to be reviewed or discarded, and how many."""

    why: str
    repetitions: int


class RunStanding(msgspec.Struct, frozen=True, kw_only=True):
    """A run: ``discard`` would not survive, ``review`` needs a look.

    Attributes:
        key: Its entry in the store.
        uses: Repetitions by use.
        weak: Cells that keep too few usable repetitions.
    """

    key: str
    run: str
    paper: str | None
    testbed: str
    date: str
    standing: Standing
    repetitions: int
    incomplete: int
    cells: int
    uses: dict[str, int]
    weak: tuple[CellStanding, ...]
    reasons: tuple[Reason, ...]


class PapersAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer: the worst run first."""

    paper: str | None
    testbed: str | None
    fewest: int
    runs: tuple[RunStanding, ...]


def ask(
    store: Store, *, paper: str | None = None, testbed: str | None = None, fewest: int = FEWEST
) -> PapersAnswer:
    """Answers it for the runs of a paper, or all runs."""
    conditions = [
        pads.field(name) == value
        for name, value in (("paper", paper), ("testbed", testbed))
        if value is not None
    ]
    where = None
    for one in conditions:
        where = one if where is None else where & one
    names = ["capture", "testbed", "date", "run", "paper", "label", "complete", "use", "why"]
    rows = store.runs.table(names, where=where).to_pylist()
    of: dict[str, list[Json]] = defaultdict(list)
    for row in rows:
        of[row["capture"]].append(row)
    order = ("discard", "review", "trust")
    runs = sorted(
        (_standing(key, found, fewest) for key, found in of.items()),
        key=lambda run: (order.index(run.standing), run.run, run.date, run.key),
    )
    return PapersAnswer(paper=paper, testbed=testbed, fewest=fewest, runs=tuple(runs))


def _standing(key: str, rows: Sequence[Json], fewest: int) -> RunStanding:
    uses = Counter(row["use"] or "not_judged" for row in rows)
    cells: dict[str, list[Json]] = defaultdict(list)
    for row in rows:
        cells[row["label"] or ""].append(row)
    standings = [
        CellStanding(
            label=name,
            repetitions=len(found),
            usable=sum(row["use"] in ("trust", "review") for row in found),
        )
        for name, found in sorted(cells.items())
    ]
    weak = tuple(cell for cell in standings if cell.usable < fewest)
    reasons = Counter(
        row["why"] or "not judged" for row in rows if row["use"] not in (None, "trust")
    )
    incomplete = sum(not row["complete"] for row in rows)
    clean = not incomplete and set(uses) <= {"trust"}
    first = rows[0]
    return RunStanding(
        key=key,
        run=first["run"],
        paper=first["paper"],
        testbed=first["testbed"],
        date=first["date"],
        standing="discard" if weak else "trust" if clean else "review",
        repetitions=len(rows),
        incomplete=incomplete,
        cells=len(standings),
        uses=dict(sorted(uses.items())),
        weak=weak,
        reasons=tuple(
            Reason(why=why, repetitions=count) for why, count in reasons.most_common(MOST_REASONS)
        ),
    )
