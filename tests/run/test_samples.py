"""What was seen every second becomes tables, and a few words about the machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from trustbed.run import samples
from trustbed.run.execution import environment as host

HEAD = {
    "trustbed": "0.1.0",
    "start_ns": 1000,
    "interval_ns": 1_000_000_000,
    "units": "ns",
    "cgroups": [],
    "unavailable": [],
}


def line(second: int, *, steal: float = 0.0, throttled: int = 0, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - parts of a sample
    return {
        "at_ns": 1000 + second * 1_000_000_000,
        "after_ns": second * 1_000_000_000,
        "late_ns": 5,
        "interval_ns": 1_000_000_000,
        "processors": {
            "user_share": 0.5,
            "idle_share": 0.5 - steal,
            "steal_share": steal,
            "context_switches": 7,
            "busy_shares": [0.5],
        },
        "run_queue": {"load_1min": 1.5, "running": 2, "tasks": 100},
        "pressure": {"processor_some_share": 0.25},
        "memory": {"total_bytes": 8000, "available_bytes": 5000, "free_bytes": None},
        "cgroups": [
            {
                "cgroup": "/sys/fs/cgroup/x",
                "periods": 10,
                "throttled_periods": 1,
                "throttled_ns": throttled,
                "used_ns": None,
            }
        ],
        "interfaces": [{"name": "eth0", "received_bytes": 10, "sent_bytes": 20}],
        "sockets": [
            {
                "local": "10.77.0.1:5",
                "peer": "10.77.0.2:6",
                "tcp": {"rtt_ns": 20_000_000, "snd_cwnd": 10},
            }
        ],
        **more,
    }


def write(path: Path, lines: list[dict[str, Any]], cut: str = "") -> None:
    path.write_text("\n".join(json.dumps(one) for one in [HEAD, *lines]) + "\n" + cut)


def read(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
    return rows


def test_lines_become_tables(tmp_path: Path) -> None:
    write(tmp_path / "client.jsonl", [line(1), line(2)], cut='{"at_ns": 3')
    write(tmp_path / "server.jsonl", [line(1, sockets=None)])
    converted = samples.convert(tmp_path, ["client", "server", "missing"])
    assert converted.malformed == {"client.jsonl": 1}
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "cgroups.parquet",
        "client.interfaces.parquet",
        "client.sockets.parquet",
        "machine.parquet",
        "processes.parquet",
        "server.interfaces.parquet",
        "server.sockets.parquet",
    ]
    first, second = read(tmp_path / "machine.parquet")
    assert (
        first["at_ns"],
        first["user_share"],
        first["running"],
        first["processor_some_share"],
    ) == (1_000_001_000, 0.5, 2, 0.25)
    assert (
        first["memory_total_bytes"],
        first["memory_available_bytes"],
        first["memory_free_bytes"],
    ) == (8000, 5000, None)
    assert first["disk_full_share"] is None
    assert second["after_ns"] == 2_000_000_000
    (socket, _) = read(tmp_path / "client.sockets.parquet")
    assert (socket["local"], socket["rtt_ns"], socket["lost_segments"]) == (
        "10.77.0.1:5",
        20_000_000,
        None,
    )
    assert read(tmp_path / "server.sockets.parquet") == []
    # Whatever was seen: which tables a repetition has does not depend on how long its processes
    # lived.
    assert read(tmp_path / "processes.parquet") == []
    assert read(tmp_path / "client.interfaces.parquet")[0]["sent_bytes"] == 20


def test_sockets_between_two_lines_are_rows_of_their_table_only(tmp_path: Path) -> None:
    between = {
        "at_ns": 500_001_000,
        "after_ns": 500_000_000,
        "sockets": [{"local": "10.77.0.1:5", "peer": "10.77.0.2:6", "tcp": {"busy_ns": 7}}],
        "sockets_left_out": 2,
    }
    write(tmp_path / "client.jsonl", [between, line(1)])
    converted = samples.convert(tmp_path, ["client"])
    assert (converted.malformed, converted.machine["samples"]) == ({}, 1)
    assert len(read(tmp_path / "machine.parquet")) == 1
    assert [
        (row["at_ns"], row["busy_ns"]) for row in read(tmp_path / "client.sockets.parquet")
    ] == [(500_001_000, 7), (1_000_001_000, None)]


def test_the_machine_in_a_few_numbers(tmp_path: Path) -> None:
    write(
        tmp_path / "client.jsonl", [line(1, steal=0.1, throttled=500_000_000), line(2, steal=0.3)]
    )
    machine = samples.convert(tmp_path, ["client"]).machine
    assert machine["samples"] == 2
    assert machine["steal_share"] == pytest.approx(0.2)
    assert machine["throttled_share"] == pytest.approx(0.25)
    assert machine["busy_share"] == pytest.approx(0.7)


def test_what_is_not_reported_is_null(tmp_path: Path) -> None:
    write(tmp_path / "client.jsonl", [line(1, processors=None, cgroups=[])])
    machine = samples.convert(tmp_path, ["client"]).machine
    assert (machine["steal_share"], machine["throttled_share"], machine["busy_share"]) == (
        None,
        None,
        None,
    )
    assert samples.convert(tmp_path / "nowhere", ["client"]) == samples.Converted({}, {})


@pytest.mark.parametrize(
    "schema", [samples.MACHINE, samples.CGROUPS, samples.INTERFACES, samples.SOCKETS]
)
def test_every_column_has_a_meaning_and_numbers_a_unit(schema: pyarrow.Schema) -> None:
    for field in schema:
        assert field.metadata[b"meaning"]
        assert field.metadata[b"unit"] or field.type == pyarrow.string()


def test_facts_about_the_machine_are_plain() -> None:
    facts = host.facts()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["kernel"]
    assert facts["processors_allowed"] >= 1
    assert facts["memory_bytes"] is None or facts["memory_bytes"] > 0


@pytest.mark.parametrize("text", ["[1]", "7", "null", "{", '{"at_ns": "soon"}', "{}", "\udcff"])
def test_a_malformed_line_is_counted_and_the_others_are_read(tmp_path: Path, text: str) -> None:
    file = tmp_path / "client.jsonl"
    lines = [json.dumps(HEAD), json.dumps(line(1)), text, json.dumps(line(2))]
    file.write_text("\n".join(lines) + "\n", errors="surrogateescape")
    read = samples.read_lines(file)
    assert (len(read.rows), read.malformed) == (2, 1)
