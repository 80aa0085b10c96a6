"""What applications and estimators find in runs with real packets.

The bandwidth that is left, the frames of a stream, the chunks of a video.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.run.here import Trustbed
from tests.run.here import trustbed as trustbed
from tests.run.test_live import nothing_is_left, read

pytestmark = [pytest.mark.quiet, pytest.mark.usefixtures("networks")]
ESTIMATORS = """
duration = "4s"
warm_up = "200ms"
seed = 5
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
delay = "5ms"
queue = "100p"
[workload.w]
kind = "pathload"
host = "client"
to = "server"
[background.noise]
model = "cbr"
rate = "8Mbit/s"
from = "client"
to = "server"
[factors]
"workload.w.kind" = ["pathload", "pathchirp"]
"""


def test_estimators_are_compared_with_what_the_ledger_leaves(
    tmp_path: Path, trustbed: Trustbed
) -> None:
    ended = trustbed(ESTIMATORS)
    assert ended.returncode == 0, ended.stderr
    # 20 Mbit/s of frames of 1514 bytes are 19.815 Mbit/s of IP packets, of which 8 are taken.
    left = 20e6 * 1500 / 1514 - 8e6
    for number in range(2):
        directory = tmp_path / "run" / f"rep-{number:03d}"
        (row,) = pyarrow.parquet.read_table(directory / "tables" / "w.summary.parquet").to_pylist()
        assert row["available_bits_per_second"] == pytest.approx(left, rel=0.02)
        assert row["sent_ip_bytes"] > 0
        bins = pyarrow.parquet.read_table(directory / "tables" / "w.available.parquet")
        own = sum(bins.column("own_bytes").to_pylist())
        assert 0.5 * row["sent_ip_bytes"] < own <= 1.1 * row["sent_ip_bytes"]
        findings = read(directory / "findings.json")
        assert findings["unread_results"] == {}
        assert sum(findings["verdicts"].values()) == 0


PLAYERS = """
duration = "6s"
warm_up = "200ms"
seed = 5
[hosts.client]
[hosts.server]
[link]
rate = "3Mbit/s"
delay = "10ms"
queue = "50p"
[workload.udp]
kind = "media"
host = "client"
to = "server"
duration = "3s"
buffer = "500ms"
repair = true
[workload.tcp]
kind = "media"
host = "client"
to = "server"
duration = "3s"
transport = "tcp"
[workload.show]
kind = "video"
host = "client"
to = "server"
segment = "2s"
buffer = "6s"
rates = ["200kbit/s", "800kbit/s"]
"""


def test_streams_and_videos_are_played(tmp_path: Path, trustbed: Trustbed) -> None:
    ended = trustbed(PLAYERS)
    assert ended.returncode == 0, ended.stderr
    record = read(tmp_path / "run" / "rep-000" / "repetition.json")
    assert [one["outcome"] for one in record["workloads"]] == ["complete"] * 3, record["workloads"]
    tables = tmp_path / "run" / "rep-000" / "tables"

    def rows(name: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = pyarrow.parquet.read_table(
            tables / f"{name}.parquet"
        ).to_pylist()
        return found

    for name in ("udp", "tcp"):
        (shown,) = rows(f"{name}.playout")
        assert (shown["frames"], shown["parts"]) == (90, 180)
        # A part that a busy machine delivers late may be asked for again, and then comes twice.
        assert shown["packets"] - shown["duplicate_packets"] == 180
        assert (shown["lost_frames"], shown["missing_parts"]) == (0, 0)
        # A packet of 1400 bytes takes 13.8 ms: 10 ms, and 3.8 ms at 3 Mbit/s.
        delays = [row["delay_ns"] for row in rows(f"{name}.packets")]
        assert min(delays) > 10_000_000
        assert shown["delay_spread_ns"] > 0
    (shown,) = rows("udp.playout")
    # Half a second of frames, and the path.
    assert 0.48e9 < shown["start_up_ns"] < 2e9
    chunks = rows("show.chunks")
    assert [chunk["media_ns"] for chunk in chunks] == [2 * 10**9] * 3
    (seen,) = rows("show.playout")
    assert (seen["chunks"], seen["missing_chunks"], seen["failed_requests"]) == (3, 0, 0)
    # The agent counts stalls by its buffer, the table by the times of the chunks.
    assert seen["stall_ns"] == pytest.approx(sum(chunk["stall_ns"] for chunk in chunks), abs=10)
    nothing_is_left(tmp_path)
