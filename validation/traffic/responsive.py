"""Does generated traffic give way, and do variants change what they should?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import trustbed
from trustbed.traffic import Model
from trustbed.traffic.model import load
from trustbed.traffic.recipe import named
from trustbed.traffic.suite import path
from validation.traffic.compare import LEAST, Line
from validation.traffic.generated import generated

SHARED = """
name = "{name}"
seed = 5
duration = "40s"
warm_up = "5s"
[hosts.left]
[hosts.right]
[link]
rate = "10Mbit/s"
delay = "10ms"
queue = "100ms"
[workload.foreground]
{foreground}
[background.users]
{background}
from = "left"
to = "right"
{more}
[emulator]
ledger = "summary"
"""
GREEDY = 'kind = "bulk"\nhost = "right"\nto = "left"'
NOTHING = 'kind = "command"\nhost = "left"\ncommand = "sleep 40"'
USERS = 'model = "bulk"\nrate = "8Mbit/s"'
STEADY = 'model = "cbr"\ndirection = "reverse"\nrate = "8Mbit/s"'
_SECONDS = 120.0
_SMALL, _MIDDLE, _LARGE = range(1, 4), range(3, 7), range(11, 15)


def gives_way(directory: Path) -> list[Line]:
    """What a greedy download leaves of the background beside it.

    Where a download is as greedy as each of the users', it gets about the share of one of them;
    traffic that does not react keeps all it had.
    """
    rates: dict[tuple[str, str], float] = {}
    cases = [
        (background, foreground)
        for background in ("users", "steady")
        for foreground in ("nothing", "greedy")
    ]
    for background, foreground in cases:
        name = f"{background}-{foreground}"
        rates[background, foreground] = _carried(
            directory / name,
            SHARED.format(
                name=name,
                foreground=GREEDY if foreground == "greedy" else NOTHING,
                background=USERS if background == "users" else STEADY,
                more="",
            ),
        )
    return [
        Line(
            group=f"{background}, 8 Mbit/s",
            name="carried beside a greedy download, of what was carried alone",
            expected=expected,
            found=rates[background, "greedy"] / rates[background, "nothing"],
            tolerance=tolerance,
        )
        for background, expected, tolerance in (("users", 0.75, 0.25), ("steady", 1.0, 0.05))
    ]


def _carried(directory: Path, text: str) -> float:
    """Bytes per second that arrived at the background's receivers during the workload."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "scenario.toml").write_text(text, encoding="utf-8")
    trustbed.run(directory / "scenario.toml", out=directory / "run")
    record = json.loads((directory / "run" / "rep-000" / "repetition.json").read_text())
    (background,) = record["backgrounds"]
    if background["sink"] is None:
        seconds = background["send"]["client_received_bytes_per_second"]
    else:
        seconds = background["sink"]["payload_bytes_per_second"]
    return float(sum(seconds[10:40])) / 30


def signs(directory: Path) -> list[Line]:
    """Energies of the study's variants against their base, where they should differ."""
    base = load(path("web"))
    models = {
        "base": base.with_steps(),
        **{name: base.with_steps(*named(name)) for name in ("HB", "Traffic1", "Traffic2")},
    }
    with ThreadPoolExecutor(2) as pool:
        found = dict(
            zip(
                models,
                pool.map(lambda item: _energies(item[1], directory / item[0]), models.items()),
                strict=True,
            )
        )
    return [
        Line(
            group=name,
            name=f"{'above' if sign > 0 else 'below'} its base, octaves {octaves[0]}–{octaves[-1]}",
            expected=1.0,
            found=float(sign * _difference(found[name], found["base"], octaves) > 0),
            tolerance=0.0,
        )
        for name, sign, octaves in (
            ("HB", 1, _SMALL),
            ("Traffic1", 1, _LARGE),
            ("Traffic2", -1, _MIDDLE),
        )
    ]


def _energies(model: Model, directory: Path) -> dict[int, float]:
    from trustbed.traffic import vary

    made = generated(vary(model, sessions=10), directory, seconds=_SECONDS, draw="connections")
    octaves: Sequence[dict[str, Any]] = trustbed.burst(
        made.capture, only=("energy",), basis="ip", workers=1
    ).model["energy"]["octaves"]
    return {one["octave"]: one["energy"] for one in octaves if one["count"] >= LEAST // 4}


def _difference(one: dict[int, float], other: dict[int, float], octaves: Sequence[int]) -> float:
    shared = [octave for octave in octaves if octave in one and octave in other]
    return sum(one[octave] - other[octave] for octave in shared) / max(1, len(shared))
