"""The timeline of a journal."""

from __future__ import annotations

import msgspec

from trustbed.campaign.runner.history import history_of
from trustbed.campaign.runner.journal import Line

PERIOD = 300


def line(at: int, event: str, **facts: object) -> Line:
    return msgspec.convert({"at_ns": at, "event": event, **facts}, Line)


def test_rounds_begin_fail_and_are_skipped() -> None:
    lines = [
        line(1, "began", pair="a-b", number=0),
        line(5, "ended", pair="a-b", number=0, outcome="complete"),
        line(301, "began", pair="a-b", number=1),
        line(320, "ended", pair="a-b", number=1, outcome="failed"),
        line(
            900, "skipped", pair="a-b", first=2, count=3, due_ns=600, reason="unreachable", by="b"
        ),
        line(901, "skipped", pair="a-b", first=5, count=1, due_ns=1500, reason="overrun", by="a-b"),
    ]
    found = history_of(lines, period_ns=PERIOD)
    assert found.began == {("a-b", 0): 1, ("a-b", 1): 301}
    assert [(one.kind, one.from_ns, one.to_ns, one.rounds) for one in found.stretches["a-b"]] == [
        ("failed", 301, 320, 1),
        ("unreachable", 600, 1500, 3),
        ("overrun", 1500, 1800, 1),
    ]
    assert found.lost_to == {"b": 3}
    assert found.last_ns == 901


def test_rounds_that_wait_for_a_lost_host_count_as_lost_to_it() -> None:
    lines = [
        line(1, "began", pair="a-b", number=0),
        line(301, "skipped", pair="a-b", first=1, count=1, due_ns=301, reason="overrun", by="a-b"),
        line(601, "skipped", pair="c-a", first=2, count=2, due_ns=601, reason="overrun", by="a-b"),
        line(700, "ended", pair="a-b", number=0, outcome="failed", ways_lost=["b"]),
        line(901, "began", pair="a-b", number=3),
        line(
            1201, "skipped", pair="a-b", first=4, count=1, due_ns=1201, reason="overrun", by="a-b"
        ),
        line(1300, "ended", pair="a-b", number=3, outcome="complete"),
    ]
    assert history_of(lines, period_ns=PERIOD).lost_to == {"b": 3}


def test_a_killed_round_was_interrupted() -> None:
    lines = [
        line(1, "began", pair="a-b", number=0),
        line(9, "began", pair="a-b", number=1),
        line(30, "began", pair="c-d", number=0),
    ]
    (one,) = history_of(lines, period_ns=PERIOD).stretches["a-b"]
    assert (one.kind, one.from_ns, one.to_ns) == ("interrupted", 1, 9)


def test_a_host_goes_down_and_up() -> None:
    lines = [
        line(1, "host", host="a", up=True),
        line(5, "host", host="a", up=False),
        line(7, "host", host="a", up=False),
        line(9, "host", host="a", up=True),
        line(20, "host", host="b", up=False),
    ]
    found = history_of(lines, period_ns=PERIOD)
    assert found.down == {"a": [(5, 9)], "b": [(20, None)]}
