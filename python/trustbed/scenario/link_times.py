"""Reads the times of a link: delays that change in steps, and outages.

Times are from the beginning of the workloads.
"""

from __future__ import annotations

from trustbed.scenario.model import DelayStep, DelaySteps, Outage
from trustbed.scenario.table import Table

_STEPS = 'delay = { steps = [{ at = "0s", delay = "10ms" }, { at = "3s", delay = "40ms" }] }'
_OUTAGES = 'outages = [{ at = "2s", lasts = "13s" }]'


def read_delay_steps(outer: Table) -> DelaySteps:
    """``delay = { steps = […] }``: a route that changes."""
    table = outer.table("delay")
    assert table is not None, "the key is there"
    table.must("steps", _STEPS)
    rows = table.rows("steps", _STEPS)
    if not rows:
        raise table.error("steps", "there is no step", f"for example: {_STEPS}")
    steps: list[DelayStep] = []
    for row in rows:
        for key in ("at", "delay"):
            row.must(key, _STEPS)
        step = DelayStep(at_ns=row.span("at", 0), delay_ns=row.span("delay", 0))
        if not steps and step.at_ns:
            raise row.error("at", "the first step gives the initial delay", 'give it at = "0s"')
        if steps and step.at_ns <= steps[-1].at_ns:
            raise row.error(
                "at", "is not later than the step before it", "put the steps in order of time"
            )
        steps.append(step)
        row.close()
    found = DelaySteps(steps=tuple(steps), keep_order=table.flag("keep_order", True))
    table.close()
    return found


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
