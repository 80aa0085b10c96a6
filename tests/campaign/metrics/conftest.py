"""Local servers that answer like Prometheus and Amazon CloudWatch."""

from __future__ import annotations

import bisect
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.amazon import amazon as amazon
from tests.amazon import moto as moto

Labels = Mapping[str, str]
Scraped = Sequence[tuple[float, float]]
LOOKBACK = 300.0
"""Of Prometheus: older scrapes are not used for a moment."""

_SELECTOR = re.compile(r"(?P<name>\w*)\{(?P<matchers>.*)\}")
_MATCHER = re.compile(r'(\w+)(=~|=)"((?:[^"\\]|\\.)*)"')


class PlayedPrometheus:
    """Answers range queries for selectors, ``max(timestamp(…))`` and ``sum by (mode) (…)``.

    ``series`` are labels with scraped values by their times in seconds; ``answer`` replaces the
    response, if it is given; ``queries`` are the parameters of the queries so far.
    """

    def __init__(self) -> None:
        self.series: list[tuple[Labels, Scraped]] = []
        self.answer: Callable[[BaseHTTPRequestHandler], None] | None = None
        self.queries: list[dict[str, str]] = []
        played = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if played.answer is not None:
                    played.answer(self)
                    return
                parts = urlsplit(self.path)
                words = {name: values[0] for name, values in parse_qs(parts.query).items()}
                played.queries.append(words)
                if parts.path != "/api/v1/query_range":
                    send(self, 404, b"404 page not found")
                    return
                try:
                    code, body = (
                        200,
                        {
                            "status": "success",
                            "data": {"resultType": "matrix", "result": played.evaluate(words)},
                        },
                    )
                except ValueError as error:
                    code, body = (
                        400,
                        {"status": "error", "errorType": "bad_data", "error": str(error)},
                    )
                send(self, code, json.dumps(body).encode())

            def log_message(self, format: str, *args: object) -> None:
                """Logs nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(
            target=self.server.serve_forever,
            kwargs={"poll_interval": 0.02},
            name="played Prometheus",
        )
        self.thread.start()

    @property
    def url(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        """Ends it."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def add(self, name: str, scraped: Scraped, instance: str = "alpha:9100", **labels: str) -> None:
        """A series."""
        self.series.append(
            ({"__name__": name, "instance": instance, "job": "node", **labels}, scraped)
        )

    def evaluate(self, words: Mapping[str, str]) -> list[dict[str, Any]]:
        """The result of a range query."""
        query = words["query"]
        begin, end, step = (float(words[name]) for name in ("start", "end", "step"))
        if (end - begin) / step > 11_000:
            raise ValueError(
                "exceeded maximum resolution of 11,000 points per timeseries. Try "
                "decreasing the query resolution (?step=XX)"
            )
        grid = [begin + step * number for number in range(int((end - begin) / step) + 1)]
        if found := re.fullmatch(r"max\(timestamp\((.*)\)\)", query):
            timestamps = [
                self.seen(scraped, grid, lambda at, _: at) for _, scraped in self.chosen(found[1])
            ]
            joined = [
                (at, max(one[at] for one in timestamps if at in one))
                for at in grid
                if any(at in one for one in timestamps)
            ]
            return [_matrix({}, joined)] if joined else []
        if found := re.fullmatch(r"sum by \(mode\) \((.*)\)", query):
            sums: dict[str, dict[float, float]] = {}
            for labels, scraped in self.chosen(found[1]):
                for at, value in self.seen(scraped, grid, lambda _, value: value).items():
                    mode = sums.setdefault(labels["mode"], {})
                    mode[at] = mode.get(at, 0.0) + value
            return [
                _matrix({"mode": mode}, sorted(points.items())) for mode, points in sums.items()
            ]
        answers = [
            (labels, self.seen(scraped, grid, lambda _, value: value))
            for labels, scraped in self.chosen(query)
        ]
        return [_matrix(labels, sorted(points.items())) for labels, points in answers if points]

    def chosen(self, selector: str) -> list[tuple[Labels, Scraped]]:
        """The series that a selector matches."""
        parts = _SELECTOR.fullmatch(selector)
        if parts is None:
            raise ValueError(f'parse error: unexpected "{selector}"')
        matchers = [
            *_MATCHER.findall(parts["matchers"]),
            *([("__name__", "=", parts["name"])] if parts["name"] else []),
        ]

        def holds(labels: Labels) -> bool:
            texts = (
                (labels.get(name, ""), how, json.loads(f'"{wanted}"'))
                for name, how, wanted in matchers
            )
            return all(
                text == wanted if how == "=" else re.fullmatch(wanted, text) is not None
                for text, how, wanted in texts
            )

        return [(labels, scraped) for labels, scraped in self.series if holds(labels)]

    @staticmethod
    def seen(
        scraped: Scraped, grid: Sequence[float], value: Callable[[float, float], float]
    ) -> dict[float, float]:
        """The value of the last scrape before each moment of the grid."""
        moments = [at for at, _ in scraped]
        found = {}
        for at in grid:
            index = bisect.bisect_right(moments, at) - 1
            if index >= 0 and at - moments[index] < LOOKBACK:
                found[at] = value(*scraped[index])
        return found


def _matrix(labels: Labels, points: Sequence[tuple[float, float]]) -> dict[str, Any]:
    return {"metric": dict(labels), "values": [[at, f"{value:.15g}"] for at, value in points]}


def send(handler: BaseHTTPRequestHandler, code: int, body: bytes) -> None:
    """Answers."""
    handler.send_response(code)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def prometheus() -> Iterator[PlayedPrometheus]:
    """A server without any series."""
    server = PlayedPrometheus()
    yield server
    server.close()
