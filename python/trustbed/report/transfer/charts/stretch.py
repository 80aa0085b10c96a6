"""Chooses the short stretch of a transfer that is drawn packet by packet.

The engine keeps a few stretches of about twelve round trips, evenly spread. Shown is the most
ordinary one, whose silences, throughput and retransmissions are nearest to the whole transfer's, so
that the close-up shows what the numbers show and not the worst moment.
"""

from __future__ import annotations

from trustbed.report.records import Json, Row

Series = Row

CUT_SHORT = 0.5
"""A stretch that lies so little within the transfer is taken only when there is no other.

The transfer ended in it.
"""


def stretch(series: Series, transfer: Row) -> Json | None:
    """The stretch to draw, with the silences in it that count as idle with open window.

    ``None`` when there is none, or when the length from which a silence counts is unknown. Has
    ``start_seconds``, ``duration_seconds``, ``segments`` (t, low, high, kind), ``acks`` (t,
    offset), ``window`` (t, offset: its edge) and ``silence`` (t, seconds: by the moment that ended
    it).
    """
    threshold, duration = (
        transfer.get("idle_open_window_threshold_seconds"),
        series.get("duration_seconds"),
    )
    if threshold is None or not duration:
        return None
    within = [
        _within(part, duration, threshold)
        for part in series.get("closeups") or ()
        if part["segments"]["t"] and part["acks"]["t"]
    ]
    if not within:
        return None
    longest = max(part["duration_seconds"] for part in within)
    candidates = [part for part in within if part["duration_seconds"] >= CUT_SHORT * longest]
    # The first one shows how the transfer started: it is taken only when nothing else is left.
    return min(candidates[1:] or candidates, key=lambda part: _oddness(part, transfer, duration))


def _within(part: Series, duration: float, threshold: float) -> Json:
    """The stretch, ended where the transfer ends, with its silences."""
    responses = zip(part["responses"]["t"], part["responses"]["seconds"], strict=True)
    held = [(t, seconds) for t, seconds in responses if seconds > threshold]
    unchanged = {name: part[name] for name in ("start_seconds", "segments", "acks", "window")}
    length = min(part["duration_seconds"], duration - part["start_seconds"])
    return {
        **unchanged,
        "duration_seconds": length,
        "silence": {"t": [t for t, _ in held], "seconds": [seconds for _, seconds in held]},
    }


def silent_seconds(part: Series) -> float:
    """How much of a stretch its silences take."""
    start: float = part["start_seconds"]
    end: float = start + part["duration_seconds"]
    ended = zip(part["silence"]["t"], part["silence"]["seconds"], strict=True)
    inside: list[float] = [max(0.0, min(t, end) - max(t - seconds, start)) for t, seconds in ended]
    return sum(inside)


def _oddness(part: Series, transfer: Row, duration: float) -> float:
    """The sum of three relative differences: share of silence, throughput, retransmissions."""
    width, offsets = part["duration_seconds"] or duration, part["acks"]["offset"]
    silence: float = abs(
        silent_seconds(part) / width - (transfer.get("idle_open_window_fraction") or 0.0)
    )
    mean = (transfer.get("unique_bytes") or 0) / duration
    rate: float = (offsets[-1] - offsets[0]) / width
    again = sum(kind == "retransmission" for kind in part["segments"]["kind"])
    usual = (transfer.get("retransmitted_packets") or 0) * width / duration
    odd: float = (
        silence + (abs(rate - mean) / mean if mean else 0.0) + abs(again - usual) / (usual + 1)
    )
    return odd
