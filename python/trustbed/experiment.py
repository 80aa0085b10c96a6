"""Experiments as the library offers them: a scenario carried out, every repetition judged, and what came out of it.

Joins the halves: :mod:`trustbed.run` makes a run directory, :mod:`trustbed.judging` judges what is in it. Nothing is measured here.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet

from trustbed.judging import judge
from trustbed.run.directory import RunDirectory
from trustbed.run.session import Listener, Session
from trustbed.scenario import ScenarioFile, load
from trustbed.workload import quantile_interval

Summary = dict[str, Any]


def run(
    scenario: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    repetitions: int | None = None,
    listener: Listener | None = None,
) -> Summary:
    """Carries out a scenario, or continues where an earlier call was interrupted, and judges every repetition.

    ``out`` is the run directory (default: the name of the scenario with ``.run``). Returns what :func:`summary_of` does.

    Raises ``ScenarioError``, ``RunDirectoryError``, ``TestbedError`` or ``RunError``, each with a ``message`` and a ``hint``.
    """
    study = load(Path(scenario))
    directory = RunDirectory(Path(out) if out is not None else Path(f"{study.file.stem}.run"))
    from trustbed import __version__

    about = {"version": __version__, "command": None, "started": None}
    session_of(study, directory, about=about, repetitions=repetitions, listener=listener).carry_out()
    return summary_of(directory)


def session_of(
    study: ScenarioFile,
    directory: RunDirectory,
    *,
    about: Mapping[str, Any],
    repetitions: int | None = None,
    listener: Listener | None = None,
) -> Session:
    """A run that judges what it makes."""
    return Session(study, directory, judge=judge, about=about, repetitions=repetitions, listener=listener)


def summary_of(directory: RunDirectory) -> Summary:
    """A run in a few numbers: every cell's values with their intervals over repetitions, verdicts, and what is to be discarded.

    A value of a workload is one number per repetition (the median of its response times, its goodput, how long it took); repetitions that
    are to be discarded are left out of it. Intervals are of the median, by order statistics; with few repetitions there are none.
    """
    manifest = directory.manifest()
    done = [one for one in manifest["order"] if directory.is_complete(one["folder"]) and directory.is_judged(one["folder"])]
    judged = [(one, directory.record(one["folder"]), directory.findings(one["folder"])) for one in done]
    values = {
        cell["number"]: _values([(directory.repetition(one["folder"]), record) for one, record, found in judged if _used(one, found, cell)])
        for cell in manifest["cells"]
    }
    return {
        "name": manifest["scenario"]["name"],
        "repetitions": {"asked": len(manifest["order"]), "complete": len(judged)},
        "use": {use: sum(found["use"] == use for _, _, found in judged) for use in ("trust", "review", "discard")},
        "cells": [_cell(cell, judged, values) for cell in manifest["cells"]],
        "discarded": [
            {"folder": one["folder"], "label": manifest["cells"][one["cell"]]["label"], "why": found["why"]}
            for one, _, found in judged
            if found["use"] == "discard"
        ],
    }


def _used(one: Mapping[str, Any], found: Mapping[str, Any], cell: Mapping[str, Any]) -> bool:
    return bool(one["cell"] == cell["number"] and found["use"] != "discard")


Judged = tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]
Values = dict[str, tuple[str, str, list[float]]]


def _cell(cell: Mapping[str, Any], judged: Sequence[Judged], values: Mapping[int, Values]) -> dict[str, Any]:
    own = [found for one, _, found in judged if one["cell"] == cell["number"]]
    verdicts: Counter[str] = Counter()
    for found in own:
        verdicts.update(found["verdicts"])
    against = values.get(cell["baseline"], {}) if cell["baseline"] not in (None, cell["number"]) else {}
    return {
        "number": cell["number"],
        "label": cell["label"],
        "levels": cell["levels"],
        "baseline": cell["baseline"],
        "repetitions": len(own),
        "verdicts": dict(verdicts),
        "values": [
            _value(name, what, unit, numbers, against.get(name, ("", "", []))[2])
            for name, (what, unit, numbers) in values[cell["number"]].items()
        ],
    }


def _value(workload: str, what: str, unit: str, numbers: list[float], against: list[float]) -> dict[str, Any]:
    middle = _median(numbers)
    interval = quantile_interval(numbers, 0.5) if numbers else None
    base = _median(against)
    slower = None
    if middle and base:
        slower = middle / base if unit == "seconds" else base / middle
    return {
        "workload": workload,
        "what": what,
        "unit": unit,
        "n": len(numbers),
        "median": middle,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "slowdown": slower,
        "per_repetition": numbers,
    }


def _values(repetitions: Sequence[tuple[Path, Mapping[str, Any]]]) -> Values:
    """One number per repetition for every workload, with what it is and its unit."""
    found: Values = {}
    for path, record in repetitions:
        for workload in record["workloads"]:
            for what, unit, number in _numbers(path, workload):
                found.setdefault(workload["name"], (what, unit, []))[2].append(number)
    return found


def _numbers(path: Path, workload: Mapping[str, Any]) -> Iterator[tuple[str, str, float]]:
    if workload["outcome"] != "complete":
        return
    tables = path / "tables"
    requests, summary = tables / f"{workload['name']}.requests.parquet", tables / f"{workload['name']}.summary.parquet"
    if requests.is_file():
        times = pyarrow.parquet.read_table(requests, columns=["response_ns"]).column("response_ns")
        median = pc.quantile(times, 0.5).to_pylist()[0]
        if median is not None:
            yield "response time", "seconds", median / 1e9
    elif summary.is_file() and "received_bits_per_second" in pyarrow.parquet.read_schema(summary).names:
        rates = pyarrow.parquet.read_table(summary, columns=["received_bits_per_second"]).column("received_bits_per_second")
        total = pc.sum(rates).as_py()
        if total is not None:
            yield "goodput", "bits_per_second", float(total)
    elif workload["seconds"] is not None:
        yield "time", "seconds", float(workload["seconds"])


def _median(numbers: Sequence[float]) -> float | None:
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    if not ordered:
        return None
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
