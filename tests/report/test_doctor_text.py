"""An examined host on a terminal.

Everything that was found, looked at or not known, in order, within the width.
"""

from __future__ import annotations

import json
import math

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.host_check.host_facts import GOOD, Facts, changed
from trustbed.host_check.check import HostCheck, judge_host, model_of
from trustbed.report.host.text import render
from trustbed.report.paint import Paint
from trustbed.report.printable import printable_screen


def text(facts: Facts, columns: int = 100) -> str:
    return render(model_of([judge_host(facts)]), columns=columns)


def test_a_good_host_is_fit(snapshot: SnapshotAssertion) -> None:
    assert text(GOOD) == snapshot


def test_the_worst_stands_first_with_its_reason_and_how_to_fix_it(
    snapshot: SnapshotAssertion,
) -> None:
    said = text(
        changed(permissions__capture=False, live__spinning__share=0.5, virtual__container="docker")
    )
    assert said == snapshot
    words = (
        "error    a spinning",
        "→ end what else",
        "warning  no packet socket",
        "Notes",
        "info     a cont",
    )
    order = [said.index(word) for word in words]
    assert order == sorted(order)


def test_what_is_not_known_is_said_with_its_reason(snapshot: SnapshotAssertion) -> None:
    facts = {
        **GOOD,
        "unavailable": [{"what": "processors.frequency", "why": "the kernel does not choose"}],
        "clock": None,
    }
    said = text(facts)
    assert said == snapshot


def test_of_nothing_at_all_everything_is_unknown(snapshot: SnapshotAssertion) -> None:
    said = text({})
    assert said.startswith("unknown · Linux unknown\nFit to measure on\n")
    assert said == snapshot
    assert "sleeping" not in said


@pytest.mark.parametrize("columns", [60, 80, 100, 300])
def test_lines_fit_the_terminal(columns: int) -> None:
    facts = changed(
        live__spinning__share=0.5,
        eth__coalescing={"receive_ns": 50_000},
        network__congestion_control="bbr",
    )
    assert max(len(line) for line in text(facts, columns).splitlines()) <= min(columns, 100)


def test_a_terminal_gets_no_commands_from_a_host() -> None:
    facts = changed(
        system__host="evil\x1b[2J",
        eth__name="eth\x1b]0;x\x07",
        eth__mtu_bytes=9,
        clock__source="t\nsc",
    )
    said = text(facts)
    assert "\x1b" not in said
    assert "\x07" not in said
    assert "t?sc" in said


def test_colour_changes_no_word() -> None:
    model = model_of([judge_host(changed(live__spinning__share=0.5))])
    painted = printable_screen(render(model, paint=Paint(on=True)))
    assert "\x1b[1;31m" in painted
    for code in ("\x1b[1;31m", "\x1b[0m", "\x1b[1m"):
        painted = painted.replace(code, "")
    assert painted == render(model)


def test_the_model_is_json_whatever_a_host_says() -> None:
    model = model_of(
        [
            judge_host(
                {**GOOD, "load": {"since_start": {"steal_share": math.nan}, "list": [math.inf]}},
                host="name",
            )
        ]
    )
    written = json.loads(json.dumps(model, allow_nan=False))
    assert written["hosts"][0]["facts"]["load"] == {
        "since_start": {"steal_share": None},
        "list": [None],
    }
    assert (written["hosts"][0]["host"], written["summary"]) == (
        "name",
        {"hosts": 1, "fit": 1, "review": 0, "unfit": 0, "unknown": 0},
    )


def test_a_host_that_could_not_be_asked_says_why_beside_those_that_could() -> None:
    silent = HostCheck(
        host="beta",
        fitness="unknown",
        findings=(),
        facts={},
        error="no route\x1b[2J",
        hint="is it up?",
    )
    said = render(model_of([silent, judge_host(GOOD)]))
    assert said.startswith(
        "beta\nCould not be checked: no route?[2J\nhint: is it up?\n\nbench · Linux 6.12.0"
    )
