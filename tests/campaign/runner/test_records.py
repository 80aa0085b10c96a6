"""Records of rounds are read as they were written, also those of earlier versions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.campaign.runner.conftest import record_of
from trustbed.campaign import records
from trustbed.campaign.records import JudgedRound, RoundRecord
from trustbed.campaign.runner.directory import RoundDirectory
from trustbed.run.owned_directory import RunDirectoryError

PING = {"from": "127.0.0.1", "interface": "lo", "round_trips_ns": [7, None], "method": "tcp"}


def test_an_answer_is_stored_whole() -> None:
    record = record_of(ping=PING, bandwidth={"pathload": None})
    assert record.ping.read.round_trips_ns == (7, None)
    assert records.plain(record) == {
        "pair": "a-b",
        "number": 0,
        "index": "1",
        "warnings": [],
        "ping": PING,
        "bandwidth": {"pathload": None},
        "transport_losses": [],
        "connections": [],
    }


@pytest.mark.parametrize("found", [{}, {"delay": None}, {"delay": {"sent_probes": 3}}])
def test_a_failed_measurement_differs_from_one_that_was_not_configured(
    found: dict[str, None],
) -> None:
    assert {
        key: value for key, value in records.plain(record_of(**found)).items() if key == "delay"
    } == found


def test_keys_of_earlier_versions_are_read() -> None:
    loss = {"host": "a", "from_ns": 1, "until_ns": None, "why": "it was lost"}
    warning = {"what": "clock of a", "message": "none", "hint": ""}
    record = record_of(troubles=[warning], ways_lost=[loss], unheard_of=1)
    assert (record.warnings[0].what, record.transport_losses[0].host) == ("clock of a", "a")


@pytest.mark.parametrize(
    ("name", "text", "wrong"),
    [
        ("round.json", '{"pair": "a-b", "number": "1", "index": "1"}', "$.number"),
        ("round.json", '{"pair": "a-b", "index": "1"}', "number"),
        ("judged.json", '{"connections": [{"role": "date"}]}', "$.connections[0].role"),
        ("judged.json", "{", "truncated"),
    ],
)
def test_a_malformed_file_is_an_error_that_names_it(
    tmp_path: Path, name: str, text: str, wrong: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    directory = RoundDirectory(1, "a-b", tmp_path)
    with pytest.raises(RunDirectoryError) as caught:
        directory.record() if name == "round.json" else directory.judged()
    assert wrong in caught.value.message
    assert str(tmp_path / name) in caught.value.message


def test_a_judgement_is_read_as_it_was_written(tmp_path: Path) -> None:
    directory = RoundDirectory(1, "a-b", tmp_path)
    directory.finish(record_of(outcome="complete"))
    directory.write_judged(JudgedRound(use="trust", flags=["no_ping"]))
    assert directory.is_complete
    assert isinstance(directory.record(), RoundRecord)
    assert directory.judged() == JudgedRound(use="trust", flags=["no_ping"])
    assert "judging_error" not in json.loads((tmp_path / "judged.json").read_text())
