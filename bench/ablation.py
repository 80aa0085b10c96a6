"""Made differences between two testbeds: does the ablation name the setting that was changed?

Repetitions are drawn, with 2 % of noise, so the truth is known; the judgement is the product's. It
says nothing of how large a setting's effect is on a real machine.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from trustbed.compare.closing import Changed, closing
from trustbed.compare.model import Ablation

REPETITIONS = 5
_NOISE = 0.02
MADE = {
    "quota": {"requests_per_second": 0.8},
    "offloads": {"packets_captured": 0.4},
    "queue": {"retransmissions": 30.0},
    "jitter": {"jitter_seconds": 3.0},
    "loss": {"requests_per_second": 0.9, "retransmissions": 60.0},
    "card": {"requests_per_second": 0.5, "reads": 1.8, "jitter_seconds": 1.5},
    "tracing": {"requests_per_second": 0.86},
    "cpu": {"context_switches": 1.6},
    "background": {"requests_per_second": 0.7, "jitter_seconds": 4.0},
    "ack": {"packets_wire": 1.12, "packets_captured": 1.12},
}
"""What each setting does to a metric: a factor."""
PLAIN = {
    "requests_per_second": 1000.0,
    "packets_captured": 20.0,
    "packets_wire": 30.0,
    "retransmissions": 0.01,
    "jitter_seconds": 0.001,
    "reads": 2.0,
    "context_switches": 3.0,
}


def values(
    effects: Mapping[str, float], chosen: random.Random, count: int = REPETITIONS
) -> dict[str, list[float]]:
    """Values of repetitions of a testbed with these effects."""
    return {
        key: [mean * effects.get(key, 1.0) * (1 + chosen.gauss(0, _NOISE)) for _ in range(count)]
        for key, mean in PLAIN.items()
    }


def ablation(true: str, *, only: str | None = None) -> Ablation:
    """What is found where one setting differs: all are tried, or ``only`` one."""
    chosen = random.Random(true)
    changed = [
        Changed(
            name=name,
            change=f"{name} removed",
            values=values({} if name == true else MADE[true], chosen),
        )
        for name in MADE
        if only is None or name == only
    ]
    return closing("guest", values({}, chosen), values(MADE[true], chosen), changed, titles={})


def named() -> tuple[int, int]:
    """How many of the made differences had their setting named, and how many there are."""
    return sum(ablation(setting).named == setting for setting in MADE), len(MADE)
