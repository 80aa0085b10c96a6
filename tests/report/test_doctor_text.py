"""An examined host on a terminal: everything that was found, looked at or not known, in order, within the width."""

from __future__ import annotations

import json
import math

import pytest

from tests.diagnose.host_facts import GOOD, Facts, changed
from trustbed.doctor import Examination, examine, model_of
from trustbed.report.doctor_text import render
from trustbed.report.paint import Paint


def text(facts: Facts, columns: int = 100) -> str:
    return render(model_of([examine(facts)]), columns=columns)


def test_a_good_host_is_fit_and_says_what_was_looked_at() -> None:
    said = text(GOOD)
    assert said.startswith(
        "bench · Linux 6.12.0 · x86_64 · 4 processors\nFit to measure on\n\nLooked at\n"
    )
    for line in (
        "  clock         tsc, read in 199 ns, also available: hpet\n",
        "  synchronised  yes, error 999 µs by its estimate, chronyd\n",
        "  load          9 % used by others, load 1.99, somebody waited for 5 % of the time, 512 MB of memory\n                left\n",
        "  loopback      1,000 of 1,000 packets captured, 1 stamp outside of the sending call\n",
    ):
        assert line in said
    assert "Not known" not in said
    assert "Worth knowing" not in said


def test_the_worst_stands_first_with_its_reason_and_what_mends_it() -> None:
    said = text(
        changed(permissions__capture=False, live__spinning__share=0.5, virtual__container="docker")
    )
    assert "\nNot fit to measure on: 1 error and 1 warning\n" in said
    words = (
        "error    a spinning",
        "→ end what else",
        "warning  no packet socket",
        "Worth knowing",
        "info     a cont",
    )
    order = [said.index(word) for word in words]
    assert order == sorted(order)
    assert "(threshold 2 %)" in said


def test_what_is_not_known_is_said_with_its_reason() -> None:
    facts = {
        **GOOD,
        "not_told": [{"what": "processors.frequency", "why": "the kernel does not choose"}],
        "clock": None,
    }
    said = text(facts)
    assert "Not known\n  processors.frequency\n                the kernel does not choose\n" in said
    assert "  clock         unknown, read in 199 ns\n" in said


def test_of_nothing_at_all_everything_is_unknown() -> None:
    said = text({})
    assert said.startswith("unknown · Linux unknown\nFit to measure on\n")
    assert "  clock         unknown\n" in said
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
    model = model_of([examine(changed(live__spinning__share=0.5))])
    painted = render(model, paint=Paint(on=True))
    assert "\x1b[1;31m" in painted
    for code in ("\x1b[1;31m", "\x1b[0m", "\x1b[1m"):
        painted = painted.replace(code, "")
    assert painted == render(model)


def test_the_model_is_json_whatever_a_host_says() -> None:
    model = model_of(
        [
            examine(
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
    silent = Examination(
        host="beta",
        fitness="unknown",
        findings=(),
        facts={},
        error="no route\x1b[2J",
        hint="is it up?",
    )
    said = render(model_of([silent, examine(GOOD)]))
    assert said.startswith(
        "beta\nCould not be asked: no route?[2J\nhint: is it up?\n\nbench · Linux 6.12.0"
    )
