"""One transfer in the library: its numbers, its diagnosis, its charts."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from trustbed.diagnose.diagnosis import Diagnosis
from trustbed.diagnose.host import HostEvidence
from trustbed.diagnose.time_budget import Shares
from trustbed.report import words
from trustbed.report.records import Json, Row

if TYPE_CHECKING:
    import altair

    from trustbed.analysis.capture import Capture


@dataclass(frozen=True, eq=False, repr=False)
class Transfer:
    """The data that one side of a connection sent. Made by :meth:`trustbed.Capture.transfer`.

    ``row`` holds every column under the names of the JSON contract (times in seconds),
    ``diagnosis`` the cause, confidence, verdict, and why.
    """

    row: Row
    _measured: Row
    diagnosis: Diagnosis
    _host: HostEvidence | None
    _capture: Capture

    @property
    def name(self) -> str:
        """Its name in tables.

        The number of the connection's first packet, and 0 (the initiator's data) or 1.
        """
        return str(self.row["transfer"])

    @property
    def shares(self) -> Mapping[str, float] | None:
        """The share of its time in each state, which add up to 1; ``None`` if it is too short."""
        shares = Shares.from_transfer(self.row)
        return None if shares is None else shares.by_state

    @cached_property
    def series(self) -> Json:
        """The columns that its charts are drawn from, thinned so that every outlier stays."""
        return self._capture.series(self.name)

    @cached_property
    def charts(self) -> dict[str, Json]:
        """Every chart that it has data for, as Vega-Lite specifications by name."""
        from trustbed.report.transfer import charts

        return charts.of_transfer(self.series, self.row)

    def chart(self, name: str = "time_sequence") -> altair.TopLevelMixin:
        """A chart for a notebook (needs altair: ``pip install trustbed[notebook]``)."""
        from trustbed.report.transfer.charts import as_altair

        if name not in self.charts:
            raise KeyError(f"no chart {name!r}: {', '.join(self.charts)}")
        return as_altair(self.charts[name])

    def explain(self) -> str:
        """The rule that decided, its numbers, and what would change the verdict."""
        from trustbed.diagnose.explain import explain_row

        options = self._capture.options
        lines = explain_row(
            self._measured,
            self._capture.facts,
            workload=options.workload or "unknown",
            capacity=options.capacity,
            host=self._host,
        )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<Transfer {self.name}: {words.endpoints(self.row)}: {self.diagnosis.verdict}, "
            f"{self.diagnosis.cause}, {self.diagnosis.confidence:.2f}>"
        )

    def _repr_html_(self) -> str:
        reasons = "".join(f"<li>{html.escape(reason)}</li>" for reason in self.diagnosis.reasons)
        diagnosis, escape = self.diagnosis, html.escape
        judged = (
            f"({escape(diagnosis.verdict)}, {escape(diagnosis.cause)}, confidence "
            f"{diagnosis.confidence:.2f})"
        )
        return (
            f"<p><strong>{escape(diagnosis.headline)}</strong> {judged}<br>{escape(self.name)}: "
            f"{escape(words.endpoints(self.row))}</p><ul>{reasons}</ul>"
        )
