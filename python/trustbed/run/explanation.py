"""Explains the verdicts of a run: one per transfer, from all its capture points.

Every capture of a repetition is judged by itself. The verdict of a transfer is that of the capture
beside its sender, which was judged with the samples of that host and with the capture at the other
end; the other captures are views beside it. Reads the run directory, writes nothing.

Bias: a view that disagrees does not change the verdict; it is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet

from trustbed.analysis.transfer import Transfer
from trustbed.diagnose.causes import headline
from trustbed.report import columns
from trustbed.report.records import Row
from trustbed.run.directory import SCENARIO, RunDirectory, RunDirectoryError
from trustbed.run.judge import capture_of
from trustbed.scenario import load
from trustbed.scenario.guests import INSIDE

_RANKS = ("sender", "receiver", "middle")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A transfer as one capture shows it: a row of the run's table of transfers."""

    row: Row

    @property
    def capture(self) -> str:
        """The host or router beside which it was captured."""
        return str(self.row["capture"])

    @property
    def verdict(self) -> str:
        """Whether its number may be used, by this capture."""
        return str(self.row["verdict"])

    @property
    def cause(self) -> str:
        """What limited it, by this capture."""
        return str(self.row["cause"])

    @property
    def rank(self) -> tuple[int, bool]:
        """Captures beside the sender come first, those inside a guest after those outside."""
        at = self.row.get("at")
        place = _RANKS.index(at) if at in _RANKS else len(_RANKS)
        return place, self.capture.endswith(INSIDE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """A transfer of a repetition: its verdict, and the views of the other captures.

    Attributes:
        repetition: The number of the repetition.
        verdict: The view that gives the verdict.
        views: The other ones, the most telling first.
    """

    repetition: int
    verdict: View
    views: Sequence[View]

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        row: Mapping[str, Any] = self.verdict.row
        return headline((row["cause"],), row["verdict"])

    def json(self) -> dict[str, Any]:
        """The verdict and the views as JSON carries them."""
        return {
            "repetition": self.repetition,
            **_plain(self.verdict.row),
            "headline": self.headline,
            "views": [_plain(view.row) for view in self.views],
        }


_STATED = (
    "capture",
    "workload",
    "transfer",
    "src",
    "src_port",
    "dst",
    "dst_port",
    "at",
    "cause",
    "confidence",
    "verdict",
)


def _plain(row: Row) -> dict[str, Any]:
    return {name: row.get(name) for name in _STATED}


def repetitions(directory: RunDirectory) -> list[int]:
    """The numbers of the repetitions that have been judged."""
    return [
        point["number"]
        for point in directory.manifest()["order"]
        if directory.is_judged(point["directory"])
    ]


def transfers(directory: RunDirectory, repetition: int) -> list[Explained]:
    """The judged transfers of a repetition, in the order in which they began."""
    by_connection: dict[tuple[object, ...], list[View]] = {}
    before: Counter[tuple[object, ...]] = Counter()
    for view in _views(directory, repetition):
        ends = _ends(view.row)
        incarnation = before[(*ends, view.capture)]
        before[(*ends, view.capture)] += 1
        by_connection.setdefault((*ends, incarnation), []).append(view)
    found = []
    for views in by_connection.values():
        first, *others = sorted(views, key=lambda view: view.rank)
        found.append(Explained(repetition=repetition, verdict=first, views=others))
    return sorted(found, key=lambda one: str(one.verdict.row.get("start")))


def _ends(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in ("src", "src_port", "dst", "dst_port"))


def _views(directory: RunDirectory, repetition: int) -> Iterator[View]:
    file = directory.repetition(_place(directory, repetition)["directory"]) / "tables"
    table = file / "transfers.parquet"
    if not table.is_file():
        return
    for batch in pyarrow.parquet.ParquetFile(table).iter_batches():
        for row in columns.text_rows(batch):
            if row["verdict"] != "not_judged":
                yield View(row=row)


def _place(directory: RunDirectory, repetition: int) -> Mapping[str, Any]:
    for point in directory.manifest()["order"]:
        if point["number"] == repetition and directory.is_judged(point["directory"]):
            found: Mapping[str, Any] = point
            return found
    judged = ", ".join(map(str, repetitions(directory))) or "none"
    raise RunDirectoryError(
        f"no repetition {repetition} that was judged, {directory.path}", f"there are: {judged}"
    )


def transfer_of(directory: RunDirectory, explained: Explained) -> Transfer:
    """The transfer with its diagnosis, from the capture that gives the verdict.

    Raises:
        CaptureError: The capture cannot be read any more.
        ScenarioError: The scenario of the run cannot.
    """
    place = _place(directory, explained.repetition)
    study = load(directory.path / SCENARIO, beside=directory.beside())
    capture = capture_of(
        directory,
        place["directory"],
        study.cells[place["cell"]].scenario,
        explained.verdict.capture,
    )
    return capture.transfer(str(explained.verdict.row["transfer"]))
