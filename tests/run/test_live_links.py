"""Outages, and captures at routers, in a run with real packets.

Ledger, capture and clock agree on every packet.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.run.stalls import unless_stalled
from trustbed.analysis.capture import analyze
from trustbed.run.api import run
from trustbed.run.execution.configurations import has_events
from trustbed.scenario import load

pytestmark = [pytest.mark.quiet, pytest.mark.usefixtures("networks")]
MILLISECOND = 1_000_000
SCENARIO = """
duration = "1500ms"
warm_up = "100ms"
seed = 5
[topology]
shape = "chain"
path = ["client", "first", "server"]
[hosts.client]
[hosts.server]
[links.a]
rate = "50Mbit/s"
delay = "4ms"
queue = "200p"
up.loss = { model = "periodic", every = 100 }
[links.b]
rate = "20Mbit/s"
delay = "6ms"
queue = "100p"
up.outages = [{ at = "400ms", lasts = "100ms" }, { at = "900ms", lasts = "50ms", keeps = true }]
[workload.w]
kind = "bulk"
host = "client"
to = "server"
[background.noise]
model = "cbr"
rate = "2Mbit/s"
packet_bytes = 500
from = "client"
to = "server"
[capture]
points = ["client", "first"]
"""


@pytest.fixture(scope="module")
def repetition(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one repetition, judged."""
    directory = tmp_path_factory.mktemp("links")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRUSTBED_RUNTIME", str(directory / "registry"))
        study = directory / "study.toml"
        study.write_text(SCENARIO)
        assert has_events(load(study).first)
        run(study, directory / "run")
    return directory / "run" / "rep-000"


def ledger(repetition: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(
        repetition / "ledger" / "packets.parquet"
    ).to_pylist()
    return rows


def frames(capture: Path) -> list[tuple[int, int, bytes]]:
    """Time in nanoseconds, wire length and bytes of every packet of our pcapng files."""
    found, rest = [], capture.read_bytes()
    while rest:
        kind, length = struct.unpack_from("<II", rest)
        if kind == 6:
            _, high, low, captured_bytes, original = struct.unpack_from("<IIIII", rest, 8)
            found.append(((high << 32) | low, original, rest[28 : 28 + captured_bytes]))
        rest = rest[length:]
    return found


def test_outages_count_from_the_beginning_of_the_workload(repetition: Path) -> None:
    record = json.loads((repetition / "repetition.json").read_text())
    assert record["outcome"] == "complete", record["failures"]
    begun = record["workload_start_ns"]
    sent = [
        row
        for row in ledger(repetition)
        if row["pipe"] == "b.up" and row["departed_ns"] is not None
    ]
    lost = [row for row in sent if row["fate"] == "outage"]
    with unless_stalled(repetition):
        assert len(lost) > 10
    packet_ns = (
        1514 * 8 * 50
    )  # at 20 Mbit/s: of a packet, the first bit may fall into the outage, or the last
    dark, lit = begun + 400 * MILLISECOND, begun + 500 * MILLISECOND
    assert all(dark < row["departed_ns"] <= lit + packet_ns for row in lost)
    assert all(row["fate"] == "outage" for row in sent if dark < row["departed_ns"] < lit)
    stopped, gone_on = begun + 900 * MILLISECOND, begun + 950 * MILLISECOND
    assert not [row for row in sent if stopped < row["departed_ns"] < gone_on]
    with unless_stalled(repetition):
        assert [row for row in sent if gone_on <= row["departed_ns"] < gone_on + 20 * MILLISECOND]
    assert [row for row in sent if row["departed_ns"] < begun], "background flows before"
    dropped = {pipe["name"]: pipe["dropped"] for pipe in record["emulator"]["pipes"]}
    assert dropped["b.up"]["outage"] == len(lost)


def test_a_capture_at_a_router_is_what_passed_it_and_when(repetition: Path) -> None:
    rows = ledger(repetition)
    captured = frames(repetition / "captures" / "first.pcapng")
    passed = [row for row in rows if row["pipe"] in ("a.up", "b.down") and row["fate"] == "passed"]
    assert sorted((at, length) for at, length, _ in captured) == sorted(
        (row["due_ns"], row["length"]) for row in passed
    )
    assert [at for at, _, _ in captured] == sorted(at for at, _, _ in captured)
    before = {row["packet"] for row in rows if row["pipe"] == "a.up" and row["fate"] == "lost"}
    behind = {row["packet"] for row in rows if row["pipe"] == "b.up" and row["fate"] == "outage"}
    assert before
    assert not before & {row["packet"] for row in passed}, "what is lost before it is not seen"
    assert behind <= {row["packet"] for row in passed}, "what is lost behind it is"
    record = json.loads((repetition / "repetition.json").read_text())
    (report,) = [one["report"] for one in record["captures"] if one["point"] == "first"]
    assert (report["frames"], report["dropped_frames"], report["complete"]) == (
        len(captured),
        0,
        True,
    )
    assert all(
        len(content) == min(128, length) and content[12:14] == b"\x08\x00"
        for _, length, content in captured
    )


def test_it_is_judged_as_a_capture_in_the_middle(repetition: Path) -> None:
    transfers = pyarrow.parquet.read_table(repetition / "tables" / "transfers.parquet").to_pylist()
    own = {row["capture"]: row for row in transfers if row["workload"] == "w"}
    assert (own["client"]["at"], own["first"]["at"]) == ("sender", "middle")
    assert own["first"]["throughput_bytes_per_second"] == pytest.approx(
        own["client"]["throughput_bytes_per_second"], rel=0.1
    )


def test_the_capture_point_is_inferred(repetition: Path) -> None:
    """The capture point is inferred from the file: 4 ms before the router and 6 ms behind it."""
    transfers = analyze(
        str(repetition / "captures" / "first.pcapng"), workers=1
    ).transfers.to_pylist()
    (bulk,) = [row for row in transfers if row["src"] == "10.77.0.1"]
    assert bulk["at"] == "middle"
