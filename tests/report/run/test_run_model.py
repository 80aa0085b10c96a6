"""The model of a run against numbers found with paper and pencil.

Runs that are half done, not judged, or damaged.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.report.run_directories import LATE, STUDY, make_run
from trustbed.report.run import model as run_model
from trustbed.report.run.model import read_model
from trustbed.report.run.records import Users
from trustbed.run.directory import RunDirectoryError

Model = dict[str, Any]

STUDENT_2 = 4.302653
"""Student's t for 2 degrees of freedom at 95 %, from any table."""


@pytest.fixture(scope="session")
def model(study: Path) -> Model:
    return read_json(study)


def read_json(path: Path) -> Model:
    return read_model(path).json()


def cell(model: Model, label: str) -> Model:
    return next(one for one in model["cells"] if one["label"] == label)


def fetch(model: Model, label: str) -> Model:
    found: Model = cell(model, label)["workloads"][0]
    return found


def slowdown(model: Model, label: str, share: float) -> Model:
    return next(point for point in fetch(model, label)["slowdown"] if point["share"] == share)


def test_the_cells_and_their_baseline(model: Model) -> None:
    assert [one["label"] for one in model["cells"]] == [
        "none",
        "poisson, 3.3Mbit/s",
        "poisson, 6.6Mbit/s",
        "poisson, 13.2Mbit/s",
        "cbr, 3.3Mbit/s",
        "cbr, 6.6Mbit/s",
        "cbr, 13.2Mbit/s",
    ]
    assert {one["baseline"] for one in model["cells"]} == {0}
    assert model["run"]["name"] == "study"
    assert (model["run"]["planned"], model["run"]["complete"], model["run"]["judged"]) == (
        21,
        21,
        21,
    )


def test_the_median_is_that_of_all_requests_and_its_interval_that_of_the_repetitions(
    model: Model,
) -> None:
    found = fetch(model, "none")
    # Of the 15 times of 0.40, 0.40, 0.40, 0.41, 0.42 s, each also times 1.02 and 0.99, the eighth
    # is 0.408.
    assert found["median_seconds"] == pytest.approx(0.408)
    # Medians 0.400, 0.408 and 0.396 s: their standard deviation is sqrt((0.001333² + 0.006667² +
    # 0.005333²) / 2).
    deviation = math.sqrt((0.00133333**2 + 0.00666667**2 + 0.00533333**2) / 2)
    reach = STUDENT_2 * deviation / math.sqrt(3)
    assert found["median_low_seconds"] == pytest.approx(0.408 - reach, rel=1e-5)
    assert found["median_high_seconds"] == pytest.approx(0.408 + reach, rel=1e-5)
    assert found["median_basis"] == "repetitions"
    assert (found["requests"], found["failed"], found["repetitions"]) == (15, 0, 3)


def test_the_slowdown_is_a_quantile_over_the_baselines_median(model: Model) -> None:
    point = slowdown(model, "poisson, 6.6Mbit/s", 0.5)
    assert point["ratio"] == pytest.approx(0.640 / 0.408)
    # Round by round: 0.64 s times 1.02, 0.99 and 1.00 over 0.400, 0.408 and 0.396 s.
    logs = [math.log(ratio) for ratio in (0.6528 / 0.400, 0.6336 / 0.408, 0.6400 / 0.396)]
    middle = sum(logs) / 3
    deviation = math.sqrt(sum((log - middle) ** 2 for log in logs) / 2)
    reach = math.exp(STUDENT_2 * deviation / math.sqrt(3))
    assert point["low"] == pytest.approx(0.640 / 0.408 / reach, rel=1e-5)
    assert point["high"] == pytest.approx(0.640 / 0.408 * reach, rel=1e-5)


def test_every_quantile_of_the_slowdown_is_there(model: Model) -> None:
    ratios = [point["ratio"] for point in fetch(model, "cbr, 13.2Mbit/s")["slowdown"]]
    assert [point["share"] for point in fetch(model, "cbr, 13.2Mbit/s")["slowdown"]] == [
        0.05,
        0.5,
        0.9,
        0.95,
    ]
    assert ratios == sorted(ratios)
    assert ratios[1] == pytest.approx(1.2 / 0.408)


