"""The progress of a run."""

from __future__ import annotations

import io
from dataclasses import asdict
from typing import Any

from syrupy.assertion import SnapshotAssertion

from validation.truth.families import HALVES
from validation.truth.plan import Plan, Planned
from validation.truth.progress import Progress

TRANSFERS = list(Plan(1).order())[:40]


def progress(count: int = 40, *, minutes: float | None = None) -> tuple[Progress, io.StringIO]:
    stream = io.StringIO()
    return Progress(TRANSFERS[:count], minutes=minutes, stream=stream), stream


def stored(planned: Planned, outcome: str = "made") -> dict[str, Any]:
    rate = {"payload_bits_per_second": 12.34e6} if outcome == "made" else {}
    return {
        "name": planned.name,
        "network": asdict(planned.network),
        "outcome": outcome,
        "reason": "it was late",
        **rate,
    }


def test_a_line_counts_both_halves_apart_and_what_was_there_before() -> None:
    shown, _ = progress()
    shown.on_settled(half="development", outcome="invalid")
    shown.on_settled(half="report", outcome="not made")
    development, report = (next(one for one in TRANSFERS if one.half == half) for half in HALVES)
    shown.on_made(stored(development), passed=5)
    shown.on_made(stored(report, "failed"), passed=10)
    line = shown.line(stored(report, "failed"), passed=10)
    assert line.startswith("2/40  5.0 s each, about ")
    assert "development: 1 made, 1 invalid, 0 failed  " in line
    assert "report: 0 made, 0 invalid, 1 failed, 1 not made  " in line
    assert line.endswith("failed: it was late")


def test_the_time_left_is_that_of_what_is_left_at_the_pace_so_far() -> None:
    shown, _ = progress(3)
    first = TRANSFERS[0]
    shown.on_made(stored(first), passed=first.seconds * 60)
    left = sum(one.seconds for one in TRANSFERS[1:3])
    assert f"about {left:.0f} min left" in shown.line(stored(first), passed=first.seconds * 60)


def test_the_time_left_is_no_more_than_what_was_allowed() -> None:
    shown, _ = progress(minutes=2)
    shown.on_made(stored(TRANSFERS[0]), passed=60)
    assert "about 1 min left" in shown.line(stored(TRANSFERS[0]), passed=60)


def test_one_in_twenty_is_written_and_every_failure_and_the_last() -> None:
    shown, stream = progress(30)
    for number, one in enumerate(TRANSFERS[:30]):
        shown.on_made(stored(one, "failed" if number == 4 else "made"), passed=number + 1)
    assert [line.split("/")[0] for line in stream.getvalue().splitlines()] == ["5", "20", "30"]


def test_waiting_is_reported_once_between_two_transfers_and_when_it_is_over(
    snapshot: SnapshotAssertion,
) -> None:
    shown, stream = progress()
    for left in (600, 500, 400):
        shown.on_waiting(0.37, left)
    shown.on_made(stored(TRANSFERS[0]), passed=1)
    shown.on_waiting(0.5, 300)
    shown.on_waiting(0.5, 0)
    lines = stream.getvalue().splitlines()
    assert lines == snapshot
