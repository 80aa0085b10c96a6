"""Charts in a notebook, through altair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trustbed.report.records import Row

if TYPE_CHECKING:
    import altair


def as_altair(spec: Row, *, width: int = 640) -> altair.TopLevelMixin:
    """An altair chart of ``spec``, ``width`` pixels wide.

    Altair (the extra ``notebook``) is imported only here.
    """
    import altair

    frame = {name: value for name, value in spec.items() if name not in ("autosize", "datasets")}
    chart = altair.Chart.from_dict({**frame, "width": width})
    if "layer" not in spec:
        return _with_rows(chart, spec["datasets"])
    chart.layer = [
        _with_rows(altair.Chart.from_dict(part), spec["datasets"]) for part in spec["layer"]
    ]
    return chart


def _with_rows(chart: altair.Chart, datasets: Row) -> altair.Chart:
    """The chart with its rows, unchecked.

    Altair would compare each of them with its schema, which takes ten seconds.
    """
    import altair

    with altair.utils.schemapi.debug_mode(False):
        chart.data = altair.InlineData(values=datasets[chart.data.name])
    return chart
