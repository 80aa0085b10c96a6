"""The parts of the page that compute.

Evidence rows, payload, thinning, selection, captions, comparison.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import hypothesis
import hypothesis.strategies as some
import pytest
from syrupy.assertion import SnapshotAssertion

from trustbed.diagnose.rules import RULES
from trustbed.diagnose.thresholds import THRESHOLDS
from trustbed.report.html.payload import Payload, columns
from trustbed.report.html.thinning import thinned
from trustbed.report.transfer import captions, charts
from trustbed.report.transfer.comparison import differences, in_a_sentence
from trustbed.report.transfer.evidence import _WAITED, measured
from trustbed.report.transfer.selection import BUDGET, CHARTED, LINES, POINT, charted, points

Make = Callable[..., Any]


def rows_of(transfer: dict[str, Any]) -> dict[str, Any]:
    return {row.term: row for row in measured(transfer, THRESHOLDS)}


@pytest.mark.parametrize(
    ("term", "column", "limit"),
    [
        ("Loss", "loss", "loss_decisive"),
        ("Idle with open window", "idle_open_window_fraction", "idle_open_window_fraction"),
        ("Pauses longer than the RTT", "long_pause_fraction", "long_pause_fraction"),
        ("Window closed", "window_closed", "window_closed"),
        ("Window full", "rwnd_limited", "rwnd_hint"),
        ("Application idle", "app_limited_fraction", "app_limited"),
    ],
)
def test_a_row_is_crossed_from_its_threshold_on(
    term: str, column: str, limit: str, transfer: Make
) -> None:
    threshold = getattr(THRESHOLDS, limit)
    assert rows_of(transfer(**{column: threshold}))[term].crossed is True
    assert rows_of(transfer(**{column: math.nextafter(threshold, 0)}))[term].crossed is False
    assert rows_of(transfer(**{column: None}))[term].crossed is None
    assert rows_of(transfer(**{column: None}))[term].reading == "unknown from this capture"


@pytest.mark.parametrize(
    ("rule", "waited"),
    [
        ("path_was_shared", "in a queue on the path"),
        ("machine_held_packets", "in the machine that captured them"),
        ("queue_stood_at_home", "in the sending host"),
        ("receiver_fell_silent", "for a host that stalled"),
        ("acknowledgements_were_held", "in the sending host, or on the path"),
    ],
)
def test_a_delay_is_where_the_verdict_found_it(rule: str, waited: str, transfer: Make) -> None:
    seen = {"rtt_path_seconds": 0.05, "rtt_base_seconds": 0.02, "rule": rule}
    delayed = transfer(**seen, causes=["network_congestion", "bandwidth_limited"])
    assert rows_of(delayed)["Round-trip time"].reading.endswith(f"waited {waited}")
    assert set(_WAITED) <= {rule.name for rule in RULES}


def test_a_delay_that_no_verdict_gives_to_the_path_may_be_a_host_s(transfer: Make) -> None:
    seen = {"rtt_path_seconds": 0.05, "rtt_base_seconds": 0.02}
    delayed = transfer(**seen, rule="window_was_filled_in_between", causes=["host_scheduling"])
    assert rows_of(delayed)["Round-trip time"].reading.endswith("on the path or in a host")


def test_throughput_is_crossed_below_its_threshold_and_unknown_without_an_expectation(
    transfer: Make,
) -> None:
    assert (
        rows_of(transfer(expected_ratio=THRESHOLDS.explained_ratio))["Throughput"].crossed is False
    )
    assert (
        rows_of(transfer(expected_ratio=THRESHOLDS.explained_ratio - 1e-9))["Throughput"].crossed
        is True
    )
    assert rows_of(transfer(expected_ratio=None))["Throughput"].crossed is None


def test_rtt_is_crossed_by_its_inflation(transfer: Make) -> None:
    assert (
        rows_of(transfer(rtt_base_seconds=0.02, rtt_path_seconds=0.0241))["Round-trip time"].crossed
        is True
    )
    assert (
        rows_of(transfer(rtt_base_seconds=0.02, rtt_path_seconds=0.0239))["Round-trip time"].crossed
        is False
    )
    assert rows_of(transfer(rtt_base_seconds=None))["Round-trip time"].crossed is None


def test_evidence_rows_are_the_same_whatever_is_known(transfer: Make) -> None:
    empty = dict.fromkeys(transfer())
    assert list(rows_of(empty)) == list(rows_of(transfer()))


def test_scales_stay_within_their_box(transfer: Make) -> None:
    wild = transfer(
        expected_ratio=9.0,
        loss=1.0,
        rtt_path_seconds=9.0,
        idle_open_window_fraction=1.0,
    )
    assert all(row.fill is None or 0 <= row.fill <= 1 for row in measured(wild, THRESHOLDS))


def test_columns_keep_numbers_to_six_digits_and_words_as_levels() -> None:
    rows = [
        {"t": 1.23456789, "n": 123456789, "word": "a"},
        {"t": 2.0, "n": 2, "word": "b"},
        {"t": math.inf, "n": None, "word": "a"},
    ]
    expected = {
        "t": [1.23457, 2, None],
        "n": [123456789, 2, None],
        "word": {"levels": ["a", "b"], "codes": [0, 1, 0]},
    }
    assert columns(rows) == expected
    assert columns([]) == {}


def test_equal_specifications_and_data_are_stored_once(series: Make) -> None:
    payload = Payload()
    first = payload.add(charts.round_trip(series()))
    alone = payload.size_bytes
    second = payload.add(charts.round_trip(series()))
    stored = json.loads(payload.text())
    assert (first, second) == (0, 1)
    assert len(stored["specs"]) == 1
    assert stored["charts"][0]["data"] == stored["charts"][1]["data"]
    assert payload.size_bytes - alone < 200
    assert payload.size_bytes == pytest.approx(len(payload.text()), rel=0.1)


def test_the_payload_can_not_end_its_script(series: Make) -> None:
    payload = Payload()
    payload.add(charts.distributions(series(), beside=("</script><!--\u2028", series())))
    text = payload.text()
    assert "<" not in text
    assert "\u2028" not in text
    assert "silence: </script><!--\u2028" in json.dumps(json.loads(text), ensure_ascii=False)


@hypothesis.given(some.lists(some.floats(0, 1), min_size=1, max_size=400), some.integers(2, 60))
def test_thinning_keeps_the_extremes_and_the_order(values: list[float], most: int) -> None:
    line = {"t": [float(place) for place in range(len(values))], "seconds": values}
    kept = thinned({"rtt": line}, most)["rtt"]
    assert kept["t"] == sorted(kept["t"])
    assert len(kept["t"]) <= most + 2
    assert {max(values), min(values)} <= set(kept["seconds"])
    assert set(zip(kept["t"], kept["seconds"], strict=True)) <= set(
        zip(line["t"], values, strict=True)
    )


def test_thinning_leaves_short_lines_alone(series: Make) -> None:
    given = series(duration=0.2)
    assert thinned(given, 10**6) == given
    assert thinned(given, 10)["duration_seconds"] == given["duration_seconds"]


def test_a_thinned_distribution_keeps_its_ends_and_its_longest_values() -> None:
    seconds = [place / 1e6 for place in range(5000)]
    kept = thinned(
        {"rtt_cdf": {"seconds": seconds, "share": [(place + 1) / 5000 for place in range(5000)]}},
        10**6,
    )["rtt_cdf"]
    assert kept["seconds"][0] == seconds[0]
    assert kept["seconds"][-20:] == seconds[-20:]
    assert kept["share"][-1] == 1
    assert len(kept["share"]) < 450


def test_thinning_looks_at_each_kind_of_segment_by_itself(series: Make) -> None:
    few = thinned(series(lost=300), 40)["segments"]
    assert few["kind"].count("retransmission") == series(lost=300)["segments"]["kind"].count(
        "retransmission"
    )


def test_charts_of_all_transfers_fit_into_the_budget() -> None:
    for count in (1, 3, CHARTED):
        assert points(count) * count * LINES * POINT <= BUDGET
    assert points(0) == points(1)


def test_captures_share_the_room_for_charts(transfer: Make) -> None:
    rows = [transfer(f"{number}.0") for number in range(30)]
    assert len(charted(rows)) == CHARTED
    assert len(charted(rows, captures=5)) == CHARTED // 5
    assert len(charted(rows, captures=100)) == 1
    assert charted([]) == []


def test_captions_state_numbers_and_what_they_do_not_know(
    transfer: Make, series: Make, snapshot: SnapshotAssertion
) -> None:
    row = transfer(expected_ratio=0.1, expected_bytes_per_second=27e6)
    assert {
        "too steep": captions.time_sequence(row, {}),
        "no queue": captions.round_trip(transfer(), THRESHOLDS),
        "a queue": captions.round_trip(transfer(rtt_path_seconds=0.03), THRESHOLDS),
        "no round trip": captions.round_trip(transfer(rtt_path_seconds=None), THRESHOLDS),
        "short spacing": captions.spacing(transfer()),
        "long spacing": captions.spacing(transfer(spacing_max_seconds=0.5)),
        "no samples": captions.distributions({}),
        "samples": captions.distributions(series(pause=0.009)),
    } == snapshot


def test_a_caption_adds_up_the_silences_inside_the_picture() -> None:
    part = {
        "start_seconds": 5.0,
        "duration_seconds": 0.1,
        "acks": {"t": [], "offset": []},
        "window": {"t": [5.0], "offset": [3000]},
        "segments": {"t": [5.0], "low": [0], "high": [1448], "kind": ["new"]},
        "silence": {"t": [5.01, 5.13], "seconds": [0.03, 0.06]},
    }
    assert "40.0 ms of 100 ms (40 %)" in captions.close_up(part)


def test_differences_are_signed_and_unknown_ones_empty(transfer: Make) -> None:
    here, control = (
        transfer(throughput_bytes_per_second=1e6, rtt_p99_seconds=None),
        transfer(throughput_bytes_per_second=2e6),
    )
    told = {row.term: row.difference for row in differences(here, control)}
    assert told["Throughput"] == "−50 %"
    assert told["Round-trip time"] == "the same"
    assert told["99th percentile of the RTT"] == ""
    assert "throughput −50 %" in in_a_sentence("control", here, control)
