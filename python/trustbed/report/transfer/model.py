"""The model of the page.

Captures in short, the chart columns of their transfers, and where it all came from.

Holds what other parts computed, under the names of the JSON contract (times ``_seconds``, rates
``_bytes_per_second``, shares 0…1, ``None`` = unknown). Computes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from trustbed.diagnose.thresholds import THRESHOLDS, Thresholds
from trustbed.report.html.elements import Input as Input
from trustbed.report.html.elements import Provenance
from trustbed.report.records import Row
from trustbed.report.run.records import RunModel
from trustbed.report.transfer.overview import Overview

Series: TypeAlias = Row
"""The thinned chart columns of one transfer.

A mapping with these keys, each a mapping of equally long columns.

``segments`` t, low, high, kind (new, retransmission, fill) · ``acks`` t, offset · ``rtt`` t,
seconds · ``rto`` t, raw_seconds, linux_seconds · ``outstanding`` t, bytes, window_bytes ·
``spacing`` t, seconds, category · ``response`` t, seconds · ``throughput`` t, bytes_per_second ·
``rtt_cdf``, ``spacing_cdf``, ``response_cdf`` seconds, share ·
``phases`` t, end, state, low, high (:mod:`trustbed.report.transfer.phases`); besides
``start_ns`` and ``duration_seconds``. Times t are seconds since the first data packet.

``closeups`` is a list of short stretches with every packet in them: ``start_seconds``,
``duration_seconds``, ``segments`` and ``acks`` as above, ``window`` t, offset (the edge of the
receiver's window), ``responses`` t, seconds (those that reach beyond the end included).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """One capture: its overview and the series of the transfers that get charts.

    ``exchanges`` are the rows of the table of that name of the same transfers. ``story`` states in
    a sentence what the capture is of. ``beside`` names another capture of the page that serves as
    its control: the numbers of both are then shown side by side. ``burst`` is the model that
    ``trustbed burst --json`` prints, ``without_burst`` the reason why there is none; without both
    the page omits burstiness.
    """

    overview: Overview
    series: Mapping[str, Series] = field(default_factory=dict)
    exchanges: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    name: str | None = None
    story: str | None = None
    beside: str | None = None
    burst: Row | None = None
    without_burst: str = ""

    @property
    def title(self) -> str:
        """What the page calls the capture."""
        return self.name or self.overview.name

    @property
    def main(self) -> Row | None:
        """The transfer that represents its capture: the largest of those that could be judged."""
        return max(
            self.overview.transfers,
            key=lambda transfer: transfer.get("unique_bytes") or 0,
            default=None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """Captures of a page that belong together, by their titles.

    The others come before all chapters.

    ``run`` is the model of the run that they are from: the page then shows what its testbed did. A
    chapter may have no captures: then its introduction gives the reason. ``notes`` are further
    remarks, each a sentence.
    """

    title: str
    introduction: str
    notes: Sequence[str] = ()
    captures: Sequence[str] = ()
    run: RunModel | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Everything on one page.

    ``title`` and ``introduction`` open a page that describes several captures.
    """

    captures: Sequence[Capture]
    provenance: Provenance
    title: str | None = None
    introduction: str | None = None
    chapters: Sequence[Chapter] = ()
    thresholds: Thresholds = THRESHOLDS
