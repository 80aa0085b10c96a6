"""Users of a model: how many connections, how much, how late; and what learning a model costs."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.captures import DIRECTORY
from bench.process import run
from bench.speed import Target
from trustbed.traffic.synthetic import ClassPlan, HostPlan, build, constant, uniform

SCENARIO = """
name = "many users"
duration = "{seconds}s"
warm_up = "6s"
[hosts.left]
[hosts.right]
[link]
rate = "1Gbit/s"
[workload.wait]
kind = "command"
host = "left"
command = "sleep {seconds}"
[background.users]
model = "many.model"
from = "left"
to = "right"
draw = "connections"
[capture]
points = ["left-access"]
snap = 96
[emulator]
ledger = "summary"
"""
_NEW_PER_SECOND = 1000
_EACH = 14_000
_THINK = 3.4


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What was reached.

    Attributes:
        connections: Open at once, at most.
        new_per_second: Connections opened in a second, in the mean.
        bits_per_second: Payload that arrived, in both directions.
        hosts: Addresses with access links of their own.
        failed: Connections that failed.
        late_p50_ms: How late requests, responses and connections began.
        late_p99_ms: The same.
        learned: Connections of the capture that a model was learned from.
        extraction: Its time against that of `analyze` on the same capture.
        peak_mb: The memory that it took.
    """

    connections: int
    new_per_second: float
    bits_per_second: float
    hosts: int
    failed: int
    late_p50_ms: float
    late_p99_ms: float
    learned: int
    extraction: float
    peak_mb: float


def measure(seconds: int, rounds: int) -> Figures:
    """Generates for a time, and learns a model from the capture."""
    DIRECTORY.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=DIRECTORY) as name:
        directory = Path(name)
        model = build(
            "many",
            [
                ClassPlan(
                    name="HTTP",
                    port=80,
                    sessions_per_second=_NEW_PER_SECOND,
                    pairs=constant(2),
                    request=constant(400),
                    response=constant(_EACH),
                    user_think=uniform(0.9 * _THINK, 1.1 * _THINK),
                    server_think=constant(0.002),
                )
            ],
            HostPlan(number=500, latency=uniform(0.001, 0.01)),
            HostPlan(number=500, latency=uniform(0.001, 0.03)),
            seconds=5,
            seed=1,
            about="for the bench",
        )
        model.save(directory / "many.model")
        (directory / "many.toml").write_text(SCENARIO.format(seconds=seconds), encoding="utf-8")
        trustbed = str(Path(sys.executable).with_name("trustbed"))
        run(
            [
                trustbed,
                "run",
                str(directory / "many.toml"),
                "--out",
                str(directory / "run"),
                "--no-report",
            ]
        )
        repetition = directory / "run" / "rep-000"
        record: dict[str, Any] = json.loads((repetition / "repetition.json").read_text())
        capture = repetition / "captures" / "left-access.pcapng"
        learn = [
            trustbed,
            "model",
            "extract",
            str(capture),
            "-q",
            "-o",
            str(directory / "again.model"),
        ]
        analyze = [trustbed, "analyze", str(capture), "-q"]
        ratios, peaks = [], []
        for _ in range(rounds):
            ratios.append(run(learn).wall_seconds / run(analyze).wall_seconds)
            peaks.append((run(learn, watch_memory=True).peak_private_bytes or 0) / 1e6)
        shutil.rmtree(directory / "run")
    return _figures(record, median(ratios), max(peaks))


def _figures(record: dict[str, Any], extraction: float, peak_mb: float) -> Figures:
    (background,) = record["backgrounds"]
    report = background["send"]
    lasted = report["duration_ns"] / 1e9
    carried = report["client_received_bytes_per_second"][6:-1]
    late = report["start_error"]
    return Figures(
        connections=report["most_open_connections"],
        new_per_second=report["connections"] / lasted,
        bits_per_second=8 * sum(carried) / max(1, len(carried)),
        hosts=1000,
        failed=report["failed_connections"],
        late_p50_ms=report["start_error_median_ns"] / 1e6,
        late_p99_ms=late["p99_ns"] / 1e6,
        learned=report["connections"],
        extraction=extraction,
        peak_mb=peak_mb,
    )


def lines(found: Figures) -> list[str]:
    """The figures for a person."""
    return [
        f"{found.hosts:,} hosts with links of their own, {found.connections:,} connections at "
        f"once, {found.new_per_second:,.0f} new ones a second, "
        f"{found.bits_per_second / 1e6:.0f} Mbit/s of payload, {found.failed} failed",
        f"began late by {found.late_p50_ms:.3f} ms (p50), {found.late_p99_ms:.3f} ms (p99)",
        f"a model learned from {found.learned:,} connections: {found.extraction:.2f} × the time of "
        f"analyze, {found.peak_mb:.0f} MB",
    ]


def targets(found: Figures) -> list[Target]:
    """What should be."""
    return [
        Target(what="traffic: connections at once", value=found.connections, lower=3000),
        Target(what="traffic: new connections a second", value=found.new_per_second, lower=1000),
        Target(what="traffic: payload, Mbit/s", value=found.bits_per_second / 1e6, lower=200),
        Target(
            what="traffic: requests begin late, p50", value=found.late_p50_ms, limit=0.2, unit="ms"
        ),
        Target(
            what="traffic: requests begin late, p99", value=found.late_p99_ms, limit=2, unit="ms"
        ),
        Target(what="traffic: learning, against analyze", value=found.extraction, limit=2),
        Target(what="traffic: memory of learning", value=found.peak_mb, limit=300, unit="MB"),
    ]
