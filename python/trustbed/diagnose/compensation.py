"""What the network would have given a transfer whose machine stood still: an estimate, never a measurement.

The model is that of Lee et al. (Eq. 1): without pauses a sender runs at what its window allows at the round-trip time that it saw (X₁). It
holds where the window is what remains as the limit, which shows in the transfer itself: with the time taken out in which the machine
withheld data, what it sent comes to that rate or more. Where packets were lost or round trips grew, something else would have limited it
too, and no estimate is made.

How good it is, is known from transfers whose undisturbed twin was made (``make truth``): the interval is where nine of ten of those twins
lay. Bias: all of those had a window as their limit; of a network that is narrower than the window and as empty the estimate would be too
large, which the condition on the round trips is to keep out.
"""

from __future__ import annotations

from dataclasses import dataclass

from trustbed.diagnose.evidence import Evidence
from trustbed.diagnose.numbers import Numbers

CAUSES = frozenset({"host_scheduling", "host_stall"})
MOST_WITHHELD = 0.95
REACHES = 0.9
"""What was sent without the pauses comes to this share of the window's rate, or the window is not what remains."""
MOST_LOSS = 0.001
MOST_INFLATION = 1.1
SPREAD = (0.91, 1.05)
"""Of the twins' throughput over the estimate: the 5th and 95th percentile of the odd transfers of the truth for which there was one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Throughput without the machine's pauses, in B/s, with an interval of nine in ten; or ``reason``, why there is none."""

    bytes_per_second: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None


def without_pauses(evidence: Evidence, numbers: Numbers) -> Estimate:
    """The estimate for a transfer that measured its machine."""
    rate, bound = evidence.throughput_bytes_per_second, numbers.x1_bytes_per_second
    withheld = max(evidence.withheld_fraction or 0.0, evidence.oversize_fraction or 0.0, evidence.processor_missed or 0.0)
    if rate is None or bound is None or withheld <= 0:
        return Estimate(reason="the window's rate or the time that was withheld is not known")
    if evidence.loss is None or evidence.loss >= MOST_LOSS:
        return Estimate(reason="packets were lost, which would have slowed it too")
    if numbers.rtt_inflation is None or numbers.rtt_inflation >= MOST_INFLATION:
        return Estimate(reason="round trips grew, and nobody knows whose doing that was")
    if rate / (1.0 - min(MOST_WITHHELD, withheld)) < REACHES * bound:
        return Estimate(reason="even without the time that was withheld it did not come to what its window allows")
    return Estimate(bytes_per_second=bound, low=SPREAD[0] * bound, high=SPREAD[1] * bound)
