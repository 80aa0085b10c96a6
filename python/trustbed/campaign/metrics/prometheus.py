"""Metrics of a host's node_exporter from Prometheus, by ``/api/v1/query_range``.

A range query answers for the moments of a grid, each with the last scrape before it. Rates of
counters are therefore not computed over the grid but over the times of the scrapes themselves,
which are queried too (``timestamp``; all metrics of a scrape have the same), so that no rate is
wrong by the distance between the two. A counter that was reset has no rate in that interval. Gauges
(memory, load) are those at the end of their interval.

Bias: one scrape is taken for all metrics of a host. Where several jobs scrape it under one label,
values are those of the first of them.
"""

from __future__ import annotations

import functools
import http.client
import itertools
import json
import math
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from trustbed.campaign.metrics.answer import Answer, SourceError
from trustbed.campaign.metrics.table import Observation, Scope, Span
from trustbed.scenario.metric_sources import Prometheus

TIMEOUT_SECONDS = 10.0
"""For all queries about one interval together."""
MOST_BYTES = 16 << 20
"""Of one response."""
_MOST_POINTS = 600
_SECOND = 1_000_000_000
_BEYOND = 120 * _SECOND
"""How far after the end the scrape that ends the last interval is searched."""
_PIECE = 1 << 16
_LATEST_SECONDS = 1 << 33
"""No scrape is later than this; nanoseconds in 64 bits end a little later."""
_HINT = "open the URL in a browser; [hosts.NAME] prometheus in the inventory has its address"

_CPU = "node_cpu_seconds_total"
_LEVELS = {
    "node_memory_MemTotal_bytes": "memory_total_bytes",
    "node_memory_MemAvailable_bytes": "memory_available_bytes",
    "node_memory_MemFree_bytes": "memory_free_bytes",
    "node_load1": "load_1min",
    "node_procs_running": "tasks_running",
    "node_netstat_Tcp_CurrEstab": "tcp_established",
}
_COUNTERS = {
    "node_context_switches_total": "context_switches_per_second",
    "node_intr_total": "interrupts_per_second",
    "node_netstat_Tcp_InSegs": "tcp_received_segments_per_second",
    "node_netstat_Tcp_OutSegs": "tcp_sent_segments_per_second",
    "node_netstat_Tcp_RetransSegs": "tcp_retransmitted_segments_per_second",
    "node_netstat_Tcp_InErrs": "tcp_damaged_segments_per_second",
    "node_netstat_Tcp_OutRsts": "tcp_resets_sent_per_second",
    "node_netstat_Tcp_ActiveOpens": "tcp_opened_per_second",
    "node_netstat_Tcp_PassiveOpens": "tcp_accepted_per_second",
    "node_netstat_TcpExt_TCPTimeouts": "tcp_timeouts_per_second",
    "node_netstat_TcpExt_ListenDrops": "tcp_listen_drops_per_second",
}
_INTERFACES = {
    f"node_network_{their_direction}_{their_count}_total": f"network_{direction}_{count}_per_second"
    for their_direction, direction in (("receive", "received"), ("transmit", "sent"))
    for their_count, count in (
        ("bytes", "bytes"),
        ("packets", "packets"),
        ("errs", "errors"),
        ("drop", "drops"),
    )
}
_DRIVER = "node_ethtool_"
_DRIVER_COUNTERS = f"{_DRIVER}.+_allowance_exceeded(_total)?"
"""The driver's counters by which a cloud reports packets that it delayed or dropped.

Other counters of drivers are not queried.
"""

T = TypeVar("T")
Points = dict[float, float]
"""Values by the moments of the grid, in seconds."""


@dataclass(frozen=True, slots=True)
class _Series:
    labels: Mapping[str, str]
    points: Points


@dataclass(frozen=True, slots=True)
class _Scrapes:
    """The times of scrapes in nanoseconds, and the grid time at which each first appears."""

    moments: Sequence[tuple[int, float]]

    def intervals(self) -> Iterator[tuple[tuple[int, float], tuple[int, float]]]:
        return itertools.pairwise(self.moments)


