"""The evidence vector.

Where each field comes from, in which unit, and that unknown stays unknown.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from trustbed.diagnose import Evidence
from trustbed.diagnose.evidence import SOURCES, Source


def test_every_field_has_a_source_in_order() -> None:
    assert [source.field for source in SOURCES] == [field.name for field in fields(Evidence)]


def test_nothing_is_known_at_first() -> None:
    known = {field.name: getattr(Evidence(), field.name) for field in fields(Evidence)}
    assert {name: value for name, value in known.items() if value is not None} == {
        "stall_gaps_seconds": (),
        "workload": "unknown",
    }


def test_from_a_row(row: dict[str, Any], timed: Evidence) -> None:
    assert Evidence.from_transfer(row) == timed


def test_without_shares_in_a_row_nothing_is_known_of_its_time(
    row: dict[str, Any], healthy: Evidence
) -> None:
    older = {name: value for name, value in row.items() if not name.startswith("share_")}
    assert Evidence.from_transfer(older) == healthy


def in_a_row(source: Source) -> tuple[Any, Any]:
    """A value of its column, and what it is as evidence."""
    if source.field == "stall_gaps_seconds":
        return [7_000_000_000], (7.0,)
    if source.field == "capacity_source":
        return "delivery_rate", "delivery_rate"
    if source.field in ("slow_start", "too_short"):
        return True, True
    return 7, 7 / 1e9 if str(source.column).endswith("_ns") else 7


@pytest.mark.parametrize(
    "source", [source for source in SOURCES if source.column], ids=lambda source: source.field
)
def test_a_column_reaches_its_field_and_no_other(source: Source) -> None:
    value, wanted = in_a_row(source)
    evidence, nothing = (
        Evidence.from_transfer({str(source.column): value}),
        Evidence.from_transfer({}),
    )
    assert getattr(evidence, source.field) == wanted
    changed = {
        field.name
        for field in fields(Evidence)
        if getattr(evidence, field.name) != getattr(nothing, field.name)
    }
    assert changed == {source.field}


def test_numbers_that_no_column_gives_alone() -> None:
    assert Evidence.from_transfer({"delack_suspects": 3, "rtt_samples": 12}).delayed_answers == 0.25
    assert Evidence.from_transfer({"delack_suspects": 0, "rtt_samples": 0}).delayed_answers is None
    assert (
        Evidence.from_transfer({"delack_suspects": None, "rtt_samples": 12}).delayed_answers is None
    )
    assert (
        Evidence.from_transfer(
            {"filled_reordered": 3, "reordering_dupack_series": 4, "filled_overtaken": 2}
        ).late_segments
        == 9
    )
    assert (
        Evidence.from_transfer(
            {"filled_reordered": None, "reordering_dupack_series": 4}
        ).late_segments
        == 4
    )
    late = {
        "filled_reordered": 3,
        "reordering_dupack_series": 4,
        "filled_overtaken": 2,
        "filled_lost_upstream": 1,
    }
    assert Evidence.from_transfer({**late, "at": "sender"}).late_segments == 9
    assert Evidence.from_transfer({**late, "at": "receiver"}).late_segments == 8, (
        "an answer also ends when something lost is filled"
    )
    assert (
        Evidence.from_transfer({**late, "at": "middle", "filled_lost_upstream": 9}).late_segments
        == 5
    )
    written = {
        "data_packets": 12,
        "payload_bytes": 10_000,
        "payload_bytes_per_packet": 1000,
        "trains": 4,
    }
    assert Evidence.from_transfer(written).unfilled_per_train == 0.5
    assert Evidence.from_transfer({**written, "data_packets": 9}).unfilled_per_train == 0, (
        "several packets captured as one are full"
    )
    assert Evidence.from_transfer({**written, "trains": 0}).unfilled_per_train is None
    assert Evidence.from_transfer({"spacing_source": "estimated"}).pauses_estimated is True
    assert Evidence.from_transfer({"spacing_source": "measured"}).pauses_estimated is False
    assert Evidence.from_transfer({"spacing_source": None}).pauses_estimated is None


def test_losses_beyond_their_window_are_counted_by_what_came_late() -> None:
    row = {"loss_events": 2, "filled_lost_upstream": 9}
    assert Evidence.from_transfer({**row, "at": "sender"}).loss_events == 2
    assert Evidence.from_transfer({**row, "at": "receiver"}).loss_events == 9
    assert Evidence.from_transfer({**row, "at": "middle", "loss_events": 12}).loss_events == 12
    assert Evidence.from_transfer({"at": "middle", "filled_lost_upstream": 9}).loss_events == 9
    assert (
        Evidence.from_transfer({**row, "at": "receiver", "filled_overtaken": 4}).loss_events == 5
    ), "what was overtaken was not lost"
    assert Evidence.from_transfer({**row, "at": "receiver", "filled_overtaken": 8}).loss_events == 2


def test_units_of_a_row() -> None:
    evidence = Evidence.from_transfer(
        {"rtt_path_ns": 20_500_000.5, "stall_gaps_ns": [13_000_000_000, None], "duration_ns": 1}
    )
    assert evidence.rtt_seconds == 0.0205000005
    assert evidence.stall_gaps_seconds == (13.0,)
    assert evidence.duration_seconds == 1e-9


def test_an_unseen_window_is_not_replaced_by_the_classic_one() -> None:
    assert Evidence.from_transfer({}).window_bytes is None
    assert Evidence.from_published({}).window_bytes == 65535
    assert Evidence.from_transfer({}).payload_bytes == 1448
    assert Evidence.from_transfer({}).packet_bytes == 1500


def test_null_columns_are_unknown(row: dict[str, Any]) -> None:
    assert Evidence.from_transfer(dict.fromkeys(row)) == Evidence(
        payload_bytes=1448, packet_bytes=1500
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_none_is_unknown(value: float) -> None:
    assert (
        Evidence.from_transfer({"rtt_path_ns": value, "loss_rate_genuine": value}).rtt_seconds
        is None
    )


def test_losses_are_seen_where_the_capture_was_taken() -> None:
    row = {"loss_rate_genuine": 0.01, "loss_receiver": 0.02, "loss_upstream": 0.03}

    def loss(**changes: str | float | None) -> float | None:
        return Evidence.from_transfer({**row, **changes}).loss

    assert loss() == loss(at="sender") == 0.01
    assert loss(at="unknown") == loss(at="middle"), "its holes were lost before it"
    assert loss(at="receiver") == 0.02
    assert loss(at="middle") == 0.04
    assert loss(at="middle", loss_upstream=None) == 0.01
    assert loss(at="middle", loss_upstream=None, loss_rate_genuine=None) is None


def test_the_time_to_a_nearby_receiver_is_no_round_trip() -> None:
    # At the receiver acknowledgements follow data within microseconds; that is not the path.
    assert (
        Evidence.from_transfer(
            {"at": "receiver", "rtt_mean_ns": 9_000.0, "rtt_path_ns": None}
        ).rtt_seconds
        is None
    )


@pytest.mark.parametrize(
    ("measured", "source", "given", "expected"),
    [
        (None, None, None, (None, None)),
        (2.5e6, "delivery_rate", None, (2.5e6, "delivery_rate")),
        (None, None, 20e6, (2.5e6, "given")),
        (2.4e6, "delivery_rate", 20e6, (2.4e6, "delivery_rate")),
        (2.6e6, "delivery_rate", 20e6, (2.5e6, "given")),
        (9.9e6, "given", 20e6, (2.5e6, "given")),
        (None, None, 0.0, (None, None)),
        (None, None, float("nan"), (None, None)),
    ],
)
def test_capacity(
    measured: float | None,
    source: str | None,
    given: float | None,
    expected: tuple[float | None, str | None],
) -> None:
    row = {"capacity_bytes_per_second": measured, "capacity_source": source}
    evidence = Evidence.from_transfer(row, capacity_bits_per_second=given)
    assert (evidence.capacity_bytes_per_second, evidence.capacity_source) == expected


def test_published_names() -> None:
    evidence = Evidence.from_published(
        {
            "throughput_Bps": 1.0,
            "window_B": 2,
            "rtt_s": 3.0,
            "cpu_util": 0.2,
            "stall_gaps_s": [13.0],
            "workload": "bulk",
            "bytes": 9,
        }
    )
    assert (evidence.throughput_bytes_per_second, evidence.window_bytes, evidence.rtt_seconds) == (
        1.0,
        2,
        3.0,
    )
    assert (evidence.cpu_utilisation, evidence.stall_gaps_seconds, evidence.workload) == (
        0.2,
        (13.0,),
        "bulk",
    )
