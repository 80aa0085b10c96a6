"""How long a CPU quota throttled a control group: one definition for samples and verdicts.

Reads rows of samples: what a group's ``cpu.stat`` counted since the sample before, in nanoseconds
(``throttled_time`` of cgroup v1, ``throttled_usec`` of v2; the agent takes the differences, and a
counter that was reset counts from 0).

Bias: the kernel adds a group's throttled time up over the processors that it may run on, so the
share can over-, never under-estimate how long the group as a whole was throttled; it is at most 1.
Groups are alternatives, not a sum: groups of different hosts have nothing to do with one another,
and of nested ones an outer quota's time may be an inner one's as well. The largest share is used.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

Rows = Iterable[Mapping[str, Any]]


def most_throttled(groups: Rows) -> Mapping[str, Any]:
    """The group of a sample that was throttled longest; empty if the kernel counts none."""
    known = [group for group in groups if group.get("throttled_ns") is not None]
    return max(known, key=lambda group: group["throttled_ns"], default={})


def throttled_share(rows: Rows) -> float | None:
    """The largest share of its sampled time that one group was throttled, 0…1.

    Args:
        rows: Samples of any groups, with ``cgroup``, ``interval_ns`` and ``throttled_ns``. A sample
            without either number counts for nothing: unknown is not 0.
    """
    whole: dict[object, int] = defaultdict(int)
    throttled: dict[object, int] = defaultdict(int)
    for row in rows:
        interval, time = row.get("interval_ns"), row.get("throttled_ns")
        if interval and time is not None:
            whole[row.get("cgroup")] += interval
            throttled[row.get("cgroup")] += time
    return max((min(1.0, throttled[group] / whole[group]) for group in whole), default=None)
