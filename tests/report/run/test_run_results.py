"""Results of programs that report less than every request.

Percentiles, means, rates; one repetition; failures.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.begun_runs import EPOCH
from tests.report.run_directories import requests
from trustbed.report.run import words as run_words
from trustbed.report.run.reading import Repetition
from trustbed.report.run.results import result
from trustbed.run.directory import RunDirectory

Rows = list[dict[str, Any]]


class Bench:
    """Repetitions with the tables that a test gives them."""

    def __init__(self, path: Path) -> None:
        self._directory = RunDirectory(path)
        self._number = 0

    def repetition(
        self, this_round: int, workload: dict[str, Any] | None = None, **tables: pa.Table | Rows
    ) -> Repetition:
        entry = {
            "directory": f"rep-{self._number:03d}",
            "cell": 0,
            "round": this_round,
            "seed": 1,
            "number": self._number,
        }
        self._number += 1
        directory = str(entry["directory"])
        self._directory.begin_repetition(directory)
        self._directory.finish_repetition(
            directory,
            {"outcome": "complete", "workloads": [{"name": "w", "kind": "x", **(workload or {})}]},
        )
        with self._directory.judging(directory) as inside:
            for name, table in tables.items():
                stored = table if isinstance(table, pa.Table) else pa.Table.from_pylist(table)
                pa.parquet.write_table(stored, inside / f"w.{name}.parquet")
        self._directory.write_findings(
            directory, {"use": "trust", "why": "", "verdicts": {}, "findings": []}
        )
        return Repetition(self._directory, entry)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def of(own: Sequence[Repetition], base: Sequence[Repetition] | None = None) -> dict[str, Any]:
    return result("w", "x", own, base, seed=1).json()


def test_of_a_single_repetition_the_interval_is_within_it(bench: Bench) -> None:
    times = [0.1 + 0.001 * number for number in range(99)]
    found = of(
        [bench.repetition(0, requests=requests(times))],
        [bench.repetition(0, requests=requests([0.1] * 120))],
    )
    assert found["median_seconds"] == pytest.approx(0.149)
    assert found["median_basis"] == "requests"
    # Of 99 values the interval of the median is between the 40th and the 60th: binomial with n =
    # 99 and 1/2.
    assert found["median_low_seconds"] == pytest.approx(0.1 + 0.001 * 39)
    assert found["median_high_seconds"] == pytest.approx(0.1 + 0.001 * 59)
    point = found["slowdown"][1]
    assert point["ratio"] == pytest.approx(1.49)
    assert point["basis"] == "requests"
    assert 1.3 < point["low"] < 1.49 < point["high"] < 1.7
    assert found["flags"] == []


def test_no_interval_of_times_ends_below_zero(bench: Bench) -> None:
    # As `ab` states the times of short requests, in whole milliseconds: one or more of them.
    each = [bench.repetition(0, requests=requests([took] * 9)) for took in (0.001, 0.001, 0.009)]
    found = of(each)
    assert found["median_seconds"] == 0.001
    assert found["median_low_seconds"] == found["mean_low_seconds"] == 0.0
    assert found["median_high_seconds"] > 0.009


def test_failed_requests_are_counted_and_not_timed(bench: Bench) -> None:
    found = of([bench.repetition(0, requests=requests([0.1, None, 0.3, None, 0.2]))])
    assert (found["requests"], found["failed"], found["median_seconds"]) == (
        3,
        2,
        pytest.approx(0.2),
    )


def test_what_is_to_be_dropped_at_the_start_is(bench: Bench) -> None:
    # Requests begin every 150 ms; those of the first 0.4 s are the first three.
    one = bench.repetition(0, {"discard_seconds": 0.4}, requests=requests([0.1] * 10))
    found = of([one])
    assert (found["requests"], found["dropped_at_start"]) == (7, 3)


def test_requests_without_starts_all_count(bench: Bench) -> None:
    table = requests([0.1, 0.2, 0.3])
    index = table.schema.get_field_index("started")
    bare = table.set_column(
        index, table.schema.field(index), pa.nulls(3, table.schema.field(index).type)
    )
    found = of([bench.repetition(0, {"discard_seconds": 5.0}, requests=bare)])
    assert found["requests"] == 3


def test_failures_that_only_the_summary_knows_are_counted(bench: Bench) -> None:
    found = of(
        [
            bench.repetition(
                0, requests=requests([0.1, 0.2]), summary=[{"requests": 5, "failed_requests": 3}]
            )
        ]
    )
    assert found["failed"] == 3


def test_percentiles_of_repetitions_are_averaged(bench: Bench) -> None:
    def wrk(median: int, most: int) -> Repetition:
        rows = [
            {"share": 0.5, "response_ns": median * 10**6},
            {"share": 0.9, "response_ns": most * 10**6},
        ]
        return bench.repetition(
            bench._number % 2, percentiles=rows, summary=[{"requests": 40, "timeouts": 1}]
        )

    base, own = [wrk(10, 12), wrk(20, 25)], [wrk(30, 40), wrk(40, 60)]
    found = of(own, base)
    assert found["measure"] == "response_time"
    assert found["median_seconds"] == pytest.approx(0.035)
    assert found["p90_seconds"] == pytest.approx(0.050)
    assert (found["requests"], found["failed"]) == (80, 2)
    assert [(point["share"], point["ratio"]) for point in found["slowdown"]] == [
        (0.5, pytest.approx(35 / 15)),
        (0.9, pytest.approx(50 / 15)),
    ]
    assert found["cdf"] == [[pytest.approx(0.035), 0.5], [pytest.approx(0.050), 0.9]]


def test_a_throughput_is_slower_when_it_is_less(bench: Bench) -> None:
    def iperf3(this_round: int, megabits: float) -> Repetition:
        return bench.repetition(this_round, summary=[{"received_bits_per_second": megabits * 1e6}])

    base, own = [iperf3(0, 18.0), iperf3(1, 20.0)], [iperf3(0, 9.0), iperf3(1, 5.0)]
    found = of(own, base)
    assert found["measure"] == "throughput"
    assert found["mean_bits_per_second"] == pytest.approx(7e6)
    assert [(point["share"], point["ratio"]) for point in found["slowdown"]] == [
        (None, pytest.approx(19 / 7))
    ]
    # Round by round it is 2 and 4 times slower: of their logarithms to base 2 the interval is
    # 1.5 ± 12.706 · (1 / √2) / √2.
    point = found["slowdown"][0]
    assert point["high"] / point["ratio"] == pytest.approx(2 ** (12.7062 / 2), rel=1e-3)
    assert point["ratio"] / point["low"] == pytest.approx(2 ** (12.7062 / 2), rel=1e-3)


def test_connections_of_a_bulk_transfer_are_summed_and_directions_are_not(bench: Bench) -> None:
    bulk = [
        {"connection": 0, "goodput_bits_per_second": 3e6},
        {"connection": 1, "goodput_bits_per_second": 4e6},
    ]
    both = [
        {"direction": "upload", "received_bits_per_second": 3e6},
        {"direction": "download", "received_bits_per_second": 4e6},
    ]
    assert of([bench.repetition(0, summary=bulk)])["mean_bits_per_second"] == pytest.approx(7e6)
    assert of([bench.repetition(0, summary=both)])["mean_bits_per_second"] == pytest.approx(3e6)


def test_a_mean_is_all_that_some_programs_know(bench: Bench) -> None:
    own = [bench.repetition(0, summary=[{"replies": 9, "response_mean_ns": 3 * 10**8}])]
    base = [bench.repetition(0, summary=[{"replies": 9, "response_mean_ns": 10**8}])]
    found = of(own, base)
    assert found["measure"] == "mean_response_time"
    assert found["slowdown"][0]["ratio"] == pytest.approx(3.0)
    assert found["slowdown"][0]["low"] is None
    assert found["mean_basis"] is None


def test_a_workload_without_a_result_has_no_measure(bench: Bench) -> None:
    found = of([bench.repetition(0)], [bench.repetition(0)])
    assert (found["measure"], found["repetitions"]) == (None, 0)


def test_without_a_baseline_nothing_is_compared(bench: Bench) -> None:
    found = of([bench.repetition(0, requests=requests([0.1], start=EPOCH))], None)
    assert (found["slowdown"], found["flags"]) == ([], [])


def test_a_round_without_its_baseline_is_held_against_the_median_of_all(bench: Bench) -> None:
    own = [bench.repetition(number, requests=requests([0.3] * 3)) for number in (0, 1)]
    base = [bench.repetition(0, requests=requests([0.1] * 3))]
    point = of(own, base)["slowdown"][1]
    assert (point["ratio"], point["low"], point["high"]) == (
        pytest.approx(3.0),
        pytest.approx(3.0),
        pytest.approx(3.0),
    )


def summary(error: float | None, low: float | None, high: float | None) -> Rows:
    """The summary of an estimator."""
    return [
        {
            "error_percent": error,
            "low_bits_per_second": low,
            "high_bits_per_second": high,
            "estimate_bits_per_second": None,
            "available_bits_per_second": 10e6,
            "estimates": int(low is not None),
        }
    ]


def test_an_estimator_has_the_error_of_each_repetition(bench: Bench) -> None:
    given = [(5.0, 9e6, 12e6), (-1.0, 8e6, 11e6), (None, 9e6, None), (None, None, None)]
    repetitions = [
        bench.repetition(number, summary=summary(*one)) for number, one in enumerate(given)
    ]
    found = result("w", "pathload", repetitions, None, seed=1)
    assert (found.measure, found.unit, found.repetitions) == ("estimation_error", "percent", 3)
    assert found.mean is not None
    assert found.mean.value == pytest.approx(2)
    assert found.mean.basis == "repetitions"
    json = found.json()
    assert json["mean_percent"] == pytest.approx(2)
    # The sample's deviation of 5 and -1: the root of (9 + 9)/1.
    assert json["bandwidth"]["error_sd_percent"] == pytest.approx(18**0.5)
    assert json["bandwidth"]["low_mean_bits_per_second"] == pytest.approx(26e6 / 3)
    assert json["bandwidth"]["high_repetitions"] == 2
    assert run_words.middle(found)[1] == "+2.0 %"
    assert run_words.measure_of(found) == "error of the estimate"


SHOWN: dict[str, float | None] = {
    "start_up_ns": 500_000_000,
    "stalls": 2,
    "stall_ns": 10**9,
    "rebuffer_ratio": 0.1,
}


def played(bench: Bench, this_round: int, **values: float | None) -> Repetition:
    return bench.repetition(this_round, playout=[SHOWN | values])


def test_media_streams_are_compared_by_their_jitter(bench: Bench) -> None:
    def media(this_round: int, spread: int, lost: int) -> Repetition:
        values = {"delay_spread_ns": spread, "frames": 100, "lost_frames": lost}
        shown = {**SHOWN, **values, "parts": 200, "late_parts": 10, "adequate_share": 0.5}
        gaps = [{"gap_ns": gap} for gap in (None, 10**6, 10**6, 3 * 10**6)]
        return bench.repetition(this_round, playout=[shown], packets=gaps)

    base, own = [media(0, 10**6, 0), media(1, 10**6, 0)], [media(0, 10**7, 4), media(1, 10**7, 8)]
    found = of(own, base)
    assert (found["measure"], found["mean_seconds"]) == ("jitter", pytest.approx(0.01))
    assert [point["ratio"] for point in found["slowdown"]] == [pytest.approx(10)]
    # Of six gaps in two repetitions four are of 1 ms, two of 3 ms.
    assert found["cdf"] == [[0.001, pytest.approx(2 / 3)], [0.003, 1.0]]
    assert found["playout"] == {
        "start_up_seconds": 0.5,
        "stalls": 2,
        "stall_seconds": 1.0,
        "rebuffer_ratio": pytest.approx(0.1),
        "lost_frames_share": pytest.approx(0.06),
        "late_parts_share": pytest.approx(0.05),
        "adequate_share": 0.5,
        "switches": None,
        "missing_chunks": None,
    }


def test_videos_are_compared_by_their_rate(bench: Bench) -> None:
    def video(rate: float) -> Repetition:
        return played(bench, 0, mean_rate_bits_per_second=rate, switches=3, missing_chunks=0)

    found = of([video(1e6)], [video(4e6)])
    assert (found["measure"], found["mean_bits_per_second"]) == ("video_rate", 1e6)
    assert [point["ratio"] for point in found["slowdown"]] == [4.0]
    assert (found["playout"]["switches"], found["playout"]["lost_frames_share"]) == (3, None)


def test_a_stream_of_which_nothing_came_has_no_result(bench: Bench) -> None:
    found = of([played(bench, 0, delay_spread_ns=None)])
    assert (found["measure"], found["repetitions"]) == (None, 0)
    assert "playout" not in found
