"""Sums over connections: by hand, and as the papers print them."""

from __future__ import annotations

import itertools
import json
import math
import statistics
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustbed.campaign import Aggregate, Connection, aggregate, window_bound
from trustbed.campaign.records import JudgedConnection
from trustbed.campaign.statistics.aggregate import rounds_wanting
from trustbed.scenario.campaign_model import Wanted
from trustbed.workload.intervals import student

GOLDEN = json.loads(
    (Path(__file__).resolve().parents[1] / "golden" / "throughput.json").read_text(encoding="utf-8")
)
PAPER = {"window_max_bytes": 65_535, "payload_bytes_per_packet": 1368, "packet_bytes": 1420}
DATA = Connection(pair="alpha-beta", round=0, index="1", number=0, role="data")


def one(*rows: Connection) -> Aggregate:
    (found,) = aggregate(rows)
    return found


@pytest.mark.parametrize("case", GOLDEN["computed"]["cases"], ids=lambda case: case["pair"])
def test_x0_is_what_the_paper_prints(case: dict[str, float]) -> None:
    found = one(replace(DATA, **PAPER, rtt_base_seconds=case["R_s"]))
    assert found.x0 == pytest.approx(case["expect_Bps"], rel=1e-12)
    assert math.floor(found.x0 / 100) / 10 == case["paper_KBps"]
    assert found.x1 is None


def test_a_bound_without_what_it_is_made_of_is_unknown() -> None:
    known = {"window": 65_535.0, "payload": 1368.0, "packet": 1420.0, "rtt": 0.02}
    assert window_bound(**known) is not None
    for key in known:
        assert window_bound(**{**known, key: None}) is None
    assert window_bound(**{**known, "rtt": 0.0}) is None
    assert window_bound(**{**known, "window": 0.0}) is None


@pytest.mark.parametrize(
    # Lee et al., PlanetLab, Tables 3 and 4: mean throughput in KBps and mean RTT of the data. All
    # windows were what they should be.
    ("throughput", "rtt"),
    [(1073.7, 0.0556), (730.6, 0.0829), (288.6, 0.0225), (241.9, 0.0974)],
)
def test_the_windows_of_planetlab_were_as_configured(throughput: float, rtt: float) -> None:
    found = one(
        replace(DATA, **PAPER, app_bytes_per_second=throughput * 1000, rtt_mean_seconds=rtt)
    )
    assert found.exceeds_window_bound is False


def test_a_probe_of_ec2_was_faster_than_its_window_would_have_allowed() -> None:
    # 193.9 KBps at 0.213 s need at least 42.8 kB of window; the probes of PlanetLab had 16 KB.
    probe = replace(
        DATA,
        role="probe",
        app_bytes_per_second=193_900,
        rtt_mean_seconds=0.213,
        payload_bytes_per_packet=1368,
        packet_bytes=1420,
    )
    assert one(replace(probe, window_max_bytes=16_384)).exceeds_window_bound is True
    assert one(replace(probe, window_max_bytes=42_800)).exceeds_window_bound is False
    assert one(probe).exceeds_window_bound is None
    assert one(replace(probe, window_max_bytes=16_384, failure="late")).exceeds_window_bound is None


def test_the_flag_is_raised_above_eleven_tenths_and_not_at_them() -> None:
    row = replace(
        DATA,
        window_max_bytes=1000,
        payload_bytes_per_packet=1000,
        packet_bytes=1000,
        rtt_mean_seconds=1.0,
    )
    assert one(row).x1 == 1000
    assert one(replace(row, app_bytes_per_second=1100)).exceeds_window_bound is False
    assert one(replace(row, app_bytes_per_second=1100.1)).exceeds_window_bound is True
    # Only where both are known are the two compared.
    assert (
        one(
            replace(row, app_bytes_per_second=1000), replace(DATA, app_bytes_per_second=9000)
        ).exceeds_window_bound
        is False
    )


