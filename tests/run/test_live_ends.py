"""A run that was captured at both ends: what is found there is what the emulator did in between."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.run.stalls import unless_stalled
from trustbed.run.api import run

pytestmark = [pytest.mark.quiet, pytest.mark.usefixtures("networks")]
SCENARIO = """
duration = "1s"
warm_up = "100ms"
seed = 7
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
delay = "8ms"
queue = "40p"
up.loss = { model = "periodic", every = 60 }
[workload.w]
kind = "bulk"
host = "client"
to = "server"
[capture]
points = ["client", "server"]
"""


@pytest.fixture(scope="module")
def repetition(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("ends")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRUSTBED_RUNTIME", str(directory / "registry"))
        (directory / "study.toml").write_text(SCENARIO)
        run(directory / "study.toml", directory / "run")
    return directory / "run" / "rep-000"


@pytest.fixture(scope="module")
def two_point(repetition: Path) -> list[dict[str, Any]]:
    """All columns but the moments, which Python cannot hold to the nanosecond."""
    table = pyarrow.parquet.read_table(repetition / "tables" / "two_point.parquet")
    rows: list[dict[str, Any]] = table.drop_columns(["start_ns"]).to_pylist()
    return rows


def passed_and_not(repetition: Path, pipe: str) -> tuple[int, int]:
    """Packets that a link let pass, and those it did not."""
    ledger = pyarrow.parquet.read_table(
        repetition / "ledger" / "packets.parquet", columns=["pipe", "fate"]
    ).to_pylist()
    fates = [row["fate"] == "passed" for row in ledger if row["pipe"] == pipe]
    return sum(fates), len(fates) - sum(fates)


def test_what_is_lost_between_the_ends_is_what_the_link_dropped(
    repetition: Path, two_point: list[dict[str, Any]]
) -> None:
    there = [row for row in two_point if row["sender_capture"] == "first"]
    assert {
        (row["first_capture"], row["second_capture"], row["workload"]) for row in two_point
    } == {("client", "server", "w")}
    passed, dropped = passed_and_not(repetition, "link.up")
    lost = sum(row["data_frames_lost"] + row["no_payload_frames_lost"] for row in there)
    sent = sum(row["data_frames_sent"] + row["no_payload_frames_sent"] for row in there)
    undecided = sum(row["data_frames_indeterminate"] for row in there)
    assert dropped > 5
    with unless_stalled(repetition):  # a socket that is not read overflows
        assert lost <= dropped <= lost + undecided
        assert sent == passed + dropped
        assert [row["data_frames_missed"] for row in two_point] == [0] * len(two_point)


def test_no_route_is_shorter_than_its_link(two_point: list[dict[str, Any]]) -> None:
    assert all(row["owd_min_ns"] >= 8_000_000 and row["delays_negative"] == 0 for row in two_point)
    bulk = max(two_point, key=lambda row: row["data_frames_sent"])
    assert bulk["round_trip_p50_ns"] > bulk["path_p50_ns"] >= 16_000_000


def test_captures_that_could_be_joined_are_not_reported_as_apart(repetition: Path) -> None:
    assert json.loads((repetition / "findings.json").read_text())["unjoined_captures"] == {}
