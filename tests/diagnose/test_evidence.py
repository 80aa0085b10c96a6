"""The evidence vector: where each field comes from, in which unit, and that unknown stays unknown."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from trustbed.diagnose import Evidence
from trustbed.diagnose.evidence import SOURCES


def test_every_field_has_a_source_in_order() -> None:
    assert [source.field for source in SOURCES] == [field.name for field in fields(Evidence)]


def test_nothing_is_known_at_first() -> None:
    known = {field.name: getattr(Evidence(), field.name) for field in fields(Evidence)}
    assert {name: value for name, value in known.items() if value is not None} == {"stall_gaps_seconds": (), "workload": "unknown"}


def test_from_a_row(row: dict[str, Any], healthy: Evidence) -> None:
    assert Evidence.from_transfer(row) == healthy


def test_units_of_a_row() -> None:
    evidence = Evidence.from_transfer({"rtt_path_ns": 20_500_000.5, "stall_gaps_ns": [13_000_000_000, None], "duration_ns": 1})
    assert evidence.rtt_seconds == 0.0205000005
    assert evidence.stall_gaps_seconds == (13.0,)
    assert evidence.duration_seconds == 1e-9


def test_an_unseen_window_is_not_replaced_by_the_classic_one() -> None:
    assert Evidence.from_transfer({}).window_bytes is None
    assert Evidence.from_published({}).window_bytes == 65535
    assert Evidence.from_transfer({}).payload_bytes == 1448
    assert Evidence.from_transfer({}).packet_bytes == 1500


def test_null_columns_are_unknown(row: dict[str, Any]) -> None:
    assert Evidence.from_transfer(dict.fromkeys(row)) == Evidence(payload_bytes=1448, packet_bytes=1500)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_none_is_unknown(value: float) -> None:
    assert Evidence.from_transfer({"rtt_path_ns": value, "loss_rate_genuine": value}).rtt_seconds is None


def test_losses_are_seen_where_the_capture_was_taken() -> None:
    row = {"loss_rate_genuine": 0.01, "loss_receiver": 0.02, "loss_upstream": 0.03, "loss_downstream": 0.04}

    def loss(**changes: str | float | None) -> float | None:
        return Evidence.from_transfer({**row, **changes}).loss

    assert loss() == loss(at="sender") == loss(at="unknown") == 0.01
    assert loss(at="receiver") == 0.02
    assert loss(at="middle") == 0.07
    assert loss(at="middle", loss_upstream=None) == 0.04
    assert loss(at="middle", loss_upstream=None, loss_downstream=None) is None


def test_the_time_to_a_nearby_receiver_is_no_round_trip() -> None:
    # At the receiver acknowledgements follow data within microseconds; that is not the path.
    assert Evidence.from_transfer({"at": "receiver", "rtt_mean_ns": 9_000.0, "rtt_path_ns": None}).rtt_seconds is None


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
def test_capacity(measured: float | None, source: str | None, given: float | None, expected: tuple[float | None, str | None]) -> None:
    row = {"capacity_bytes_per_second": measured, "capacity_source": source}
    evidence = Evidence.from_transfer(row, capacity_bits_per_second=given)
    assert (evidence.capacity_bytes_per_second, evidence.capacity_source) == expected


def test_published_names() -> None:
    evidence = Evidence.from_published(
        {"throughput_Bps": 1.0, "window_B": 2, "rtt_s": 3.0, "cpu_util": 0.2, "stall_gaps_s": [13.0], "workload": "bulk", "bytes": 9}
    )
    assert (evidence.throughput_bytes_per_second, evidence.window_bytes, evidence.rtt_seconds) == (1.0, 2, 3.0)
    assert (evidence.cpu_utilisation, evidence.stall_gaps_seconds, evidence.workload) == (0.2, (13.0,), "bulk")