def query(source: Prometheus, span: Span, *, now_ns: int) -> Answer:
    """All metrics of a host in an interval.

    Args:
        source: The server, and its label for the host.
        span: The interval.
        now_ns: The current time; there are no later data.

    Raises:
        SourceError: The server does not answer, answers something else, or does not know the host.
    """
    queries = _RangeQueries(source, span, now_ns)
    matcher = f"instance={_quoted(source.instance)}"
    scrapes = queries.read(f"max(timestamp({_CPU}{{{matcher}}}))", _scrapes)
    if not scrapes.moments:
        message = f"{source.url} has no data of the instance {source.instance} for that time"
        raise SourceError(
            message, "its page Status, Targets has the labels; the host must run node_exporter"
        )
    observations: list[Observation] = []
    problems: list[str] = []
    parts = (
        (f"sum by (mode) ({_CPU}{{{matcher}}})", _processors),
        (f"{{__name__=~{_quoted(_any_of(_LEVELS, _COUNTERS))},{matcher}}}", _host),
        (f"{{__name__=~{_quoted(_any_of(_INTERFACES))},{matcher}}}", _interfaces),
        (f"{{__name__=~{_quoted(_DRIVER_COUNTERS)},{matcher}}}", _drivers),
    )
    for text, read in parts:
        try:
            observations += queries.read(text, functools.partial(_listed, read, scrapes))
        except SourceError as error:
            problems.append(error.message)
    inside = [
        one
        for one in observations
        if one.time_ns < span.until_ns and one.time_ns + one.resolution_ns > span.from_ns
    ]
    return Answer(inside, scrapes.moments[-1][0], problems)


# Queries.


