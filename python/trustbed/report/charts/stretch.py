"""Chooses the short stretch of a transfer that is drawn packet by packet, and cuts it out of the thinned columns.

The stretch is an ordinary one: of many candidates the one whose silences, throughput and retransmissions are nearest to the whole
transfer's, so that the close-up shows what the numbers say and not the worst moment. It is about twelve round trips long.

Bias: columns thinned to less than about twenty-five acknowledgements in such a stretch show no packets any more; then there is no
close-up.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ROUND_TRIPS = 12
SHORTEST_SECONDS = 0.02
CANDIDATES = 120
FEWEST_ACKNOWLEDGEMENTS = 25

Series = Mapping[str, Any]


def stretch(
    series: Series, *, rtt_seconds: float | None, withheld_fraction: float | None, withheld_threshold_seconds: float | None
) -> Series | None:
    """The stretch to draw: the ``closeup`` that the series brings along, else one cut out of its columns.

    ``None`` when the columns are too coarse or too little is known.
    """
    if series.get("closeup"):
        return series["closeup"]  # type: ignore[no-any-return]
    duration = series.get("duration_seconds")
    if not duration or not rtt_seconds or withheld_threshold_seconds is None:
        return None
    width = min(duration, max(ROUND_TRIPS * rtt_seconds, SHORTEST_SECONDS))
    silence = _silences(series.get("response") or {}, withheld_threshold_seconds)
    acks = series["acks"]
    if len(acks["t"]) * width / duration < FEWEST_ACKNOWLEDGEMENTS:
        return None
    again = [t for t, kind in zip(series["segments"]["t"], series["segments"]["kind"], strict=True) if kind == "retransmission"]
    whole = _Whole(duration=duration, acks=acks, again=again, silence=silence, withheld=withheld_fraction or 0.0)
    start = whole.ordinary(width)
    return _cut(series, start, width, silence)


def _silences(response: Series, threshold: float) -> list[tuple[float, float]]:
    """(end, length) of every response that counts as withheld."""
    times, lengths = response.get("t") or (), response.get("seconds") or ()
    categories = response.get("category") or ["spacing"] * len(times)
    held = zip(times, lengths, categories, strict=True)
    return [(t, seconds) for t, seconds, category in held if seconds > threshold and category != "recovery_wait"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Whole:
    """What an ordinary stretch is compared with."""

    duration: float
    acks: Series
    again: Sequence[float]
    silence: Sequence[tuple[float, float]]
    withheld: float

    def ordinary(self, width: float) -> float:
        """Where the most ordinary stretch starts; the first and last tenth of the transfer are left out."""
        ends = [end for end, _ in self.silence]
        mean = self.acks["offset"][-1] / self.duration or 1.0
        usual = len(self.again) * width / self.duration
        first, room = 0.1 * self.duration, max(0.0, 0.8 * self.duration - width)

        def oddness(start: float) -> float:
            end = start + width
            # One beyond the last that ends inside: it may have begun inside.
            inside = self.silence[bisect_left(ends, start) : bisect_right(ends, end) + 1]
            held = sum(_overlap(one, start, end) for one in inside) / width
            again = bisect_right(self.again, end) - bisect_left(self.again, start)
            return abs(held - self.withheld) + abs(self._rate(start, end) - mean) / mean + abs(again - usual) / (usual + 1)

        starts = [first + room * place / (CANDIDATES - 1) for place in range(CANDIDATES)]
        return min(starts, key=oddness)

    def _rate(self, start: float, end: float) -> float:
        times, offsets = self.acks["t"], self.acks["offset"]
        low, high = bisect_left(times, start), bisect_right(times, end) - 1
        return float(offsets[high] - offsets[low]) / (end - start) if high > low else 0.0


def _overlap(silence: tuple[float, float], start: float, end: float) -> float:
    stop, length = silence
    return max(0.0, min(stop, end) - max(stop - length, start))


def _between(columns: Series, start: float, end: float) -> dict[str, Any]:
    low, high = bisect_left(columns["t"], start), bisect_right(columns["t"], end)
    return {name: list(values[low:high]) for name, values in columns.items()}


def _cut(series: Series, start: float, width: float, silence: Sequence[tuple[float, float]]) -> Series:
    end = start + width
    within = [(stop, length) for stop, length in silence if stop > start and stop - length < end]
    acks = _between(series["acks"], start, end)
    outstanding = series["outstanding"]
    windows = [outstanding["window_bytes"][max(0, bisect_right(outstanding["t"], t) - 1)] for t in acks["t"]]
    return {
        "start_seconds": start,
        "duration_seconds": width,
        "segments": _between(series["segments"], start, end),
        "acks": acks,
        "window": {"t": acks["t"], "offset": [offset + window for offset, window in zip(acks["offset"], windows, strict=True)]},
        "silence": {"t": [stop for stop, _ in within], "seconds": [length for _, length in within]},
    }
