"""A path that died: every retransmission to the end went unanswered on all connections."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trustbed.diagnose import Evidence, diagnose
from trustbed.diagnose.time_budget import STATES, Shares


def test_a_host_that_retransmits_to_the_end_did_not_stop(timed: Evidence) -> None:
    stalled = replace(timed, duration_seconds=4.0, stall_gaps_seconds=(37.3,), no_answer=0.9)
    assert diagnose(replace(stalled, unanswered_seconds=0.0)).cause == "host_stall"
    assert diagnose(replace(stalled, unanswered_seconds=37.0)).cause == "outage"
    hung = replace(stalled, unanswered_seconds=37.0, kernel_reset=True)
    assert diagnose(hung).cause == "driver_stall"


@pytest.mark.parametrize(("seconds", "cause"), [(13.2, "driver_stall"), (37.3, "host_stall")])
def test_stalls_near_a_multiple_of_the_reset_period(
    timed: Evidence, seconds: float, cause: str
) -> None:
    stalled = replace(timed, duration_seconds=60.0, stall_gaps_seconds=(seconds,))
    assert diagnose(stalled).cause == cause


def test_shares_are_of_the_time_that_they_divide() -> None:
    row = {f"share_{state}": 0.0 for state in STATES} | {"share_outage": 0.9, "share_path": 0.1}
    shares = Shares.from_transfer({**row, "accounted_seconds": 41.5})
    assert shares is not None
    assert shares.spent(3.99) == "of 41.5 s: unanswered retransmissions 90 %, path 10 %"
    older = Shares.from_transfer(row)
    assert older is not None
    assert older.whole_seconds(3.99) == 3.99