class _RangeQueries:
    """Queries about one interval, which have a deadline together."""

    def __init__(self, source: Prometheus, span: Span, now_ns: int) -> None:
        self._url = source.url
        end = max(span.until_ns, min(now_ns, span.until_ns + _BEYOND))
        step = max(1, math.ceil((end - span.from_ns) / _SECOND / _MOST_POINTS))
        self._grid = {
            "start": f"{span.from_ns / 1e9:.3f}",
            "end": f"{end / 1e9:.3f}",
            "step": str(step),
        }
        self._deadline = time.monotonic() + TIMEOUT_SECONDS

    def read(self, query: str, read: Callable[[Sequence[_Series]], T]) -> T:
        """Runs a query and reads the series of its response.

        Raises:
            SourceError: There is no response, or it cannot be read.
        """
        words = urllib.parse.urlencode(
            {"query": query, **self._grid, "timeout": f"{TIMEOUT_SECONDS:g}s"}
        )
        found = self._fetch(f"{self._url}/api/v1/query_range?{words}")
        try:
            return read(_series(json.loads(found)))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise SourceError(f"{self._url} answers, but not as Prometheus does", _HINT) from None

    def _fetch(self, url: str) -> bytes:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise self._late()
        request = urllib.request.Request(url, headers={"Accept": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=left) as response:
                return self._body(response)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refused(error) from None
        except TimeoutError:
            raise self._late() from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise self._late() from None
            why = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
            raise SourceError(f"{self._url} does not answer: {why}", _HINT, is_away=True) from None

    def _body(self, response: Any) -> bytes:  # noqa: ANN401 - whatever the scheme has
        """The body of a response, unless it is too large or takes too long."""
        pieces: list[bytes] = []
        size = 0
        while piece := response.read1(_PIECE):
            size += len(piece)
            pieces.append(piece)
            if size > MOST_BYTES:
                message = f"{self._url} sends more than {MOST_BYTES >> 20} MiB in one answer"
                raise SourceError(message, "the host may have very many interfaces")
            if time.monotonic() > self._deadline:
                raise self._late()
        return b"".join(pieces)

    def _late(self) -> SourceError:
        return SourceError(
            f"{self._url} has not answered within {TIMEOUT_SECONDS:g} s", _HINT, is_away=True
        )

    def _refused(self, error: urllib.error.HTTPError) -> SourceError:
        """The error of a request that the server refused; Prometheus states why, as JSON."""
        try:
            reported = json.loads(error.read1(_PIECE))
            why = f": {reported['error']!s:.300}"
        except (
            OSError,
            http.client.HTTPException,
            ValueError,
            TypeError,
            KeyError,
            RecursionError,
        ):
            why = f" ({error.reason})" if error.reason else ""
        return SourceError(
            f"{self._url} answers {error.code}{why}", _HINT, is_away=error.code >= 500
        )


def _listed(
    read: Callable[[Sequence[_Series], _Scrapes], Iterator[Observation]],
    scrapes: _Scrapes,
    series: Sequence[_Series],
) -> list[Observation]:
    return list(read(series, scrapes))


def _series(found: Any) -> list[_Series]:  # noqa: ANN401 - whatever came
    """The series of an answer; see https://prometheus.io/docs/prometheus/latest/querying/api/."""
    if found["status"] != "success":
        raise SourceError(f"Prometheus reports: {found.get('error')!s:.300}", _HINT)
    if found["data"]["resultType"] != "matrix":
        raise ValueError(found["data"]["resultType"])
    series = []
    for one in found["data"]["result"]:
        labels = {
            str(name): str(value).encode(errors="replace").decode()
            for name, value in one["metric"].items()
        }
        points = {
            float(at): value for at, text in one["values"] if math.isfinite(value := float(text))
        }
        series.append(_Series(labels, points))
    return sorted(series, key=lambda one: sorted(one.labels.items()))


def _quoted(text: str) -> str:
    """A PromQL string, which is escaped as in Go."""
    return '"' + "".join(_escaped(letter) for letter in text) + '"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    return letter if letter.isprintable() else f"\\U{ord(letter):08x}"


def _any_of(*names: Iterable[str]) -> str:
    return "|".join(itertools.chain(*names))


# Reading.


def _scrapes(series: Sequence[_Series]) -> _Scrapes:
    first: dict[int, float] = {}
    for one in series[:1]:
        for at, seconds in sorted(one.points.items()):
            if not 0 < seconds < _LATEST_SECONDS:
                raise ValueError(seconds)
            first.setdefault(round(seconds * 1000) * 1_000_000, at)
    return _Scrapes(sorted(first.items()))


def _grown(points: Points, before: float, now: float) -> float | None:
    """The increase of a counter; ``None`` where it was reset or is missing."""
    if before not in points or now not in points:
        return None
    grown = points[now] - points[before]
    return None if grown < 0 else grown


def _rates(
    one: _Series,
    scrapes: _Scrapes,
    metric: str,
    *,
    scope: Scope = "host",
    counter: str | None = None,
) -> Iterator[Observation]:
    name = one.labels.get("device") if scope == "interface" else None
    for (begin, before), (end, now) in scrapes.intervals():
        if now in one.points:
            grown = _grown(one.points, before, now)
            rate = None if grown is None else grown * 1e9 / (end - begin)
            yield Observation(scope, name, metric, begin, end - begin, rate, counter)


def _processors(series: Sequence[_Series], scrapes: _Scrapes) -> Iterator[Observation]:
    modes = {one.labels.get("mode", ""): one.points for one in series}
    for (begin, before), (end, now) in scrapes.intervals():
        grown = {mode: _grown(points, before, now) for mode, points in modes.items()}
        whole = sum(value or 0.0 for value in grown.values())
        is_known = whole > 0 and None not in grown.values()

        def share(
            *wanted: str,
            grown: Mapping[str, float | None] = grown,
            whole: float = whole,
            known: bool = is_known,
        ) -> float | None:
            there = [mode for mode in wanted if mode in grown]
            return sum(grown[mode] or 0.0 for mode in there) / whole if known and there else None

        idle = share("idle")
        found = {
            "cpu_utilisation_share": None if idle is None else 1 - idle,
            "cpu_user_share": share("user"),
            "cpu_nice_share": share("nice"),
            "cpu_system_share": share("system"),
            "cpu_interrupt_share": share("irq", "softirq"),
            "cpu_steal_share": share("steal"),
            "cpu_idle_share": idle,
            "cpu_iowait_share": share("iowait"),
        }
        for metric, value in found.items():
            yield Observation("host", None, metric, begin, end - begin, value)


def _host(series: Sequence[_Series], scrapes: _Scrapes) -> Iterator[Observation]:
    for one in _first_by(series, "__name__"):
        name = one.labels.get("__name__", "")
        if name in _COUNTERS:
            yield from _rates(one, scrapes, _COUNTERS[name])
        elif name in _LEVELS:
            for (begin, _), (end, now) in scrapes.intervals():
                if now in one.points:
                    yield Observation(
                        "host", None, _LEVELS[name], begin, end - begin, one.points[now]
                    )


def _interfaces(series: Sequence[_Series], scrapes: _Scrapes) -> Iterator[Observation]:
    for one in _first_by(series, "__name__", "device"):
        metric = _INTERFACES.get(one.labels.get("__name__", ""))
        if metric is not None and "device" in one.labels:
            yield from _rates(one, scrapes, metric, scope="interface")


def _drivers(series: Sequence[_Series], scrapes: _Scrapes) -> Iterator[Observation]:
    for one in _first_by(series, "__name__", "device"):
        counter = one.labels.get("__name__", "").removeprefix(_DRIVER).removesuffix("_total")
        if "device" in one.labels:
            yield from _rates(
                one, scrapes, "driver_counter_per_second", scope="interface", counter=counter
            )


def _first_by(series: Sequence[_Series], *labels: str) -> Iterator[_Series]:
    """The first of the series that have these labels in common."""
    seen = set()
    for one in series:
        key = tuple(one.labels.get(label) for label in labels)
        if key not in seen:
            seen.add(key)
            yield one
