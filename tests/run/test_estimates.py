"""Estimates against the available bandwidth of the ledger, with numbers that are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from trustbed.run import available_bandwidth
from trustbed.run.available_bandwidth import (
    SLICE_NS,
    BandwidthUnknownError,
    available,
    bottleneck,
    shifted,
)
from trustbed.run.workload_results import tables_of
from trustbed.scenario import Scenario, load
from trustbed.workload.estimates import Available, Bin, error_percent

SECOND, MS = 1_000_000_000, 1_000_000
EPOCH = 1_767_225_600 * SECOND
BASE = """
[hosts.client]
[hosts.server]
[workload.w]
kind = "pathload"
host = "client"
to = "server"
"""


def scenario(directory: Path, text: str) -> Scenario:
    (directory / "study.toml").write_text(text)
    return load(directory / "study.toml").first


# The definition of A: methods of the estimators' papers; the numbers are worked out by hand.


def test_what_others_send_is_taken_from_the_capacity() -> None:
    slices = {EPOCH // SLICE_NS + number: 12_500 for number in range(200)}  # 10 Mbit/s
    probes = {EPOCH // SLICE_NS + number: 2_500 for number in range(100)}  # 2 Mbit/s, first second
    found = available(20e6, slices, probes, begin_ns=EPOCH, end_ns=EPOCH + 2 * SECOND)
    assert [one.available for one in found.bins] == [12e6, 10e6]
    assert [one.own_bytes for one in found.bins] == [250_000, 0]
    assert [one.background_bytes for one in found.bins] == [1_000_000, 1_250_000]
    assert found.mean == pytest.approx(11e6)


def test_bins_begin_with_the_run_and_a_part_of_a_second_is_in_the_mean_alone() -> None:
    begin = EPOCH + 500 * MS
    slices = {EPOCH // SLICE_NS + number: 12_500 for number in range(50, 150)}  # 10 Mbit/s for 1 s
    found = available(20e6, slices, {}, begin_ns=begin, end_ns=begin + 1250 * MS)
    assert [(one.at_ns, one.available) for one in found.bins] == [(0, 10e6)]
    assert found.mean == pytest.approx(20e6 - 8 * 1_250_000 / 1.25)


def test_the_bandwidth_of_a_moment_is_that_of_its_bin() -> None:
    bins = tuple(
        Bin(at_ns=number * SECOND, background_bytes=0, own_bytes=0, available=rate)
        for number, rate in enumerate((5e6, 7e6))
    )
    found = Available(capacity=1e7, mean=6e6, bins=bins)
    assert [found.at(moment) for moment in (0, SECOND - 1, SECOND)] == [5e6, 5e6, 7e6]
    assert found.at(2 * SECOND) is None


def test_arrivals_are_moved_back_to_when_they_left_the_link() -> None:
    moved = shifted([(1000.10, 8e6), (1000.11, 4e6)], 20 * MS)
    assert dict(moved) == {100_008: 10_000, 100_009: 5_000}


@pytest.mark.parametrize(
    ("estimate", "there", "error"),
    [(11e6, 10e6, 10.0), (8e6, 10e6, -20.0), (None, 10e6, None), (1e6, 0.0, None)],
)
def test_an_error_is_relative_to_what_was_available(
    estimate: float | None, there: float, error: float | None
) -> None:
    assert error_percent(estimate, there) == (None if error is None else pytest.approx(error))


# The bottleneck of a scenario.


def test_a_link_has_a_pipe_for_each_direction(tmp_path: Path) -> None:
    text = '[link]\nrate = "15.14Mbit/s"\ndown.rate = "30.28Mbit/s"\n'
    forward = scenario(tmp_path, BASE + text)
    found = bottleneck(forward, forward.workloads[0])
    assert (found.pipe, found.capacity) == ("link.up", pytest.approx(15e6))
    swapped = BASE.replace('"client"\nto = "server"', '"server"\nto = "client"')
    backward = scenario(tmp_path, swapped + text)
    found = bottleneck(backward, backward.workloads[0])
    assert (found.pipe, found.capacity) == ("link.down", pytest.approx(30e6))


def test_the_narrowest_of_several_links_counts(tmp_path: Path) -> None:
    chain = '[topology]\nshape = "chain"\npath = ["client", "a", "server"]\n'
    links = '[links.first]\nrate = "50Mbit/s"\n[links.second]\nrate = "20Mbit/s"\n'
    found = scenario(tmp_path, BASE + chain + links)
    assert bottleneck(found, found.workloads[0]).pipe == "second.up"


def test_beside_users_of_a_model_it_is_still_the_link(tmp_path: Path) -> None:
    users = '[background.users]\nmodel = "web"\nfrom = "client"\nto = "server"\n'
    found = scenario(tmp_path, BASE + '[link]\nrate = "20Mbit/s"\n' + users)
    assert bottleneck(found, found.workloads[0]).pipe == "link.up"


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ('[link]\ndelay = "1ms"\n', "no link from client to server has a rate"),
        (
            "[link]\nrate = { steps = [{ at = '0s', rate = '2Mbit/s' }, "
            "{ at = '1s', rate = '1Mbit/s' }] }\n",
            "not constant",
        ),
        ('[link]\nrate = "9Mbit/s"\nshaper = { rate = "2Mbit/s", burst = "9kB" }\n', "constant"),
        (
            '[link]\nrate = "9Mbit/s"\n[topology]\nshape = "dumbbell"\nleft = ["client"]\n'
            'right = ["server"]\n[hosts.client.access]\nrate = "1Mbit/s"\n',
            "access link",
        ),
    ],
)
def test_a_path_without_one_constant_rate_has_no_truth(
    tmp_path: Path, keys: str, words: str
) -> None:
    found = scenario(tmp_path, BASE + keys)
    with pytest.raises(BandwidthUnknownError, match=words):
        bottleneck(found, found.workloads[0])


# A repetition on disk: a ledger of few packets, and nothing of the estimator's in its capture.


def write_ledger(directory: Path) -> None:
    """100 packets of 1514 bytes a second for two seconds on ``link.up``, and others to ignore."""
    (directory / "ledger").mkdir()
    kept = [EPOCH + number * SLICE_NS for number in range(200)]
    dropped, other = [None] * 7, [EPOCH + number * SLICE_NS for number in range(20)]
    departed = [*kept, *dropped, *other]
    pipes = ["link.up"] * (len(kept) + len(dropped)) + ["link.down"] * len(other)
    due = [None if moment is None else moment + 5 * MS for moment in departed]
    pa.parquet.write_table(
        pa.table(
            {
                "departed_ns": pa.array(departed, pa.int64()),
                "due_ns": pa.array(due, pa.int64()),
                "length": pa.array([1514] * len(departed), pa.uint32()),
                "pipe": pa.array(pipes).dictionary_encode(),
            }
        ),
        directory / "ledger" / "packets.parquet",
    )


def test_only_what_the_bottleneck_transmitted_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_ledger(tmp_path)
    (tmp_path / "captures").mkdir()
    (tmp_path / "captures" / "server.pcapng").touch()
    asked: dict[str, Any] = {}

    def windows(capture: Path, source: str, port: int, delay_ns: int) -> dict[int, int]:
        asked.update(capture=capture.name, source=source, port=port, delay_ns=delay_ns)
        return {EPOCH // SLICE_NS: 1500}

    monkeypatch.setattr(available_bandwidth, "_own", windows)
    found = scenario(tmp_path, BASE + '[link]\nrate = "15.14Mbit/s"\n')
    read = available_bandwidth.read(
        found.workloads[0], found, tmp_path, begin_ns=EPOCH, end_ns=EPOCH + 2 * SECOND
    )
    assert asked == {
        "capture": "server.pcapng",
        "source": "10.77.0.1",
        "port": 8365,
        "delay_ns": 5 * MS,
    }
    assert [one.background_bytes for one in read.bins] == [148_500, 150_000]
    assert read.bins[1].available == pytest.approx(15e6 - 1.2e6)


def test_a_repetition_without_its_ledger_or_capture_has_no_truth(tmp_path: Path) -> None:
    found = scenario(tmp_path, BASE + '[link]\nrate = "15.14Mbit/s"\n')
    extent = {"begin_ns": EPOCH, "end_ns": EPOCH + SECOND}
    with pytest.raises(BandwidthUnknownError, match="no ledger of packets"):
        available_bandwidth.read(found.workloads[0], found, tmp_path, **extent)
    write_ledger(tmp_path)
    with pytest.raises(BandwidthUnknownError, match="no capture beside server"):
        available_bandwidth.read(found.workloads[0], found, tmp_path, **extent)


# Reports become tables.

THERE = Available(
    capacity=20e6,
    mean=10e6,
    bins=tuple(
        Bin(at_ns=number * SECOND, background_bytes=1, own_bytes=2, available=rate)
        for number, rate in enumerate((8e6, 12e6))
    ),
)
SEARCHED = {
    "estimator": "pathload",
    "ending": "resolution",
    "duration_ns": 2 * SECOND,
    "sent_ip_bytes": 1000,
    "streams": {"sent": 24, "used": 23},
    "pathload": {"low_bits_per_second": 9e6, "high_bits_per_second": 12e6},
}
CHIRPED = {
    "estimator": "pathchirp",
    "ending": "time_limit",
    "duration_ns": 2 * SECOND,
    "sent_ip_bytes": 1000,
    "chirps": {"sent": 12, "used": 11},
    "pathchirp": {
        "mean_bits_per_second": 10e6,
        "mean_ip_bits_per_second": 11e6,
        "deviation_bits_per_second": 1e6,
        "estimates": [
            {"at_ns": 0, "bits_per_second": 8e6, "at_limit": False},
            {"at_ns": SECOND, "bits_per_second": 12e6, "at_limit": True},
        ],
    },
}


def tables(report: dict[str, Any], there: Available | None = THERE) -> dict[str, Any]:
    found, error = tables_of(
        {"name": "w", "kind": report["estimator"], "report": report}, Path(), there
    )
    assert error is None
    return {name: table.to_pylist() for name, table in found.items()}


def test_pathload_is_the_middle_of_its_interval() -> None:
    found = tables(SEARCHED)
    (row,) = found["estimates"]
    assert (row["estimate_bits_per_second"], row["is_bound"]) == (10.5e6, False)
    assert row["error_percent"] == pytest.approx(5)
    (whole,) = found["summary"]
    assert [whole[f"{name}error_percent"] for name in ("", "low_", "high_")] == [
        pytest.approx(value) for value in (5, -10, 20)
    ]
    assert (whole["sent_runs"], whole["used_runs"], whole["ending"]) == (24, 23, "resolution")
    # The sample's deviation of 8 and 12: the root of (4 + 4)/1.
    assert whole["available_sd_bits_per_second"] == pytest.approx(8**0.5 * 1e6)
    assert [one["available_bits_per_second"] for one in found["available"]] == [8e6, 12e6]


def test_an_interval_with_an_open_end_is_a_bound_without_error() -> None:
    interval = {"low_bits_per_second": 9e6, "high_bits_per_second": None}
    found = tables({**SEARCHED, "ending": "highest_rate", "pathload": interval})
    (row,) = found["estimates"]
    assert (row["is_bound"], row["estimate_bits_per_second"], row["error_percent"]) == (
        True,
        None,
        None,
    )


def test_every_estimate_of_pathchirp_stands_beside_its_own_second() -> None:
    found = tables(CHIRPED)
    assert [row["estimate_bits_per_second"] for row in found["estimates"]] == [
        pytest.approx(8.8e6),
        pytest.approx(13.2e6),
    ]
    assert [row["error_percent"] for row in found["estimates"]] == [pytest.approx(10)] * 2
    assert [row["is_bound"] for row in found["estimates"]] == [False, True]
    (whole,) = found["summary"]
    assert whole["error_percent"] == pytest.approx(10)
    assert whole["estimate_sd_bits_per_second"] == pytest.approx(1.1e6)


def test_chirps_whose_rates_changed_at_the_end_have_the_mean_of_all_estimates() -> None:
    series = {**CHIRPED["pathchirp"], "estimates_in_mean": 0}
    series |= dict.fromkeys(
        ("mean_bits_per_second", "mean_ip_bits_per_second", "deviation_bits_per_second")
    )
    # Packets of 280 bytes have 252 bytes of payload: 10/9 of it.
    report = {**CHIRPED, "pathchirp": series, "sent_ip_bytes": 2800, "sent_packets": 10}
    (whole,) = tables(report)["summary"]
    assert whole["estimate_bits_per_second"] == pytest.approx(10e6 * 10 / 9)
    assert whole["estimate_sd_bits_per_second"] is None


def test_without_the_truth_there_are_estimates_and_no_errors() -> None:
    found = tables(CHIRPED, None)
    assert set(found) == {"estimates", "summary"}
    assert [row["error_percent"] for row in (*found["estimates"], *found["summary"])] == [None] * 3


def test_an_estimator_that_found_nothing_has_a_summary_and_no_estimate() -> None:
    found = tables({**SEARCHED, "ending": "unusable", "pathload": None})
    assert found["estimates"] == []
    assert (found["summary"][0]["ending"], found["summary"][0]["estimates"]) == ("unusable", 0)
