"""Chains of system calls: how fast they are built and walked, and whether equal testbeds are equal.

Speeds come from the example of `crates/calls`, on the calls of a server in memory; its measures
take turns. Equal testbeds are drawn: ten repetitions each, of which each reads its requests in one
or two pieces with a probability of its own, as repetitions differ in practice.
"""

from __future__ import annotations

import json
import random
from pathlib import Path

import pyarrow as pa

from bench.process import run
from bench.speed import Target
from trustbed._core import CallAlphabet
from trustbed.calls.chains import Options, compare_calls
from trustbed.calls.sequences import Repetition, repetition

ROOT = Path(__file__).resolve().parent.parent
LEAST = {"building": 20.0, "walking": 10.0}
"""Millions of calls per second that are asked."""
TRIES = 200
REPETITIONS = 10
REQUESTS = 300
EXAMPLE = ["--release", "--locked", "--quiet", "-p", "trustbed-calls", "--example", "speed"]


def measure_chains() -> dict[str, float]:
    """Millions of calls per second, by what is done and the chain's order."""
    run(["cargo", "build", *EXAMPLE])
    program = ROOT / "target" / "release" / "examples" / "speed"
    answer = json.loads(run([str(program)], keep_output=True).output)
    rates: dict[str, float] = answer["millions_of_calls_per_second"]
    return rates


def inconsistent() -> int:
    """In how many comparisons of a testbed with itself its bits per call were inconsistent."""
    return sum(_inconsistent(random.Random(seed)) for seed in range(TRIES))


def _inconsistent(chosen: random.Random) -> bool:
    alphabet = CallAlphabet()
    reference, candidate = (
        [_drawn(chosen, alphabet) for _ in range(REPETITIONS)] for _ in range(2)
    )
    found = compare_calls(reference, candidate, alphabet, options=Options(changes=0))
    return found.bits.consistent is False


def _drawn(chosen: random.Random, alphabet: CallAlphabet) -> Repetition:
    again = chosen.gauss(0.5, 0.02)
    calls: list[str] = []
    for _ in range(REQUESTS):
        reads = ["read", "read"] if chosen.random() < again else ["read"]
        calls += ["accept", *reads, "write", "close"]
    return repetition("drawn", pa.array(calls), alphabet)


def lines(rates: dict[str, float]) -> list[str]:
    """What was measured, a line each."""
    return [f"{name.replace('_', ' '):<24} {rate:>7.1f}" for name, rate in rates.items()]


def targets(rates: dict[str, float], equal: int) -> list[Target]:
    """The figures of order 1, which the published comparison uses, beside what they should be."""
    words = {"building": "chain building", "walking": "walking a chain"}
    same = Target(
        what="compare: calls of a testbed inconsistent with its own",
        value=100 * equal / TRIES,
        limit=5,
        unit="%",
    )
    speeds = [
        Target(
            what=f"compare: {words[name]}",
            value=rates[f"{name}_order_1"],
            lower=least,
            unit="M calls/s",
        )
        for name, least in LEAST.items()
    ]
    return [*speeds, same]
