"""The manifest of a run.

Tool, scenario, inputs by their hashes, matrix, order and seeds; and whether an earlier run is the
same one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from trustbed.run.directory import MANIFEST, RunDirectoryError
from trustbed.run.matrix import Repetition
from trustbed.scenario import ScenarioFile, baselines

SCHEMA_VERSION = 1


def describe(
    scenario: ScenarioFile,
    order: Sequence[Repetition],
    *,
    session: Mapping[str, Any],
    earlier: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The manifest.

    ``session`` is the present one (version, command, started); earlier sessions stay.
    """
    held_against = baselines(scenario.cells)
    first = scenario.first
    return {
        "schema_version": SCHEMA_VERSION,
        "sessions": [*(earlier or {}).get("sessions", ()), dict(session)],
        "scenario": {
            "name": first.name,
            "about": first.about,
            "file": scenario.file.name,
            "sha256": scenario.sha256,
        },
        "inputs": [_input(file) for file in scenario.inputs],
        "seed": first.seed,
        "repetitions": len(order) // len(scenario.cells),
        "factors": [
            {"key": factor.key, "levels": list(factor.levels)} for factor in scenario.factors
        ],
        "cells": [
            {
                "number": cell.number,
                "label": cell.label,
                "levels": dict(cell.levels),
                "baseline": held_against.get(cell.number),
            }
            for cell in scenario.cells
        ],
        "order": _order(order),
    }


def check_same(
    earlier: Mapping[str, Any], scenario: ScenarioFile, order: Sequence[Repetition], path: Path
) -> None:
    """Only the same scenario with the same inputs may be continued.

    Anything else would mix two experiments in one directory.

    Raises:
        RunDirectoryError: It is another one, or cannot be told.
    """
    if earlier.get("schema_version") != SCHEMA_VERSION:
        raise RunDirectoryError(
            f"made by a version whose runs this one cannot continue, {path}",
            "give --out another name",
        )
    try:
        _check_same(earlier, scenario, order, path)
    except (KeyError, TypeError, AttributeError) as error:
        message = f"manifest does not say what the run is, {path / MANIFEST}: {error}"
        raise RunDirectoryError(message, "restore it, or run into a new directory") from None


def _check_same(
    earlier: Mapping[str, Any], scenario: ScenarioFile, order: Sequence[Repetition], path: Path
) -> None:
    if earlier["scenario"]["sha256"] != scenario.sha256:
        name = earlier["scenario"]["file"]
        raise RunDirectoryError(
            f"holds a run of another scenario, or of {name} before it was changed, {path}",
            "give --out another name",
        )
    inputs = [_input(file) for file in scenario.inputs]
    changed = [one["file"] for one in earlier["inputs"] if one not in inputs]
    if changed:
        raise RunDirectoryError(
            f"{changed[0]} has changed since the run in {path} began",
            "give --out another name, or restore the file",
        )
    common = list(zip(earlier["order"], _order(order), strict=False))
    if any(there != here for there, here in common):
        raise RunDirectoryError(
            f"holds a run whose repetitions come in another order, {path}",
            "give --out another name",
        )


def rounds_begun(earlier: Mapping[str, Any], is_complete: Callable[[str], bool]) -> int:
    """How many rounds of an earlier run have a repetition that is complete."""
    return max(
        (one["round"] + 1 for one in earlier["order"] if is_complete(one["directory"])), default=0
    )


def _order(order: Sequence[Repetition]) -> list[dict[str, Any]]:
    return [
        {
            "number": one.number,
            "directory": one.directory,
            "cell": one.cell,
            "round": one.round,
            "seed": one.seed,
        }
        for one in order
    ]


def _input(file: Path) -> dict[str, Any]:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return {"file": file.name, "bytes": file.stat().st_size, "sha256": digest.hexdigest()}
