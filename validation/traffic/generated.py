"""Traffic of a model between two routers, captured there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trustbed
from trustbed.traffic.model import Model

WARM_UP_SECONDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """A capture of generated traffic, and what the generator reported."""

    capture: Path
    scenario: Path
    report: dict[str, Any]


def generated(
    model: Model,
    directory: Path,
    *,
    seconds: float,
    draw: str,
    seed: int = 1,
    rate: str = "1Gbit/s",
) -> Generated:
    """Generates for a time; everything is left in ``directory``."""
    directory.mkdir(parents=True, exist_ok=True)
    path = model.save(directory / "offered.model")
    scenario = directory / "scenario.toml"
    scenario.write_text(
        f'''name = "validation"
seed = {seed}
duration = "{seconds:g}s"
warm_up = "{WARM_UP_SECONDS}s"
[hosts.left]
[hosts.right]
[link]
rate = "{rate}"
[workload.wait]
kind = "command"
host = "left"
command = "sleep {seconds:g}"
[background.users]
model = "{path.name}"
from = "left"
to = "right"
draw = "{draw}"
[capture]
points = ["left-access"]
snap = 128
[emulator]
ledger = "summary"
''',
        encoding="utf-8",
    )
    trustbed.run(scenario, out=directory / "run")
    repetition = directory / "run" / "rep-000"
    record = json.loads((repetition / "repetition.json").read_text(encoding="utf-8"))
    (background,) = record["backgrounds"]
    return Generated(
        capture=repetition / "captures" / "left-access.pcapng",
        scenario=scenario,
        report=background["send"],
    )
