"""Links whose rate follows a cellular trace in mahimahi's format, run by `trustbed run`.

The traces are synthesised, as no licence of published ones is clear: the logarithm of the rate
returns to its mean while it wanders (an Ornstein-Uhlenbeck process, as Winstein et al. modelled
cellular links in *Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular
Networks*, NSDI 2013), and now and then the link fades for some hundred milliseconds. A bulk
transfer over such a link is limited by the path, whose rate never rests.
"""

from __future__ import annotations

import gzip
import json
import math
import random
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from trustbed.diagnose.run_findings import run_findings
from trustbed.run.directory import RunDirectory
from trustbed.run.execution.execute import RunError
from trustbed.run.execution.session import Session
from trustbed.scenario import load
from validation.external.answers import POINTS, Answer, Point, answers
from validation.external.score import Case
from validation.truth.networks import Network
from validation.truth.scenario import CLIENT, ROUTER, SERVER, toml, undisturbed

PART: Final = "cellular"
KIND: Final = "cellular"
ACCEPTED: Final = ("bandwidth_limited", "network_congestion", "rate_changed")
VERDICTS: Final = ("trust", "review")
SEEDS: Final = tuple(range(1, 9))
FAMILY: Final = "mobile"
TRANSFER_SECONDS: Final = 15.0
TRACE_SECONDS: Final = 40
PACKET_BITS: Final = 1504 * 8
"""A line of the trace lets this much leave."""
STEP_MILLISECONDS: Final = 20
ATTEMPTS: Final = 3

_HOSTS: Final[dict[Point, str]] = {"sender": CLIENT, "middle": ROUTER, "receiver": SERVER}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What a synthesised link is like.

    ``spread`` is the standard deviation of the rate's logarithm, ``memory_seconds`` how long the
    rate stays near what it was, ``fades_per_second`` how often it falls to nothing.
    """

    rate_megabits: float
    spread: float
    memory_seconds: float
    fades_per_second: float
    round_trip_ms: float
    queue_paths: float
    congestion_control: str

    @classmethod
    def drawn(cls, seed: int) -> Cell:
        """The link of a seed."""
        draw = random.Random(f"cell-{seed}")
        rate = round(3 * 8 ** draw.random(), 2)
        return cls(
            rate_megabits=rate,
            spread=round(draw.uniform(0.25, 0.7), 3),
            memory_seconds=round(draw.uniform(0.3, 3), 3),
            fades_per_second=draw.choice((0.0, 0.05, 0.15)),
            round_trip_ms=round(draw.uniform(30, 90), 1),
            queue_paths=round(draw.uniform(1.5, 5), 2),
            congestion_control=draw.choice(("cubic", "cubic", "bbr", "reno")),
        )


def trace(cell: Cell, seed: int, seconds: int = TRACE_SECONDS) -> list[int]:
    """Times in milliseconds at which a packet may leave."""
    draw = random.Random(f"trace-{seed}")
    step = STEP_MILLISECONDS / 1000
    kept = math.exp(-step / cell.memory_seconds)
    level = draw.gauss(0, 1)
    faded_until = 0.0
    times: list[int] = []
    credit = 0.0
    for millisecond in range(1, seconds * 1000 + 1):
        if millisecond % STEP_MILLISECONDS == 0:
            level = kept * level + math.sqrt(1 - kept**2) * draw.gauss(0, 1)
            if draw.random() < cell.fades_per_second * step:
                faded_until = millisecond + draw.uniform(100, 500)
        if millisecond < faded_until:
            continue
        rate = cell.rate_megabits * math.exp(cell.spread * level - cell.spread**2 / 2)
        credit += rate * 1000 / PACKET_BITS
        while credit >= 1:
            times.append(millisecond)
            credit -= 1
    return times


def scenario(cell: Cell, seed: int, file: str) -> str:
    """The scenario of a bulk transfer over the link, as text."""
    network = Network(
        family=FAMILY,
        rate_megabits=cell.rate_megabits,
        round_trip_ms=cell.round_trip_ms,
        limit="link",
        congestion_control=cell.congestion_control,
        seconds=TRANSFER_SECONDS,
        queue_paths=cell.queue_paths,
    )
    values = undisturbed(network, seed=seed, middle=True)
    link = values["links"][network.narrow]
    del link["rate"]
    link["rate_trace"] = file
    return toml(values)


def make(directory: Path, seed: int) -> str | None:
    """Makes a transfer that is not there; why it could not be made.

    A run whose emulator or generator was late is none, as its host stalled: it is repeated.
    """
    target = directory / f"cell-{seed}"
    if (target / "cell.json").is_file():
        return None
    why_not = None
    for _ in range(ATTEMPTS):
        why_not = _attempt(target, seed)
        if why_not is None:
            (target / "cell.json").write_text(json.dumps({"seed": seed}), encoding="utf-8")
            return None
        shutil.rmtree(target, ignore_errors=True)
    return why_not


def _attempt(target: Path, seed: int) -> str | None:
    """Runs the scenario and keeps its captures; why they show nothing."""
    cell = Cell.drawn(seed)
    reasons: list[str] = ["the run made no repetition"]

    def judge(where: RunDirectory, repetition: str, _: object) -> dict[str, Any]:
        record = where.record(repetition)
        reasons[:] = [found.message for found in run_findings(record) if found.severity == "error"]
        if record["outcome"] != "complete":
            reasons.append(f"the run ended as {record['outcome']}")
        _keep(where.repetition(repetition) / "captures", target)
        where.write_findings(repetition, {})
        return {"use": "trust", "why": ""}

    with tempfile.TemporaryDirectory(prefix="trustbed-external-") as subdirectory:
        here = Path(subdirectory)
        times = "".join(f"{time}\n" for time in trace(cell, seed))
        (here / "cell.trace").write_text(times, encoding="utf-8")
        file = here / "cell.toml"
        file.write_text(scenario(cell, seed, "cell.trace"), encoding="utf-8")
        about = {"version": None, "command": None, "started": None}
        try:
            Session(load(file), RunDirectory(here / "run"), judge=judge, about=about).carry_out()
        except RunError as error:
            return error.message
    return "; ".join(reasons) or None


def _keep(captures: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for point, host in _HOSTS.items():
        file = next(captures.glob(f"{host}*.pcapng"))
        with file.open("rb") as source, gzip.open(_capture(target, point), "wb", 6) as copy:
            shutil.copyfileobj(source, copy, 1 << 20)


def _capture(directory: Path, point: Point) -> Path:
    return directory / f"{point}.pcapng.gz"


def cases(directory: Path) -> Iterator[Case]:
    """The product's answers about every transfer that was made, three of each."""
    for seed in SEEDS:
        made = directory / f"cell-{seed}"
        if not (made / "cell.json").is_file():
            continue
        for point in POINTS:
            yield Case.of(
                _largest(answers(_capture(made, point), point)),
                part=PART,
                name=f"cell-{seed}",
                kind=KIND,
                family=Cell.drawn(seed).congestion_control,
                point=point,
                accepted=ACCEPTED,
                verdicts=VERDICTS,
            )


def _largest(said: list[Answer]) -> Answer | None:
    return max(said, key=lambda answer: answer.bytes, default=None)
