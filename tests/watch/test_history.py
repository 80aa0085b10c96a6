"""Totals, the latest windows, the worst ones; and their forms for people and scrapers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from syrupy.assertion import SnapshotAssertion

from trustbed.report.paint import Paint
from trustbed.report.printable import printable_screen
from trustbed.watch import History, openmetrics, view
from trustbed.watch.engine import Facts, Statistics, Window
from trustbed.watch.history import COLUMNS
from trustbed.watch.scrape import parse_address

START = 1_700_000_000.0
FACTS: Facts = {
    "interface": 'e"th\\0',
    "mode": "static",
    "rate_bits_per_second": 1e9,
    "window_seconds": 0.1,
    "basis": "frame",
    "offload": "stacked",
    "timestamps": "hardware",
    "train_gap_seconds": 1e-4,
}
STATISTICS: Statistics = {
    "kernel_received": 1_234_567,
    "kernel_dropped": 89,
    "ring_full": 2,
    "filtered": 5,
    "without_ip": 0,
    "expanded_packets": 7,
    "steps_back": 1,
    "clock_steps": 1,
    "windows_left_out": 0,
    "file": {
        "path": "/somewhere/left.pcapng",
        "frames": 9,
        "frames_left_out": None,
        "bytes": None,
        "failed": False,
    },
}


def window(
    number: int,
    queue: float | None = 0.0,
    *,
    packets: int = 10,
    direction: str = "all",
    **more: Any,  # noqa: ANN401
) -> Window:
    """The window of that number, of 100 ms, with packets of 1000 bytes."""
    return {
        "direction": direction,
        "start_seconds": START + number / 10,
        "abw_bits_per_second": packets * 80_000.0,
        "max_q_bytes": queue,
        "max_q_sys_bytes": queue,
        "packets": packets,
        "bytes": packets * 1000,
        "rate_bits_per_second": 1e9,
        "partial": False,
        "windows": 1,
        "trains": min(packets, 2),
        "train_packets_mean": packets / 2,
        "train_packets_max": packets,
        "train_bytes_max": packets * 1000,
        **more,
    }


def history(*windows: Window) -> History:
    made = History(0.1)
    made.add(windows)
    return made


def test_means_and_maxima_are_over_complete_windows() -> None:
    one = history(
        window(0, 3000.0),
        window(1, 0.0, packets=0, windows=3),
        window(4, 5000.0, packets=20),
        window(5, 9e9, partial=True),
    ).all
    assert (one.windows, one.packets) == (5, 40)
    assert one.abw_mean == pytest.approx(30_000 * 8 / 0.5)
    assert one.abw_max == 1_600_000
    assert one.max_q_mean == pytest.approx(1600)
    assert one.max_q_max == 5000
    assert one.trains.packets_max == 20


def test_now_is_the_last_second() -> None:
    one = history(*(window(number, float(number), packets=number) for number in range(25))).all
    assert one.abw_now == pytest.approx(sum(range(15, 25)) * 8000)
    assert one.max_q_now == 24
    assert one.packets_now == pytest.approx(sum(range(15, 25)))


def test_nothing_is_recent_that_a_clock_set_back_left_in_the_future() -> None:
    later = [window(36_000 + number, 100.0) for number in range(10)]
    one = history(*later, *(window(number, 7.0) for number in range(3000))).all
    assert one.max_q_now == 7
    assert len(one._recent) == 10


def test_an_unknown_queue_is_in_no_mean() -> None:
    one = history(window(0, None), window(1, 400.0)).all
    assert (one.measured, one.max_q_mean, one.windows) == (1, 400, 2)
    assert history(window(0, None)).all.max_q_max is None


def test_the_worst_windows_are_stored_worst_first() -> None:
    one = history(*(window(number, float(number * 37 % 101)) for number in range(101))).all
    assert [held["max_q_bytes"] for held in one.worst] == [
        float(height) for height in range(100, 90, -1)
    ]


def test_short_windows_share_a_column_and_long_silence_is_short() -> None:
    made = History(0.01)
    made.add([window(0, float(number), start_seconds=START + number / 100) for number in range(20)])
    assert made.all.columns == [9, 19]
    made.add([window(1, 0.0, packets=0, start_seconds=START + 0.2, windows=10**9)])
    assert made.all.columns == [None] * COLUMNS


def test_directions_come_in_their_order() -> None:
    assert list(
        history(*(window(0, direction=name) for name in ("all", "out", "in"))).directions
    ) == ["in", "out", "all"]


def state(made: History, notes: tuple[str, ...] = ()) -> view.State:
    return view.State(
        history=made,
        facts=FACTS,
        statistics=STATISTICS,
        seconds=3725.0,
        notes=notes,
        metrics="http://127.0.0.1:1/metrics",
        file_bytes=12,
    )


@given(
    st.integers(40, 200),
    st.integers(1, 60),
    st.booleans(),
    st.lists(st.floats(0, 1e9), max_size=30),
)
def test_a_page_is_never_larger_than_the_terminal(
    columns: int, rows: int, ascii_only: bool, queues: list[float]
) -> None:
    made = history(
        *(
            window(number, queue, direction=name)
            for number, queue in enumerate(queues)
            for name in ("in", "out", "all")
        )
    )
    page = view.page(
        state(made, ("something happened",)),
        columns=columns,
        rows=rows,
        paint=Paint(),
        ascii_only=ascii_only,
    )
    assert len(page) <= rows
    assert max(map(len, page)) <= columns
    assert page[0].startswith('e"th\\0 · watched for 1:02:05')


def test_a_page_shows_what_matters_in_any_size(snapshot: SnapshotAssertion) -> None:
    made = history(
        *(
            window(number, 2048.0, direction=name)
            for number in range(30)
            for name in ("in", "out", "all")
        )
    )
    for rows in (14, 20, 50):
        page = "\n".join(view.page(state(made), columns=80, rows=rows, paint=Paint()))
        assert "2.05 kB" in page
        assert "89 dropped" in page
        assert "/somewhere/left.pcapng" in page
    # Moments are of the local time.
    assert re.sub(r"\d\d:\d\d(:\d\d\.\d{3})", r"HH:MM\1", page) == snapshot
    coloured = view.page(state(made), columns=80, rows=50, paint=Paint(on=True))
    assert "\x1b[1;31m89 dropped" in printable_screen("\n".join(coloured))


def test_a_sparkline_shows_zero_the_highest_and_nothing() -> None:
    assert view.sparkline([0.0, 50.0, 100.0, None], 100.0) == "▁▅█·"
    assert view.sparkline([0.0, None], None) == "▁·"
    assert view.sparkline([0.0, 100.0, None], 100.0, ascii_only=True) == "_# "


def test_openmetrics_are_read_by_a_scraper() -> None:
    made = history(
        *(
            window(number, queue, direction=name)
            for number, queue in enumerate((0.0, 1024.0, 3e9))
            for name in ("in", "out", "all")
        )
    )
    text = openmetrics.render(made, FACTS, STATISTICS, START)
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert families["trustbed_watch_interface"].samples[0].labels["interface"] == 'e"th\\0'
    (queue,) = [family for name, family in families.items() if name == "trustbed_watch_queue_bytes"]
    counts = {
        sample.labels["le"]: sample.value
        for sample in queue.samples
        if sample.labels.get("le") and sample.labels["direction"] == "in"
    }
    assert (counts["1024.0"], counts["16777216.0"], counts["+Inf"]) == (2, 2, 3)
    assert all(family.documentation for family in families.values())
    assert all(
        sample.name.endswith("_total")
        for family in families.values()
        if family.type == "counter"
        for sample in family.samples
    )
    assert families["trustbed_watch_kernel_dropped_frames"].samples[0].value == 89


def test_before_the_first_window_everything_can_be_shown() -> None:
    list(text_string_to_metric_families(openmetrics.render(History(0.1), FACTS, STATISTICS, START)))
    assert "?" in "\n".join(view.page(state(History(0.1)), columns=100, rows=40, paint=Paint()))
    assert view.summary(state(History(0.1)), Paint())
    assert " · all ?, queue ?" in view.ticker(state(History(0.1)))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("9464", ("127.0.0.1", 9464)),
        ("0.0.0.0:1", ("0.0.0.0", 1)),
        ("[::1]:2", ("::1", 2)),
        ("localhost:3", ("localhost", 3)),
    ],
)
def test_an_address_is_a_port_on_loopback_or_complete(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text", ["", "x", "1.2.3:4", "::1:80", "65536", "127.0.0.1:", "[1.2.3.4]:5"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_address(text)


def test_foreign_control_characters_are_shown_as_escapes_within_the_width() -> None:
    hostile = "\x1b]0;owned\x07\u202e\n"
    file = {**STATISTICS["file"], "path": hostile}
    state = view.State(
        history=history(window(0)),
        facts={**FACTS, "interface": hostile},
        statistics={**STATISTICS, "file": file},
        seconds=1.0,
        notes=[f"{hostile} is down"],
    )
    page = view.page(state, columns=60, rows=40, paint=Paint())
    lines = [*page, *view.summary(state, Paint())]
    assert max(map(len, page)) <= 60
    assert all(line.isprintable() for line in lines)
    for text in ("", "writing ", "wrote "):
        assert any(line.startswith(text + r"\x1b]0;owned\x07\u202e\n") for line in lines)
