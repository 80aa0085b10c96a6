"""One transfer in the library: its numbers, its diagnosis, its charts."""

from __future__ import annotations

import html
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from trustbed.diagnose.diagnosis import Diagnosis
from trustbed.diagnose.host import HostEvidence
from trustbed.report import words

if TYPE_CHECKING:
    import altair

    from trustbed.capture import Capture


class Transfer:
    """The data that one side of a connection sent. Made by :meth:`trustbed.Capture.transfer`.

    ``row`` holds every column under the names of the JSON contract (times in seconds), ``diagnosis`` the cause, confidence,
    verdict, and why.
    """

    def __init__(
        self,
        row: Mapping[str, Any],
        measured: Mapping[str, Any],
        diagnosis: Diagnosis,
        host: HostEvidence | None,
        capture: Capture,
    ) -> None:
        self.row = row
        self.diagnosis = diagnosis
        self._measured = measured
        self._host = host
        self._capture = capture

    @property
    def name(self) -> str:
        """Its name in tables: the number of the connection's first packet, and 0 (the initiator's data) or 1."""
        return str(self.row["transfer"])

    @cached_property
    def series(self) -> dict[str, Any]:
        """The columns that its charts are drawn from, thinned so that every outlier stays."""
        return self._capture.series(self.name)

    @cached_property
    def charts(self) -> dict[str, dict[str, Any]]:
        """Every chart that it has data for, as Vega-Lite specifications by name."""
        from trustbed.report import charts

        return charts.of_transfer(self.series, self.row)

    def chart(self, name: str = "time_sequence") -> altair.TopLevelMixin:
        """A chart for a notebook (needs altair: ``pip install trustbed[notebook]``)."""
        from trustbed.report.charts import as_altair

        if name not in self.charts:
            raise KeyError(f"no chart {name!r}: {', '.join(self.charts)}")
        return as_altair(self.charts[name])

    def explain(self) -> str:
        """The rule that decided, its numbers, and what would change the verdict."""
        from trustbed.diagnose.explain import explain_row

        question = self._capture.question
        lines = explain_row(
            self._measured,
            self._capture.facts,
            workload=question.workload or "unknown",
            capacity=question.capacity,
            host=self._host,
        )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Transfer {self.name}: {self._ends()}: {self.diagnosis.verdict}, {self.diagnosis.cause}, {self.diagnosis.confidence:.2f}>"

    def _ends(self) -> str:
        return f"{words.endpoint(self.row['src'], self.row['src_port'])} → {words.endpoint(self.row['dst'], self.row['dst_port'])}"

    def _repr_html_(self) -> str:
        reasons = "".join(f"<li>{html.escape(reason)}</li>" for reason in self.diagnosis.reasons)
        diagnosis, say = self.diagnosis, html.escape
        judged = f"({say(diagnosis.verdict)}, {say(diagnosis.cause)}, confidence {diagnosis.confidence:.2f})"
        return f"<p><strong>{say(diagnosis.headline)}</strong> {judged}<br>{say(self.name)}: {say(self._ends())}</p><ul>{reasons}</ul>"
