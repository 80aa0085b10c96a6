"""The sentence that gives the deciding number of causes that show in a transfer's shape over time.

Words only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from trustbed.diagnose import shapes
from trustbed.diagnose.causes import Cause
from trustbed.diagnose.conditions import Case
from trustbed.diagnose.shape_conditions import POLICED
from trustbed.findings.words import bytes_words, percent_words, rate_words, seconds_words


def _policed(case: Case) -> str:
    evidence = case.evidence
    if POLICED.holds(case):
        return (
            f"losses came when it had sent more than a token bucket of "
            f"{rate_words(evidence.token_rate_bytes_per_second)} with a burst of "
            f"{bytes_words(evidence.token_burst_bytes)} lets pass, and no queue stood before them"
        )
    depth = percent_words(evidence.loss_level_rank)
    return (
        f"losses came whenever it had sent more than a steady rate allows (rank {depth}), "
        f"not when the queue was full: "
        f"RTT just before them {seconds_words(evidence.rtt_before_loss_seconds)}"
    )


def _shaped(case: Case) -> str:
    evidence = case.evidence
    if evidence.burst_rate_bytes_per_second is None:
        high = rate_words(evidence.rate_high_bytes_per_second)
        return f"its mean exceeds the steady {high} that it ended with: it began with a burst"
    before, after = (
        rate_words(evidence.burst_rate_bytes_per_second),
        rate_words(evidence.sustained_rate_bytes_per_second),
    )
    return f"{before} at first, {after} afterwards with a queue before the bottleneck"


def _reordering(case: Case) -> str:
    return (
        f"{percent_words(shapes.late_share(case.evidence))} of the segments came late without "
        f"loss or were retransmitted needlessly"
    )


def _route_change(case: Case) -> str:
    evidence = case.evidence
    before, after = (
        seconds_words(evidence.floor_before_seconds),
        seconds_words(evidence.floor_after_seconds),
    )
    return f"the minimum RTT was {before} at first and {after} afterwards, with little in between"


def _outage(case: Case) -> str:
    silent = shapes.silent_seconds(case.evidence)
    return (
        f"no response for {seconds_words(silent)} of "
        f"{seconds_words(case.evidence.duration_seconds)} while data were outstanding"
    )


def _send_buffer(case: Case) -> str:
    evidence = case.evidence
    if evidence.send_buffer_limited:
        return (
            f"by its kernel the send buffer limited it for "
            f"{percent_words(evidence.send_buffer_limited)} of its busy time"
        )
    ceiling = bytes_words(evidence.outstanding_max_bytes)
    return (
        f"no more than {ceiling} were ever outstanding, though the window allowed "
        f"{bytes_words(evidence.window_bytes)}"
    )


def _answers(case: Case) -> str:
    return (
        f"{percent_words(case.evidence.delayed_answers)} of the acknowledgements waited for a timer"
    )


SHAPES: Mapping[Cause, Callable[[Case], str]] = MappingProxyType(
    {
        "policed": _policed,
        "shaped": _shaped,
        "reordering": _reordering,
        "route_change": _route_change,
        "outage": _outage,
        "send_buffer_limited": _send_buffer,
        "acknowledgements_delayed": _answers,
    }
)
"""By cause."""
