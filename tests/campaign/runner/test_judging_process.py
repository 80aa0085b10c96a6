"""Rounds that are judged in processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaign.runner.conftest import record_of, row_of
from trustbed.campaign.judge import judge_round
from trustbed.campaign.runner.directory import CampaignDirectory, RoundDirectory
from trustbed.campaign.runner.judging import JudgingError, JudgingProcesses


@pytest.fixture
def complete(tmp_path: Path) -> RoundDirectory:
    """A round without captures."""
    rows = [row_of(0, role, 1000, 5e5) for role in ("probe", "data")]
    record = record_of(
        ping={"from": "127.0.0.1", "round_trips_ns": [10_000_000]},
        sent={"connections": rows},
        received={"connections": rows},
        outcome="complete",
    )
    one = CampaignDirectory(tmp_path).begin_round("a-b", 0)
    one.finish(record)
    return one


def test_a_process_that_is_killed_costs_one_judgement(complete: RoundDirectory) -> None:
    with JudgingProcesses() as judge:
        judged = judge(complete)
        judge._idle.queue[0]._process.kill()
        with pytest.raises(JudgingError, match="was killed by signal 9"):
            judge(complete)
        assert judge(complete) == judged


def test_a_process_judges_as_this_one_refuses_what_it_cannot_read_and_goes_on(
    complete: RoundDirectory,
) -> None:
    with JudgingProcesses() as judge:
        assert judge(complete) == judge_round(complete, complete.record())
        (process,) = judge._idle.queue
        (complete.path / "round.json").write_text("{")
        with pytest.raises(JudgingError, match="cannot be read"):
            judge(complete)
        assert [*judge._idle.queue] == [process]
