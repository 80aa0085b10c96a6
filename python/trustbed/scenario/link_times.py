"""Reads the times of a link: rates and delays that change in steps, and outages.

Times are from the beginning of the workloads.
"""

from __future__ import annotations

from collections.abc import Iterator

from trustbed.scenario.model import DelayStep, DelaySteps, Outage, RateStep
from trustbed.scenario.table import Table

_STEPS = 'delay = { steps = [{ at = "0s", delay = "10ms" }, { at = "3s", delay = "40ms" }] }'
_RATES = 'rate = { steps = [{ at = "0s", rate = "20Mbit/s" }, { at = "5s", rate = "10Mbit/s" }] }'
_OUTAGES = 'outages = [{ at = "2s", lasts = "13s" }]'


def read_delay_steps(outer: Table) -> DelaySteps:
    """``delay = { steps = […] }``: a route that changes."""
    table = outer.table("delay")
    assert table is not None, "the key is there"
    steps = tuple(
        DelayStep(at_ns=at, delay_ns=row.span("delay", 0))
        for at, row in _steps(table, "delay", _STEPS)
    )
    found = DelaySteps(steps=steps, keep_order=table.flag("keep_order", True))
    table.close()
    return found


def read_rate_steps(outer: Table) -> tuple[RateStep, ...]:
    """``rate = { steps = […] }``: a link whose rate changes."""
    table = outer.table("rate")
    assert table is not None, "the key is there"
    found: list[RateStep] = []
    for at, row in _steps(table, "rate", _RATES):
        rate = row.rate_above_zero("rate", None)
        assert rate is not None, "the key is there"
        found.append(RateStep(at_ns=at, rate=rate))
    table.close()
    return tuple(found)


def _steps(table: Table, key: str, example: str) -> Iterator[tuple[int, Table]]:
    """When each step begins, and its table, which is closed once its ``key`` has been read."""
    table.must("steps", example)
    rows = table.rows("steps", example)
    if not rows:
        raise table.error("steps", "there is no step", f"for example: {example}")
    before: int | None = None
    for row in rows:
        for name in ("at", key):
            row.must(name, example)
        at = row.span("at", 0)
        if before is None and at:
            raise row.error("at", f"the first step gives the initial {key}", 'give it at = "0s"')
        if before is not None and at <= before:
            raise row.error(
                "at", "is not later than the step before it", "put the steps in order of time"
            )
        before = at
        yield at, row
        row.close()


def read_outages(outer: Table) -> tuple[Outage, ...]:
    """``outages = […]``: intervals in which nothing passes."""
    found: list[Outage] = []
    for row in outer.rows("outages", _OUTAGES):
        for key in ("at", "lasts"):
            row.must(key, _OUTAGES)
        outage = Outage(
            at_ns=row.span("at", 0),
            lasts_ns=row.span_above_zero("lasts", 0),
            keeps=row.flag("keeps", False),
        )
        if found and outage.at_ns < found[-1].at_ns + found[-1].lasts_ns:
            raise row.error(
                "at",
                "begins before the outage in front of it is over",
                "put them in order of time, or make one of the two",
            )
        found.append(outage)
        row.close()
    return tuple(found)
