"""Outputs of real runs (fixtures/README.md) as tables, and errors of malformed ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from syrupy.assertion import SnapshotAssertion

from trustbed.workload import (
    TOOLS,
    WorkloadError,
    ab,
    curl,
    httperf,
    iperf3,
    prepare,
    read,
    tables,
    wrk,
)

Output = Callable[[str], str]
MILLISECOND = 1_000_000
MIB = 1 << 20


def only(table: pa.Table) -> dict[str, Any]:
    """The one row of a table."""
    rows: list[dict[str, Any]] = table.to_pylist()
    assert len(rows) == 1
    return rows[0]


def complaint(reader: Callable[[str], object], text: str) -> str:
    with pytest.raises(WorkloadError) as caught:
        reader(text)
    assert caught.value.hint
    return caught.value.message


def test_ab_summary_times_requests_and_percentiles(output: Output) -> None:
    files = {"requests": output("ab-requests.tsv"), "percentiles": output("ab-percentiles.csv")}
    found = read("ab", stdout=output("ab.txt"), files=files)
    summary = only(found["summary"])
    assert summary == {
        "server": "nginx/1.22.1",
        "path": "/link/1m.bin",
        "document_bytes": MIB,
        "concurrency": 3,
        "duration_ns": 1_891_000_000,
        "requests": 24,
        "failed_requests": 0,
        "failed_connect": 0,
        "failed_receive": 0,
        "failed_length": 0,
        "failed_exceptions": 0,
        "not_2xx_responses": 0,
        "keep_alive_requests": None,
        "transferred_bytes": 25_171_608,
        "body_bytes": 24 * MIB,
        "requests_per_second": 12.69,
    }
    phases = {row["phase"]: row for row in found["times"].to_pylist()}
    assert list(phases) == ["connect", "processing", "waiting", "total"]
    assert [
        phases["processing"][name] for name in ("min_ns", "mean_ns", "sd_ns", "median_ns", "max_ns")
    ] == [
        234 * MILLISECOND,
        236 * MILLISECOND,
        700_000,
        237 * MILLISECOND,
        237 * MILLISECOND,
    ]
    rows = found["requests"].to_pylist()
    assert len(rows) == 24
    assert (
        rows[0]["response_ns"],
        rows[0]["total_ns"],
        rows[0]["connect_ns"],
        rows[0]["first_byte_ns"],
    ) == (234 * MILLISECOND,) * 2 + (
        0,
        0,
    )
    assert (rows[9]["response_ns"], rows[10]["response_ns"], rows[10]["total_ns"]) == tuple(
        ms * MILLISECOND for ms in (237, 236, 237)
    )
    assert found["requests"]["started"].cast(pa.int64()).to_pylist()[:2] == [
        1_795_318_826 * 10**9,
        1_795_318_827 * 10**9,
    ]


def test_ab_prints_percentiles_beyond_its_requests_and_they_are_not_taken(output: Output) -> None:
    rows = ab.percentiles(output("ab-percentiles.csv"), completed=24).to_pylist()
    assert [row["share"] for row in rows] == [percent / 100 for percent in range(101)]
    assert [row["share"] for row in rows if row["response_ns"] is None] == [0.98, 0.99]
    times = [row["response_ns"] for row in rows if row["response_ns"] is not None]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (234_169_000, 236_906_000)
    # With more requests every rank exists.
    assert ab.percentiles(output("ab-percentiles.csv"), completed=51)["response_ns"].null_count == 0
    assert ab.percentiles(output("ab-percentiles.csv"), completed=50)["response_ns"].null_count == 1


def test_ab_counts_what_failed(output: Output) -> None:
    missing = only(ab.summary(output("ab-404.txt")))
    assert (missing["requests"], missing["failed_requests"], missing["not_2xx_responses"]) == (
        20,
        0,
        20,
    )
    varying = only(ab.summary(output("ab-lengths.txt")))
    assert (varying["failed_requests"], varying["failed_length"], varying["failed_connect"]) == (
        111,
        111,
        0,
    )
    assert varying["keep_alive_requests"] == 120


def test_wrk_summary_and_percentiles(output: Output) -> None:
    found = read("wrk", stdout=output("wrk.txt"))
    assert only(found["summary"]) == {
        "threads": 1,
        "connections": 2,
        "duration_ns": 2_100_000_000,
        "requests": 3888,
        "read_bytes": round(3.80 * (1 << 30)),
        "latency_mean_ns": 920_000,
        "latency_sd_ns": 241_380,
        "latency_max_ns": 3_760_000,
        "requests_per_second": 1851.81,
        "read_bytes_per_second": pytest.approx(1.81 * (1 << 30)),
        "failed_connect": 0,
        "failed_read": 0,
        "failed_write": 0,
        "timeouts": 0,
        "not_2xx_3xx_responses": 0,
    }
    assert found["percentiles"].to_pylist() == [
        {"share": share, "response_ns": took}
        for share, took in ((0.5, 900_000), (0.75, 1_070_000), (0.9, 1_140_000), (0.99, 1_430_000))
    ]


def test_wrk_times_nothing_beyond_its_limit(output: Output) -> None:
    found = read("wrk", stdout=output("wrk-timeout.txt"))
    summary = only(found["summary"])
    assert (summary["requests"], summary["timeouts"]) == (4, 4)
    assert (summary["latency_mean_ns"], summary["latency_max_ns"]) == (None, None)
    assert found["percentiles"].num_rows == 0
    missing = read("wrk", stdout=output("wrk-404.txt"))
    assert (only(missing["summary"])["not_2xx_3xx_responses"], missing["percentiles"].num_rows) == (
        77_156,
        0,
    )


def test_httperf_summary(output: Output) -> None:
    row = only(read("httperf", stdout=output("httperf-long.txt"))["summary"])
    assert (row["connections"], row["requests"], row["replies"], row["errors"]) == (12, 12, 12, 0)
    assert (row["duration_ns"], row["requests_per_second"]) == (6_917_000_000, 1.7)
    assert (row["first_byte_mean_ns"], row["transfer_mean_ns"], row["response_mean_ns"]) == (
        400_000,
        1_413_800_000,
        1_414_200_000,
    )
    assert (row["connection_min_ns"], row["connection_max_ns"], row["connection_sd_ns"]) == (
        1_412_400_000,
        1_417_400_000,
        1_900_000,
    )
    assert (row["status_2xx"], row["status_4xx"], row["body_bytes_mean"]) == (12, 0, float(MIB))
    assert all(value is not None for value in row.values())
    assert only(httperf.summary(output("httperf.txt")))["replies"] == 50


def test_httperf_counts_what_failed_and_times_nothing(output: Output) -> None:
    refused = only(httperf.summary(output("httperf-refused.txt")))
    assert (refused["errors"], refused["refused"], refused["timeouts"], refused["replies"]) == (
        5,
        5,
        0,
        0,
    )
    late = only(httperf.summary(output("httperf-timeout.txt")))
    assert (late["errors"], late["timeouts"], late["requests"], late["replies"]) == (3, 3, 3, 0)
    for row in (refused, late):
        assert [
            row[name]
            for name in (
                "response_mean_ns",
                "first_byte_mean_ns",
                "connection_mean_ns",
                "body_bytes_mean",
            )
        ] == [None] * 4


def test_iperf3_over_tcp(output: Output) -> None:
    found = read("iperf3", stdout=output("iperf3-tcp.json"))
    row = only(found["summary"])
    assert (row["direction"], row["protocol"], row["streams"], row["congestion_control"]) == (
        "upload",
        "TCP",
        2,
        "cubic",
    )
    assert row["error"] is None
    assert row["sent_bytes"] >= row["received_bytes"] > 0
    assert row["sent_bits_per_second"] == pytest.approx(
        row["sent_bytes"] * 8 / (row["duration_ns"] / 1e9)
    )
    streams = found["intervals"].to_pylist()
    assert [(each["stream"], each["start_ns"]) for each in streams] == [
        (5, 0),
        (7, 0),
        (5, 1_000_033_000),
        (7, 1_000_037_000),
    ]
    assert (
        streams[0]["rtt_ns"],
        streams[0]["rtt_variation_ns"],
        streams[0]["congestion_window_bytes"],
    ) == (51_000, 37_000, 5_500_572)
    assert sum(each["bytes"] for each in streams) == pytest.approx(row["sent_bytes"], rel=0.01)
    assert {each["packets"] for each in streams} == {None}


def test_iperf3_over_udp(output: Output) -> None:
    found = read("iperf3", stdout=output("iperf3-udp.json"))
    row = only(found["summary"])
    assert (row["protocol"], row["packets"], row["lost_packets"], row["retransmits"]) == (
        "UDP",
        39,
        0,
        None,
    )
    assert row["jitter_ns"] == 8250
    assert [each["packets"] for each in found["intervals"].to_pylist()] == [20, 19]


def test_iperf3_over_udp_had_one_summary_once(output: Output) -> None:
    report = json.loads(output("iperf3-udp.json"))
    whole = only(iperf3.summary(json.dumps(report)))
    sent = report["end"].pop("sum_sent")
    report["end"].pop("sum_received")
    report["end"]["sum"] = {**sent, "jitter_ms": 0.5, "lost_packets": 13, "packets": 39}
    row = only(iperf3.summary(json.dumps(report)))
    assert (row["sent_bytes"], row["packets"], row["lost_packets"]) == (whole["sent_bytes"], 39, 13)
    assert row["received_bytes"] == round(sent["bytes"] * 2 / 3)
    del report["end"]["sum"]
    with pytest.raises(WorkloadError, match="no summary"):
        iperf3.summary(json.dumps(report))


def test_iperf3_in_reverse_and_in_both_directions(output: Output) -> None:
    assert only(iperf3.summary(output("iperf3-reverse.json")))["direction"] == "download"
    rows = iperf3.summary(output("iperf3-bidir.json")).to_pylist()
    assert [row["direction"] for row in rows] == ["upload", "download"]
    assert rows[1]["sent_bytes"] == 850_657_280
    assert sorted(
        {
            (each["stream"], each["sending"])
            for each in iperf3.intervals(output("iperf3-bidir.json")).to_pylist()
        }
    ) == [
        (5, True),
        (7, False),
    ]


def test_iperf3_that_was_interrupted_does_not_know_what_arrived(output: Output) -> None:
    row = only(iperf3.summary(output("iperf3-interrupted.json")))
    assert row["error"] == "interrupt - the client has terminated"
    assert row["sent_bytes"] > 0
    assert (row["received_bytes"], row["received_bits_per_second"]) == (None, None)
    assert iperf3.intervals(output("iperf3-interrupted.json")).num_rows > 0


def test_a_tool_that_gave_up_and_output_that_is_damaged_are_refused(
    output: Output, snapshot: SnapshotAssertion
) -> None:
    def ab_percentiles(text: str) -> object:
        return ab.percentiles(text, completed=24)

    damaged = [
        (ab.summary, output("ab-refused.txt")),
        (ab.summary, ""),
        (ab.requests, "GIF89"),
        (ab.requests, output("ab-requests.tsv")[:-6]),
        (ab_percentiles, output("ab-percentiles.csv")[:-10]),
        (ab_percentiles, ""),
        (wrk.summary, output("wrk-refused.txt")),
        (wrk.summary, output("wrk.txt")[:300]),
        (wrk.summary, output("wrk.txt").replace("3.76ms", "3.76parsec")),
        (httperf.summary, "httperf: unknown host"),
        (httperf.summary, output("httperf.txt").split("Errors:")[0]),
        (iperf3.summary, output("iperf3-refused.json")),
        (iperf3.summary, output("iperf3-text.txt")),
        (iperf3.intervals, output("iperf3-tcp.json")[:-40]),
        (iperf3.summary, "{}"),
        (curl.requests, "curl: try 'curl --help'"),
        (curl.requests, output("curl.txt")[:400]),
        (curl.requests, '{"exitcode": 0}'),
    ]
    assert [complaint(reader, text) for reader, text in damaged] == snapshot


def test_curl_times_what_succeeded_and_names_what_failed(output: Output) -> None:
    rows = read("curl", stdout="a body", stderr=output("curl.txt"))["requests"].to_pylist()
    assert [(row["status"], row["bytes"]) for row in rows] == [
        (200, 4096),
        (200, MIB),
        (404, 153),
        (None, 0),
    ]
    assert [row["error"] for row in rows] == [
        None,
        None,
        "status 404",
        "Failed to connect to 127.0.0.1 port 18081 after 0 ms: Couldn't connect to server",
    ]
    assert [row["response_ns"] is None for row in rows] == [False, False, True, True]
    for row in rows[:2]:
        assert 0 < row["first_byte_ns"] <= row["response_ns"] < row["total_ns"]
    # The second transfer used the first one's connection.
    assert [row["connect_ns"] for row in rows][1:] == [0, None, None]
    assert rows[0]["connect_ns"] > 0
    late = only(curl.requests(output("curl-timeout.txt")))
    assert (late["error"], late["response_ns"], late["bytes"]) == (
        "Operation timed out after 1000 milliseconds with 229376 out of 1048576 bytes received",
        None,
        229_376,
    )
    assert only(curl.requests(output("curl-progress.txt")))["status"] == 200


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        (
            ["/usr/bin/ab", "-n", "9", "u"],
            [
                "/usr/bin/ab",
                "-g",
                "logs/ab-requests.tsv",
                "-e",
                "logs/ab-percentiles.csv",
                "-n",
                "9",
                "u",
            ],
        ),
        (["ab", "-g", "mine", "u"], ["ab", "-e", "logs/ab-percentiles.csv", "-g", "mine", "u"]),
        (["ab", "-gmine", "-e", "too", "u"], ["ab", "-gmine", "-e", "too", "u"]),
        (["wrk", "-L", "u"], ["wrk", "-L", "u"]),
        (["httperf", "--server", "s"], ["httperf", "--server", "s"]),
        (["iperf3", "-c", "server"], ["iperf3", "--json", "-c", "server"]),
        (["iperf3", "--client=server", "-J"], ["iperf3", "--client=server", "-J"]),
        (["curl", "u"], ["curl", "-sS", "-w", r"%{stderr}%{json}\n", "u"]),
    ],
)
def test_commands_get_what_they_lack(command: list[str], wanted: list[str]) -> None:
    prepared = prepare(command, Path("logs"))
    assert prepared is not None
    assert list(prepared.command) == wanted
    assert prepared.tool in TOOLS


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["sleep", "1"],
        ["iperf3", "-s"],
        ["ab", "-w", "u"],
        ["curl", "-w%{time_total}", "u"],
        ["curl", "--write-out", "x", "u"],
    ],
)
def test_what_cannot_be_read_is_left_as_it_is(command: list[str]) -> None:
    assert prepare(command, Path("logs")) is None


def test_files_that_the_command_names_itself_are_read_from_there() -> None:
    prepared = prepare(["ab", "-gmine.tsv", "u"], Path("logs"))
    assert prepared is not None
    assert prepared.files == {
        "requests": Path("mine.tsv"),
        "percentiles": Path("logs/ab-percentiles.csv"),
    }


@pytest.mark.parametrize(
    "schema",
    [
        tables.REQUESTS,
        tables.PERCENTILES,
        ab.SUMMARY,
        ab.TIMES,
        wrk.SUMMARY,
        httperf.SUMMARY,
        iperf3.SUMMARY,
        iperf3.INTERVALS,
    ],
)
def test_every_column_has_a_unit_and_a_meaning(schema: pa.Schema) -> None:
    for column in schema:
        assert column.metadata[b"meaning"]
        assert (
            column.metadata[b"unit"]
            or pa.types.is_string(column.type)
            or pa.types.is_boolean(column.type)
        )
        assert column.name.endswith("_ns") == (
            column.metadata[b"unit"] == b"ns" and not pa.types.is_timestamp(column.type)
        )
