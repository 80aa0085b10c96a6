"""What a campaign says of its rounds, held against what was done to its hosts: what each line counts, and that the page prints it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from validation import sections
from validation.field.endurance_page import Check, Round, checked, render

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "validation.md"
PERIOD = 30
COUNT = 40
PAIRS = (("a", "b"), ("c", "d"), ("e", "f"))
FAULTS = (
    ("SSH cut", "b", 65, 66),
    ("host killed", "d", 200, 260),
    ("disk full", "e", 200, 260),
    ("starved", "a", 500, 680),
)
FAULTS += (("campaign interrupted", None, 800, 830), ("campaign killed", None, 1000, 1010))
TOLD: dict[str, Any] = {
    "began": 0.0,
    "seconds": PERIOD * COUNT,
    "code": 0,
    "pairs": PAIRS,
    "period": PERIOD,
    "faults": [
        {"kind": kind, "host": host, "begin": begin, "end": end, "note": None}
        for kind, host, begin, end in FAULTS
    ],
}


def rounds(**others: dict[int, Round]) -> list[Round]:
    """Of every pair, as good as a campaign can tell of those faults; ``others`` takes the place of some, by pair and number."""
    found: dict[tuple[str, int], Round] = {}
    for pair in ("a-b", "c-d", "e-f"):
        for number in range(COUNT):
            at = float(number * PERIOD)
            one = Round(
                pair=pair,
                number=number,
                began=at,
                ended=at + 10,
                outcome="complete",
                use="trust",
                causes=("window_limited",),
            )
            if pair == "c-d" and 200 <= at < 260:
                one = replace(one, outcome="unreachable", use=None, ended=at, causes=())
            if pair == "e-f" and 200 <= at < 260:
                one = replace(one, use=None, troubles=1, causes=())
            if pair == "a-b" and 500 <= at < 680:
                one = replace(one, use="discard", causes=("host_scheduling",))
            if any(begin <= at <= end for kind, _, begin, end in FAULTS if "campaign" in kind):
                one = replace(one, outcome="missed", use=None, ended=at, causes=())
            found[pair, number] = one
    for name, own in others.items():
        found |= {(name.replace("_", "-"), number): one for number, one in own.items()}
    return list(found.values())


def overrun(pair: str, number: int) -> Round:
    return Round(
        pair=pair,
        number=number,
        began=number * PERIOD,
        ended=number * PERIOD,
        outcome="overrun",
        by=pair,
    )


def said(found: list[Round], words: str) -> Check:
    (one,) = [check for check in checked(TOLD, found) if words in check.what]
    return one


def test_a_campaign_that_tells_everything_holds() -> None:
    found = checked(TOLD, rounds())
    assert [one.what for one in found if not one.holds] == []
    assert said(rounds(), "away from every fault").wanted == "at least 98%"


def test_a_starved_sender_whose_rounds_did_not_take_place_was_not_found_out() -> None:
    skipped = {number: overrun("a-b", number) for number in range(17, 23)}
    assert (
        said(rounds(a_b=skipped), "sends meanwhile are not complete, or discarded").found
        == "6 of 6"
    )
    discarded = said(rounds(a_b=skipped), "took place and are discarded for the host")
    assert (discarded.found, discarded.wanted, discarded.holds) == ("0", "at least 1", False)
    del skipped[17], skipped[20]
    assert said(rounds(a_b=skipped), "took place and are discarded for the host").found == "2"


@pytest.mark.parametrize("outcome", ["failed", "partial"])
def test_a_way_that_was_cut_costs_no_round(outcome: str) -> None:
    struck = Round(pair="a-b", number=2, began=60, ended=70, outcome=outcome, use=None)
    assert said(rounds(), "the sessions were cut").holds
    assert not said(rounds(a_b={2: struck}), "the sessions were cut").holds


def test_a_full_disk_is_said_by_rounds_that_took_place() -> None:
    silent = {
        number: replace(overrun("e-f", number), outcome="failed", by=None) for number in (7, 8)
    }
    assert said(rounds(), "what was not kept").found == "2 of 2"
    assert said(rounds(e_f={7: overrun("e-f", 7)}), "what was not kept").found == "1 of 1"
    assert not said(rounds(e_f=silent), "what was not kept").holds


def test_the_page_says_what_is_checked_and_wanted_as_this_code_does() -> None:
    section = sections.found(DOCUMENT.read_text(encoding="utf-8"))["endurance"]
    rendered = render(TOLD, rounds(), checked(TOLD, rounds()))
    count = str(len(PAIRS) * COUNT)
    for check in checked(TOLD, rounds()):
        if check.wanted != count:
            assert f"| {check.what} | {check.wanted} | " in section
    prose = rendered[
        rendered.index("Not complete is a round") : rendered.index("Rounds, all of them")
    ]
    assert prose in section
