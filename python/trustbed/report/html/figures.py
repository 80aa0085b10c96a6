"""The charts of the page: which ones a transfer gets, each with its title, caption and the word that explains it.

Adds every chart to the page's payload and keeps its number. Draws nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from trustbed.diagnose.thresholds import Thresholds
from trustbed.report import charts
from trustbed.report.charts.drawing import Spec, small
from trustbed.report.html import captions
from trustbed.report.html.evidence import expected_rate, round_trip_seconds, round_trips_are_seen, silences_are_seen
from trustbed.report.html.model import Series
from trustbed.report.html.payload import Payload
from trustbed.report.overview import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A chart of the payload with its words; ``wide`` takes the whole width of the page."""

    chart: int
    title: str
    caption: str
    definition: str
    wide: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Where the vertical axes of the small charts end, the same for all captures of a page."""

    rtt_seconds: float
    bits_per_second: float

    @classmethod
    def over(cls, every: Iterable[Series]) -> Self:
        """Room for the largest RTT and the largest throughput of all."""
        held = list(every)
        rtt = max((value for series in held for value in _column(series, "rtt", "seconds")), default=1.0)
        rate = max((value for series in held for value in _column(series, "throughput", "bytes_per_second")), default=1.0)
        return cls(rtt_seconds=rtt * 1.05, bits_per_second=rate * 8 * 1.05)


def _column(series: Series, name: str, column: str) -> list[float]:
    return list((series.get(name) or {}).get(column) or ())


class Drawer:
    """Makes the figures of one transfer and puts their charts into the payload."""

    def __init__(self, transfer: Row, series: Series, payload: Payload) -> None:
        self._transfer = transfer
        self._series = series
        self._payload = payload
        self._figures: list[Figure] = []
        self._draws_round_trips = round_trips_are_seen(transfer) and bool(_column(series, "rtt", "t"))
        self._stretch = charts.stretch(
            series,
            rtt_seconds=round_trip_seconds(transfer) if silences_are_seen(transfer) else None,
            withheld_fraction=transfer.get("withheld_fraction"),
            withheld_threshold_seconds=transfer.get("withheld_threshold_seconds"),
        )

    def _add(self, spec: Spec, title: str, caption: str, definition: str, *, wide: bool = False) -> None:
        chart = self._payload.add(spec)
        self._figures.append(Figure(chart=chart, title=title, caption=caption, definition=definition, wide=wide))

    def whole(self, *, limits: Thresholds, beside: tuple[str, Series] | None) -> list[Figure]:
        """Every chart that there is data for and that the capture's place allows."""
        transfer, series = self._transfer, self._series
        base, expected = transfer.get("rtt_base_seconds"), expected_rate(transfer)
        mean, withheld = transfer.get("throughput_bytes_per_second"), transfer.get("withheld_threshold_seconds")
        if self._stretch:
            self._add(charts.close_up(self._stretch), "Packet by packet", captions.close_up(self._stretch), "time-sequence", wide=True)
        if _column(series, "segments", "t"):
            spec = charts.time_sequence(series, allowed_bytes_per_second=expected)
            self._add(spec, "Time–sequence graph", captions.time_sequence(transfer), "time-sequence")
        if _column(series, "throughput", "t"):
            spec = charts.throughput(series, allowed_bytes_per_second=expected, mean_bytes_per_second=mean)
            self._add(spec, "Throughput", captions.throughput(transfer), "throughput")
        if self._draws_round_trips:
            self._add(charts.round_trip(series, base_seconds=base), "RTT and RTO", captions.round_trip(transfer, limits), "rto")
        if not silences_are_seen(transfer):
            return self._figures
        if _column(series, "outstanding", "t"):
            self._add(charts.outstanding(series), "Outstanding data and window", captions.outstanding(transfer, series), "window")
        if _column(series, "spacing", "t") or _column(series, "response", "t"):
            spec = charts.spacing(series, base_seconds=base, limit_seconds=withheld)
            self._add(spec, "Silences of the sender", captions.spacing(transfer), "withheld")
        if any(_column(series, name, "seconds") for name in ("spacing_cdf", "response_cdf", "rtt_cdf")):
            spec = charts.distributions(series, beside=beside)
            self._add(spec, "Silences beside the RTT", captions.distributions(series, beside), "spacing")
        return self._figures

    def in_a_row(self, scale: Scale) -> list[Figure]:
        """The small charts that stand beside a verdict: packet by packet, RTT, throughput."""
        transfer, series = self._transfer, self._series
        if self._stretch:
            spec = small(charts.close_up(self._stretch), keep=("silence", "edge", "acks", "segments", "again"))
            self._add(spec, "packet by packet", captions.close_up(self._stretch), "time-sequence", wide=True)
        if self._draws_round_trips:
            spec = small(charts.round_trip(series), keep=("rtt",), largest=scale.rtt_seconds)
            self._add(spec, "RTT", "Round-trip time over the whole transfer.", "rtt")
        if _column(series, "throughput", "t"):
            spec = small(charts.throughput(series), keep=("samples",), largest=scale.bits_per_second)
            self._add(spec, "throughput", captions.throughput(transfer), "throughput")
        return self._figures
