"""A hand-made engine result for tests that need what no recording holds.

Hundreds of transfers, numbers that are not finite, damage.

Its tables are the real engine's: the same columns with the same types, taken from the analysis of a
capture without packets.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

import trustbed.analysis.capture
from trustbed.cli import main
from trustbed.report.transfer.contract import engine_schemas

Row = dict[str, Any]


SCHEMAS = engine_schemas()


def transfer(number: int, **columns: Any) -> Row:  # noqa: ANN401 - any column
    """A healthy transfer that is limited by its window: 30 Mbit/s for 6 s, 20 ms, no loss."""
    return {
        "transfer": f"{number}.0",
        "connection": number,
        "src": "10.0.0.1",
        "src_port": 40_000 + number % 20_000,
        "dst": "10.0.0.2",
        "dst_port": 5201,
        "at": "sender",
        "at_source": "handshake",
        "start_ns": 1_700_000_000_123_456_789,
        "duration_ns": 6_000_000_000,
        "packets": 15_600,
        "payload_bytes": 22_500_000,
        "unique_bytes": 22_500_000,
        "retransmitted_packets": 0,
        "retransmitted_bytes": 0,
        "mss": 1448,
        "payload_bytes_per_packet": 1448,
        "packet_bytes": 1500,
        "window_max_bytes": 81_120,
        "window_estimated": False,
        "rtt_samples": 7000,
        "rtt_mean_ns": 20_600_000.0,
        "rtt_path_ns": 20_600_000.0,
        "rtt_base_ns": 20_050_000.0,
        "throughput_bytes_per_second": 3_750_000.0,
        "spacing_source": "measured",
        "long_pause_fraction": 0.0,
        "idle_open_window_fraction": 0.04,
        "window_saturated": 1.0,
        "window_closed": 0.0,
        "rwnd_limited": 0.9,
        "app_limited_fraction": 0.0,
        "loss_rate_genuine": 0.0,
        "loss_events": 0,
        "too_short": False,
        "stall_gaps_ns": [],
        "flags": [],
        **columns,
    }


def starved(number: int, **columns: Any) -> Row:  # noqa: ANN401 - any column
    """A transfer whose sender was held back: discard."""
    return transfer(
        number,
        throughput_bytes_per_second=1_640_000.0,
        idle_open_window_fraction=0.8,
        rwnd_limited=0.4,
        **columns,
    )


def lossy(number: int, **columns: Any) -> Row:  # noqa: ANN401 - any column
    """A transfer slowed by loss: review."""
    return transfer(
        number,
        throughput_bytes_per_second=700_000.0,
        loss_rate_genuine=0.012,
        loss_events=40,
        **columns,
    )


def short(number: int, **columns: Any) -> Row:  # noqa: ANN401 - any column
    """A transfer too short to judge."""
    return transfer(
        number,
        unique_bytes=300,
        payload_bytes=300,
        packets=3,
        duration_ns=40_000_000,
        too_short=True,
        **columns,
    )


class Stream:
    """A table as the engine hands it over, in batches of a few rows."""

    def __init__(self, table: pa.Table, batch: int) -> None:
        self._table = table
        self._batch = batch

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        reader = pa.RecordBatchReader.from_batches(
            self._table.schema, self._table.to_batches(max_chunksize=self._batch)
        )
        return reader.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self._table.num_rows)


@dataclass
class Engine:
    """Replaces ``_core.Analysis``."""

    transfer_rows: Iterable[Row] = ()
    capture: Mapping[str, Any] = field(default_factory=dict)
    skips: list[Row] = field(default_factory=list)
    problems: list[Row] = field(default_factory=list)
    batch: int = 7

    @property
    def transfers(self) -> Stream:
        # Those that are too short to judge come last.
        rows = sorted(self.transfer_rows, key=lambda row: bool(row["too_short"]))
        return Stream(pa.Table.from_pylist(rows, schema=SCHEMAS["transfers"]), self.batch)

    @property
    def judged(self) -> Stream:
        rows = [row for row in self.transfer_rows if not row["too_short"]]
        return Stream(pa.Table.from_pylist(rows, schema=SCHEMAS["transfers"]), self.batch)

    @property
    def connections(self) -> Stream:
        rows = [
            {"connection": number, "protocol": "tcp"}
            for number in sorted({row["connection"] for row in self.transfer_rows})
        ]
        return Stream(pa.Table.from_pylist(rows, schema=SCHEMAS["connections"]), self.batch)

    @property
    def phases(self) -> Stream:
        return Stream(SCHEMAS["phases"].empty_table(), self.batch)

    @property
    def exchanges(self) -> Stream:
        return Stream(SCHEMAS["exchanges"].empty_table(), self.batch)


@dataclass(frozen=True)
class Ended:
    """How a run of the command line ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command line on a hand-made result: ``run(engine, "analyze", "x.pcap")``."""

    def runs(engine: Engine | BaseException, *arguments: str) -> Ended:
        given: list[Mapping[str, Any]] = []

        def analyze(paths: list[str], **options: Any) -> Engine:  # noqa: ANN401 - as the engine's
            given.append({"paths": paths, **options})
            if isinstance(engine, BaseException):
                raise engine
            return engine

        monkeypatch.setattr(trustbed.analysis.capture._core, "analyze", analyze)
        out, err = io.StringIO(), io.StringIO()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            code = main(arguments)
        return Ended(code, out.getvalue(), err.getvalue())

    return runs


@pytest.fixture
def made() -> type[Engine]:
    """The class of hand-made engine results."""
    return Engine


@pytest.fixture
def rows() -> Mapping[str, Callable[..., Row]]:
    """Makers of transfers by their kind."""
    return {"healthy": transfer, "starved": starved, "lossy": lossy, "short": short}
