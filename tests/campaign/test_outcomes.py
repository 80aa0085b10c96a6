"""When a connection has failed, and what that makes of its round."""

from __future__ import annotations

from typing import get_args

import pytest

from trustbed.campaign import (
    CONNECTION_FAILURES,
    ROUND_OUTCOMES,
    ConnectionFailure,
    RoundOutcome,
    failure,
    outcome,
)
from trustbed.campaign.schedule.schedule import SkipReason

SECOND = 10**9


def judged(
    *,
    received: int = 1000,
    accepted: int | None = 5 * SECOND,
    ended: int = 6 * SECOND,
    reset: bool = False,
) -> ConnectionFailure | None:
    return failure(
        size=1000,
        received=received,
        accepted_ns=accepted,
        ended_ns=ended,
        reset=reset,
        limit_ns=300 * SECOND,
    )


def test_a_completed_connection() -> None:
    assert judged() is None
    assert judged(ended=305 * SECOND) is None  # as long as it may take, and no longer
    assert judged(received=1001) is None


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (judged(received=999), "short"),
        (judged(ended=305 * SECOND + 1), "late"),
        (judged(ended=305 * SECOND + 1, received=10), "late"),
        (judged(reset=True), "reset"),
        (judged(reset=True, received=10, ended=400 * SECOND), "reset"),
        (judged(accepted=None, received=0), "unconnected"),
    ],
)
def test_a_connection_that_failed_has_one_reason(found: str, reason: str) -> None:
    assert found == reason


def test_a_round_with_a_failed_connection_is_partial() -> None:
    assert outcome([None] * 6) == "complete"
    assert outcome([None] * 5 + ["late"]) == "partial"
    assert outcome(["reset"] * 6) == "partial"
    with pytest.raises(ValueError, match="without connections"):
        outcome([])


def test_all_failures_and_outcomes_are_listed() -> None:
    assert get_args(ConnectionFailure) == CONNECTION_FAILURES
    assert get_args(RoundOutcome) == ROUND_OUTCOMES
    assert {*get_args(SkipReason)} < {*ROUND_OUTCOMES}
