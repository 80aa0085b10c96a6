"""Transfers and series for tests of the page and its charts.

A small model of a sender that its window always limits makes them.

The healthy sender answers every acknowledgement at once; the paused one runs for a millisecond in
every ten. Both are deterministic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from tests.report import burst_reference as reference
from tests.report import burst_traffic
from trustbed.diagnose.time_budget import STATES
from trustbed.report.transfer.model import Capture, Input, Page, Provenance
from trustbed.report.transfer.overview import Overview
from trustbed.report.transfer.selection import CHARTED

RTT = 0.020
SEGMENT = 1448
WINDOW = 40 * SEGMENT
THRESHOLD = 0.002

Columns = dict[str, list[Any]]


def _sent(pause: float, duration: float) -> list[tuple[float, float]]:
    """(time sent, time acknowledged) of every segment.

    A window of 40, one segment per acknowledgement, sent only while the sender runs.
    """
    sent: list[tuple[float, float]] = []
    while True:
        number = len(sent)
        allowed = 0.0002 * number if number < 40 else sent[number - 40][1]
        phase = allowed % 0.010
        start = allowed + 0.010 - phase if phase < pause else allowed
        if start > duration - RTT:
            return sent
        sent.append((start, start + RTT + 0.0001 * (number % 7)))


def make_series(*, pause: float = 0.0, duration: float = 1.0, lost: int = 0) -> dict[str, Any]:
    """The chart columns of such a transfer; every ``lost``-th segment is sent a second time."""
    packets = _sent(pause, duration)
    offsets = [number * SEGMENT for number in range(len(packets))]
    again = [number for number in range(len(packets)) if lost and number % lost == lost - 1]
    moments = sorted([(t, offset, "new") for (t, _), offset in zip(packets, offsets, strict=True)])
    moments = sorted(
        moments
        + [(packets[number][1] + 0.001, offsets[number], "retransmission") for number in again]
    )
    acks = sorted(acked for _, acked in packets)
    responses = [
        (t, t - packets[number - 40][1]) for number, (t, _) in enumerate(packets) if number >= 40
    ]
    waits = sorted(seconds for _, seconds in responses)
    share = [(place + 1) / len(waits) for place in range(len(waits))]
    rtts = sorted(acked - t for t, acked in packets)
    return {
        "start_ns": 1_000_000_000,
        "duration_seconds": duration,
        "segments": {
            "t": [t for t, _, _ in moments],
            "low": [low for _, low, _ in moments],
            "high": [low + SEGMENT for _, low, _ in moments],
            "kind": [kind for _, _, kind in moments],
        },
        "acks": {"t": acks, "offset": [(number + 1) * SEGMENT for number in range(len(acks))]},
        "rtt": {
            "t": [acked for _, acked in packets],
            "seconds": [acked - t for t, acked in packets],
        },
        "rto": {
            "t": acks,
            "raw_seconds": [RTT * 1.1] * len(acks),
            "linux_seconds": [RTT + 0.2] * len(acks),
        },
        "outstanding": {
            "t": [t for t, _ in packets],
            "bytes": [WINDOW // 2] * len(packets),
            "window_bytes": [WINDOW] * len(packets),
        },
        "spacing": {
            "t": [t for t, _ in responses],
            "seconds": [w / 2 for _, w in responses],
            "category": ["spacing"] * len(responses),
        },
        "response": {"t": [t for t, _ in responses], "seconds": [w for _, w in responses]},
        "rtt_cdf": {
            "seconds": rtts,
            "share": [(place + 1) / len(rtts) for place in range(len(rtts))],
        },
        "spacing_cdf": {"seconds": [w / 2 for w in waits], "share": share},
        "response_cdf": {"seconds": waits, "share": share},
        "throughput": {"t": [0.25, 0.75], "bytes_per_second": [2e6, 2.5e6]},
        "closeups": [
            _stretch(packets, responses, start, min(0.24, duration / 2))
            for start in (0.0, duration / 4, duration / 2)
        ],
    }


def _stretch(
    packets: list[tuple[float, float]],
    responses: list[tuple[float, float]],
    start: float,
    length: float,
) -> dict[str, Any]:
    """Every packet of a stretch, as the engine keeps it."""
    end = start + length
    sent = [(t, number * SEGMENT) for number, (t, _) in enumerate(packets) if start <= t <= end]
    acked = [
        (t, number * SEGMENT) for number, (_, t) in enumerate(packets, start=1) if start <= t <= end
    ]
    return {
        "start_seconds": start,
        "duration_seconds": length,
        "segments": {
            "t": [t for t, _ in sent],
            "low": [low for _, low in sent],
            "high": [low + SEGMENT for _, low in sent],
            "kind": ["new"] * len(sent),
        },
        "acks": {"t": [t for t, _ in acked], "offset": [offset for _, offset in acked]},
        "window": {"t": [t for t, _ in acked], "offset": [offset + WINDOW for _, offset in acked]},
        "responses": {
            "t": [t for t, length in responses if start <= t <= end],
            "seconds": [length for t, length in responses if start <= t <= end],
        },
    }


def spent(**shares: float) -> dict[str, float]:
    """The columns of a time budget with these shares, and nothing in every other state."""
    return {f"share_{state}": shares.get(state, 0.0) for state in STATES}


def make_transfer(name: str = "1.0", **given: object) -> dict[str, Any]:
    """A row of the transfers table as JSON carries it, judged ``trust``.

    ``given`` replaces its values.
    """
    row: dict[str, Any] = {
        "transfer": name,
        "src": "10.0.0.1",
        "src_port": 40000,
        "dst": "10.0.0.2",
        "dst_port": 5201,
        "at": "sender",
        "at_source": "handshake",
        "packets": 2000,
        "data_packets": 1900,
        "payload_bytes": 2_750_000,
        "unique_bytes": 2_700_000,
        "retransmitted_packets": 0,
        "duration_seconds": 1.0,
        "rtt_samples": 900,
        "rtt_min_seconds": RTT,
        "rtt_base_seconds": RTT,
        "rtt_mean_seconds": 0.0206,
        "rtt_path_seconds": 0.0206,
        "rtt_source": "acknowledgements",
        "spacing_source": "measured",
        "rtt_p99_seconds": 0.0212,
        "rtt_max_seconds": 0.022,
        "throughput_bytes_per_second": 2.7e6,
        "expected_bytes_per_second": 2.8e6,
        "expected_ratio": 2.7 / 2.8,
        "loss": 0.0,
        "long_pause_fraction": 0.0,
        "spacing_max_seconds": 0.009,
        "idle_open_window_fraction": 0.05,
        "idle_open_window_samples": 3,
        "idle_open_window_seconds": 0.05,
        "idle_open_window_threshold_seconds": THRESHOLD,
        "window_max_bytes": WINDOW,
        "window_closed": 0.0,
        "rwnd_limited": 0.9,
        "outstanding_max_bytes": WINDOW,
        "app_limited_fraction": 0.0,
        "steadiness": 0.8,
        "pipe_full": 0.9,
        "capacity_bytes_per_second": None,
        "capacity_source": None,
        **spent(path=0.05, window=0.9, idle_sender=0.05),
        "cause": "window_limited",
        "confidence": 0.99,
        "verdict": "trust",
        "verdict_flags": [],
        "headline": "limited by its window",
        "reasons": ["the window allows no more"],
        "causes": ["window_limited"],
        "alternatives": [],
        "next_step": "use the number",
    }
    return {**row, **given}


PAUSED = {
    "throughput_bytes_per_second": 1.2e6,
    "expected_ratio": 1.2 / 2.8,
    "idle_open_window_fraction": 0.8,
    **spent(path=0.05, window=0.15, idle_sender=0.8),
    "cause": "host_scheduling",
    "confidence": 0.9,
    "verdict": "discard",
    "headline": "the sending host stalled",
}


def make_capture(
    *transfers: dict[str, Any],
    name: str = "one",
    series: dict[str, Any] | None = None,
    facts: dict[str, Any] | None = None,
    findings: Sequence[dict[str, Any]] = (),
    skips: Sequence[dict[str, Any]] = (),
    not_judged: int = 0,
    story: str | None = None,
    beside: str | None = None,
    burst: dict[str, Any] | None = None,
    without_burst: str = "",
) -> Capture:
    """A capture of these transfers, each with a healthy sender's series unless others are given."""
    rows = transfers or (make_transfer(),)
    verdicts = {
        verdict: sum(row["verdict"] == verdict for row in rows)
        for verdict in ("discard", "review", "trust")
    }
    file = {
        "name": f"{name}.pcap",
        "format": "pcap",
        "compression": "none",
        "bytes": 9,
        "records": 9,
    }
    overview = Overview(
        name=f"{name}.pcap",
        facts=facts or {"files": [file]},
        findings=findings,
        skips=skips,
        transfers=rows,
        verdicts={**verdicts, "not_judged": not_judged},
        connections=len(rows),
    )
    drawn = {row["transfer"]: make_series() for row in rows} if series is None else series
    return Capture(
        overview=overview,
        series=drawn,
        name=name,
        story=story,
        beside=beside,
        burst=burst,
        without_burst=without_burst,
    )


