"""The estimate of what the network would have given, scored against twins that are made up."""

from __future__ import annotations

from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

from tests.diagnose.test_compensation import BOUND, STARVED
from validation.truth.compensation import compensated, render
from validation.truth.result import VIEWS

VIEW = VIEWS[0]


class Made:
    """Transfers with an answer and a cost."""

    def __init__(self, *transfers: tuple[dict[str, Any], float | None, str]) -> None:
        self.transfers = transfers

    def chosen(self, seeds: str) -> list[Any]:
        return [
            SimpleNamespace(
                answers={VIEW.name: SimpleNamespace(verdict=verdict, cause="host_scheduling", evidence={**asdict(STARVED), **changes})},
                label=SimpleNamespace(cost=cost),
            )
            for changes, cost, verdict in self.transfers
        ]


def test_estimates_are_held_against_what_the_twins_had() -> None:
    rate = STARVED.throughput_bytes_per_second
    assert rate is not None
    exact = 1 - rate / BOUND
    made: Any = Made(
        ({}, exact, "discard"),
        ({}, exact + 0.2, "discard"),  # the twin had much more
        ({"loss": 0.01}, exact, "discard"),
        ({}, exact, "review"),
        ({}, None, "discard"),  # nobody knows what it cost
    )
    found = compensated(made, VIEW, "even")
    assert (found.discarded, len(found.ratios), found.within, found.covered) == (3, 2, 1, 1)
    assert sum(found.reasons.values()) == 1
    text = render(made, [VIEW])
    assert f"| {VIEW.words} | 3 | 2 | 50.0% (" in text
    assert "packets were lost" in text
