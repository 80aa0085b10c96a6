"""Tracers in a run: whose calls each records, when it runs, where its table is."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from msgspec import to_builtins

from tests.run.fakes import FakeTestbed
from trustbed.calls.summary import architecture, by_call
from trustbed.run import calls, rows
from trustbed.run.directory import RAW_FOLDERS
from trustbed.run.execution import tracing
from trustbed.run.execution.execute import Execution
from trustbed.run.matrix import Repetition
from trustbed.scenario import Scenario, load

BASE = """
duration = "2s"
[hosts.client]
[hosts.server]
[link]
[services.web]
host = "server"
command = "nginx"
port = 80
[workload.pages]
kind = "http"
host = "client"
to = "server"
service = "web"
path = "/"
[workload.tool]
kind = "command"
host = "client"
command = "/usr/bin/tool --all"
"""
GOOD = {"requests": 3, "good_requests": 3}


def study(directory: Path, text: str) -> Scenario:
    """A scenario."""
    (directory / "study.toml").write_text(BASE + text, encoding="utf-8")
    return load(directory / "study.toml").first


def configuration(directory: Path, text: str) -> Any:  # noqa: ANN401 - JSON
    """The configuration of the only tracer."""
    scenario = study(directory, text)
    return tracing.configuration(
        scenario.traces[0],
        scenario,
        directory,
        running={("web", "server"): 41, ("pages", "client"): 42},
        commands={"tool": ("/usr/bin/tool", "--all")},
        first=7,
    )


@pytest.mark.parametrize(
    ("text", "select"),
    [
        ("[trace.pages]", {"processes": [41]}),
        ("[trace.web]", {"processes": [41]}),
        ("[trace.pages]\nhost = 'client'", {"processes": [42]}),
        ("[trace.tool]", {"command": {"name": "tool", "below": 7, "descendants": True}}),
    ],
)
def test_a_process_is_named_and_a_program_recognised(
    tmp_path: Path, text: str, select: object
) -> None:
    assert configuration(tmp_path, text) == {
        "select": select,
        "path": str(tmp_path / f"{text[7 : text.index(']')]}.calls.rows"),
    }


def test_every_process_and_counts_need_neither(tmp_path: Path) -> None:
    found = configuration(tmp_path, "[trace.t]\nof = 'all'\nhost = 'client'\nmode = 'count'")
    assert found == {}


def test_a_program_of_a_guest_descends_from_nothing_here(tmp_path: Path) -> None:
    text = BASE.replace("[hosts.client]", '[hosts.client]\nguest = "virtio-net"')
    (tmp_path / "study.toml").write_text(text + "[trace.tool]\n", encoding="utf-8")
    scenario = load(tmp_path / "study.toml").first
    found = tracing.configuration(
        scenario.traces[0],
        scenario,
        tmp_path,
        running={},
        commands={"tool": ("/usr/bin/tool", "--all")},
        first=7,
    )
    assert found["select"] == {"command": {"name": "tool", "below": None, "descendants": True}}


def test_tracers_start_behind_what_they_trace_and_end_first(tmp_path: Path) -> None:
    for name in RAW_FOLDERS:
        (tmp_path / name).mkdir()
    scenario = study(tmp_path, "[trace.pages]\n[trace.tool]\nmode = 'count'\n")
    report = {"calls": 5, "complete": True}
    testbed = FakeTestbed(
        programs={"nginx": (None, 0)},
        agents={
            "fetch": {"lasts": 2.0, "report_with": GOOD},
            "trace": {"report_with": report},
        },
    )
    known: Any = testbed
    record = to_builtins(
        Execution(
            known,
            scenario,
            Repetition(number=0, cell=0, round=0, seed=7),
            directory=tmp_path,
            clock=testbed.clock,
            emulator={"seed": 1},
        ).carry_out()
    )
    order = [what for what, _ in testbed.log]
    assert order.index("start fetch") < order.index("start trace") < order.index("begin fetch")
    assert order.index("run nginx") < order.index("start trace") < order.index("run /usr/bin/tool")
    stops = [what for what in order if what.startswith("stop")]
    assert stops[:2] == ["stop trace", "stop trace"]
    assert record["outcome"] == "complete"
    assert [(one["name"], one["host"], one["mode"]) for one in record["traces"]] == [
        ("pages", "server", "calls"),
        ("tool", "client", "count"),
    ]
    assert record["traces"][0]["report"] == {"event": "report", **report}


COLUMNS = [
    ("entered_ns", "i64"),
    ("pid", "u32"),
    ("tid", "u32"),
    ("call", "u16"),
    ("result", "i64"),
    ("duration_ns", "i64"),
    ("cpu", "u16"),
]


def written(directory: Path, **header: object) -> Path:
    """Three rows as the agent writes them."""
    described = {
        "columns": [
            {"name": name, "type": kind, "unit": "", "meaning": ""} for name, kind in COLUMNS
        ],
        "byte_order": "little",
        "record_bytes": 36,
        "architecture": "aarch64",
        "calls": ["read", "write"],
        **header,
    }
    none = -(2**63)
    records = [(10, 1, 1, 0, 100, 7, 0), (20, 1, 2, 1, -11, 8, 1), (30, 1, 1, 0, none, none, 0)]
    path = directory / "pages.calls.rows"
    path.write_bytes(
        json.dumps(described).encode()
        + b"\n"
        + b"".join(struct.pack("<qIIHqqH", *record) for record in records)
    )
    return path


def test_rows_become_the_table_that_importers_make(tmp_path: Path) -> None:
    target = tmp_path / "calls.parquet"
    assert calls.convert(written(tmp_path), target) == rows.Converted(3, 0)
    assert (architecture(target), by_call(target)) == ("aarch64", {"read": 2, "write": 1})
    last = pyarrow.parquet.read_table(target).to_pylist()[-1]
    assert (last["call"], last["result"], last["duration_ns"]) == ("read", None, None)
    assert pyarrow.parquet.read_table(target).schema.names == [name for name, _ in COLUMNS]


def test_rows_of_something_else_are_refused(tmp_path: Path) -> None:
    with pytest.raises(rows.RowsError, match="no system calls"):
        calls.convert(written(tmp_path, calls=7), tmp_path / "calls.parquet")


def test_the_table_is_among_the_derived_ones_without_a_copy(tmp_path: Path) -> None:
    for name in ("samples", "tables"):
        (tmp_path / name).mkdir()
    raw = tmp_path / "samples" / "pages.calls.parquet"
    raw.write_bytes(b"table")
    record = {"traces": [{"name": "pages"}, {"name": "counted"}]}
    calls.offer(record, tmp_path, tmp_path / "tables")
    assert (tmp_path / "tables" / "pages.calls.parquet").samefile(raw)
    assert [one.name for one in (tmp_path / "tables").iterdir()] == ["pages.calls.parquet"]
