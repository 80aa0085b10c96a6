"""What was seen every second becomes tables, and a few words about the machine."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustbed.run import samples
from trustbed.run.execution import environment as host
from trustbed.run.execution import indicators

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


MALFORMED = [
    "[1]",
    "7",
    "null",
    "{",
    '{"at_ns": "soon"}',
    "{}",
    "\udcff",
    '{"at_ns": -1}',
    '{"at_ns": 1e3}',
    '{"at_ns": 18446744073709551615}',
    '{"at_ns": 1, "interval_ns": -5}',
    '{"at_ns": 1, "late_ns": 9223372036854775808}',
    '{"at_ns": 1, "processors": [0.5]}',
    '{"at_ns": 1, "processors": {"user_share": NaN}}',
    '{"at_ns": 1, "processors": {"user_share": Infinity}}',
    '{"at_ns": 1, "processors": {"user_share": 1e308}}',
    '{"at_ns": 1, "memory": "much"}',
    '{"at_ns": 1, "memory": {"free_bytes": "9"}}',
    '{"at_ns": 1, "interfaces": {"name": "eth0"}}',
    '{"at_ns": 1, "interfaces": [[]]}',
    '{"at_ns": 1, "interfaces": [{"name": "\\ud800"}]}',
    '{"at_ns": 1, "interfaces": [{"received_bytes": 1}]}',
    '{"at_ns": 1, "sockets": [{"tcp": []}]}',
    '{"at_ns": 1, "sockets": [{"tcp": {"rtt_ns": 0.5}}]}',
    '{"at_ns": 1, "cgroups": 9}',
    '{"at_ns": 1, "drivers": [{"name": "eth0", "interval_ns": 0, "counters": {"a": 1}}]}',
    '{"at_ns": 1, "processors":' * 5000,
]


@pytest.mark.parametrize("text", MALFORMED, ids=lambda text: text[:60])
def test_a_malformed_line_is_counted_and_the_others_are_read(tmp_path: Path, text: str) -> None:
    file = tmp_path / "client.jsonl"
    lines = [json.dumps(HEAD), json.dumps(line(1)), text, json.dumps(line(2))]
    file.write_text("\n".join(lines) + "\n", errors="surrogateescape")
    converted = samples.convert(tmp_path, ["client"])
    assert converted.malformed == {"client.jsonl": 1}
    assert len(read(tmp_path / "machine.parquet")) == 2
    assert len(read(tmp_path / "client.sockets.parquet")) == 2


def test_a_key_that_no_agent_writes_reaches_no_column(tmp_path: Path) -> None:
    evil = line(1, user_share="all", processors={"user_share": 0.5, "memory_total_bytes": []})
    write(tmp_path / "client.jsonl", [evil])
    assert samples.convert(tmp_path, ["client"]).malformed == {}
    (row,) = read(tmp_path / "machine.parquet")
    assert (row["user_share"], row["memory_total_bytes"]) == (0.5, 8000)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "tcp", "rtt_ns", "count", "share"]), inner)
    ),
    max_leaves=6,
)


@given(
    data=st.lists(
        st.fixed_dictionaries({}, optional=dict.fromkeys(line(1), VALUES)).map(
            lambda changed: line(1, **changed)
        )
        | st.dictionaries(st.sampled_from([*line(1), "wakeups", "charged", "spin"]), VALUES),
        max_size=4,
    )
)
def test_whatever_a_line_holds_it_becomes_rows_or_is_counted(data: list[dict[str, Any]]) -> None:
    with TemporaryDirectory() as name:
        directory = Path(name)
        text = "\n".join(json.dumps(one) for one in [HEAD, *data])
        for host in ("client", "client.wakeups", "client.spin"):
            (directory / f"{host}.jsonl").write_text(text)
        watch: Any = SimpleNamespace(hosts=("client",))
        indicators.convert(directory, watch)
        converted = samples.convert(directory, ["client"], ["client"])
        rows = pyarrow.parquet.read_metadata(directory / "machine.parquet").num_rows
        assert rows + sum(converted.malformed.values()) <= len(data)
        json.dumps(converted.machine, allow_nan=False)
