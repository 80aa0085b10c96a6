"""The levels that the cells of a run share, and those that distinguish them.

Groups that share a baseline, factors whose levels are numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trustbed.report.records import Row
from trustbed.report.run.records import CellResults

NOTHING = "–"
"""The level of a factor that changes nothing in a cell."""
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([kMGTPm]|Ki|Mi|Gi|µ|u|n)?([A-Za-z%][A-Za-z/%]*)?")
_PREFIXES = {
    "n": 1e-9, "µ": 1e-6, "u": 1e-6, "m": 1e-3, "": 1.0,
    "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30,
}  # fmt: skip
_UNITS = frozenset({"", "bit/s", "B", "s", "%", "p", "b", "bps", "packets"})
_FEWEST = 3


@dataclass(frozen=True, slots=True)
class Scale:
    """A factor whose levels are numbers of one unit: its key, and the number of every level."""

    key: str
    unit: str
    values: Mapping[str, float]

    def position(self, cell: CellResults) -> float | None:
        """The position of a cell on the axis; ``None`` where the factor changes nothing."""
        return self.values.get(cell.levels.get(self.key, NOTHING))


def number(level: str) -> tuple[float, str] | None:
    """A level as a number and its unit: ``3.3Mbit/s`` is 3,300,000 bit/s, ``20p`` is 20 packets.

    ``None`` if it is a word.
    """
    found = _NUMBER.fullmatch(level.strip())
    if found is None:
        return None
    digits, prefix, unit = found[1], found[2] or "", found[3] or ""
    if prefix + unit not in _UNITS and unit not in _UNITS:
        return None
    if (
        prefix + unit in _UNITS
    ):  # the unit begins with the letter of a prefix, or is nothing but one
        prefix, unit = "", prefix + unit
    return float(digits) * _PREFIXES[prefix], unit


def scale_of(factors: Sequence[Row], cells: Sequence[CellResults]) -> Scale | None:
    """The factor with the most levels, among those with three numbers of one unit at least."""
    found = []
    for factor in factors:
        used = {cell.levels.get(factor["key"], NOTHING) for cell in cells} - {NOTHING}
        read = {level: number(level) for level in factor["levels"] if level in used}
        known = {level: value for level, value in read.items() if value is not None}
        if (
            len(known) >= _FEWEST
            and len(known) == len(read)
            and len({unit for _, unit in known.values()}) == 1
        ):
            unit = next(iter(known.values()))[1]
            found.append(
                Scale(factor["key"], unit, {level: value for level, (value, _) in known.items()})
            )
    return max(found, key=lambda scale: len(scale.values), default=None)


def others(cell: CellResults, key: str) -> str:
    """A cell in the words of its factors, without one of them."""
    return ", ".join(
        level for name, level in cell.levels.items() if name != key and level != NOTHING
    )


def groups(cells: Iterable[CellResults]) -> list[list[CellResults]]:
    """Cells that are compared with each other: those of one baseline, which comes first.

    Cells without one are one group.
    """
    by_baseline: dict[int | None, list[CellResults]] = {}
    for cell in cells:
        by_baseline.setdefault(cell.baseline, []).append(cell)
    return [
        sorted(group, key=lambda cell: (not cell.is_baseline, cell.number))
        for group in by_baseline.values()
    ]


def shared(cells: Sequence[CellResults]) -> str:
    """The levels that all cells of a group have, in words; empty if there are none."""
    first = next((cell for cell in cells if not cell.is_baseline), cells[0])
    alike = [
        level
        for key, level in first.levels.items()
        if level != NOTHING and all(cell.levels.get(key) in (level, NOTHING) for cell in cells)
    ]
    return ", ".join(alike) if len(cells) > 1 else ""


def short(cell: CellResults, group: Sequence[CellResults]) -> str:
    """A cell's label within its group: without what all of them share."""
    alike = {
        key
        for key, level in cell.levels.items()
        if len(group) > 1 and all(other.levels.get(key) == level for other in group)
    }
    words = [level for key, level in cell.levels.items() if level != NOTHING and key not in alike]
    return ", ".join(words) or cell.label


def key_words(key: str) -> str:
    """A factor's key as a title: ``background.cross.rate`` is the rate of cross."""
    parts = key.split(".")
    return " ".join((parts[-1], "of", parts[-2])) if len(parts) > 1 else key
