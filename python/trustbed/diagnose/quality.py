"""How well a capture shows what happened: its weaknesses as numbers, overall and per transfer.

Only collects them from the capture's facts and the transfer's row; what they leave of a diagnosis
is in :mod:`trustbed.diagnose.limits`.

Bias: a weakness that nothing counted is missing; the defaults mean "none known".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from trustbed.diagnose.evidence import Row
from trustbed.diagnose.facts import CaptureFacts
from trustbed.diagnose.thresholds import THRESHOLDS, Thresholds

NO_TIME = "no_timestamp"
# Records that would have been packets of some transfer; the other reasons concern traffic that is
# not measured anyway.
UNMEASURED = frozenset({"truncated", "bad_header", "fragment_without_first"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureQuality:
    """Weaknesses of the capture as numbers that limits compare; the defaults mean "none known"."""

    kernel_drop_share: float = 0.0
    unmeasured_share: float = 0.0
    clock_step_seconds: float = 0.0
    granularity_seconds: float = 0.0
    reordered_share: float = 0.0
    reorder_seconds: float = 0.0
    equal_timestamp_share: float = 0.0
    timestamps_missing: bool = False
    deduplicated: bool = False

    @classmethod
    def of(cls, facts: CaptureFacts) -> CaptureQuality:
        """Read once per capture."""
        records = facts.get("records") or 0
        skipped = sum(
            skip.get("records") or 0
            for skip in facts.get("skips") or ()
            if skip.get("reason") in UNMEASURED
        )
        return cls(
            kernel_drop_share=kernel_drop_share(facts),
            unmeasured_share=skipped / records if records else 0.0,
            clock_step_seconds=(facts.get("clock_step_max_ns") or 0) / 1e9
            if facts.get("clock_steps")
            else 0.0,
            granularity_seconds=(facts.get("timestamp_granularity_ns") or 0) / 1e9,
            reordered_share=(facts.get("reordered_records") or 0) / records if records else 0.0,
            reorder_seconds=(facts.get("reorder_max_ns") or 0) / 1e9,
            equal_timestamp_share=facts.get("equal_timestamp_share") or 0.0,
            timestamps_missing=records_without_time(facts) > 0,
            deduplicated=bool(facts.get("deduplicated")),
        )


def records_without_time(facts: CaptureFacts) -> int:
    """Records that carry no timestamp: counted, or at least reported by the reader."""
    return facts.get("records_without_time") or sum(
        1 for problem in facts.get("problems") or () if problem.get("code") == NO_TIME
    )


def kernel_drops(facts: CaptureFacts) -> tuple[int, int]:
    """Packets dropped and recorded, over the interfaces that count their drops."""
    dropped = recorded = 0
    for file in facts.get("files") or ():
        for interface in file.get("interfaces") or ():
            counters = (interface.get("dropped"), interface.get("os_dropped"))
            if counters != (None, None):
                dropped += sum(counter or 0 for counter in counters)
                recorded += interface.get("records") or interface.get("received") or 0
    return dropped, recorded


def kernel_drop_share(facts: CaptureFacts) -> float:
    """Dropped / (dropped + recorded)."""
    dropped, recorded = kernel_drops(facts)
    return dropped / (dropped + recorded) if dropped else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How well the capture shows one transfer; the defaults mean "nothing against it".

    ``at`` is the capture point; it counts for nothing here.
    """

    capture: CaptureQuality = CaptureQuality()
    spacing_estimated: bool = False
    one_sided: bool = False
    capture_point_unknown: bool = False
    capture_point_contradicted: bool = False
    multipath: bool = False
    rtt_echoed: bool = False
    window_estimated: bool = False
    clock_stepped: bool = False
    unseen_share: float = 0.0
    duplicate_share: float = 0.0
    at: str | None = field(default=None, compare=False)

    @classmethod
    def of(cls, row: Row, capture: CaptureQuality) -> Quality:
        """From a row of the transfers table."""
        flags = row.get("flags") or ()
        unseen, seen = row.get("acked_unseen_bytes") or 0, row.get("unique_bytes") or 0
        duplicates, packets = row.get("capture_duplicates") or 0, row.get("packets") or 0
        return cls(
            capture=capture,
            spacing_estimated=row.get("spacing_source") == "estimated",
            # Every packet of the receiver carries its window: a row without one has seen no such
            # packet.
            one_sided=bool(row.get("one_sided"))
            or "one_sided" in flags
            or row.get("window_max_bytes", 0) is None,
            capture_point_unknown=row.get("at") == "unknown",
            capture_point_contradicted=bool(row.get("capture_point_contradicted")),
            # Also where it fell back to plain TCP after the handshake (RFC 8684, section 3.7).
            multipath=bool(row.get("multipath")),
            # Away from the sender the RTT is, in part, the time that the sender took to answer.
            rtt_echoed=row.get("rtt_source") in ("timestamp_echo", "both_halves"),
            window_estimated=bool(row.get("window_estimated")),
            clock_stepped="clock_step" in flags,
            unseen_share=unseen / (unseen + seen) if unseen else 0.0,
            duplicate_share=duplicates / packets if packets else 0.0,
            at=row.get("at"),
        )


QUALITY_COLUMNS = (
    "flags",
    "acked_unseen_bytes",
    "unique_bytes",
    "capture_duplicates",
    "packets",
    "spacing_source",
    "one_sided",
    "window_max_bytes",
    "at",
    "multipath",
    "rtt_source",
    "window_estimated",
)
"""The columns of a transfer that :meth:`Quality.of` asks for."""

CAPTURE_POINT_COLUMNS = (
    "capture_point",
    "capture_point_source",
    "response_min_initiator_ns",
    "response_min_responder_ns",
)
"""The fields of a connection that show its capture point."""


def is_capture_point_contradicted(connection: Row, thresholds: Thresholds = THRESHOLDS) -> bool:
    """Whether a connection shows that the capture was taken at the other end than given.

    ``connection`` has the :data:`CAPTURE_POINT_COLUMNS`.

    Bias: an end that responds late every single time looks far away; using its fastest responses
    guards against it.
    """
    point, ends = connection.get("capture_point"), ("initiator", "responder")
    if connection.get("capture_point_source") != "given" or point not in ends:
        return False
    beside, other = (
        connection.get(f"response_min_{end}_ns")
        for end in (ends if point == "initiator" else ends[::-1])
    )
    if beside is None or other is None:
        return False
    both = beside + other
    return bool(both >= thresholds.far_seconds * 1e9 and beside >= thresholds.far_share * both)


UNTOUCHED = Quality()
"""A transfer about whose capture nothing bad is known."""
