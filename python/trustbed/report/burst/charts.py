"""The charts of burstiness: one Vega-Lite definition each, for the page and for notebooks.

Each takes the model of one capture (what ``trustbed burst --json`` prints), or a list of them for
comparison, and returns a plain dictionary. Nothing here measures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from trustbed.report.burst.chart_axes import Streams, listed
from trustbed.report.burst.queue_charts import burstiness, delay, loss, sigma
from trustbed.report.burst.scale_charts import energy, gaps, logscale, rate
from trustbed.report.records import Spec

__all__ = [
    "CHARTS",
    "burstiness",
    "delay",
    "drawn",
    "energy",
    "gaps",
    "logscale",
    "loss",
    "rate",
    "sigma",
]

CHARTS: Mapping[str, Callable[..., Spec]] = MappingProxyType(
    {
        "burstiness": burstiness,
        "sigma": sigma,
        "loss": loss,
        "delay": delay,
        "energy": energy,
        "logscale": logscale,
        "rate": rate,
        "gaps": gaps,
    }
)
"""Every chart by its name, in the order in which they are read."""

_OVER_TIME = frozenset({"burstiness", "rate"})


def drawn(streams: Streams, *, kinds: tuple[str, ...] = tuple(CHARTS)) -> dict[str, Spec]:
    """The charts that there is data for; a capture that lasts no time has nothing over time."""
    lasts = any(stream.get("duration_seconds") for stream in listed(streams))
    made = {kind: CHARTS[kind](streams) for kind in kinds if lasts or kind not in _OVER_TIME}
    marks = frozenset({"marks", "mean"})
    return {kind: spec for kind, spec in made.items() if set(spec["datasets"]) - marks}
