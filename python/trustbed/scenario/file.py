"""A scenario file: its text, its factors, and the cells that follow."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trustbed.scenario.factors import Cell, Factor, read_cells, read_factors
from trustbed.scenario.model import Direction, Scenario
from trustbed.scenario.positions import Keys, lines_of
from trustbed.scenario.table import Source
from trustbed.scenario.text import SCENARIO, read_text, read_toml


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """A scenario file, as ``trustbed run`` executes it. ``cells`` has at least one."""

    file: Path
    text: str
    factors: tuple[Factor, ...]
    cells: tuple[Cell, ...]

    @property
    def first(self) -> Scenario:
        """The first cell: all cells share name, seed and repetitions."""
        return self.cells[0].scenario

    @property
    def sha256(self) -> str:
        """Of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The other files that the scenario names, in the order of their names."""
        return tuple(sorted({file for cell in self.cells for file in _inputs(cell.scenario)}))


def load(path: Path, *, beside: Path | None = None) -> ScenarioFile:
    """Reads a scenario; raises :class:`ScenarioError` if it is invalid.

    Files that it names are sought in ``beside``, by default in the directory of ``path``.
    """
    text = read_text(path, SCENARIO)
    found = path if beside is None else beside / path.name
    return composed(found, text, read_toml(path, text, SCENARIO))


def keys_of(study: ScenarioFile) -> Keys:
    """The keys of a scenario as its text has them."""
    return read_toml(study.file, study.text, SCENARIO)


def composed(path: Path, text: str, values: Keys) -> ScenarioFile:
    """A scenario from its keys and their text, which need not be what the file has.

    Files that it names are sought beside ``path``. Raises :class:`ScenarioError` if it is invalid.
    """
    source = Source(path, lines_of(text))
    factors = read_factors(values, source)
    return ScenarioFile(path, text, factors, read_cells(values, source, factors))


def _inputs(scenario: Scenario) -> Iterator[Path]:
    directions: list[Direction | None] = []
    for link in scenario.links:
        directions += [link.forward, link.backward]
    for host in scenario.hosts:
        directions += [host.access_up, host.access_down]
    for direction in directions:
        if direction is None:
            continue
        if direction.rate_trace is not None:
            yield direction.rate_trace.file
        if direction.delay_trace is not None:
            yield direction.delay_trace.delays.file
        if direction.loss is not None and direction.loss.lost is not None:
            yield direction.loss.lost.file
    if scenario.inventory is not None:
        yield scenario.inventory.file
    for background in scenario.backgrounds:
        if background.file is not None:
            yield background.file
