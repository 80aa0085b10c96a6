"""A scenario file: its text, its factors, and the cells that follow."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trustbed.scenario.error import ScenarioError, nearest
from trustbed.scenario.factors import Cell, Factor, read_cells, read_factors
from trustbed.scenario.model import Direction, Scenario
from trustbed.scenario.positions import lines_of
from trustbed.scenario.table import Source

_MOST_BYTES = 4 << 20
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """What ``trustbed run`` was asked to do. ``cells`` has at least one."""

    file: Path
    text: str
    factors: tuple[Factor, ...]
    cells: tuple[Cell, ...]

    @property
    def first(self) -> Scenario:
        """What all cells share (name, seed, repetitions) can be read from any."""
        return self.cells[0].scenario

    @property
    def sha256(self) -> str:
        """Of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The other files that the scenario names, in the order of their names."""
        return tuple(sorted({file for cell in self.cells for file in _inputs(cell.scenario)}))


def load(path: Path) -> ScenarioFile:
    """Reads a scenario, or says what is wrong with it: :class:`ScenarioError`."""
    text = _text(path)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _not_toml(path, text, str(error)) from None
    source = Source(path, lines_of(text))
    factors = read_factors(values, source)
    return ScenarioFile(path, text, factors, read_cells(values, source, factors))


def _text(path: Path) -> str:
    try:
        octets = path.read_bytes()
    except FileNotFoundError:
        siblings = [entry.name for entry in path.parent.glob("*.toml")] if path.parent.is_dir() else []
        raise ScenarioError(f"no such file, {path}", nearest(path.name, siblings, "name a scenario, a file that ends in .toml")) from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ScenarioError(f"cannot be read, {path}: {reason}", "name a scenario, a file that ends in .toml") from None
    if len(octets) > _MOST_BYTES:
        raise ScenarioError(f"is no scenario, {path}: {len(octets):,} bytes", "name a scenario; a capture goes to trustbed analyze")
    try:
        return octets.decode()
    except UnicodeDecodeError as error:
        line = octets[: error.start].count(b"\n") + 1
        raise ScenarioError("is no UTF-8 text", "save it as UTF-8; a capture goes to trustbed analyze", file=path, line=line) from None


def _not_toml(path: Path, text: str, said: str) -> ScenarioError:
    found = _PLACE.search(said)
    line = int(found.group(1)) if found is not None and found.group(1) else len(text.splitlines()) or 1
    message = _PLACE.sub("", said)
    message = message[:1].lower() + message[1:]
    hint = "a scenario is TOML (https://toml.io): texts and quantities in quotes, tables in brackets, every name once"
    return ScenarioError(message, hint, file=path, line=line)


def _inputs(scenario: Scenario) -> Iterator[Path]:
    ways: list[Direction | None] = []
    for link in scenario.links:
        ways += [link.forward, link.backward]
    for host in scenario.hosts:
        ways += [host.access_up, host.access_down]
    for way in ways:
        if way is None:
            continue
        if way.rate_trace is not None:
            yield way.rate_trace.file
        if way.delay_trace is not None:
            yield way.delay_trace.delays.file
        if way.loss is not None and way.loss.lost is not None:
            yield way.loss.lost.file
    for background in scenario.backgrounds:
        if background.file is not None:
            yield background.file
