"""``trustbed explain``: one transfer, its rule and its numbers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

Run = Callable[..., Any]
Maker = Callable[..., dict[str, Any]]
Make = Callable[..., Any]


def test_it_names_transfer_rule_and_what_would_change_it(
    run: Run, made: Make, rows: Mapping[str, Maker]
) -> None:
    ended = run(made([rows["healthy"](1), rows["starved"](2)]), "explain", "x.pcap", "2.0")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(
        "10.0.0.1:40002 → 10.0.0.2:5201  (22.5 MB, 6.00 s, 13.1 Mbit/s)  transfer 2.0\n"
    )
    assert "sender_held_back: host_scheduling" in ended.out
    assert "What would change it" in ended.out
    assert max(len(line) for line in ended.out.splitlines()) <= 100


def test_what_the_person_knows_is_used(run: Run, made: Make, rows: Mapping[str, Maker]) -> None:
    engine = made([rows["starved"](2, app_limited_fraction=0.9)])
    assert "cause sender_application_limited" in run(engine, "explain", "x.pcap", "2.0").out
    assert (
        "cause host_scheduling" in run(engine, "explain", "x.pcap", "2.0", "--workload", "bulk").out
    )


def test_the_next_step_of_an_analysis_explains_the_verdict_that_it_gave(
    run: Run, made: Make, rows: Mapping[str, Maker]
) -> None:
    engine = made([rows["starved"](2, app_limited_fraction=0.9)])
    steps = [
        line
        for line in run(engine, "analyze", "x.pcap", "--workload", "bulk").out.splitlines()
        if line.startswith("Next: trustbed ")
    ]
    words = shlex.split(steps[0].partition("  ")[0].removeprefix("Next: trustbed "))
    assert "cause host_scheduling" in run(engine, *words).out


def test_a_short_transfer_can_be_explained(run: Run, made: Make, rows: Mapping[str, Maker]) -> None:
    assert "too short" in run(made([rows["short"](2)]), "explain", "x.pcap", "2.0").out.lower()


@pytest.mark.parametrize(
    "selection",
    [
        "2.0",
        ":40002",
        "10.0.0.1:40002>10.0.0.2:5201",
        "10.0.0.1:40002→10.0.0.2:5201",
        ":40002>10.0.0.2",
        "10.0.0.1:40002",
    ],
)
def test_a_transfer_is_named_by_its_ends(
    run: Run, made: Make, rows: Mapping[str, Maker], selection: str
) -> None:
    engine = made([rows["healthy"](1), rows["starved"](2), rows["short"](2, transfer="2.1")])
    ended = run(engine, "explain", "x.pcap", selection)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("10.0.0.1:40002 → 10.0.0.2:5201")


@pytest.mark.parametrize("selection", ["2.1", ":9", ":5201", "10.0.0.2>10.0.0.1", "x", ":99999"])
def test_any_other_selection_lists_transfers_by_their_ends(
    run: Run,
    made: Make,
    rows: Mapping[str, Maker],
    selection: str,
    snapshot: SnapshotAssertion,
) -> None:
    ended = run(made([rows["healthy"](1), rows["starved"](2)]), "explain", "x.pcap", selection)
    assert ended.code in (1, 2)
    assert ended.out == ""
    assert ended.err == snapshot


def test_json_holds_the_row_and_the_lines(run: Run, made: Make, rows: Mapping[str, Maker]) -> None:
    document = json.loads(run(made([rows["starved"](2)]), "explain", "x.pcap", "2.0", "--json").out)
    assert document["transfer"]["cause"] == "host_scheduling"
    assert "Rules, in order" in document["explanation"]
    assert document["trustbed"]["schema_version"] == 1
