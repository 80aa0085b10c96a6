"""The transfers of a capture with what they mean.

They stay where the engine keeps them until they are read: judging goes through them batch by batch
and keeps an outcome of each, of which all transfers that are too short share one. Words are made
again for the transfers that are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import repeat
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from trustbed import _core
from trustbed.analysis.options import Options
from trustbed.analysis.transfer_columns import TransferColumns
from trustbed.diagnose.diagnosis import TOO_SHORT, Diagnosis, Outcome
from trustbed.diagnose.facts import CaptureFacts
from trustbed.diagnose.host import HostEvidence
from trustbed.diagnose.judge import (
    HostOf,
    Judgement,
    Known,
    diagnoses,
    judge,
    judge_columns,
    judge_row,
    tally,
    verdict_columns,
)
from trustbed.diagnose.quality import (
    CAPTURE_POINT_COLUMNS,
    CaptureQuality,
    is_capture_point_contradicted,
)
from trustbed.report import columns, json_lines, schemas
from trustbed.report.printable import json_text
from trustbed.report.records import Json
from trustbed.report.transfer import rows
from trustbed.report.transfer.overview import VERDICTS

_TOO_SHORT_ROW = {"too_short": True}


class JudgedTransfers:
    """The transfers of an analysis, judged."""

    def __init__(self, analysis: _core.Analysis, options: Options, host_of: HostOf | None) -> None:
        """Judges nothing yet; ``host_of`` knows the host that sent a transfer."""
        self._analysis, self._options, self._host_of = analysis, options, host_of

    @cached_property
    def facts(self) -> CaptureFacts:
        """Facts about the capture as a whole."""
        everything = {
            **self._analysis.capture,
            "problems": self._analysis.problems,
            "skips": self._analysis.skips,
        }
        return cast("CaptureFacts", everything)

    # What they mean.

    @cached_property
    def judgement(self) -> Judgement:
        """What became of every transfer, in their order, and every finding."""
        if self._host_of is None:
            return judge_columns(
                self._parts(), self.facts, self._known, too_short=self._too_short_count
            )
        return judge(
            self._rows_to_judge(self._host_of),
            self.facts,
            workload=self._known.workload,
            capacity=self._known.capacity,
            host_of=self._host_of,
        )

    @cached_property
    def _known(self) -> Known:
        return Known(
            quality=CaptureQuality.of(self.facts),
            workload=self._options.workload or "unknown",
            capacity=self._options.capacity,
        )

    @property
    def _too_short_count(self) -> int:
        """Transfers that are too short to judge: they come after the others."""
        return len(self._analysis.transfers) - len(self._analysis.judged)

    def _parts(self) -> Iterator[TransferColumns]:
        for batch in pa.RecordBatchReader.from_stream(self._analysis.judged):
            yield TransferColumns(batch, self._misplaced)

    def _rows_to_judge(self, host_of: HostOf) -> Iterator[Json]:
        for part in self._parts():
            for row in columns.plain_rows(part.judged):
                yield self._with_capture_point(row)
        yield from repeat(_TOO_SHORT_ROW, self._too_short_count)

    def _diagnoses(self, batch: pa.RecordBatch) -> Iterator[Diagnosis]:
        """The diagnoses of those transfers of a batch that can be judged, in words."""
        part, host_of = TransferColumns(batch, self._misplaced), self._host_of
        if host_of is None:
            yield from diagnoses(part, self._known)
            return
        for plain in columns.plain_rows(part.judged):
            row = self._with_capture_point(plain)
            yield judge_row(
                row,
                self._known.quality,
                workload=self._known.workload,
                capacity=self._known.capacity,
                host=host_of(row),
            )

    def _with_capture_point(self, row: Json) -> Json:
        return (
            {**row, "capture_point_contradicted": True}
            if row["connection"] in self._misplaced
            else row
        )

    @cached_property
    def _misplaced(self) -> frozenset[int]:
        """Connections that were captured elsewhere than given."""
        if self._options.at is None:
            return frozenset()
        batches = (
            batch.select(["connection", *CAPTURE_POINT_COLUMNS])
            for batch in pa.RecordBatchReader.from_stream(self._analysis.connections)
        )
        return frozenset(
            row["connection"]
            for batch in batches
            for row in columns.plain_rows(batch)
            if is_capture_point_contradicted(row)
        )

    @cached_property
    def tally(self) -> dict[str, dict[str, int]]:
        """How many have each verdict, and each cause."""
        return tally(self.judgement.outcomes)

    # As tables.

    def stream(self) -> pa.RecordBatchReader:
        """The engine's table with causes and verdicts."""
        reader = pa.RecordBatchReader.from_stream(self._analysis.transfers)
        schema = schemas.with_verdicts(reader.schema)

        def batches() -> Iterator[pa.RecordBatch]:
            start = 0
            for batch in reader:
                end = start + batch.num_rows
                yield _with_verdicts(batch, self.judgement.outcomes[start:end], schema)
                start = end

        return pa.RecordBatchReader.from_batches(schema, batches())

    # As rows.

    def find(self, name: str) -> tuple[Json, Json, HostEvidence | None, Diagnosis] | None:
        """A transfer by its name: shown, measured, the host that sent it, what it means."""
        start = 0
        for batch in pa.RecordBatchReader.from_stream(self._analysis.transfers):
            index = pc.index(batch.column("transfer"), name).as_py()
            if index >= 0:
                row = self._rows_at({start + index})[start + index]
                one = batch.slice(index, 1)
                measured = self._with_capture_point(next(columns.plain_rows(one)))
                host = None if self._host_of is None else self._host_of(measured)
                return row, measured, host, next(self._diagnoses(one), TOO_SHORT)
            start += batch.num_rows
        return None

    def most_severe(self, limit: int) -> Iterator[Json]:
        """The transfers to look at first: the most severe verdicts, then the largest."""
        ranks = {verdict: rank for rank, verdict in enumerate(VERDICTS)}
        outcomes = self.judgement.outcomes
        judged: list[tuple[int, int, int]] = []
        start = 0
        for batch in pa.RecordBatchReader.from_stream(self._analysis.judged):
            for index, size in enumerate(columns.values(batch.column("unique_bytes")), start):
                verdict = outcomes[index].verdict
                if verdict != "not_judged":
                    judged.append((ranks[verdict], -(size or 0), index))
            start += batch.num_rows
        order = [index for _, _, index in sorted(judged)[:limit]]
        found = self._rows_at(set(order))
        for index in order:
            yield found[index]

    def _rows_at(self, indices: set[int]) -> dict[int, Json]:
        found: dict[int, Json] = {}
        start = 0
        for batch in schemas.ordered(pa.RecordBatchReader.from_stream(self._analysis.transfers)):
            here = sorted(
                index - start for index in indices if start <= index < start + batch.num_rows
            )
            if here:
                taken = pa.Table.from_batches([batch]).take(here).combine_chunks().to_batches()[0]
                at = [start + index for index in here]
                found |= zip(at, self._rows_in_words(taken, at), strict=True)
            start += batch.num_rows
            if len(found) == len(indices):
                break
        return found

    def rows(self, *, judged_only: bool = False) -> Iterator[Json]:
        """Transfers as JSON carries them, in the order of the capture."""
        start = 0
        for batch in schemas.ordered(pa.RecordBatchReader.from_stream(self._analysis.transfers)):
            at: Sequence[int] = range(start, start + batch.num_rows)
            start += batch.num_rows
            if judged_only:
                judged = [self.judgement.outcomes[index].verdict != "not_judged" for index in at]
                batch = batch.filter(pa.array(judged, pa.bool_()))
                at = [index for index, is_judged in zip(at, judged, strict=True) if is_judged]
            yield from self._rows_in_words(batch, at)

    def _rows_in_words(self, batch: pa.RecordBatch, at: Sequence[int]) -> Iterator[Json]:
        """The rows of the engine's table that have these places in it, with verdicts and words."""
        in_words = self._diagnoses(batch)
        too_short = columns.values(batch.column("too_short"))
        whole = _with_verdicts(batch, [self.judgement.outcomes[index] for index in at])
        for row, is_short in zip(columns.text_rows(whole), too_short, strict=True):
            yield rows.with_words(row, TOO_SHORT if is_short else next(in_words))

    def lines(self) -> Iterator[str]:
        """The transfers that can be judged, as JSON."""
        start = 0
        for batch in schemas.ordered(pa.RecordBatchReader.from_stream(self._analysis.judged)):
            outcomes = self.judgement.outcomes[start : start + batch.num_rows]
            start += batch.num_rows
            lines = json_lines.objects(_with_verdicts(batch, outcomes))
            rates = columns.values(batch.column("throughput_bytes_per_second"))
            for line, said, rate in zip(lines, self._diagnoses(batch), rates, strict=True):
                yield json_lines.with_members(
                    line, json_text(rows.words_of(said, said.shares, rate))
                )


def _with_verdicts(
    batch: pa.RecordBatch, outcomes: Sequence[Outcome], schema: pa.Schema | None = None
) -> pa.RecordBatch:
    verdicts = verdict_columns(outcomes)
    added = [pa.array(verdicts[field.name], field.type) for field in schemas.VERDICT_FIELDS]
    whole = schema or pa.schema([*batch.schema, *schemas.VERDICT_FIELDS])
    return pa.RecordBatch.from_arrays([*batch.columns, *added], schema=whole)
