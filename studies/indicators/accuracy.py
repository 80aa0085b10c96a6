"""The spin monitor against a share of a processor that is known.

Starts processes, makes a control group, reads clocks.

The competitor is the one of faults: a thread of ordinary priority that always wants the processor
on which the monitor is held. A quota is set by the agent that sets those of faults, in a period of
100 ms, and the monitor begins with the first of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from studies.indicators.plan import SPIN_SECONDS, Accuracy
from trustbed.agent.client import Agent
from trustbed.testbed import TestbedError
from trustbed.testbed.netns import cgroups

PERIOD_US = 100_000
_WAIT_SECONDS = 60.0

Values = dict[str, Any]


def carry_out(step: Accuracy, *, seconds: float = SPIN_SECONDS) -> Values:
    """What the monitor said, and what was known; *not made* where there are no control groups.

    Raises:
        AgentError: The monitor, or what disturbs it, cannot run.
    """
    with (
        tempfile.TemporaryDirectory(prefix="trustbed-indicator-") as directory,
        contextlib.ExitStack() as stack,
    ):
        path = Path(directory) / "spin.jsonl"
        monitor = stack.enter_context(
            Agent.start("spin", {"path": str(path), "duration_ns": round(seconds * 1e9)})
        )
        try:
            fault = stack.enter_context(_fault(step, monitor.pid))
        except TestbedError as error:
            return {"outcome": "not made", "reason": error.message}
        if fault is not None:
            disturbance = stack.enter_context(
                Agent.start("inject", {"processes": [monitor.pid], "fault": fault})
            )
            disturbance.begin()
        monitor.begin()
        monitor.report(seconds + _WAIT_SECONDS)
        lines = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()[1:]]
    return {
        "outcome": "made",
        "known": step.quota,
        "version": (fault or {}).get("version"),
        **had(lines),
    }


@contextlib.contextmanager
def _fault(step: Accuracy, monitor: int) -> Iterator[Values | None]:
    """What disturbs the monitor. A control group is there as long as the block lasts."""
    if step.quota is not None:
        group = cgroups.make(f"trustbed-indicator-{os.getpid()}", cgroups.parent())
        try:
            group.join(monitor)
            granted = round(step.quota * PERIOD_US)
            yield {
                "kind": "quota",
                "group": str(group.path),
                "version": group.version,
                "granted_us": granted,
                "period_us": PERIOD_US,
            }
        finally:
            group.leave()
    elif step.case == "competitor":
        processor = max(os.sched_getaffinity(0))
        yield {
            "kind": "spinner",
            "processor": processor,
            "busy_ns": 10**8,
            "every_ns": 10**8,
            "policy": "normal",
        }
    else:
        yield None


def had(lines: list[Mapping[str, Any]]) -> Values:
    """The share of all that was watched, the longest gap, and what the kernel charged."""
    watched = sum(line["watched_ns"] for line in lines)
    charged = [line["charged"] for line in lines if line.get("charged")]
    elapsed = sum(one["elapsed_ns"] for one in charged)
    return {
        "share": 1.0 - sum(line["lost_ns"] for line in lines) / watched if watched else None,
        "watched_ns": watched,
        "longest_gap_ns": max((line["longest_gap_ns"] or 0 for line in lines), default=None),
        "charged_share": sum(one["used_ns"] for one in charged) / elapsed if elapsed else None,
    }
