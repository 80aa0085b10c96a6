"""Evidence from a capture beside the receiver, joined with the one beside the sender.

Two things that one capture infers are seen by two. What was lost between them is counted, not concluded from what was sent again. And a
round trip falls into the way there and back and the time that the receiver's machine took until it acknowledged: a machine that answers
late makes round trips longer without a queue anywhere, and is not to be taken for congestion. So the part of the round trip that its
median takes counts among what the path takes at its best.

Bias: the median, not the mean: acknowledgements that wait for a lost packet are late through no fault of the machine. Packets that were on
their way when one of the captures began or ended are in neither count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from trustbed.diagnose.evidence import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class EndsEvidence:
    """What two captures show of a transfer's data; ``None`` = unknown. ``lost`` is a share of the frames sent."""

    lost: float | None = None
    turnaround_seconds: float | None = None

    @classmethod
    def of(cls, crossing: Mapping[str, Any], *, dropped: int = 0) -> Self:
        """From a row of the table of crossings; ``dropped`` packets are missing in the capture where its data arrived."""
        sent, turnaround = crossing.get("data_sent"), crossing.get("turnaround_p50_ns")
        # Frames that only one place can have seen would be taken for lost ones, or hide them; so would those that a capture dropped.
        whole = not crossing.get("data_unseen") and not dropped
        return cls(
            lost=crossing["data_lost"] / sent if sent and whole and crossing.get("data_lost") is not None else None,
            turnaround_seconds=None if turnaround is None else max(0.0, turnaround / 1e9),
        )


def with_ends(evidence: Evidence, ends: EndsEvidence) -> Evidence:
    """The evidence beside the sender, corrected by what the other end shows."""
    if ends.lost is not None:
        evidence = replace(evidence, loss=ends.lost)
    base, rtt = evidence.rtt_base_seconds, evidence.rtt_seconds
    if ends.turnaround_seconds and base is not None and rtt is not None and rtt > base:
        evidence = replace(evidence, rtt_base_seconds=min(rtt, base + ends.turnaround_seconds))
    return evidence
