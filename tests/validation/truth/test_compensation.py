"""How the estimates for discarded transfers are held against twins.

That the page says so, and the package no more than the page.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from trustbed.diagnose import compensation_table as table
from trustbed.diagnose.calibration import CapturePoint
from validation import sections
from validation.truth import page, text
from validation.truth.compensation import Guess, accuracy
from validation.truth.result import VIEWS, Result

from .test_result import stored

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "validation.md"


def guess(**changes: Any) -> Guess:  # noqa: ANN401 - fields of a guess
    values = {
        "given": 100.0,
        "estimate": 105.0,
        "low": 96.6,
        "high": 115.5,
        "removed": 80.0,
        "why_not": "",
    }
    return Guess(**{**values, **changes})


NONE = {"estimate": None, "low": 0.0, "high": 0.0}
GUESSES = [
    guess(),
    guess(estimate=109.0),
    guess(estimate=90.0, low=82.8, high=99.0, removed=100.0),
    guess(estimate=111.0, low=102.1, high=122.1),
    guess(given=None),
    guess(**NONE, why_not="packets were lost, and what that costs besides is not known (0.2 %)"),
    guess(**NONE, why_not="packets were lost, and what that costs besides is not known (3 %)"),
    guess(given=None, **NONE, why_not="no validated transfer stalled like this one"),
]


def test_what_has_no_twin_is_counted_and_compared_with_nothing() -> None:
    found = accuracy(GUESSES)
    assert (found.discarded, found.comparable, found.available) == (8, 6, 4)
    # errors +5, +9, -10 and +11 %: three of them within a tenth
    assert (found.within.hits, found.within.of) == (3, 4)
    assert found.median_error == pytest.approx(0.07)
    # 100 lies in 96.6…115.5 twice, not in 82.8…99.0, not in 102.1…122.1
    assert (found.covered.hits, found.covered.of) == (2, 4)
    assert (found.removed_within.hits, found.removed_within.of) == (1, 4)
    assert found.why_not == (("packets were lost, and what that costs besides is not known", 2),)


def test_an_interval_is_of_forty_cases_at_least() -> None:
    assert accuracy([guess()] * 39).central is None
    # Of 1 to 41 over 100 the positions 1 and 39 of 0 to 40: one case lies beyond either end.
    found = accuracy([guess(given=float(number), estimate=100.0) for number in range(1, 42)])
    assert found.central == pytest.approx((0.02, 0.40))


def test_without_discarded_transfers_there_is_no_estimate() -> None:
    found = accuracy([])
    assert (found.discarded, found.median_error, found.central, found.within.value) == (
        0,
        None,
        None,
        None,
    )


def made(*disturbed: dict[str, Any]) -> Result:
    twins = [
        stored(f"undisturbed-window.{number}", "undisturbed-window", "guest-free", seed=number)
        for number in (2, 3)
    ]
    return Result([*twins, *disturbed])


def test_the_page_holds_estimates_against_twins() -> None:
    result = made(
        stored("guest-quota.0", "guest-quota", "guest-quota"),
        stored("guest-freeze.0", "guest-freeze", "guest-frozen"),
        stored("guest-quota-and-loss.0", "guest-quota-and-loss", "guest-quota"),
    )
    # Three are discarded; of one the path was disturbed as well. 30.1 and 28.3 Mbit/s were
    # estimated, 29.9 Mbit/s were given.
    found = result.compensation(VIEWS[0], "report")
    assert (
        found.discarded,
        found.comparable,
        found.available,
        found.within.hits,
        found.covered.hits,
    ) == (3, 2, 2, 2, 2)
    section = page.render(result)
    assert "### What the network would have given" in section
    assert (
        "| sender's capture and host samples | 3 | 2 | 2 | 100.0% of 2 (34.2%–100.0%) |" in section
    )
    assert (
        "| *development: sender's capture and host samples* | 0 | 0 | 0 | – | – | – | – |"
        in section
    )
    assert "Reports show no estimate: the development half has too few for an interval." in section
    assert "WHAT THE NETWORK WOULD HAVE GIVEN" in text.render(result, "report")
    within = result.as_json("report")["compensation"]["sender-known"]["within"]
    assert (within["hits"], within["of"]) == (2, 2)


def test_the_page_states_when_estimates_are_not_good_enough() -> None:
    # What another network gave: nearly twice as much.
    window = {"undisturbed-window": "guest-quota", "guest-quota": "guest-frozen"}
    transfers = [stored(f"{kind}.0", kind, recording) for kind, recording in window.items()]
    result = Result(transfers)
    assert result.compensation(VIEWS[0], "report").within.hits == 0
    assert "Reports show no estimate, for it is not within 10% in 90% of the cases" in page.render(
        result
    )


def test_shown_estimates_rest_on_the_documented_shares() -> None:
    section = sections.found(DOCUMENT.read_text(encoding="utf-8"))["truth"]
    points: dict[str, CapturePoint] = {"sender-known": "beside_with_host", "sender": "beside"}
    for view in VIEWS:
        if view.name in points:
            line = re.search(
                rf"^\| {re.escape(view.words)} \| \d+ \| \d+ \| (\d+) \| ([\d.]+)% of (\d+) ",
                section,
                re.M,
            )
            assert line is not None
            hits, of = table.WITHIN[points[view.name]]
            assert (int(line[1]), int(line[3])) == (of, of)
            assert f"{hits / of:.1%}" == f"{line[2]}%"
    near = all(hits >= table.WANTED_SHARE * of for hits, of in table.WITHIN.values())
    shown = near and "too few for an interval" not in section
    assert shown == table.IS_SHOWN
    if not shown:
        assert "Reports show no estimate" in section
        return
    assert f"Its interval is {table.LOW:.2f} to {table.HIGH:.2f} times the estimate" in section
    bounds = re.search(
        r"95 % of the (?:odd seeds|development half) lie from ([\d.]+) to ([\d.]+)\.", section
    )
    assert bounds is not None
    assert table.LOW <= float(bounds[1]) < float(bounds[2]) <= table.HIGH
