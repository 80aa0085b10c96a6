"""Evidence about many transfers at once, from the columns of their table.

Each column is read once, each transfer is then a tuple of its cells: this costs a small part of
reading row by row, and gives the same evidence, which a test holds.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, Protocol, TypeAlias, cast

from trustbed.diagnose.computed import COMPUTED
from trustbed.diagnose.evidence import (
    CLASSIC_PACKETS,
    FROM_COLUMNS,
    SOURCES,
    Evidence,
    Workload,
    capacity_of,
)

Cells: TypeAlias = Sequence[Any]

_DEFAULTS = {source.field: getattr(Evidence(), source.field) for source in SOURCES}
_Tuple = namedtuple("_Tuple", [source.field for source in SOURCES])  # type: ignore[misc]
"""The fields of :class:`Evidence`, made in a fraction of its time."""


class Columns(Protocol):
    """Some rows of the transfers table, by column; ``None`` for a column that is not there."""

    def __len__(self) -> int:
        """How many rows."""

    def cells(self, column: str) -> Cells | None:
        """The cells as the table has them: times are integers of nanoseconds."""

    def quantities(self, names: Sequence[str]) -> Mapping[str, Cells]:
        """The same of those of these columns that there are, in base units.

        Numbers are finite floats or unknown, times in seconds.
        """


def evidence_of(
    columns: Columns,
    *,
    workload: Workload = "unknown",
    capacity_bits_per_second: float | None = None,
) -> Iterator[Evidence]:
    """The evidence of each row, in order: what :meth:`Evidence.from_transfer` makes of it."""
    count = len(columns)
    found: dict[str, Cells] = {}
    quantities = columns.quantities([source.column for source in FROM_COLUMNS])
    for source in FROM_COLUMNS:
        cells = quantities.get(source.column)
        default = CLASSIC_PACKETS.get(source.field, _DEFAULTS[source.field])
        if cells is None:
            found[source.field] = [default] * count
        elif default is None:
            found[source.field] = cells
        elif source.field in CLASSIC_PACKETS:
            found[source.field] = [default if cell is None else cell for cell in cells]
        else:
            found[source.field] = [default if cell is None else source.read(cell) for cell in cells]
    found["workload"] = [workload] * count
    for name, made in COMPUTED.items():
        own = found.get(name) or repeat(_DEFAULTS[name], count)
        parts = [columns.cells(column) or repeat(None, count) for column in made.columns]
        found[name] = list(map(made.value, own, *parts))
    if capacity_bits_per_second is not None:
        pairs = [
            capacity_of(measured, source, capacity_bits_per_second)
            for measured, source in zip(
                found["capacity_bytes_per_second"], found["capacity_source"], strict=True
            )
        ]
        found["capacity_bytes_per_second"] = [capacity for capacity, _ in pairs]
        found["capacity_source"] = [source for _, source in pairs]
    fields = [found.get(source.field) or [_DEFAULTS[source.field]] * count for source in SOURCES]
    return cast("Iterator[Evidence]", map(_Tuple._make, zip(*fields, strict=True)))
