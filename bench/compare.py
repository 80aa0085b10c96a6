"""How fast chains of system calls are built and walked, on one core.

The figures come from the example of `crates/calls`, on the calls of a server in memory; its
measures take turns.
"""

from __future__ import annotations

import json
from pathlib import Path

from bench.process import run
from bench.speed import Target

ROOT = Path(__file__).resolve().parent.parent
LEAST = {"building": 20.0, "walking": 10.0}
"""Millions of calls per second that are asked."""
EXAMPLE = ["--release", "--locked", "--quiet", "-p", "trustbed-calls", "--example", "speed"]


def measure_chains() -> dict[str, float]:
    """Millions of calls per second, by what is done and the chain's order."""
    run(["cargo", "build", *EXAMPLE])
    program = ROOT / "target" / "release" / "examples" / "speed"
    answer = json.loads(run([str(program)], keep_output=True).output)
    rates: dict[str, float] = answer["millions_of_calls_per_second"]
    return rates


def lines(rates: dict[str, float]) -> list[str]:
    """What was measured, a line each."""
    return [f"{name.replace('_', ' '):<24} {rate:>7.1f}" for name, rate in rates.items()]


def targets(rates: dict[str, float]) -> list[Target]:
    """The figures of order 1, which the published comparison uses, beside what they should be."""
    words = {"building": "chain building", "walking": "walking a chain"}
    return [
        Target(
            what=f"compare: {words[name]}",
            value=rates[f"{name}_order_1"],
            lower=least,
            unit="M calls/s",
        )
        for name, least in LEAST.items()
    ]
