"""The library: tables for every data frame, one transfer at a time, a notebook's view."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import trustbed
from trustbed.analysis.capture import Capture
from trustbed.analysis.options import Options

Maker = Callable[..., dict[str, Any]]
Make = Callable[..., Any]


@pytest.fixture
def capture(made: Make, rows: Mapping[str, Maker]) -> Capture:
    transfers = [rows["short"](1), rows["healthy"](2), rows["starved"](3), rows["lossy"](4)]
    return Capture(made(transfers, batch=3), Options(files=("directory/x.pcap",)))


def test_the_public_names_are_these() -> None:
    assert trustbed.__all__ == [
        "Burstiness",
        "Campaign",
        "Capture",
        "CaptureError",
        "OutputError",
        "Run",
        "RunDirectoryError",
        "Store",
        "Transfer",
        "TwoPoint",
        "__version__",
        "analyze",
        "burst",
        "campaign",
        "compare",
        "join",
        "open_campaign",
        "open_run",
        "open_store",
        "run",
    ]
    assert all(getattr(trustbed, name) is not None for name in trustbed.__all__)
    assert set(trustbed.__all__) <= set(dir(trustbed))


@pytest.mark.parametrize("attribute", ["options", "findings", "new"])
def test_results_are_read_only(capture: Capture, attribute: str) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(capture, attribute, None)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'analyse'"):
        trustbed.analyse  # noqa: B018 the access is the test


def test_the_transfers_table_carries_its_verdicts(capture: Capture) -> None:
    assert capture.transfers.column("verdict").to_pylist() == [
        "trust",
        "discard",
        "review",
        "not_judged",
    ]
    assert capture.transfers.column("cause").to_pylist() == [
        "window_limited",
        "host_scheduling",
        "network_loss",
        "insufficient",
    ]
    assert capture.transfers.schema.field("confidence").metadata[b"meaning"]


def address(array: pa.Array) -> int:
    values = array.buffers()[1]
    assert values is not None
    return int(values.address)


@pytest.fixture
def table(made: Make, rows: Mapping[str, Maker]) -> pa.Table:
    """A table in one piece: joining pieces is a copy of its own."""
    return Capture(
        made([rows["healthy"](1), rows["starved"](2)], batch=100), Options(files=("x.pcap",))
    ).transfers


def test_polars_takes_a_table_without_copying_it(table: pa.Table) -> None:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    assert frame.filter(pl.col("verdict") == "discard")["transfer"].to_list() == ["2.0"]
    for name in ("unique_bytes", "throughput_bytes_per_second", "duration_ns"):
        assert address(frame[name].to_arrow()) == address(table.column(name).chunk(0))


def test_pandas_takes_a_table_without_copying_it(table: pa.Table) -> None:
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    assert frame.loc[frame["verdict"] == "discard", "transfer"].tolist() == ["2.0"]
    for name in ("unique_bytes", "throughput_bytes_per_second", "duration_ns"):
        assert address(pa.chunked_array(frame[name].array.__arrow_array__()).chunk(0)) == address(
            table.column(name).chunk(0)
        )


def test_duckdb_queries_a_table(capture: Capture) -> None:
    transfers = capture.transfers  # noqa: F841 duckdb finds it by its name
    answer = duckdb.sql(
        "select verdict, count(*) from transfers where not too_short group by verdict "
        "order by verdict"
    ).fetchall()
    assert answer == [("discard", 1), ("review", 1), ("trust", 1)]


def test_samples_must_be_requested(capture: Capture) -> None:
    with pytest.raises(ValueError, match="samples=True"):
        capture.rtt  # noqa: B018 the access is the test
    with pytest.raises(ValueError, match="no table 'packets'"):
        capture.stream("packets")


def test_a_transfer_by_its_name(capture: Capture) -> None:
    transfer = capture.transfer("3.0")
    assert transfer.name == "3.0"
    assert transfer.diagnosis.cause == "host_scheduling"
    assert transfer.row["rtt_mean_seconds"] == 0.0206
    assert "host_scheduling" in transfer.explain()
    confidence = f"{transfer.diagnosis.confidence:.2f}"
    assert (
        repr(transfer)
        == f"<Transfer 3.0: 10.0.0.1:40003 → 10.0.0.2:5201: discard, host_scheduling, {confidence}>"
    )
    with pytest.raises(KeyError, match=r"no transfer '3\.1' in x\.pcap"):
        capture.transfer("3.1")


def test_the_most_severe_come_first_and_the_larger_among_equals(
    made: Make, rows: Mapping[str, Maker]
) -> None:
    transfers = [
        rows["healthy"](1),
        rows["lossy"](2, unique_bytes=70_000),
        rows["lossy"](3),
        rows["starved"](4),
        rows["healthy"](5),
    ]
    overview = Capture(made(transfers, batch=2), Options(files=("x.pcap",))).overview
    assert [row["transfer"] for row in overview.transfers] == ["4.0", "3.0", "2.0", "1.0", "5.0"]


def test_a_report_keeps_the_worst_of_very_many(
    made: Make, rows: Mapping[str, Maker], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trustbed.analysis.capture.SHOWN", 3)
    transfers = [rows["healthy"](number) for number in range(1, 20)] + [
        rows["starved"](20),
        rows["short"](21),
    ]
    capture = Capture(made(transfers), Options(files=("x.pcap",)))
    assert [row["transfer"] for row in capture.overview.transfers] == ["20.0", "1.0", "2.0"]
    assert (capture.overview.judged, capture.overview.not_judged) == (20, 1)


def test_summary_counts_everything(capture: Capture) -> None:
    assert capture.summary["verdicts"] == {"discard": 1, "review": 1, "trust": 1, "not_judged": 1}
    assert capture.summary["worst_verdict"] == "discard"
    assert (capture.summary["transfers"], capture.summary["judged"]) == (4, 3)
    assert repr(capture) == "<Capture x.pcap: 1 trust, 1 review, 1 discard, 1 not_judged>"


def test_what_is_not_a_number_never_reaches_json(made: Make, rows: Mapping[str, Maker]) -> None:
    transfers = [
        rows["healthy"](1, steadiness=float("nan"), rtt_inflation=float("inf")),
        rows["short"](2, throughput_bytes_per_second=float("-inf")),
    ]
    stream = io.StringIO()
    Capture(made(transfers), Options(files=("x.pcap",))).write_json(stream)
    document = json.loads(stream.getvalue(), parse_constant=pytest.fail)
    (judged,) = document["transfers"]
    assert judged["steadiness"] is judged["rtt_inflation"] is None
    (values,) = document["transfers_too_short"]["rows"]
    short = dict(zip(document["transfers_too_short"]["columns"], values, strict=True))
    assert short["throughput_bytes_per_second"] is None


def test_a_notebook_shows_the_verdicts_escaped(made: Make, rows: Mapping[str, Maker]) -> None:
    capture = Capture(made([rows["starved"](1), rows["short"](2)]), Options(files=("<b>.pcap",)))
    shown = capture._repr_html_()
    assert "&lt;b&gt;.pcap" in shown
    assert "discard" in shown
    assert "1 transfer too short to judge" in shown
    assert "host_scheduling" in capture.transfer("1.0")._repr_html_()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": "home"}, "at='home'"),
        ({"workload": "web"}, "workload='web'"),
        ({"capacity": 0}, "more than 0 bit/s"),
        ({"capacity": "fast"}, "fast"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        trustbed.analyze("x.pcap", **options)


def test_no_capture_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="no capture given"):
        trustbed.analyze([])


def test_charts_of_an_unreadable_capture_are_an_error(
    made: Make, rows: Mapping[str, Maker]
) -> None:
    capture = Capture(made([rows["healthy"](1)]), Options(files=("-",)))
    with pytest.raises(ValueError, match="series=True"):
        capture.series("1.0")


@pytest.fixture(scope="module")
def quota() -> Capture:
    recording = Path(__file__).resolve().parents[2] / "recordings" / "guest-quota.sender.pcap.gz"
    return trustbed.analyze(recording, workload="bulk", samples=True)


def test_a_recording_has_every_table(quota: Capture) -> None:
    assert quota.tables == (
        "connections",
        "transfers",
        "phases",
        "exchanges",
        "findings",
        "skips",
        "rtt",
        "spacing",
        "segments",
    )
    for name in quota.tables:
        table = getattr(quota, name)
        assert isinstance(table, pa.Table)
        assert table.schema == quota.stream(name).schema
    samples = quota.rtt.filter((pc.field("kind") != "timestamp") & (pc.field("transfer") == "12.1"))
    assert quota.transfer("12.1").row["rtt_samples"] == samples.num_rows > 3000


def test_charts_are_drawn_from_a_second_reading(quota: Capture) -> None:
    transfer = quota.transfer("12.1")
    assert {
        "time_sequence",
        "throughput",
        "round_trip",
        "outstanding",
        "spacing",
        "distributions",
    } <= set(transfer.charts)
    assert json.dumps(transfer.charts, allow_nan=False)
    assert transfer.chart("round_trip").to_dict()["layer"]
    with pytest.raises(KeyError, match="no chart 'pie'"):
        transfer.chart("pie")


def test_a_transfer_without_points_has_no_charts(quota: Capture) -> None:
    (short, *_) = [row["transfer"] for row in quota.rows() if row["verdict"] == "not_judged"]
    for spec in quota.transfer(short).charts.values():
        assert json.dumps(spec, allow_nan=False)


def test_a_capture_joins_a_page_about_several(quota: Capture) -> None:
    part = quota.for_page(name="starved", story="A guest.", beside="free", captures=5)
    assert (part.title, part.beside, list(part.series)) == ("starved", "free", ["12.1"])
