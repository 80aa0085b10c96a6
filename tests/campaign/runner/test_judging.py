"""Results of rounds and campaigns: failures, rows, statements, text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.campaign.runner.conftest import (
    Leaping,
    PlayedHosts,
    PlayedRound,
    record_of,
    row_of,
    study_of,
)
from tests.conftest import Refuses
from trustbed.campaign import SeenRound
from trustbed.campaign import judge as campaigns
from trustbed.campaign.judge import judge_round
from trustbed.campaign.model import CauseRounds
from trustbed.campaign.results import read_model, statement
from trustbed.campaign.runner import CampaignDirectory
from trustbed.campaign.runner.directory import RoundDirectory
from trustbed.campaign.runner.round import connections_of
from trustbed.report.campaign import text as campaign_text
from trustbed.run.owned_directory import RunDirectoryError
from trustbed.scenario.campaign_model import Wanted

LIMIT = 300_000_000_000


@pytest.mark.parametrize(
    ("received", "sent", "wanted"),
    [
        ({}, {}, None),
        (
            {"close": "absent", "failed": True, "accepted_ns": None, "payload_bytes": 0},
            {},
            "unconnected",
        ),
        ({"close": "reset", "failed": True, "payload_bytes": 10}, {}, "reset"),
        (
            {"close": "timed_out", "failed": True, "result_ns": LIMIT + 1, "payload_bytes": 10},
            {},
            "late",
        ),
        ({"close": "too_short", "failed": True, "payload_bytes": 10}, {}, "short"),
        ({"close": "too_long", "failed": True}, {}, "short"),
        (
            {
                "close": "stopped",
                "failed": True,
                "payload_bytes": 10,
                "result_ns": None,
                "last_byte_ns": None,
            },
            {},
            "short",
        ),
        (None, {"connected_ns": None, "close": "refused"}, "unconnected"),
        (None, {"close": "reset"}, "reset"),
        (None, {"close": "timed_out"}, "late"),
        (None, {"close": "unanswered"}, "short"),
        (None, {"close": "complete"}, None),
    ],
)
def test_the_receiver_decides_why_a_connection_failed_and_else_the_sender(
    received: dict[str, Any] | None, sent: dict[str, Any], wanted: str | None
) -> None:
    ends = {"sent": {"connections": [row_of(0, "data", 1000, 1.0, **sent)]}}
    if received is not None:
        ends["received"] = {"connections": [row_of(0, "data", 1000, 1.0, **received)]}
    (found,) = connections_of(record_of(limit_ns=LIMIT, **ends))
    assert (found.number, found.role, found.failure) == (0, "data", wanted)


def test_a_round_without_a_capture_has_rows_and_no_causes(tmp_path: Path) -> None:
    rows = [row_of(0, role, 1000, 5e5) for role in ("probe", "data")]
    record = record_of(
        number=3,
        probe_bytes=16384,
        data_bytes=262_144,
        limit_ns=LIMIT,
        outcome="complete",
        sent={"connections": rows},
        received={"connections": rows},
        ping={"from": "127.0.0.1", "round_trips_ns": [None, 10_000_000, 30_000_000]},
    )
    judged = judge_round(RoundDirectory(3, "a-b", tmp_path), record)
    assert (judged.use, judged.flags) == (None, ["no_capture"])
    assert [
        (row.rtt_base_seconds, row.cause, row.app_bytes_per_second) for row in judged.connections
    ] == [(0.02, None, 5e5)] * 2


@pytest.mark.parametrize(
    ("ahead_after", "flagged"), [(2_000_000, False), (170_000_000, True), (-170_000_000, True)]
)
def test_a_clock_that_was_stepped_is_noticed(ahead_after: int, flagged: bool) -> None:
    """Half a minute in which a clock may be slewed by 15 ms."""
    clocks = {
        "sender": {"ahead_ns": 0, "error_ns": 100_000, "at_ns": 0},
        "receiver": {"ahead_ns": 5, "error_ns": 100_000, "at_ns": 0},
    }
    after = {
        **clocks,
        "receiver": {"ahead_ns": ahead_after, "error_ns": 100_000, "at_ns": 30_000_000_000},
    }
    found = campaigns._flags(record_of(clocks=clocks, clocks_after=after), [], {}, None)
    assert ("clock_stepped" in found) is flagged
    assert "clock_stepped" not in campaigns._flags(record_of(clocks=clocks), [], {}, None), (
        "it was asked once"
    )


def seen(rate: float, use: str | None, cause: str | None = None) -> SeenRound:
    """A round whose data connections came to a throughput."""
    return SeenRound(number=0, use=use, data=rate, causes=() if cause is None else (cause,))


def test_rounds_that_measured_a_host_do_not_count_for_the_network() -> None:
    rounds = [
        seen(10.0, "trust"),
        seen(12.0, "review"),
        seen(2.0, "discard", "host_stall"),
        seen(14.0, None),
    ]
    found = statement(rounds, Wanted())
    assert (found.rounds, found.discarded) == (4, 1)
    assert found.why == (CauseRounds(cause="host_stall", rounds=1),)
    assert (found.network.rounds, found.network.throughput_mean) == (3, 12.0)
    assert found.network.throughput_interval.low < 12 < found.network.throughput_interval.high
    assert found.everything.throughput_mean == 9.5
    assert found.rounds_wanting_all == -(-found.rounds_wanting * 4 // 3), (
        "of four rounds three may be used"
    )
    assert statement([], Wanted()).network.throughput_mean is None


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_the_text_shows_the_model(tmp_path: Path, columns: int) -> None:
    study = study_of(tmp_path, "a-b", "c-d", count=3, period='"500ms"', pings=0)
    Leaping(
        study,
        CampaignDirectory(tmp_path / "out"),
        PlayedHosts(study, down=("d",)),
        judge=judge_round,
        about={"version": "1"},
        carrier=PlayedRound,
    ).carry_out()
    model = read_model(tmp_path / "out")
    text = campaign_text.render(model, now_ns=model.campaign.began_ns, columns=columns)
    assert "finished" in text
    assert "d is unreachable since" in text
    assert "a-b  (a → b)" in text
    assert " unreachable" in text
    assert "per data connection, from" in " ".join(text.split())
    prose = [line for line in text.splitlines() if not line.startswith(("  index", "  1 ", "  2 "))]
    assert all(len(line) <= columns for line in prose)


def test_a_directory_that_is_no_campaign_is_refused(tmp_path: Path, refuses: Refuses) -> None:
    with refuses(RunDirectoryError):
        read_model(tmp_path)
