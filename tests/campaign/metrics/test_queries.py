"""Which metric source is queried when, what is stored, and no failure reaches the campaign."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.campaign.runner.conftest import record_of, study_of
from tests.patience import PATIENCE
from trustbed.campaign.metrics import Queries, queries, round_resources
from trustbed.campaign.metrics.answer import Answer, SourceError
from trustbed.campaign.metrics.stored_answers import StoredAnswers
from trustbed.campaign.metrics.table import Observation, Span
from trustbed.campaign.records import RoundRecord
from trustbed.campaign.runner import CampaignDirectory
from trustbed.campaign.runner.directory import RoundDirectory
from trustbed.scenario.campaign_model import Campaign
from trustbed.scenario.metric_sources import Outside, name_of

SECOND = 1_000_000_000
HOSTS = """
[hosts.a]
local = true
measure = "127.0.0.1"
prometheus = { url = "http://192.0.2.1:9090", instance = "a:9100" }

[hosts.b]
local = true
measure = "127.0.0.2"
prometheus = { url = "http://192.0.2.1:9090", instance = "b:9100" }
cloudwatch = { region = "eu-west-1", instance = "i-0123456789abcdef0" }
"""


class Played:
    """A campaign's directory with rounds that ended long ago or just now, and scripted sources."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.campaign: Campaign = study_of(directory, "a-b", hosts=HOSTS).campaign
        self.directory = CampaignDirectory(directory / "out")
        self.queried: list[tuple[str, int]] = []
        self.answers: Callable[[Outside, Span], Answer] = whole
        self.heard = threading.Condition()

    def round(
        self, number: int = 0, ended: int | None = None
    ) -> tuple[RoundDirectory, RoundRecord]:
        """A round of 30 s."""
        until = time.time_ns() - 3600 * SECOND if ended is None else ended
        record = record_of(
            number=number,
            sender="a",
            receiver="b",
            began_ns=until - 30 * SECOND,
            ended_ns=until,
            outcome="complete",
        )
        directory = self.directory.begin_round("a-b", number)
        directory.finish(record)
        return directory, record

    def query(self, source: Outside, span: Span, now_ns: int) -> Answer:
        with self.heard:
            self.queried.append((name_of(source), span.until_ns))
            self.heard.notify_all()
        return self.answers(source, span)

    def queries(self) -> Queries:
        return Queries(self.campaign, self.directory, query=self.query)

    def wait(self, count: int) -> None:
        with self.heard:
            assert self.heard.wait_for(lambda: len(self.queried) >= count, PATIENCE)


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Played:
    return Played(tmp_path, monkeypatch)


def whole(source: Outside, span: Span) -> Answer:
    """An answer for all of the interval."""
    return Answer(
        [Observation("host", None, "cpu_utilisation_share", span.from_ns, 15 * SECOND, 0.5)],
        span.until_ns,
    )


def away(source: Outside, span: Span) -> Answer:
    raise SourceError(
        "http://192.0.2.1:9090 does not answer: Connection refused", "is it running?", is_away=True
    )


def problems(directory: RoundDirectory, source: str) -> list[tuple[str, str]]:
    rows = round_resources(directory).select(["source", "role", "problem"]).to_pylist()
    return [
        (row["role"], row["problem"])
        for row in rows
        if row["source"] == source and row["problem"] is not None
    ]