def make_page(
    *captures: Capture, title: str | None = None, introduction: str | None = None
) -> Page:
    """A page of these captures."""
    provenance = Provenance(
        version="0.1.0",
        command="trustbed analyze one.pcap --report",
        started="2026-01-01T00:00:00Z",
        inputs=[Input(name="one.pcap", size_bytes=9)],
    )
    return Page(
        captures=captures or (make_capture(),),
        provenance=provenance,
        title=title,
        introduction=introduction,
    )


@pytest.fixture(scope="session")
def series() -> Callable[..., dict[str, Any]]:
    return make_series


@pytest.fixture(scope="session")
def transfer() -> Callable[..., dict[str, Any]]:
    return make_transfer


@pytest.fixture(scope="session")
def capture() -> Callable[..., Capture]:
    return make_capture


@pytest.fixture(scope="session")
def crowded() -> Callable[..., Capture]:
    """Makes a capture of as many transfers with charts as a page has, each of many points."""
    rows = [
        make_transfer(f"{number}.0", unique_bytes=10**9 - number)
        for number in range(1, CHARTED + 1)
    ]
    drawn = {
        row["transfer"]: make_series(
            duration=8.0 + 0.37 * number, pause=0.0003 * number, lost=40 + number
        )
        for number, row in enumerate(rows)
    }
    return partial(make_capture, *rows, series=drawn)


