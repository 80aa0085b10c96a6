"""What has happened to a campaign: what lines come to, and what a kill leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from trustbed.campaign import Recorded, progress
from trustbed.campaign.runner.journal import Journal, state_of


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """One without lines."""
    return Journal(tmp_path / "journal.jsonl")


def test_nothing_has_happened_before_the_first_line(journal: Journal) -> None:
    state = state_of(journal.lines())
    assert (state.rounds, state.pairs, state.sessions) == ([], {}, 0)


def test_rounds_are_counted_by_outcome(journal: Journal) -> None:
    journal.append(1, "session")
    journal.append(2, "scheduled")
    journal.append(2, "began", pair="a-b", number=0, index="1")
    journal.append(3, "ended", pair="a-b", number=0, outcome="complete")
    journal.append(4, "skipped", pair="a-b", first=1, count=3, reason="missed")
    journal.append(5, "began", pair="a-b", number=4, index="2")
    journal.append(6, "ended", pair="a-b", number=4, outcome="failed")
    journal.append(7, "began", pair="c-d", number=0, index="1")
    journal.append(8, "host", host="c", up=False, why="gone")
    state = state_of(journal.lines())
    assert state.of("a-b").outcomes == {"complete": 1, "missed": 3, "failed": 1}
    assert list(state.interrupted) == [("c-d", 0)]
    assert state.hosts["c"].why == "gone"
    assert not state.ended
    assert state.scheduled_ns == 2
    assert state.rounds == [
        Recorded(pair="a-b", number=0, began_ns=2),
        Recorded(pair="a-b", number=3, began_ns=None),
        Recorded(pair="a-b", number=4, began_ns=None),
    ]
    known = progress(state.rounds)["a-b"]
    assert (known.next, known.begun) == (5, 1), "what measured nothing comes again"


def test_a_round_that_began_anew_was_interrupted_before(journal: Journal) -> None:
    journal.append(1, "began", pair="a-b", number=0)
    journal.append(2, "began", pair="a-b", number=1)
    journal.append(3, "ended", pair="a-b", number=1, outcome="partial")
    assert state_of(journal.lines()).of("a-b").outcomes == {"interrupted": 1, "partial": 1}


@pytest.mark.parametrize("cut", range(2, 40, 7))
def test_a_truncated_line_is_left_out_and_the_next_is_whole(journal: Journal, cut: int) -> None:
    journal.append(1, "session")
    journal.append(2, "began", pair="a-b", number=0)
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole[:-cut])
    journal.append(3, "finished")
    state = state_of(journal.lines())
    assert (state.sessions, state.ended, list(state.interrupted)) == (1, True, [])


@pytest.mark.parametrize("facts", [{}, {"pair": "a-b"}, {"pair": "a-b", "number": "0"}])
def test_a_line_that_lacks_a_field_is_left_out(journal: Journal, facts: dict[str, str]) -> None:
    journal.append(1, "began", **facts)
    journal.append(2, "session")
    state = state_of(journal.lines())
    assert (state.sessions, state.pairs) == (1, {})


def test_what_is_no_line_is_left_out(journal: Journal) -> None:
    journal.path.write_bytes(b'[1]\n{"at_ns": 1}\n\xff\xfe\n\n{"at_ns": 1, "event": "session"}\n')
    assert state_of(journal.lines()).sessions == 1