def test_the_increase_is_over_the_baselines_mean(model: Model) -> None:
    base = 0.406 * (1.0 + 1.02 + 0.99) / 3
    mean = 0.664 * (1.0 + 1.02 + 0.99) / 3
    assert fetch(model, "poisson, 6.6Mbit/s")["increase_mean_percent"] == pytest.approx(
        100 * (mean / base - 1)
    )


def test_the_distribution_ends_at_all_requests(model: Model) -> None:
    steps = fetch(model, "none")["cdf"]
    assert steps[0][0] == pytest.approx(0.396)
    assert steps[0][1] == pytest.approx(3 / 15)
    assert steps[-1] == [pytest.approx(0.4284), 1.0]


def test_a_short_baseline_says_so(model: Model) -> None:
    assert fetch(model, "cbr, 6.6Mbit/s")["flags"] == ["short_baseline"]


def test_what_is_to_be_discarded_does_not_count(model: Model) -> None:
    late = next(one for one in model["repetitions"] if one["use"] == "discard")
    assert late["why"] == LATE["message"]
    assert late["findings"] == [LATE]
    assert late["emulator"]["p99_seconds"] == pytest.approx(0.0024)
    assert model["run"]["uses"] == {"discard": 1, "trust": 20}
    own = model["cells"][late["cell"]]
    assert (own["planned"], own["counted"], own["only_discarded"]) == (3, 2, False)
    assert own["workloads"][0]["requests"] == 10


def test_the_background_is_held_against_what_arrived(model: Model) -> None:
    found = cell(model, "cbr, 6.6Mbit/s")["backgrounds"][0]
    # 1000 packets each; 990, 980 and 970 arrived.
    assert (found["offered_packets"], found["arrived_packets"]) == (3000, 2940)
    assert found["loss_share"] == pytest.approx(0.02)
    assert found["loss_high"] == pytest.approx(0.02 + STUDENT_2 * 0.01 / math.sqrt(3), rel=1e-5)
    assert found["loss_low"] == 0.0  # a share of packets is not negative, however wide the interval
    # Whole seconds of 412,500 bytes; the last one was cut.
    assert found["offered_bits_per_second"] == pytest.approx(3.3e6)
    assert found["late_max_seconds"] == pytest.approx(0.0002)


def test_the_pipes_are_summed_up(model: Model) -> None:
    down = next(pipe for pipe in cell(model, "none")["pipes"] if pipe["name"] == "down")
    assert down["packets"] == 1200
    assert down["dropped"] == {"queue_full": 12}
    assert down["dropped_share"] == pytest.approx(0.01)
    assert down["queue_p99_seconds"] == pytest.approx(0.012)


def test_a_run_that_was_interrupted_is_read_as_far_as_it_went(tmp_path: Path) -> None:
    found = read_json(make_run(tmp_path / "half", leave_out=15).path)
    assert (found["run"]["planned"], found["run"]["complete"]) == (21, 6)
    assert found["run"]["uses"]["missing"] == 15
    assert all(one["counted"] <= 1 for one in found["cells"])
    single = next(
        one for one in found["cells"] if one["counted"] == 1 and not one["only_discarded"]
    )
    assert single["workloads"][0]["median_basis"] in ("requests", None)


def test_a_run_that_was_not_judged_has_no_verdicts_and_no_results(tmp_path: Path) -> None:
    found = read_json(make_run(tmp_path / "raw", repetitions=1, judged=False).path)
    assert found["run"]["uses"] == {"not_judged": 7}
    assert all(one["workloads"][0]["measure"] is None for one in found["cells"])
    assert found["cells"][1]["backgrounds"][0]["offered_packets"] == 1000


def test_a_cell_of_nothing_but_discarded_repetitions_shows_them_and_says_so(tmp_path: Path) -> None:
    found = read_json(make_run(tmp_path / "one", repetitions=1).path)
    assert [one["label"] for one in found["cells"] if one["only_discarded"]] == [
        found["repetitions"][-1]["label"]
    ]
    assert next(one for one in found["cells"] if one["only_discarded"])["counted"] == 1