@pytest.fixture(scope="session")
def page() -> Callable[..., Page]:
    return make_page


@pytest.fixture(scope="session")
def side_by_side() -> Page:
    """A page with a healthy capture, a lossy one and a paused one beside its healthy control."""
    healthy = make_capture(
        make_transfer(),
        name="healthy",
        series={"1.0": make_series(duration=0.4)},
        story="nothing was done to it",
        not_judged=2,
    )
    lost = {
        "cause": "network_loss",
        "verdict": "review",
        "headline": "slowed by packet loss",
        "loss": 0.02,
    }
    lossy = make_capture(
        make_transfer(retransmitted_packets=40, **lost),
        name="lossy",
        series={"1.0": make_series(duration=0.4, lost=50)},
    )
    paused = make_capture(
        make_transfer(**PAUSED),
        name="paused",
        series={"1.0": make_series(duration=0.4, pause=0.009)},
        beside="healthy",
    )
    return make_page(
        healthy, lossy, paused, title="Three captures", introduction="Which of them may be used?"
    )


@pytest.fixture(scope="session")
def bursty() -> dict[str, Any]:
    """The model of traffic that a timer released, measured at the rate of its token bucket."""
    return reference.model(burst_traffic.released_by_timer(), file="timer.pcap", rate=40e6)


@pytest.fixture(scope="session")
def paced() -> dict[str, Any]:
    """The model of the same frames, evenly spaced."""
    return reference.model(burst_traffic.paced(), file="paced.pcap.gz")


@pytest.fixture(scope="session")
def uneven() -> dict[str, Any]:
    """The model of traffic of all sizes."""
    return reference.model(burst_traffic.uneven(), file="uneven.pcapng")
