"""Transfers of a batch by column, as judging takes them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from trustbed.report import columns
from trustbed.report.records import Json


class TransferColumns:
    """The transfers of a batch that can be judged (a :class:`trustbed.diagnose.judge.Part`).

    ``misplaced`` are connections that were captured elsewhere than given.
    """

    def __init__(self, batch: pa.RecordBatch, misplaced: Collection[int] = ()) -> None:
        too_short = batch.column("too_short")
        self.too_short: Sequence[bool] = columns.values(too_short)
        short = sum(self.too_short)
        if short == len(too_short):
            self.judged = batch.slice(0, 0)
        else:
            self.judged = batch.filter(pc.invert(too_short)) if short else batch
        self._misplaced = misplaced
        self._cells: dict[str, list[Any]] = {}

    def __len__(self) -> int:
        return int(self.judged.num_rows)

    def cells(self, column: str) -> list[Any] | None:
        """The cells as the table has them; ``None`` without the column."""
        if column not in self._cells:
            index = self.judged.schema.get_field_index(column)
            if index < 0:
                return None
            self._cells[column] = columns.values(self.judged.column(index))
        return self._cells[column]

    def quantities(self, names: Sequence[str]) -> dict[str, list[Any]]:
        """Numbers as finite floats or unknown, times in seconds; all else as it is."""
        found: dict[str, list[Any]] = {**columns.quantities(self.judged, names)}
        for name in names:
            if name not in found and (cells := self.cells(name)) is not None:
                found[name] = cells
        return found

    def rows(self, names: Sequence[str]) -> Iterator[Json]:
        """Every row with those of these columns that there are."""
        present = [name for name in names if self.judged.schema.get_field_index(name) >= 0]
        cells = (self.cells(name) or () for name in present)
        rows = (dict(zip(present, row, strict=True)) for row in zip(*cells, strict=True))
        if not self._misplaced:
            return rows
        connections = self.cells("connection") or ()
        return (
            {**row, "capture_point_contradicted": True} if connection in self._misplaced else row
            for row, connection in zip(rows, connections, strict=True)
        )
