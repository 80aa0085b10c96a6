"""The order of a run: every cell once per round, shuffled within the round by the seed.

Such blocks prevent slow changes of a machine (temperature, other load) from appearing as
differences between cells (the randomised complete block design of R. A. Fisher, *The Design of
Experiments*, 1935). Order and seeds follow from hashes of names, not from a generator's state: more
repetitions add rounds at the end and change nothing before them, and another level of a factor
leaves the seeds of the other cells.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trustbed.scenario import Cell

_SEED_BITS = 63
"""Seeds fit into a signed 64-bit integer, which every table and JSON reader holds exactly."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """One execution of one cell. ``number`` is its index in the run and names its directory."""

    number: int
    cell: int
    round: int
    seed: int

    @property
    def directory(self) -> str:
        """``rep-000``."""
        return f"rep-{self.number:03d}"

    def seed_of(self, part: str) -> int:
        """The seed of a random component: the emulator, a source."""
        return _hash("part", self.seed, part)


def order(cells: Sequence[Cell], *, repetitions: int, seed: int) -> tuple[Repetition, ...]:
    """Every repetition of every cell in the order in which they are carried out."""
    found: list[Repetition] = []
    for this_round in range(repetitions):
        shuffled = sorted(
            cells,
            key=lambda cell: (_hash("order", seed, this_round, _name(cell.levels)), cell.number),
        )
        for cell in shuffled:
            own = _hash("seed", seed, this_round, _name(cell.levels))
            found.append(
                Repetition(number=len(found), cell=cell.number, round=this_round, seed=own)
            )
    return tuple(found)


def _name(levels: Mapping[str, str]) -> str:
    return json.dumps(dict(sorted(levels.items())), ensure_ascii=False)


def _hash(*parts: object) -> int:
    text = json.dumps([str(part) for part in parts], ensure_ascii=False)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> (64 - _SEED_BITS)
