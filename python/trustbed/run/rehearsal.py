"""What a run would do, without doing any of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from trustbed.run import manifest
from trustbed.run.matrix import order
from trustbed.run.progress import Forecast
from trustbed.scenario import ScenarioFile
from trustbed.scenario.description import topology

SECOND = 1_000_000_000


def rehearse(study: ScenarioFile, repetitions: int | None) -> dict[str, Any]:
    """The manifest that the run would have, its expected time, and the network of every cell."""
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
        "topologies": [{"cell": cell.number, **topology(cell.scenario)} for cell in study.cells],
    }