def test_failed_connections_are_counted_and_not_timed() -> None:
    found = one(
        replace(
            DATA,
            app_bytes_per_second=100.0,
            rtt_mean_seconds=0.1,
            loss_rate=0.0,
            spacing_mean_seconds=0.001,
        ),
        replace(DATA, number=1, app_bytes_per_second=300.0, rtt_mean_seconds=0.2, loss_rate=0.01),
        replace(
            DATA,
            number=2,
            app_bytes_per_second=9.0,
            failure="late",
            rtt_mean_seconds=0.6,
            loss_rate=0.5,
            spacing_mean_seconds=0.003,
        ),
        replace(DATA, round=1, failure="unconnected"),
    )
    assert (found.connections, found.failures, found.rounds, found.measured) == (4, 2, 2, 2)
    assert (found.throughput_min, found.throughput_mean, found.throughput_max) == (100, 200, 300)
    assert dict(found.throughput_quantiles) == {
        0.05: 110,
        0.25: 150,
        0.5: 200,
        0.75: 250,
        0.95: 290,
    }
    assert found.rtt_mean == pytest.approx(0.3)
    assert found.rtt_base_mean is None
    assert found.loss_mean == pytest.approx(0.17)
    assert found.spacing_mean == pytest.approx(0.002)


def test_the_mean_loss_weighs_connections_and_the_pooled_one_segments() -> None:
    found = one(
        replace(DATA, loss_rate=0.5, segments=10, retransmitted=5),
        replace(DATA, number=1, loss_rate=0.0, segments=990, retransmitted=0),
        replace(DATA, number=2, segments=None, retransmitted=7),
    )
    assert found.loss_mean == 0.25
    assert found.loss_pooled == 0.005


def test_of_nothing_there_is_nothing() -> None:
    assert aggregate([]) == ()
    found = one(replace(DATA, failure="reset"))
    counts = {
        "connections": 1,
        "failures": 1,
        "rounds": 1,
        "measured": 0,
        "throughput_quantiles": (),
    }
    names = {"pair": "alpha-beta", "index": "1", "role": "data"}
    assert asdict(found) == {name: None for name in asdict(found)} | counts | names


def test_groups_stand_in_the_order_of_the_rows() -> None:
    rows = [
        replace(DATA, pair=pair, index=index, role=role)
        for pair in "ba"
        for index in ("2", "10")
        for role in ("probe", "data")
    ]
    found = [(group.pair, group.index, group.role) for group in aggregate([*rows, *rows])]
    assert found == [(row.pair, row.index, row.role) for row in rows]


def test_an_interval_takes_one_value_of_each_round() -> None:
    rows = [
        replace(DATA, round=number, number=pair, app_bytes_per_second=value)
        for number, value in enumerate((90.0, 100.0, 110.0))
        for pair in (0, 1, 2)
    ]
    (found,) = aggregate(rows, Wanted(level=0.95, half_width=0.05))
    assert found.throughput_interval is not None
    reach = 4.3027 * 10 / math.sqrt(3)  # Student's t with 2 degrees of freedom
    assert (found.throughput_interval.low, found.throughput_interval.high) == (
        pytest.approx(100 - reach, abs=1e-3),
        pytest.approx(100 + reach, abs=1e-3),
    )
    # t(17) = 2.1098: 2.1098·10/√18 = 4.97; t(16) = 2.1199: 2.1199·10/√17 = 5.14. So 18 rounds do,
    # 17 do not.
    assert found.rounds_wanting == 15


def test_when_an_interval_is_narrow_enough_nothing_is_wanting() -> None:
    assert rounds_wanting([100.0, 100.1, 99.9] * 10, Wanted()) == 0
    assert rounds_wanting([100.0, 100.0], Wanted()) == 0
    assert rounds_wanting([100.0], Wanted()) is None
    assert rounds_wanting([], Wanted()) is None


@cache
def factor(degrees: int) -> float:
    return student(degrees)


@given(st.lists(st.floats(10, 100), min_size=2, max_size=30), st.floats(0.2, 0.5))
def test_as_many_rounds_are_wanting_as_a_search_from_the_beginning_finds(
    values: list[float], half_width: float
) -> None:
    ratio = statistics.stdev(values) / (half_width * statistics.mean(values))
    count = next(
        count for count in itertools.count(2) if factor(count - 1) * ratio <= math.sqrt(count)
    )
    assert rounds_wanting(values, Wanted(half_width=half_width)) == max(0, count - len(values))


def test_a_row_of_a_table_may_have_other_columns() -> None:
    assert Connection.of(JudgedConnection(**asdict(DATA), cause="window_limited")) == DATA
