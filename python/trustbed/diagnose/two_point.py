"""Evidence from a capture at the receiver, joined with the one at the sender.

A second capture sees two things that one infers. Losses between the two are counted, not concluded
from retransmissions. And a round trip splits into one-way delays and the receiver's turnaround:
a host that acknowledges late makes round trips longer without a queue, which is no congestion. So
the median turnaround counts as part of what the path takes at its best.

Bias: the median, not the mean: acknowledgements that wait for a lost packet are late through no
fault of the host. Packets in transit when one of the captures began or ended are in neither count:
losses are a share of the packets whose fate is known, and where these are few, or a small part of
those sent, they are not taken for the transfer's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from trustbed.diagnose.evidence import Evidence

SENT_AT_OTHER_END = "sent_at_other_end"
"""Flag of a transfer that was judged by the capture at its receiver as if at its sender."""
FATES_SHARE = 0.5
"""The fate of so many of the frames sent must be known for losses to be those of the transfer."""
FEWEST_FATES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoPointEvidence:
    """What two captures show of a transfer's data; ``None`` = unknown.

    ``lost`` is a share of the frames whose fate is known.

    ``sent_here`` is false where the capture that is judged is not the one beside the sender, but
    the other one is.
    """

    sent_here: bool = True
    lost: float | None = None
    turnaround_seconds: float | None = None

    @classmethod
    def of(cls, crossing: Mapping[str, Any], *, dropped: int = 0) -> Self:
        """From a row of the table of two_point.

        ``dropped`` packets are missing in the capture where its data arrived.
        """
        lost, turnaround = crossing["data_frames_lost"], crossing["turnaround_p50_ns"]
        fates = lost + crossing["data_frames_delivered"]
        # Frames that only one capture point can have seen would pass as lost, or hide losses; so
        # would those that a capture dropped.
        whole = not crossing["data_frames_missed"] and not dropped
        return cls(
            lost=lost / fates
            if whole and fates >= max(FEWEST_FATES, FATES_SHARE * crossing["data_frames_sent"])
            else None,
            turnaround_seconds=None if turnaround is None else max(0.0, turnaround / 1e9),
        )


def with_two_point(evidence: Evidence, ends: TwoPointEvidence) -> Evidence:
    """The evidence beside the sender, corrected by what the other end shows."""
    if ends.lost is not None:
        evidence = replace(evidence, loss=ends.lost)
    base, rtt = evidence.rtt_base_seconds, evidence.rtt_seconds
    if ends.turnaround_seconds and base is not None and rtt is not None and rtt > base:
        evidence = replace(evidence, rtt_base_seconds=min(rtt, base + ends.turnaround_seconds))
    return evidence
