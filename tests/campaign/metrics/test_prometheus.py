"""Observations from responses of Prometheus, valid and invalid.

Expected values are calculated by hand from what was scraped.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any, TypeAlias

import pytest

from tests.campaign.metrics.conftest import PlayedPrometheus, send
from tests.conftest import Refuses
from trustbed.campaign.metrics import prometheus as client
from trustbed.campaign.metrics.answer import Answer, SourceError
from trustbed.campaign.metrics.table import Observation, Span
from trustbed.scenario.metric_sources import Prometheus

SECOND = 1_000_000_000
T0 = 1_800_000_000
"""A whole minute."""
SPAN = Span(from_ns=T0 * SECOND, until_ns=(T0 + 60) * SECOND)
LATER = (T0 + 600) * SECOND
SCRAPES = [T0 - 7.25 + 15 * number for number in range(8)]
"""Every 15 s, at moments that no grid of whole seconds has; the last is behind the end."""


def query(
    server: PlayedPrometheus, span: Span = SPAN, now_ns: int = LATER, instance: str = "alpha:9100"
) -> Answer:
    return client.query(Prometheus(url=server.url, instance=instance), span, now_ns=now_ns)


def grows(per_second: float, scrapes: list[float] = SCRAPES) -> list[tuple[float, float]]:
    """A counter that grows evenly."""
    return [(at, 1000 + per_second * (at - scrapes[0])) for at in scrapes]


def processors(server: PlayedPrometheus, **rates: float) -> None:
    """Two processors, each with so many seconds of each mode per second."""
    for cpu in ("0", "1"):
        for mode, rate in rates.items():
            server.add("node_cpu_seconds_total", grows(rate), cpu=cpu, mode=mode)


def values(answer: Answer, metric: str, name: str | None = None) -> list[float | None]:
    return [one.value for one in answer.observations if one.metric == metric and one.name == name]


def test_processors_are_shares_of_the_node_by_the_moments_of_the_scrapes(
    prometheus: PlayedPrometheus,
) -> None:
    processors(
        prometheus,
        idle=0.5,
        user=0.25,
        system=0.125,
        iowait=0.0625,
        steal=0.03125,
        irq=0.015625,
        softirq=0.015625,
        nice=0,
    )
    answer = query(prometheus)
    used = [one for one in answer.observations if one.metric == "cpu_utilisation_share"]
    assert [(one.time_ns, one.resolution_ns) for one in used] == [
        (round(at * 1000) * 1_000_000, 15 * SECOND)
        for at in SCRAPES
        if at < T0 + 60 and at + 15 > T0
    ]
    expected = {
        "cpu_utilisation_share": 0.5,
        "cpu_user_share": 0.25,
        "cpu_system_share": 0.125,
        "cpu_nice_share": 0.0,
        "cpu_iowait_share": 0.0625,
        "cpu_steal_share": 0.03125,
        "cpu_interrupt_share": 0.03125,
        "cpu_idle_share": 0.5,
    }
    for metric, share in expected.items():
        assert values(answer, metric) == pytest.approx([share] * 5), metric
    assert answer.reached_ns is not None
    assert answer.reached_ns >= SPAN.until_ns
    assert not answer.problems


def test_steal_is_unknown_where_the_host_does_not_report_it(prometheus: PlayedPrometheus) -> None:
    processors(prometheus, idle=0.75, user=0.25)
    answer = query(prometheus)
    assert set(values(answer, "cpu_steal_share")) == {None}
    assert values(answer, "cpu_utilisation_share") == pytest.approx([0.25] * 5)


def test_counters_are_rates_and_levels_are_levels(prometheus: PlayedPrometheus) -> None:
    processors(prometheus, idle=1)
    prometheus.add("node_context_switches_total", grows(1234))
    prometheus.add("node_intr_total", grows(777))
    prometheus.add("node_netstat_Tcp_RetransSegs", grows(3))
    prometheus.add("node_netstat_Tcp_CurrEstab", [(at, 12) for at in SCRAPES])
    prometheus.add(
        "node_memory_MemAvailable_bytes", [(at, 1e9 + number) for number, at in enumerate(SCRAPES)]
    )
    prometheus.add("node_filesystem_avail_bytes", grows(1))
    prometheus.add("node_context_switches_total", grows(99), instance="beta:9100")
    answer = query(prometheus)
    assert values(answer, "context_switches_per_second") == pytest.approx([1234] * 5)
    assert values(answer, "interrupts_per_second") == pytest.approx([777] * 5)
    assert values(answer, "tcp_retransmitted_segments_per_second") == pytest.approx([3] * 5)
    assert values(answer, "tcp_established") == [12] * 5
    assert values(answer, "memory_available_bytes") == [
        1e9 + 1,
        1e9 + 2,
        1e9 + 3,
        1e9 + 4,
        1e9 + 5,
    ], "at the end of each interval"


def test_interfaces_and_what_a_cloud_held_back_have_their_names(
    prometheus: PlayedPrometheus,
) -> None:
    processors(prometheus, idle=1)
    for device, rate in (("eth0", 1e6), ("lo", 10.0)):
        prometheus.add("node_network_receive_bytes_total", grows(rate), device=device)
    prometheus.add("node_network_transmit_drop_total", grows(2), device="eth0")
    prometheus.add("node_ethtool_bw_out_allowance_exceeded", grows(5), device="eth0")
    prometheus.add("node_ethtool_queue_0_tx_cnt", grows(5), device="eth0")
    answer = query(prometheus)
    assert values(answer, "network_received_bytes_per_second", "eth0") == pytest.approx([1e6] * 5)
    assert values(answer, "network_received_bytes_per_second", "lo") == pytest.approx([10] * 5)
    assert values(answer, "network_sent_drops_per_second", "eth0") == pytest.approx([2] * 5)
    held = [one for one in answer.observations if one.metric == "driver_counter_per_second"]
    assert {(one.scope, one.name, one.counter) for one in held} == {
        ("interface", "eth0", "bw_out_allowance_exceeded")
    }
    assert [one.value for one in held] == pytest.approx([5] * 5)


def test_a_counter_that_was_set_back_says_nothing_of_that_interval(
    prometheus: PlayedPrometheus,
) -> None:
    processors(prometheus, idle=1)
    scraped = grows(10)
    prometheus.add(
        "node_intr_total", [*scraped[:3], *((at, value - 900) for at, value in scraped[3:])]
    )
    assert values(query(prometheus), "interrupts_per_second") == [
        pytest.approx(10),
        pytest.approx(10),
        None,
        pytest.approx(10),
        pytest.approx(10),
    ]


def test_scrapes_that_failed_make_longer_intervals_and_no_wrong_rates(
    prometheus: PlayedPrometheus,
) -> None:
    left = [*SCRAPES[:2], *SCRAPES[4:]]
    prometheus.add("node_cpu_seconds_total", grows(1, left), mode="idle", cpu="0")
    prometheus.add("node_intr_total", grows(40, left))
    found = [one for one in query(prometheus).observations if one.metric == "interrupts_per_second"]
    assert [one.resolution_ns // SECOND for one in found] == [15, 45, 15]
    assert [one.value for one in found] == pytest.approx([40] * 3)


def test_what_is_not_scraped_yet_is_open(prometheus: PlayedPrometheus) -> None:
    processors(prometheus, idle=1)
    prometheus.series = [
        (labels, [one for one in scraped if one[0] < T0 + 40])
        for labels, scraped in prometheus.series
    ]
    answer = query(prometheus)
    assert answer.reached_ns == T0 * SECOND + 37_750_000_000
    assert answer.reached_ns < SPAN.until_ns


def test_a_long_time_is_asked_for_in_steps_that_prometheus_answers(
    prometheus: PlayedPrometheus,
) -> None:
    processors(prometheus, idle=1)
    query(
        prometheus,
        Span(from_ns=T0 * SECOND, until_ns=(T0 + 86_400) * SECOND),
        now_ns=(T0 + 90_000) * SECOND,
    )
    (words,) = {tuple(sorted(one.items())) for one in prometheus.queries[:1]}
    assert dict(words)["step"] == "145", "86 520 s in at most 600 steps"
    assert dict(words)["start"] == f"{T0}.000"


def test_a_label_may_hold_whatever_it_holds(prometheus: PlayedPrometheus) -> None:
    strange = 'a"b\\c{d}'
    prometheus.add("node_cpu_seconds_total", grows(1), instance=strange, mode="idle")
    assert values(query(prometheus, instance=strange), "cpu_idle_share") == [1.0] * 5
    assert client._quoted("a\nb") == '"a\\U0000000ab"', "as a string in Go"


def test_an_unknown_instance_is_an_error(prometheus: PlayedPrometheus, refuses: Refuses) -> None:
    processors(prometheus, idle=1)
    with refuses(SourceError) as caught:
        query(prometheus, instance="beta:9100")
    assert not caught.value.is_away


# What is no answer.


Answers: TypeAlias = Callable[[BaseHTTPRequestHandler], None]


def raw(code: int, body: bytes) -> Answers:
    return lambda handler: send(handler, code, body)


def success(result: str) -> bytes:
    return (
        b'{"status": "success", "data": {"resultType": "matrix", "result": '
        + result.encode()
        + b"}}"
    )


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (raw(200, b"<html>It works!</html>"), "not as Prometheus does"),
        (raw(200, b""), "not as Prometheus does"),
        (raw(200, b"[" * 100_000), "not as Prometheus does"),
        (raw(200, b"[1, 2]"), "not as Prometheus does"),
        (raw(200, b'"\xff\xfe"'), "not as Prometheus does"),
        (
            raw(200, b'{"status": "success", "data": {"resultType": "vector", "result": []}}'),
            "not as Prometheus does",
        ),
        (raw(200, success('[{"metric": {}, "values": [[1]]}]')), "not as Prometheus does"),
        (raw(200, success('[{"metric": {}, "values": [["a", "b"]]}]')), "not as Prometheus does"),
        (raw(200, success('[{"metric": [], "values": []}]')), "not as Prometheus does"),
        (raw(200, success("7")), "not as Prometheus does"),
        (raw(200, success('[{"metric": {}, "values": [[1, "1e300"]]}]')), "not as Prometheus does"),
        (raw(200, success('[{"metric": {}, "values": [[1, "-5"]]}]')), "not as Prometheus does"),
        (
            raw(200, success('[{"metric": {"device": "\\ud800"}, "values": [[1, "-5"]]}]')),
            "not as Prometheus does",
        ),
        (raw(400, b'{"error": "half a letter: \\ud800"}'), r"half a letter: \?"),
        (
            raw(200, success('[{"metric": {}, "values": [[1, "NaN"], [2, "+Inf"]]}]')),
            "has no data of",
        ),
        (raw(200, success("[]")), "has no data of"),
        (raw(200, b'{"status": "error", "error": "no"}'), "Prometheus reports: no"),
        (
            raw(422, b'{"status": "error", "errorType": "execution", "error": "query timed out"}'),
            "answers 422: query timed out",
        ),
        (raw(401, b"Unauthorized"), "answers 401"),
        (raw(503, b""), "answers 503"),
        (raw(500, b"[" * 100_000), "answers 500"),
    ],
)
def test_any_answer_is_reported_in_a_line(
    prometheus: PlayedPrometheus, answer: Answers, message: str
) -> None:
    prometheus.answer = answer
    with pytest.raises(SourceError, match=message) as caught:
        query(prometheus)
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_an_answer_without_end_is_given_up(prometheus: PlayedPrometheus, refuses: Refuses) -> None:
    sent = 0

    def endless(handler: BaseHTTPRequestHandler) -> None:
        nonlocal sent
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                sent += handler.wfile.write(b" " * 65536)
        except OSError:
            handler.close_connection = True

    prometheus.answer = endless
    with refuses(SourceError):
        query(prometheus)
    assert sent < 64 << 20


def dripping(handler: BaseHTTPRequestHandler) -> None:
    """A byte now and then: no single wait is long."""
    handler.send_response(200)
    handler.end_headers()
    try:
        for _ in range(100):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.05)
    except OSError:
        handler.close_connection = True


def silent(handler: BaseHTTPRequestHandler) -> None:
    """Nothing, for long."""
    time.sleep(1)
    handler.close_connection = True


@pytest.mark.parametrize("answer", [dripping, silent])
def test_an_answer_that_takes_too_long_is_given_up(
    prometheus: PlayedPrometheus, monkeypatch: pytest.MonkeyPatch, answer: Answers, refuses: Refuses
) -> None:
    monkeypatch.setattr(client, "TIMEOUT_SECONDS", 0.3)
    prometheus.answer = answer
    began = time.monotonic()
    with refuses(SourceError) as caught:
        query(prometheus)
    assert caught.value.is_away
    assert time.monotonic() - began < 3


def test_an_absent_listener_is_reported(prometheus: PlayedPrometheus, refuses: Refuses) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with refuses(SourceError) as caught:
            client.query(
                Prometheus(url=f"http://127.0.0.1:{unused.getsockname()[1]}", instance="a"),
                SPAN,
                now_ns=LATER,
            )
    assert caught.value.is_away
    with pytest.raises(SourceError, match="does not answer"):
        client.query(
            Prometheus(url="http://no-such-host.invalid:9090", instance="a"), SPAN, now_ns=LATER
        )


def test_answers_of_some_are_kept_when_the_rest_is_refused(
    prometheus: PlayedPrometheus,
) -> None:
    processors(prometheus, idle=1)
    evaluate = prometheus.evaluate

    def refuses(words: Mapping[str, str]) -> list[dict[str, Any]]:
        if "node_network" in words["query"]:
            raise ValueError(
                "query processing would load too many samples into memory in query execution"
            )
        return evaluate(words)

    prometheus.evaluate = refuses  # type: ignore[method-assign]
    answer = query(prometheus)
    assert values(answer, "cpu_utilisation_share") == [0.0] * 5
    assert len(answer.problems) == 1
    assert "too many samples" in answer.problems[0]


def test_observations_are_all_in_the_vocabulary() -> None:
    from trustbed.campaign.metrics.table import METRICS

    metrics = {*client._LEVELS.values(), *client._COUNTERS.values(), *client._INTERFACES.values()}
    assert metrics <= set(METRICS)
    assert Observation("host", None, "load_1min", 0, 1, 0.0).counter is None
