"""The matrix of a scenario: every combination of its factors' values, each a scenario of its own.

A factor names a key of the file and the values that it takes in turn. Combinations that
result in the same scenario (the rate of traffic that is switched off) are one cell.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trustbed.scenario.error import nearest
from trustbed.scenario.model import Background, Scenario
from trustbed.scenario.populations import without_users
from trustbed.scenario.positions import Keys, Path
from trustbed.scenario.reading import read
from trustbed.scenario.table import Source, Table, dotted

ANY = "–"
"""The level of a factor that changes nothing in a cell."""
_MOST_CELLS = 10_000
_FIXED = ("name", "about", "seed", "repetitions", "factors", "hosts")
_SAID = ("from", "to")
"""Keys of a table that are said before their values."""
_OF_HOSTS = 3
"""Hosts are those of the whole matrix; what one is like (``hosts.NAME.guest``) may vary."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A key and its values; ``path`` is the position of the key, ``origin`` that of the factor."""

    key: str
    path: Path
    origin: Path
    values: tuple[Any, ...]

    @property
    def levels(self) -> tuple[str, ...]:
        """The values as a person reads them."""
        return level_labels(self.values)


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination: the level of every factor by its key, and the resulting scenario."""

    number: int
    levels: Mapping[str, str]
    scenario: Scenario

    @property
    def label(self) -> str:
        """The levels that have an effect, as one short text."""
        return (
            ", ".join(level for level in self.levels.values() if level != ANY) or self.scenario.name
        )


def read_factors(values: Keys, source: Source) -> tuple[Factor, ...]:
    """The factors of ``[factors]``, in the order of the file."""
    table = Table(source, (), values).table("factors")
    if table is None:
        return ()
    raw = {key: table.raw(key) for key in table}
    found = tuple(
        _factor(key, given, origin, values, source)
        for key, given, origin in _flat(raw, ("factors",), ())
    )
    paths: dict[Path, str] = {}
    for factor in found:
        other = next(
            (
                key
                for path, key in paths.items()
                if path[: len(factor.path)] == factor.path or factor.path[: len(path)] == path
            ),
            None,
        )
        if other is not None:
            raise source.error(
                factor.origin,
                f"changes the same keys as {other}",
                "put both into one factor, with tables as its values",
            )
        paths[factor.path] = factor.key
    if math.prod(len(factor.values) for factor in found) > _MOST_CELLS:
        raise source.error(
            ("factors",),
            f"more than {_MOST_CELLS:,} combinations",
            "give fewer values, or split the scenario",
        )
    return found


def _flat(
    raw: Keys, origin: Path, key: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any, Path]]:
    """``"link.rate" = […]`` and ``link.rate = […]`` are the same."""
    for name, value in raw.items():
        names = (*key, *name.split("."))
        if isinstance(value, dict) and "values" not in value:
            yield from _flat(value, (*origin, name), names)
        else:
            yield names, value, (*origin, name)


def _factor(
    names: tuple[str, ...], given: object, origin: Path, values: Keys, source: Source
) -> Factor:
    path = _resolved(names, values, origin, source)
    listed, unit = given, ""
    if isinstance(given, dict):
        table = Table(source, origin, given)
        listed, unit = table.raw("values"), table.text("unit", "")
        table.close()
    if not isinstance(listed, list) or not listed:
        raise source.error(
            origin,
            "a factor is a list of values",
            f'for example: "{".".join(names)}" = ["5Mbit/s", "10Mbit/s"]',
        )
    if unit:
        listed = [f"{value}{unit}" for value in listed]
    levels = level_labels(listed)
    twice = next((level for index, level in enumerate(levels) if level in levels[:index]), None)
    if twice is not None:
        raise source.error(
            origin,
            f"{twice} is among its values twice",
            "give every value once; to repeat cells, set repetitions",
        )
    return Factor(dotted(path), path, origin, tuple(listed))


def _resolved(names: tuple[str, ...], values: Keys, origin: Path, source: Source) -> Path:
    links = values.get("links")
    if names[0] == "link" and "link" not in values and isinstance(links, dict) and len(links) == 1:
        names = ("links", next(iter(links)), *names[1:])
    if names[0] in _FIXED and not (names[0] == "hosts" and len(names) >= _OF_HOSTS):
        raise source.error(
            origin,
            f"{names[0]} is the same for the whole matrix",
            "vary links, workloads or background",
        )
    table: Any = values
    for depth, name in enumerate(names):
        last = depth == len(names) - 1
        if not isinstance(table, dict) or (name not in table and (not last or depth == 0)):
            known = [key for key in table if key not in _FIXED] if isinstance(table, dict) else []
            raise source.error(
                origin,
                f"names no key: there is no {'.'.join(names[: depth + 1])}",
                nearest(name, known),
            )
        table = table.get(name)
    return names


def level_labels(values: Sequence[Any]) -> tuple[str, ...]:
    """Values as a person reads them; of a table as few of its own, from the first, as name it.

    >>> level_labels([{"model": "cbr", "size": 9}, {"model": "web", "from": "a"}, {"model": "web"}])
    ('cbr', 'web from a', 'web')
    """
    parts = [_parts(value) for value in values]
    return tuple(
        _label(own, [other for number, other in enumerate(parts) if number != index])
        for index, own in enumerate(parts)
    )


def _label(own: Sequence[str], others: Sequence[Sequence[str]]) -> str:
    least = next(
        (
            length
            for length in range(1, len(own))
            if all(list(other[:length]) != list(own[:length]) for other in others)
        ),
        len(own),
    )
    return " ".join(own[:least])


def _parts(value: Any) -> list[str]:  # noqa: ANN401 - whatever the file holds
    if isinstance(value, dict):
        return [
            " ".join([key, *_parts(part)] if key in _SAID else _parts(part))
            for key, part in value.items()
        ]
    if isinstance(value, list):
        return [" ".join(part for one in value for part in _parts(one))]
    return [str(value).lower() if isinstance(value, bool) else str(value)]


def read_cells(values: Keys, source: Source, factors: Sequence[Factor]) -> tuple[Cell, ...]:
    """Every combination, in the order of the file, those that are alike once."""
    found: dict[Scenario, dict[str, str]] = {}
    for indices in itertools.product(*(range(len(factor.values)) for factor in factors)):
        scenario = _combined(values, source, list(zip(factors, indices, strict=True)))
        levels = {
            factor.key: factor.levels[index] for factor, index in zip(factors, indices, strict=True)
        }
        merged = found.setdefault(_canonical(scenario), levels)
        for key, level in levels.items():
            if merged[key] != level:
                merged[key] = ANY
    return tuple(
        Cell(number, levels, scenario) for number, (scenario, levels) in enumerate(found.items())
    )


def _combined(values: Keys, source: Source, chosen: Sequence[tuple[Factor, int]]) -> Scenario:
    changed = copy.deepcopy(values)
    replaced: dict[Path, Path] = {}
    for factor, index in chosen:
        table = changed
        for name in factor.path[:-1]:
            table = table[str(name)]
        last, value = str(factor.path[-1]), factor.values[index]
        origin = _value_origin(source, factor, index)
        if isinstance(value, dict) and isinstance(table.get(last), dict):
            table[last] = {**table[last], **copy.deepcopy(value)}
            replaced |= {(*factor.path, key): origin for key in value}
        else:
            table[last] = copy.deepcopy(value)
            replaced[factor.path] = origin
    return read(changed, replace(source, replaced=replaced))


def _value_origin(source: Source, factor: Factor, index: int) -> Path:
    inside = (*factor.origin, "values", index)
    return inside if inside in source.lines else (*factor.origin, index)


def _canonical(scenario: Scenario) -> Scenario:
    """The same, without the settings of background traffic that sends nothing."""
    backgrounds = tuple(
        Background(name=one.name, model="none", source=one.source, to=one.to) if one.silent else one
        for one in scenario.backgrounds
    )
    return replace(scenario, backgrounds=backgrounds)


def baselines(cells: Sequence[Cell]) -> dict[int, int]:
    """For every cell the same one without background and faults, where the matrix has it."""
    quiet = {_undisturbed(cell): cell.number for cell in cells if _is_quiet(cell.scenario)}
    return {cell.number: quiet[key] for cell in cells if (key := _undisturbed(cell)) in quiet}


def _is_quiet(scenario: Scenario) -> bool:
    return not scenario.faults and all(one.silent for one in scenario.backgrounds)


def _undisturbed(cell: Cell) -> Scenario:
    return replace(without_users(cell.scenario), faults=())
