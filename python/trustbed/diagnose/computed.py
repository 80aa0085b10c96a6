"""The numbers of the evidence that no column alone gives, from cells of a row.

Bias: what a cell does not say is unknown, and so is what would follow from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """A number of the evidence that no column alone gives.

    ``value`` takes what its own column gave, then the cells of ``columns``.
    """

    value: Callable[..., Any]
    columns: tuple[str, ...]


def _loss(
    retransmitted: float | None,
    at: str | None,
    receiver: float | None,
    upstream: float | None,
    genuine: float | None,
) -> float | None:
    """Behind a loss its retransmission is the first copy seen: there filled holes are counted."""
    if at == "receiver":
        return receiver
    if at in ("middle", "unknown"):
        # A needless retransmission was not lost behind the capture, though it counts as repeated.
        halves = [share for share in (upstream, genuine) if share is not None]
        return sum(halves) if halves else None
    return retransmitted


def _acknowledged_late(
    _seen: None, at: str | None, median: float | None, late: float | None
) -> float | None:
    if median is None or late is None or at != "receiver":
        return None
    return float(late - median) / 1e9


def _loss_events(
    recoveries: float | None, at: str | None, lost: int | None, overtaken: int | None
) -> float | None:
    """Behind a loss no recovery is seen: there packets count that were late because of a loss."""
    fills = (lost or 0) - (overtaken or 0)
    return float(fills) if at != "sender" and fills > (recoveries or 0) else recoveries


def _is_estimated(_seen: None, spacing: str | None) -> bool | None:
    return spacing == "estimated" if spacing else None


def _share(_seen: None, part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _unfilled(
    _seen: None,
    packets: int | None,
    payload: int | None,
    full: float | None,
    trains: int | None,
) -> float | None:
    """Packets' worth missing to full packets, per train; a full queue of data leaves none."""
    if packets is None or payload is None or not full or not trains:
        return None
    return float(max(0.0, packets - payload / full) / trains)


def _late(
    _seen: None,
    at: str | None,
    reordered: int | None,
    overtaken: int | None,
    answers: int | None,
    lost: int | None,
) -> float | None:
    """Late segments; away from the sender, packets lost before the capture do not count."""
    if answers is not None and at != "sender":
        answers = max(0, answers - (lost or 0))
    return _sum(reordered, overtaken, answers)


def _sum(*parts: float | None) -> float | None:
    """Sum of what is known; unknown if nothing is."""
    known = [part for part in parts if part is not None]
    return float(sum(known)) if known else None


COMPUTED: Mapping[str, Computed] = MappingProxyType(
    {
        "loss": Computed(_loss, ("at", "loss_receiver", "loss_upstream", "loss_rate_genuine")),
        "loss_events": Computed(_loss_events, ("at", "filled_lost_upstream", "filled_overtaken")),
        "pauses_estimated": Computed(_is_estimated, ("spacing_source",)),
        "delayed_answers": Computed(_share, ("delack_suspects", "rtt_samples")),
        "late_segments": Computed(
            _late,
            (
                "at",
                "filled_reordered",
                "filled_overtaken",
                "reordering_dupack_series",
                "filled_lost_upstream",
            ),
        ),
        "acknowledged_late_seconds": Computed(
            _acknowledged_late, ("at", "rtt_p50_ns", "rtt_p90_ns")
        ),
        "unfilled_per_train": Computed(
            _unfilled, ("data_packets", "payload_bytes", "payload_bytes_per_packet", "trains")
        ),
    }
)
"""What follows from several cells of a row, by field."""
