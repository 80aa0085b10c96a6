"""From cause and score to what may be done with the number, and its headline.

Bias: a cause whose place is unknown (path or testbed fabric, receiver or its network) is never trusted and never discarded by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from trustbed.diagnose.causes import Cause, Verdict
from trustbed.diagnose.conditions import FAILED, HEALTH_KNOWN, Case

How: TypeAlias = Literal["trust", "review", "discard", "by_score", "if_failed", "if_health_known"]

VERDICT_OF: Mapping[Cause, How] = MappingProxyType(
    {
        "insufficient": "if_failed",
        "driver_stall": "discard",
        "host_stall": "by_score",
        "network_loss": "review",
        "network_congestion": "trust",
        "bandwidth_limited": "trust",
        "window_limited": "trust",
        "receiver_limited": "review",
        "host_scheduling": "by_score",
        "sender_application_limited": "review",
        "slow_start": "trust",
        "policed": "trust",
        "shaped": "trust",
        "reordering": "trust",
        "route_change": "review",
        "outage": "review",
        "send_buffer_limited": "review",
        "acknowledgements_delayed": "review",
        "unexplained": "review",
        "no_anomaly": "if_health_known",
    }
)

HOW_WORDS: Mapping[How, str] = MappingProxyType(
    {
        "trust": "trust",
        "review": "review",
        "discard": "discard",
        "by_score": "discard from a score of {discard_hundredths:g} on, else review",
        "if_failed": "discard when failed, not_judged when too short",
        "if_health_known": "trust when pauses are known and not oversize and loss and i are known, else review",
    }
)


def verdict_of(cause: Cause, case: Case, hundredths: int) -> Verdict:
    """The verdict before the flags and the capture's quality have their say."""
    how = VERDICT_OF[cause]
    if how == "by_score":
        return "discard" if hundredths >= case.thresholds.discard_hundredths else "review"
    if how == "if_failed":
        return "discard" if FAILED.holds(case) else "not_judged"
    if how == "if_health_known":
        return "trust" if HEALTH_KNOWN.holds(case) else "review"
    return how


ADVICE: Mapping[Verdict, str] = MappingProxyType(
    {
        "trust": "describes the network",
        "review": "look before use",
        "discard": "do not use",
        "not_judged": "not judged",
    }
)

WHAT: Mapping[Cause, str] = MappingProxyType(
    {
        "insufficient": "the transfer failed",
        "driver_stall": "the sender's network driver hung",
        "host_stall": "the sending machine stopped",
        "network_loss": "slowed by packet loss",
        "network_congestion": "queued on the path",
        "bandwidth_limited": "filled the link",
        "window_limited": "limited by its window",
        "receiver_limited": "the receiver did not keep up",
        "host_scheduling": "the sending machine stood still",
        "sender_application_limited": "the application sent too little",
        "slow_start": "still in slow start",
        "policed": "policed on the path",
        "shaped": "shaped on the path",
        "reordering": "slowed by reordering",
        "route_change": "two paths, one after the other",
        "outage": "nothing came back for seconds",
        "send_buffer_limited": "limited by its send buffer",
        "acknowledgements_delayed": "its acknowledgements waited",
        "unexplained": "slow, and nothing seen explains it",
        "no_anomaly": "nothing unusual seen",
    }
)

# Where cause and advice side by side would say too much or too little.
SPECIAL: Mapping[tuple[Cause, Verdict], str] = MappingProxyType(
    {
        ("insufficient", "not_judged"): "too short to judge",
        ("window_limited", "trust"): "limited by its window — a property of the network",
        ("slow_start", "trust"): "ended in slow start — true, but no steady rate",
        ("network_congestion", "review"): "delayed, perhaps by a queue — look before use",
        ("host_scheduling", "review"): "the sender seems to have stood still — look before use",
        ("host_stall", "review"): "the sender seems to have stopped — look before use",
        ("driver_stall", "review"): "the sender's driver seems to have hung — look before use",
        ("shaped", "trust"): "a burst, then a lower rate — the mean depends on its length",
        ("no_anomaly", "review"): "too little seen to compare with — look before use",
    }
)


IMPOSSIBLE_RATE = "faster than its window or link allows — look before use"


def headline(cause: Cause, verdict: Verdict, *, impossible: bool = False) -> str:
    """The verdict in at most 60 characters; ``impossible`` when an impossible rate took the trust away."""
    if impossible:
        return IMPOSSIBLE_RATE
    return SPECIAL.get((cause, verdict)) or f"{WHAT[cause]} — {ADVICE[verdict]}"
