"""The score of a diagnosis: a base per cause and additions for what supports or contradicts it.

Counted in integer hundredths, so that the verdict's comparison never depends on rounding, and
clamped to 5…99.

Bias: the figures order the cases of the published measurements; they are no probabilities. What is
stated as one is computed from them in :mod:`trustbed.diagnose.calibration`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from trustbed.diagnose import budget_conditions as time
from trustbed.diagnose import conditions as on
from trustbed.diagnose.causes import Cause
from trustbed.diagnose.conditions import Case, Condition

LOWEST = 5
HIGHEST = 99


@dataclass(frozen=True, slots=True, eq=False)
class Confidence:
    """Base in hundredths, and what is added when a condition holds (negative: subtracted)."""

    base: int
    additions: tuple[tuple[int, Condition], ...] = ()

    def hundredths(self, case: Case) -> int:
        """The sum for this case, clamped."""
        total = self.base + sum(
            points for points, condition in self.additions if condition.holds(case)
        )
        return min(HIGHEST, max(LOWEST, total))


CONFIDENCE: Mapping[Cause, Confidence] = MappingProxyType(
    {
        "insufficient": Confidence(99),
        "driver_stall": Confidence(70, ((20, on.KERNEL_RESET), (10, on.NEAR_RESET_PERIOD))),
        "host_stall": Confidence(60, ((20, on.CPU_STARVED),)),
        "network_loss": Confidence(
            60, ((20, on.LOSS_HEAVY), (10, on.EXPLAINED), (10, on.NO_LONG_PAUSES))
        ),
        "network_congestion": Confidence(
            60,
            (
                (10, on.CLEARLY_INFLATED),
                (10, on.LOSS_PRESENT),
                (10, on.EXPLAINED),
                (10, on.NO_LONG_PAUSES),
            ),
        ),
        "bandwidth_limited": Confidence(80, ((10, on.NO_LONG_PAUSES),)),
        "window_limited": Confidence(
            60, ((20, on.CONFIRMED), (10, on.NO_LONG_PAUSES), (10, on.WINDOW_SATURATED))
        ),
        "receiver_limited": Confidence(
            60, ((20, on.WINDOW_MOSTLY_CLOSED), (20, time.RECEIVER_WAITED_FOR))
        ),
        "host_scheduling": Confidence(
            60,
            (
                (20, time.PROCESSOR_SEEN_MISSING),
                (-20, on.CPU_FREE),
                (20, time.APPLICATION_EXCLUDED),
                (10, on.WINDOW_SATURATED),
                (10, on.CLEARLY_IDLE_OPEN_WINDOW),
                (10, on.CLEAN_PATH),
            ),
        ),
        "sender_application_limited": Confidence(
            60, ((20, on.APPLICATION_SEEN), (20, time.PROCESSOR_SEEN_FREE))
        ),
        "slow_start": Confidence(70, ((10, on.NO_LONG_PAUSES),)),
        "policed": Confidence(80),
        "shaped": Confidence(70),
        "reordering": Confidence(70),
        "route_change": Confidence(90),
        "outage": Confidence(80),
        "send_buffer_limited": Confidence(60, ((20, time.BUFFER_LIMITED),)),
        "acknowledgements_delayed": Confidence(60),
        "peer_limited": Confidence(80),
        "rate_changed": Confidence(80),
        "receiver_stalled": Confidence(70),
        "sender_rate_limited": Confidence(70),
        "mark_limited": Confidence(70),
        "unexplained": Confidence(30),
        "no_anomaly": Confidence(40),
    }
)
