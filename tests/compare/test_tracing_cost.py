"""Modes of a tracer as testbeds: what observing cost."""

from __future__ import annotations

from pathlib import Path

from tests.compare.testbeds import Made, make_testbed
from trustbed.compare.api import Options, compare
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


FACTORS = """
[background.noise]
model = "none"
from = "client"
to = "server"
rate = "1Mbit/s"
[trace.fetch]
host = "client"
of = "fetch"
[factors]
background.noise.model = ["none", "cbr"]
trace.fetch.mode = ["off", "calls"]
"""


def test_a_mode_beside_the_testbeds_costs_each_of_them(tmp_path: Path) -> None:
    slow = {"calls": Made(slower=1.25)}
    run = make_testbed(tmp_path / "study.run", factors=FACTORS, by_level=slow)
    found = compare(run, options=Options(by="background.noise.model"))
    said = [one for one in found.caveats if one.startswith("observer_effect")]
    assert [one.partition(" tracing cost")[0] for one in said] == [
        "observer_effect: none (calls):",
        "observer_effect: cbr (calls):",
    ]
