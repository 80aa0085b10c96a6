"""``trustbed explain``: one transfer, its rule and its numbers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any

Run = Callable[..., Any]
Maker = Callable[..., dict[str, Any]]
Make = Callable[..., Any]


def test_it_names_transfer_rule_and_what_would_change_it(
    run: Run, made: Make, rows: Mapping[str, Maker]
) -> None:
    ended = run(made([rows["healthy"](1), rows["starved"](2)]), "explain", "x.pcap", "2.0")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(
        "Transfer 2.0: 10.0.0.1:40002 → 10.0.0.2:5201  (22.5 MB, 6.00 s, 13.1 Mbit/s)\n"
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


def test_a_short_transfer_can_be_asked_about(
    run: Run, made: Make, rows: Mapping[str, Maker]
) -> None:
    assert "too short" in run(made([rows["short"](2)]), "explain", "x.pcap", "2.0").out.lower()


def test_a_transfer_that_is_not_there_is_an_error_with_those_that_are(
    run: Run, made: Make, rows: Mapping[str, Maker]
) -> None:
    ended = run(made([rows["healthy"](1), rows["starved"](2)]), "explain", "x.pcap", "2.1")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.splitlines() == [
        "error: no transfer 2.1, x.pcap",
        "hint: its transfers are named in trustbed analyze, for example 2.0, 1.0",
    ]


def test_json_holds_the_row_and_the_lines(run: Run, made: Make, rows: Mapping[str, Maker]) -> None:
    document = json.loads(run(made([rows["starved"](2)]), "explain", "x.pcap", "2.0", "--json").out)
    assert document["transfer"]["cause"] == "host_scheduling"
    assert "Rules, in the order asked" in document["explanation"]
    assert document["trustbed"]["schema_version"] == 1
