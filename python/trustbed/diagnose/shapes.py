"""Numbers about the shape of a transfer over time.

Queue at losses, token buckets, steps of the base RTT, ceilings of the flight.

Computed from the evidence alone, on demand. Decides nothing; see
:mod:`trustbed.diagnose.shape_conditions`.

Bias: every number is unknown where one of its parts is, so older tables and published cases have no
shapes.

Sources: policers: Flach et al., *An Internet-Wide Analysis of Traffic Policing*, SIGCOMM 2016;
queue before loss: Sundaresan et al., *TCP Congestion Signatures*, IMC 2017, and Biaz and Vaidya,
*Distinguishing Congestion Losses from Wireless Transmission Losses*, 1998.
"""

from __future__ import annotations

from trustbed.diagnose.evidence import DELIVERY_RATE, Evidence
from trustbed.diagnose.thresholds import Thresholds

ACKNOWLEDGED_TOGETHER = 2
"""Packets that a receiver acknowledges at once (RFC 5681).

The first of them waits for the second to be sent.
"""
LATE_LEAST_SECONDS = 0.002
"""Twice the tick of most senders' clocks: a smaller increase is indistinguishable from none."""
LATE_PART = 0.5
"""Share of the RTT's inflation on the sender's side of the capture from which it explains it."""


def packets_own_seconds(evidence: Evidence) -> float:
    """Time of the sender's own packets at the bottleneck before an acknowledgement can follow.

    0 where the rate is unknown. The base RTT often comes from the handshake, whose packets are
    small: on a slow link two full packets alone are a good part of an RTT.
    """
    rate, payload, packet = (
        evidence.rate_high_bytes_per_second,
        evidence.payload_bytes,
        evidence.packet_bytes,
    )
    if not rate or rate <= 0 or not payload or not packet:
        return 0.0
    return ACKNOWLEDGED_TOGETHER * payload / rate


def queue_inflation(evidence: Evidence) -> float | None:
    """Mean RTT over what an empty path takes for the sender's own packets.

    Above 1 only where these wait behind others.

    The RTT of a process that is stopped, of a slow reader or of a small buffer stays at 1, however
    steady their rate is.
    """
    base, rtt = evidence.rtt_base_seconds, evidence.rtt_seconds
    if not base or base <= 0 or rtt is None or not evidence.rate_high_bytes_per_second:
        return None
    return rtt / (base + packets_own_seconds(evidence))


def queued_packets(evidence: Evidence, rate: float | None) -> float | None:
    """By how many packets the mean RTT exceeds its base, at a rate in bytes/s (Little)."""
    base, rtt, payload = (
        evidence.rtt_base_seconds,
        evidence.rtt_seconds,
        evidence.payload_bytes,
    )
    return (
        (rtt - base) * rate / payload
        if base is not None and rtt is not None and rate and payload
        else None
    )


def is_capacity_refuted(evidence: Evidence, thresholds: Thresholds) -> bool:
    """Whether a steady rate with a full pipe is known not to be a link's.

    No queue builds up before it.

    By Little's law *any* steady rate keeps as much outstanding as its round trip holds. A link that
    limits also lets a queue grow.
    """
    if evidence.capacity_source != DELIVERY_RATE:
        return False
    inflation, packets = (
        queue_inflation(evidence),
        queued_packets(evidence, evidence.rate_high_bytes_per_second),
    )
    if inflation is None or packets is None:
        return False
    return inflation < thresholds.link_queue_inflation or packets < thresholds.link_queue_packets


def queue_at_loss(evidence: Evidence) -> float | None:
    """Where the RTT just before losses lies between an empty path (0) and the fullest seen (1).

    Unknown without losses. 0 if the path was never full: then no queue can have overflowed.
    """
    before, base, high = (
        evidence.rtt_before_loss_seconds,
        evidence.rtt_base_seconds,
        evidence.rtt_high_seconds,
    )
    if before is None or not base or base <= 0 or high is None:
        return None
    floor = base + packets_own_seconds(evidence)
    height = high - floor
    if height <= 0:
        return 0.0
    return min(1.0, max(0.0, (before - floor) / height))


def late_part(evidence: Evidence) -> float | None:
    """The sender's share of the RTT's increase; near 0 if the queue is on the receiver's side."""
    median, least, base, rtt = (
        evidence.answer_seconds,
        evidence.answer_least_seconds,
        evidence.rtt_base_seconds,
        evidence.rtt_seconds,
    )
    if (
        not evidence.pauses_estimated
        or median is None
        or least is None
        or base is None
        or rtt is None
        or rtt <= base
    ):
        return None
    return (median - least) / (rtt - base)


def floor_step(evidence: Evidence) -> float | None:
    """Step of the RTT's floor, as a share of its lower level."""
    before, after = evidence.floor_before_seconds, evidence.floor_after_seconds
    if before is None or after is None or min(before, after) <= 0:
        return None
    return abs(after - before) / min(before, after)


def late_share(evidence: Evidence) -> float | None:
    """Share of segments late without loss, or needlessly retransmitted.

    Segments that overtake are acknowledged first, which makes a sender retransmit. A needless
    retransmission that no acknowledgement triggered is that of a stalled sender: its timers expired
    before it read what had arrived.
    """
    vain, fast = evidence.spurious_retransmissions, evidence.fast_retransmissions
    if vain is not None and fast is not None:
        vain = min(vain, fast)
    parts = [part for part in (vain, evidence.late_segments) if part is not None]
    return sum(parts) / evidence.data_segments if parts and evidence.data_segments else None
