"""Situations that a scenario can describe, in runs with real packets.

Rates that change, windows that are reached, a token bucket at the sender's own interface, traffic
that begins later, clients that think.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.run.here import Trustbed
from tests.run.here import trustbed as trustbed
from tests.run.stalls import unless_stalled
from tests.run.test_live import read

pytestmark = pytest.mark.usefixtures("networks")
MS = 1_000_000
PAIR = """
duration = "1s"
warm_up = "100ms"
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
delay = "2ms"
queue = "50ms"
"""
BULK = PAIR + '[workload.w]\nkind = "bulk"\nhost = "client"\nto = "server"\n'


def repetition(tmp_path: Path) -> Path:
    """The only repetition, which is complete."""
    found = tmp_path / "run" / "rep-000"
    record = read(found / "repetition.json")
    assert record["outcome"] == "complete", (record["failures"], record["workloads"])
    return found


def ledger(found: Path, pipe: str) -> list[dict[str, Any]]:
    """The packets of a pipe that passed it."""
    rows = pyarrow.parquet.read_table(found / "ledger" / "packets.parquet").to_pylist()
    return [row for row in rows if row["pipe"] == pipe and row["fate"] == "passed"]


@pytest.mark.quiet
def test_a_rate_that_falls(tmp_path: Path, trustbed: Trustbed) -> None:
    steps = '{ at = "0s", rate = "20Mbit/s" }, { at = "500ms", rate = "5Mbit/s" }'
    text = BULK.replace('"20Mbit/s"', f"{{ steps = [{steps}] }}")
    assert trustbed(text).returncode == 0
    found = repetition(tmp_path)
    record = read(found / "repetition.json")
    begin = record["workload_start_ns"]
    rows = ledger(found, "link.up")

    def carried(first: int, last: int) -> float:
        """Bits per second that left the link between two moments, in ms after the start."""
        sizes = sum(
            row["length"]
            for row in rows
            if begin + first * MS <= row["departed_ns"] < begin + last * MS
        )
        return 8e3 * sizes / (last - first)

    with unless_stalled(found):
        assert carried(200, 500) == pytest.approx(20e6, rel=0.03)
        assert carried(510, 1000) == pytest.approx(5e6, rel=0.03)


@pytest.mark.parametrize("window", [16_384, 65_536, 100_000])
def test_a_window_is_reached_and_never_exceeded(
    tmp_path: Path, trustbed: Trustbed, window: int
) -> None:
    assert trustbed(BULK + f'window = "{window}B"\n').returncode == 0
    (row,) = pyarrow.parquet.read_table(
        repetition(tmp_path) / "tables" / "transfers.parquet"
    ).to_pylist()
    # Whole segments of 1448 bytes where there is no window scale.
    assert window - 1448 < row["window_max_bytes"] <= window


@pytest.mark.quiet
def test_a_token_bucket_at_the_senders_interface(tmp_path: Path, trustbed: Trustbed) -> None:
    egress = 'egress = { rate = "10Mbit/s", burst = "16kB", queue = "50ms" }'
    assert trustbed(BULK.replace("[hosts.client]", f"[hosts.client]\n{egress}")).returncode == 0
    found = repetition(tmp_path)
    (transfer,) = read(found / "repetition.json")["workloads"][0]["report"]["transfers"]
    with unless_stalled(found):
        assert 9e6 < transfer["goodput_bits_per_second"] < 10e6
    # Nothing waits behind it.
    assert max(row["found_packets"] for row in ledger(found, "link.up")) < 15


@pytest.mark.quiet
def test_traffic_that_begins_later_and_ends_earlier(tmp_path: Path, trustbed: Trustbed) -> None:
    noise = (
        '[background.n]\nmodel = "cbr"\nrate = "1Mbit/s"\nfrom = "client"\nto = "server"\n'
        'start = "400ms"\nduration = "300ms"\npacket_bytes = 1000\n'
    )
    assert trustbed(BULK + noise).returncode == 0
    found = repetition(tmp_path)
    record = read(found / "repetition.json")
    (flow,) = record["backgrounds"]
    begun = flow["send"]["start_ns"] - record["workload_start_ns"]
    assert begun == pytest.approx(400 * MS, abs=MS)
    assert flow["send"]["offered_packets"] == pytest.approx(1e6 * 0.3 / 8000, abs=2)


@pytest.mark.quiet
def test_clients_that_think(tmp_path: Path, trustbed: Trustbed) -> None:
    pages = BULK.replace('"bulk"', '"http"') + 'object = "10kB"\nreuse = true\nthink = "50ms"\n'
    assert trustbed(pages).returncode == 0
    table = pyarrow.parquet.read_table(repetition(tmp_path) / "tables" / "w.requests.parquet")
    begun = table.column("started").cast("int64").to_pylist()
    ended = [
        at + took for at, took in zip(begun, table.column("total_ns").to_pylist(), strict=True)
    ]
    assert len(begun) > 5
    assert all(after - before >= 50 * MS for before, after in zip(ended, begun[1:], strict=False))
