"""The charts of the page: each with its title, its caption and the word that explains it.

Adds every chart to the page's payload and keeps its number. Draws nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from trustbed.diagnose.thresholds import Thresholds
from trustbed.report.charts.drawing import small
from trustbed.report.html.elements import Figure
from trustbed.report.html.payload import Payload
from trustbed.report.records import Row, Spec
from trustbed.report.transfer import captions, charts
from trustbed.report.transfer.model import Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Where the vertical axes of the small charts end, the same for all captures of a page."""

    rtt_seconds: float
    bits_per_second: float

    @classmethod
    def over(cls, every: Iterable[Series]) -> Self:
        """Room for the largest RTT and the largest throughput of all."""
        held = list(every)
        rtt = max(
            (value for series in held for value in (series.get("rtt") or {}).get("seconds", ())),
            default=1.0,
        )
        rate = max(
            (
                value
                for series in held
                for value in (series.get("throughput") or {}).get("bytes_per_second", ())
            ),
            default=1.0,
        )
        return cls(rtt_seconds=rtt * 1.05, bits_per_second=rate * 8 * 1.05)


TITLES = {
    "close_up": "Packet by packet",
    "time_sequence": "Time–sequence graph",
    "throughput": "Throughput",
    "round_trip": "RTT and RTO",
    "outstanding": "Outstanding data and window",
    "spacing": "Silences of the sender",
    "distributions": "Silences beside the RTT",
}

WIDE = ("time_sequence", "close_up")
"""Charts as wide as the page."""

SMALL_TITLES = {"close_up": "packet by packet", "round_trip": "RTT", "throughput": "throughput"}

DEFINITIONS = {
    "close_up": "time-sequence",
    "time_sequence": "time-sequence",
    "throughput": "throughput",
    "round_trip": "rto",
    "outstanding": "window",
    "spacing": "idle-open-window",
    "distributions": "spacing",
}


class Drawer:
    """Makes the figures of one transfer and puts their charts into the payload."""

    def __init__(
        self,
        transfer: Row,
        series: Series,
        payload: Payload,
        *,
        beside: tuple[str, Series] | None = None,
    ) -> None:
        self._transfer = transfer
        self._series = series
        self._payload = payload
        self._beside = beside
        self._charts = charts.of_transfer(series, transfer, beside=beside)

    def _figure(self, name: str, spec: Spec, limits: Thresholds, *, whole: bool) -> Figure:
        title, definition = (TITLES if whole else SMALL_TITLES)[name], DEFINITIONS[name]
        caption = self._caption(name, limits)
        return Figure(
            chart=self._payload.add(spec),
            title=title,
            caption=caption,
            definition=definition,
            wide=name in WIDE,
        )

    def _caption(self, name: str, limits: Thresholds) -> str:
        transfer, series = self._transfer, self._series
        match name:
            case "close_up":
                part = charts.stretch(series, transfer)
                return captions.close_up(part) if part else ""
            case "time_sequence":
                return captions.time_sequence(transfer, series)
            case "throughput":
                return captions.throughput(transfer)
            case "round_trip":
                return captions.round_trip(transfer, limits)
            case "outstanding":
                return captions.outstanding(transfer, series)
            case "spacing":
                return captions.spacing(transfer)
            case _:
                return captions.distributions(series, self._beside)

    def whole(self, limits: Thresholds) -> list[Figure]:
        """Every chart of the transfer."""
        return [self._figure(name, spec, limits, whole=True) for name, spec in self._charts.items()]

    def in_a_row(self, limits: Thresholds, scale: Scale) -> list[Figure]:
        """Small charts beside a verdict: packet by packet, RTT, throughput."""
        rows = {
            "close_up": (("silence", "edge", "acks", "segments", "again"), None),
            "round_trip": (("rtt",), scale.rtt_seconds),
            "throughput": (("samples",), scale.bits_per_second),
        }
        return [
            self._figure(
                name, small(self._charts[name], keep=keep, largest=largest), limits, whole=False
            )
            for name, (keep, largest) in rows.items()
            if name in self._charts
        ]
