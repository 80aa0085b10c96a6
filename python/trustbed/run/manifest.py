"""The manifest of a run: sessions, scenario, hashes of inputs, factors, cells, order and seeds.

Also decides whether an earlier run is of the same scenario and can be continued.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from trustbed.run.directory import MANIFEST, RunDirectory, RunDirectoryError
from trustbed.run.matrix import Repetition
from trustbed.scenario import ScenarioFile, baselines

SCHEMA_VERSION = 1


class ScenarioEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The scenario's file; ``beside`` leads from the run to its directory, whose files it names."""

    name: str = ""
    about: str = ""
    file: str
    sha256: str
    beside: str | None = None


class InputEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the scenario names."""

    file: str
    bytes: int
    sha256: str


class FactorEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A factor and its levels."""

    key: str
    levels: tuple[str, ...]


class CellEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A cell: the levels of its factors, and the number of its baseline cell."""

    number: int
    label: str
    levels: dict[str, str]
    baseline: int | None = None


class OrderEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A repetition in the order of the run."""

    number: int
    directory: str
    cell: int
    round: int
    seed: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """``manifest.json`` of a run; each session has its version, command and start."""

    schema_version: Literal[1] = 1
    sessions: tuple[Mapping[str, object], ...] = ()
    scenario: ScenarioEntry
    inputs: tuple[InputEntry, ...]
    seed: int = 0
    repetitions: int = 0
    factors: tuple[FactorEntry, ...] = ()
    cells: tuple[CellEntry, ...] = ()
    order: tuple[OrderEntry, ...]


def describe(
    scenario: ScenarioFile,
    order: Sequence[Repetition],
    *,
    session: Mapping[str, object],
    path: Path | None = None,
    earlier: Manifest | None = None,
) -> Manifest:
    """The manifest, of the run at ``path``.

    ``session`` is the present one (version, command, started); earlier sessions stay.
    """
    compared_with = baselines(scenario.cells)
    first = scenario.first
    return Manifest(
        sessions=(*(() if earlier is None else earlier.sessions), session),
        scenario=ScenarioEntry(
            name=first.name,
            about=first.about,
            file=scenario.file.name,
            sha256=scenario.sha256,
            beside=None if path is None else _leads(path, scenario.file.parent),
        ),
        inputs=tuple(_input(file) for file in scenario.inputs),
        seed=first.seed,
        repetitions=len(order) // len(scenario.cells),
        factors=tuple(
            FactorEntry(key=factor.key, levels=tuple(factor.levels)) for factor in scenario.factors
        ),
        cells=tuple(
            CellEntry(
                number=cell.number,
                label=cell.label,
                levels=dict(cell.levels),
                baseline=compared_with.get(cell.number),
            )
            for cell in scenario.cells
        ),
        order=_order(order),
    )


def read(directory: RunDirectory) -> Manifest:
    """The manifest of a run that can be continued.

    Raises:
        RunDirectoryError: It cannot be read, is of another version, or is incomplete.
    """
    found, path = directory.manifest(), directory.path
    if found.get("schema_version") != SCHEMA_VERSION:
        raise RunDirectoryError(
            f"written by a version whose runs this one cannot continue, {path}",
            "give --out another name",
        )
    try:
        return msgspec.convert(found, Manifest)
    except msgspec.ValidationError as error:
        message = f"manifest does not describe a run, {path / MANIFEST}: {error}"
        raise RunDirectoryError(message, "restore it, or run into a new directory") from None


def check_same(
    earlier: Manifest, scenario: ScenarioFile, order: Sequence[Repetition], path: Path
) -> None:
    """Only the same scenario with the same inputs may be continued.

    Anything else would mix two experiments in one directory.

    Raises:
        RunDirectoryError: The earlier run is of another scenario, or has other inputs.
    """
    if earlier.scenario.sha256 != scenario.sha256:
        name = earlier.scenario.file
        raise RunDirectoryError(
            f"holds a run of another scenario, or of {name} before it was changed, {path}",
            "give --out another name",
        )
    inputs = [_input(file) for file in scenario.inputs]
    changed = [one.file for one in earlier.inputs if one not in inputs]
    if changed:
        raise RunDirectoryError(
            f"{changed[0]} has changed since the run in {path} began",
            "give --out another name, or restore the file",
        )
    if any(there != here for there, here in zip(earlier.order, _order(order), strict=False)):
        raise RunDirectoryError(
            f"holds a run whose repetitions come in another order, {path}",
            "give --out another name",
        )


def rounds_begun(earlier: Manifest, is_complete: Callable[[str], bool]) -> int:
    """How many rounds of an earlier run have a repetition that is complete."""
    return max((one.round + 1 for one in earlier.order if is_complete(one.directory)), default=0)


def _order(order: Sequence[Repetition]) -> tuple[OrderEntry, ...]:
    return tuple(msgspec.convert(one, OrderEntry, from_attributes=True) for one in order)


def _leads(start: Path, end: Path) -> str:
    return os.path.relpath(end.resolve(), start.resolve())


def _input(file: Path) -> InputEntry:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return InputEntry(file=file.name, bytes=file.stat().st_size, sha256=digest.hexdigest())