def test_both_hosts_are_queried_once_about_the_time_of_the_round_if_the_answers_are_complete(
    played: Played,
) -> None:
    directory, record = played.round()
    with played.queries() as running:
        running.put(directory, record)
        played.wait(3)
    assert sorted(played.queried) == [
        (name, record.ended_ns) for name in ("cloudwatch", "prometheus", "prometheus")
    ]
    table = round_resources(directory)
    rows = [row for row in table.to_pylist() if row["source"] in ("prometheus", "cloudwatch")]
    assert [
        (row["host"], row["role"], row["source"], row["resolution_ns"] // SECOND, row["value"])
        for row in rows
        if row["covered_ns"] == 15 * SECOND
    ]
    assert {(row["host"], row["source"]) for row in rows} == {
        ("a", "prometheus"),
        ("b", "prometheus"),
        ("b", "cloudwatch"),
    }
    assert {row["problem"] for row in rows} == {None}
    with played.queries() as running:
        running.put(directory, record)
    assert len(played.queried) == 3, "the next session does not repeat queries"


def test_a_round_that_has_just_ended_is_queried_when_its_data_can_be_expected(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "PROMETHEUS_AFTER_NS", SECOND // 5)
    monkeypatch.setattr(queries, "CLOUDWATCH_AFTER_NS", 3600 * SECOND)
    directory, record = played.round(ended=time.time_ns())
    played.answers = lambda source, span: (
        Answer((), span.from_ns) if len(played.queried) < 5 else whole(source, span)
    )
    with contextlib.suppress(KeyboardInterrupt), played.queries() as running:
        running.put(directory, record)
        played.wait(5)
        raise KeyboardInterrupt
    assert {name for name, _ in played.queried[:5]} == {"prometheus"}
    states = {(state.role, state.source): state for state in StoredAnswers(directory).states}
    assert states["receiver", "cloudwatch"].times == 0
    assert problems(directory, "cloudwatch") == [
        ("receiver", "cloudwatch was not queried yet; the campaign does so when it continues")
    ]


def test_an_open_round_is_queried_once_more_at_the_end_and_then_by_the_next_session(
    played: Played,
) -> None:
    directory, record = played.round(ended=time.time_ns())
    played.answers = lambda source, span: Answer(
        whole(source, span).observations, span.from_ns + 20 * SECOND
    )
    with played.queries() as running:
        running.put(directory, record)
    assert len(played.queried) == 3
    reached = [("sender", "prometheus had no data from here on at the last query")]
    assert problems(directory, "prometheus")[:1] == reached
    row = next(
        row
        for row in round_resources(directory).to_pylist()
        if row["source"] == "prometheus" and row["problem"]
    )
    assert (row["time_ns"], row["resolution_ns"], row["covered_ns"]) == (
        record.ended_ns - 10 * SECOND,
        10 * SECOND,
        0,
    )
    played.answers = whole
    with played.queries():
        pass
    assert len(played.queried) == 6
    assert problems(directory, "prometheus") == []


def test_values_stay_when_a_later_query_fails(played: Played) -> None:
    directory, record = played.round(ended=time.time_ns())
    played.answers = lambda source, span: Answer(whole(source, span).observations, span.from_ns)
    with played.queries() as running:
        running.put(directory, record)
    played.answers = away
    with played.queries():
        pass
    rows = [
        row
        for row in round_resources(directory).to_pylist()
        if row["source"] == "prometheus" and row["role"] == "sender"
    ]
    assert [
        row["value"]
        for row in rows
        if row["problem"] is None and row["resolution_ns"] == 15 * SECOND
    ] == [0.5]
    assert [row["problem"] for row in rows if row["problem"]] == [
        "http://192.0.2.1:9090 does not answer: Connection refused (is it running?)"
    ]


def test_a_server_that_does_not_answer_is_not_queried_again_at_once(played: Played) -> None:
    rounds = [played.round(number) for number in range(20)]
    played.answers = lambda source, span: (
        away(source, span) if name_of(source) == "prometheus" else whole(source, span)
    )
    with played.queries() as running:
        for one in rounds:
            running.put(*one)
        played.wait(21)
    assert [name for name, _ in played.queried].count("prometheus") == 1
    assert [name for name, _ in played.queried].count("cloudwatch") == 20


def test_a_source_that_never_has_data_is_given_up(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "PROMETHEUS_AFTER_NS", 1)
    monkeypatch.setattr(queries, "CLOUDWATCH_AFTER_NS", 1 - 300 * SECOND)
    directory, record = played.round()
    played.answers = lambda source, span: Answer((), None, ["no data for this instance"])
    with played.queries() as running:
        running.put(directory, record)
        played.wait(3 * queries.MOST_TIMES)
    assert len(played.queried) == 3 * queries.MOST_TIMES
    assert problems(directory, "prometheus") == [
        ("sender", "no data for this instance"),
        ("receiver", "no data for this instance"),
    ]


def test_a_bug_of_ours_is_a_row_too(played: Played) -> None:
    directory, record = played.round()

    def fails(source: Outside, span: Span) -> Answer:
        raise ZeroDivisionError("division by zero")

    played.answers = fails
    with played.queries() as running:
        running.put(directory, record)
        played.wait(3)
    assert "ZeroDivisionError" in problems(directory, "prometheus")[0][1]


def test_an_answer_that_the_table_cannot_hold_is_a_row_too(played: Played) -> None:
    (directory, record), (other, second) = played.round(0), played.round(1)
    late = Observation("host", None, "load_1min", 1 << 80, 1, 0.0)
    played.answers = lambda source, span: (
        Answer([late], span.until_ns) if span.until_ns == record.ended_ns else whole(source, span)
    )
    with played.queries() as running:
        running.put(directory, record)
        running.put(other, second)
        played.wait(6)
    assert "could not be read" in problems(directory, "prometheus")[0][1]
    assert problems(other, "prometheus") == [], "the next one is queried as usual"


def test_a_missing_or_damaged_directory_does_not_stop_the_queries(played: Played) -> None:
    (directory, record), (other, second) = played.round(0), played.round(1)
    (other.path / "resources.json").write_text("{")
    (other.path / "resources.parquet").write_text("PAR1, but not really")
    for file in directory.path.iterdir():
        file.unlink()
    directory.path.rmdir()
    with played.queries() as running:
        running.put(directory, record)
        running.put(other, second)
        played.wait(3)
    assert {until for _, until in played.queried} == {second.ended_ns}
    assert problems(other, "prometheus") == []


def test_a_campaign_without_sources_starts_no_thread(tmp_path: Path) -> None:
    campaign = study_of(tmp_path, "a-b").campaign
    before = threading.active_count()
    with Queries(campaign, CampaignDirectory(tmp_path / "out")):
        assert threading.active_count() == before


def test_without_boto3_a_campaign_that_needs_it_does_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trustbed.campaign.api import measure
    from trustbed.campaign.metrics import cloudwatch

    study = study_of(tmp_path, "a-b", hosts=HOSTS)
    monkeypatch.setattr(cloudwatch.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SourceError, match="boto3"):
        measure(study, CampaignDirectory(tmp_path / "out"), about={})
    assert not (tmp_path / "out").exists()


def test_the_source_is_stored_beside_its_answer(played: Played) -> None:
    directory, record = played.round()
    with played.queries() as running:
        running.put(directory, record)
        played.wait(3)
    stored = json.loads((directory.path / "resources.json").read_text())
    (first,) = [one for one in stored["sources"] if one["role"] == "sender"]
    assert first["asked"] == {"url": "http://192.0.2.1:9090", "instance": "a:9100"}
    assert (first["times"], first["is_whole"], first["problems"]) == (1, True, [])
