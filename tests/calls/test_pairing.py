"""Entries and returns that are reported one by one become calls."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from trustbed.calls.pairing import Pairing

OPEN = 50_000


@pytest.mark.timeout(60)
def test_a_program_that_begins_costs_no_look_at_every_open_call() -> None:
    # 2.5 · 10⁹ looks, if every return were to look at every call that is open.
    pairing = Pairing(Counter())
    for tid in range(OPEN):
        assert list(pairing.enter(0, tid, tid, "read")) == []
    for tid in range(OPEN, 2 * OPEN):
        assert list(pairing.leave(1, tid, "execve", 0)) == []
    assert len(list(pairing.rest())) == OPEN


def test_the_first_of_the_threads_that_execute_becomes_its_process() -> None:
    pairing = Pairing(Counter())
    made: list[Any] = []
    for time, tid, call in (
        (1, 11, "execve"),
        (2, 12, "execveat"),
        (3, 13, "execve"),
        (4, 11, "read"),
    ):
        made += pairing.enter(time, 10, tid, call)
    # 11 has left its call; the first of those that are in one is 12.
    made += pairing.leave(5, 10, "execve", 0)
    made += pairing.leave(6, 10, "execve", 0)
    made += pairing.leave(7, 10, "execve", 0)
    made += pairing.rest()
    assert [(one.entered_ns, one.tid, one.call, one.result) for one in made] == [
        (1, 11, "execve", None),
        (2, 10, "execveat", 0),
        (3, 10, "execve", 0),
        (4, 11, "read", None),
    ]
