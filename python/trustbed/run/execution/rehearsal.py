"""A dry run: what a run would do, without doing any of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from trustbed.run import manifest
from trustbed.run.execution.progress import Forecast
from trustbed.run.matrix import order
from trustbed.scenario import Background, ScenarioFile, Workload
from trustbed.scenario.description import topology

SECOND = 1_000_000_000


def rehearse(study: ScenarioFile, repetitions: int | None) -> dict[str, Any]:
    """The manifest of the run, its expected time, traffic, and the network of every cell.

    Workloads are those of the first cell; background is that of all cells, each kind of it once.
    """
    asked = order(
        study.cells, repetitions=repetitions or study.first.repetitions, seed=study.first.seed
    )
    forecast = Forecast([study.cells[one.cell].scenario.expected_ns / SECOND for one in asked])
    return {
        **manifest.describe(study, asked, session={}),
        "sessions": [],
        "expected_seconds": forecast.left_seconds,
        "guests": {
            host.name: asdict(host.guest) for host in study.first.guests if host.guest is not None
        },
        "workloads": [_workload(one) for one in study.first.workloads],
        "backgrounds": _backgrounds(study),
        "topologies": [{"cell": cell.number, **topology(cell.scenario)} for cell in study.cells],
    }


def _workload(one: Workload) -> dict[str, object]:
    return {
        "name": one.name,
        "kind": one.kind,
        "host": one.host,
        "to": one.to,
        "start_ns": one.start_ns,
        "duration_ns": one.duration_ns,
    }


def _backgrounds(study: ScenarioFile) -> list[dict[str, object]]:
    found = dict.fromkeys(
        one for cell in study.cells for one in cell.scenario.backgrounds if not one.silent
    )
    return [_background(one) for one in found]


def _background(one: Background) -> dict[str, object]:
    return {
        "name": one.name,
        "model": one.model,
        "transport": one.transport,
        "from": one.source,
        "to": one.to,
        "rate_bits_per_second": one.rate,
        "packet_bytes": one.packet_bytes,
    }