def test_the_transfers_of_the_workloads_are_counted_by_cause(tmp_path: Path) -> None:
    directory = make_run(tmp_path / "run", repetitions=1)
    rows = [
        {"workload": workload, "verdict": verdict, "cause": cause, "rtt_mean_ns": 20e6}
        for workload, verdict, cause, count in (
            ("fetch", "trust", "slow_start", 3),
            ("fetch", "review", "network_loss", 2),
            ("fetch", "not_judged", "insufficient", 9),
            (None, "discard", "host_stall", 1),
        )
        for _ in range(count)
    ]
    pa.parquet.write_table(
        pa.Table.from_pylist(rows), directory.path / "rep-000" / "tables" / "transfers.parquet"
    )
    found = read_json(directory.path)
    wanted = [
        {"cause": "slow_start", "verdict": "trust", "count": 3},
        {"cause": "network_loss", "verdict": "review", "count": 2},
    ]
    first = found["repetitions"][0]
    assert first["transfers"] == wanted
    (workload,) = found["cells"][first["cell"]]["workloads"]
    assert workload["transfers"] == wanted
    assert workload["rtt_mean_seconds"] == 0.02
    assert found["repetitions"][1]["transfers"] == []


def test_without_background_no_cell_is_a_baseline(tmp_path: Path) -> None:
    text = (
        STUDY.split("[background.cross]")[0] + '[factors]\n"link.rate" = ["5Mbit/s", "20Mbit/s"]\n'
    )
    found = read_json(make_run(tmp_path / "run", text, repetitions=2).path)
    assert [one["baseline"] for one in found["cells"]] == [None, None]
    assert all(one["workloads"][0]["slowdown"] == [] for one in found["cells"])


def test_it_is_json(model: Model) -> None:
    assert json.loads(json.dumps(model, allow_nan=False))["schema_version"] == 1


def test_a_folder_without_a_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="no run directory"):
        read_model(tmp_path)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("repetition.json", "let trustbed run continue"),
        ("findings.json", "judge the repetition again"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, name: str, hint: str) -> None:
    directory = make_run(tmp_path / "run", repetitions=1)
    (directory.path / "rep-002" / name).write_text("{")
    with pytest.raises(RunDirectoryError, match=rf"rep-002/{name}") as caught:
        read_model(directory.path)
    assert hint in caught.value.hint


def test_a_damaged_table_is_named(tmp_path: Path) -> None:
    directory = make_run(tmp_path / "run", repetitions=1)
    (directory.path / "rep-001" / "tables" / "fetch.requests.parquet").write_bytes(b"PAR1")
    with pytest.raises(RunDirectoryError, match=r"rep-001/tables/fetch\.requests\.parquet"):
        read_model(directory.path)


def test_a_manifest_that_lacks_its_order_is_an_error(tmp_path: Path) -> None:
    directory = make_run(tmp_path / "run", repetitions=1)
    manifest = directory.manifest()
    del manifest["order"]
    directory.write_manifest(manifest)
    with pytest.raises(RunDirectoryError, match="manifest is incomplete"):
        read_model(directory.path)


def test_what_users_did_is_summed_over_repetitions() -> None:
    def sent(connections: int, open_at_once: int) -> dict[str, Any]:
        return {
            "open_connections": 1,
            "duration_ns": 2 * 10**9,
            "sessions": 5,
            "connections": connections,
            "failed_connections": 1,
            "most_open_connections": open_at_once,
            "server_sent_bytes_per_second": [1000, 3000],
            "client_sent_bytes_per_second": [100],
            "start_error": {"p99_ns": 80_000, "max_ns": 10**6},
        }

    rows = [{"name": "web", "send": sent(10, 4)}, {"name": "web", "send": sent(20, 3)}]
    found = run_model._background("web", rows)
    assert found.users == Users(
        sessions=10,
        connections=30,
        failed=2,
        most_open=4,
        server_bits_per_second=16_000.0,
        client_bits_per_second=400.0,
    )
    assert found.late_p99_seconds == pytest.approx(80e-6)
