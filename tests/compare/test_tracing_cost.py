"""Modes of a tracer as testbeds: what observing cost."""

from __future__ import annotations

from trustbed.compare.judge import CaseValues, Values
from trustbed.compare.tracing_cost import caveats


def _case(**modes: float) -> CaseValues:
    off, *others = [
        Values(
            testbed=mode,
            metrics={"requests_per_second": (rate, rate), "response_median_seconds": (1 / rate,)},
        )
        for mode, rate in modes.items()
    ]
    return CaseValues(label="500B", reference=off, candidates=others)


def test_a_mode_that_costs_more_than_a_twentieth_is_named() -> None:
    cases = [_case(off=1000.0, calls=880.0, count=970.0)]
    (said,) = caveats("trace.pages.mode", cases)
    assert said == "observer_effect: calls (500B): tracing cost the workload 12 % of its rate"


def test_what_is_no_mode_of_a_tracer_is_no_cost_of_one() -> None:
    assert not list(caveats("hosts.server.guest", [_case(off=1000.0, calls=500.0)]))
    assert not list(caveats("trace.pages.mode", [_case(count=1000.0, calls=500.0)]))
