"""Whether tracing slowed what was traced."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from trustbed.diagnose.catalogue import finding
from trustbed.findings import Finding
from trustbed.findings.words import percent_words

MOST_DROP = 0.05
"""The share of a workload's rate that observing it may cost.

The published comparison of testbeds saw 12 to 13 % on its physical hosts.
"""


def observer_effect(
    workload: str, untraced: Sequence[float], traced: Sequence[float]
) -> Finding | None:
    """The finding ``observer_effect``, if tracing cost more than :data:`MOST_DROP`.

    Args:
        workload: The workload that completed these.
        untraced: What it completed in a second, one value per repetition with tracing off.
        traced: The same with tracing on.

    Returns:
        The finding; ``None`` if it cost less, or if there are no repetitions to compare.
    """
    if not untraced or not traced or fmean(untraced) <= 0:
        return None
    drop = 1 - fmean(traced) / fmean(untraced)
    if drop <= MOST_DROP:
        return None
    return finding(
        "observer_effect",
        f"tracing cost {workload} {percent_words(drop)} of its rate",
        value=drop,
        threshold=MOST_DROP,
        scope=workload,
        evidence=f"means of {len(untraced)} repetitions without and {len(traced)} with tracing",
    )
