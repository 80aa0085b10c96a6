"""Sessions of a run, with faked repetitions: what is checked, continued and left unchanged."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import msgspec
import pytest

from tests.conftest import Refuses
from trustbed.errors import HostNotStartedError
from trustbed.run.directory import RunDirectory, RunDirectoryError
from trustbed.run.error import RunError
from trustbed.run.execution import execute, session
from trustbed.run.execution.session import Session
from trustbed.run.judge import judge as judge_repetition
from trustbed.run.record import FailureRecord, RepetitionRecord
from trustbed.scenario import load

TEXT = """
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
[workload.w]
kind = "bulk"
host = "client"
to = "server"
[background.noise]
model = "none"
from = "client"
to = "server"
rate = "1Mbit/s"
[factors]
"background.noise.model" = ["none", "cbr"]
"""

Run = Callable[..., None]


class RunTestbed:
    """No testbed."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __enter__(self) -> RunTestbed:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Execution:
    """A repetition in which nothing happens."""

    more: ClassVar[dict[str, Any]] = {}
    leaves: ClassVar[Mapping[int, Mapping[str, bytes]]] = {}
    """Contents of files, by the number of the repetition and their names in its directory."""

    def __init__(
        self,
        testbed: object,
        scenario: object,
        repetition: Any,  # noqa: ANN401 - as the real one's
        *,
        directory: Path,
        **_: object,
    ) -> None:
        self.number = repetition.number
        self.directory = directory

    def carry_out(self) -> RepetitionRecord:
        for name, content in self.leaves.get(self.number, {}).items():
            (self.directory / name).write_bytes(content)
        record = RepetitionRecord(
            number=self.number,
            cell=0,
            round=0,
            seed=1,
            outcome="complete",
            started="2026-01-01T00:00:00Z",
            seconds=1.0,
            epoch_ns=0,
            workload_start_ns=0,
            phases=[],
            workloads=[],
            faults=[],
            processes=[],
            guests={},
            backgrounds=[],
            emulator=None,
            emulator_ready={},
            captures=[],
            samples=[],
            watchers=[],
            services=[],
            failures=[],
        )
        return msgspec.structs.replace(record, **self.more)


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The checks of the machine before a run, in order."""
    found: list[str] = []
    monkeypatch.setattr(session, "prepare", lambda: None)
    monkeypatch.setattr(session, "agent", SimpleNamespace(binary=lambda: found.append("agent")))
    monkeypatch.setattr(
        session.ceiling, "refuse_too_much", lambda scenarios, known: found.append("ceiling")
    )
    monkeypatch.setattr(session, "Testbed", RunTestbed)
    monkeypatch.setattr(session, "Execution", Execution)
    return found


@pytest.fixture
def run(tmp_path: Path, checks: list[str]) -> Run:
    """Calls ``trustbed run``."""

    def call(
        text: str = TEXT,
        fails: Callable[[str], Exception | None] = lambda repetition: None,
        **options: Any,  # noqa: ANN401 - those of Session
    ) -> None:
        (tmp_path / "study.toml").write_text(text)

        def judge(directory: RunDirectory, repetition: str, scenario: object) -> dict[str, Any]:
            if (error := fails(repetition)) is not None:
                raise error
            directory.write_findings(repetition, {"use": "trust", "why": ""})
            return {"use": "trust", "why": ""}

        Session(
            load(tmp_path / "study.toml"),
            RunDirectory(tmp_path / "run"),
            judge=judge,
            about={},
            **options,
        ).carry_out()

    return call


def manifest(tmp_path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((tmp_path / "run" / "manifest.json").read_text())
    return found


def directories(tmp_path: Path) -> list[str]:
    return sorted(path.parent.name for path in (tmp_path / "run").glob("rep-*/done"))


def test_every_repetition_is_carried_out_and_judged(run: Run, tmp_path: Path) -> None:
    run(repetitions=2)
    assert directories(tmp_path) == ["rep-000", "rep-001", "rep-002", "rep-003"]
    assert all(
        (tmp_path / "run" / name / "findings.json").is_file() for name in directories(tmp_path)
    )


def judged(tmp_path: Path) -> list[str]:
    return sorted(path.parent.name for path in (tmp_path / "run").glob("rep-*/findings.json"))


def test_a_repetition_that_cannot_be_judged_does_not_stop_the_others(
    run: Run, tmp_path: Path
) -> None:
    def fails(repetition: str) -> Exception | None:
        return KeyError("start") if repetition in ("rep-001", "rep-002") else None

    for _ in range(2):  # the second time nothing is left to be carried out
        with pytest.raises(RunError, match=r"rep-001, and 1 more: KeyError: 'start'"):
            run(repetitions=2, fails=fails)
        assert directories(tmp_path) == ["rep-000", "rep-001", "rep-002", "rep-003"]
        assert judged(tmp_path) == ["rep-000", "rep-003"]
    run(repetitions=2)
    assert judged(tmp_path) == directories(tmp_path)


TRACE = '[trace.calls]\nof = "all"\nhost = "client"\n'
WATCHED = '[samples]\nspin = "100ms"\n'


@pytest.mark.parametrize(
    ("name", "content", "verb", "message"),
    [
        ("client.jsonl", b'{"units": "ns"}\n{"at_ns": []}\n', "sample", "1 line of client.jsonl"),
        ("server.jsonl", b'[]\n{"at_ns": 1, "memory": 7}', "sample", "2 lines of server.jsonl"),
        ("client.spin.jsonl", b'{}\n{"at_ns": 1, "share": NaN}', "spin", "client.spin.jsonl"),
        ("calls.calls.rows", b'{"calls": ["read"], "columns": 7}\n', "trace", "calls.calls.rows"),
        ("calls.calls.rows", b"", "trace", "calls.calls.rows"),
    ],
)
def test_what_a_host_wrote_spoils_its_repetition_and_no_other(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    content: bytes,
    verb: str,
    message: str,
) -> None:
    monkeypatch.setattr(Execution, "leaves", {1: {f"samples/{name}": content}})
    run(TEXT + TRACE + WATCHED, repetitions=2)
    assert judged(tmp_path) == ["rep-000", "rep-001", "rep-002", "rep-003"]
    records = [RunDirectory(tmp_path / "run").record(f"rep-00{number}") for number in range(4)]
    assert [one["outcome"] for one in records] == ["complete", "failed", "complete", "complete"]
    (failure,) = records[1]["failures"]
    host = "server" if name.startswith("server") else "client"
    assert (failure["verb"], failure["where"]) == (verb, host)
    assert message in failure["message"]


GUEST = TEXT.replace("[hosts.client]", '[hosts.client]\nguest = "e1000"')


def test_a_guest_that_claims_a_full_disk_does_not_end_the_run(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = [FailureRecord(verb="sample", where="client", message=FULL)]
    monkeypatch.setattr(Execution, "more", {"outcome": "failed", "failures": claims})
    monkeypatch.setattr(Session, "_guests", lambda session: None)
    run(GUEST)
    assert judged(tmp_path) == ["rep-000", "rep-001"]


def test_a_full_disk_ends_judging(run: Run, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no space left"):
        run(fails=lambda repetition: OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    assert directories(tmp_path) == ["rep-000"], "the next session judges it, and goes on"


FULL = "its file cannot be written: No space left on device (os error 28)"


@pytest.mark.parametrize(
    "more",
    [
        {"failures": [FailureRecord(verb="capture", where="client", message=FULL)]},
        {"emulator": {"ledger": {"error": "No space left on device (os error 28)"}}},
        {"workloads": [SimpleNamespace(name="w", host="client", outcome="failed", reason=FULL)]},
    ],
)
def test_a_repetition_for_which_the_disk_was_too_small_is_not_complete(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    more: dict[str, Any],
    refuses: Refuses,
) -> None:
    monkeypatch.setattr(Execution, "more", {"outcome": "failed", **more})
    with refuses(RunError):
        run()
    assert directories(tmp_path) == []
    monkeypatch.setattr(Execution, "more", {})
    run()
    assert directories(tmp_path) == ["rep-000", "rep-001"]


def test_rounds_are_added(run: Run, tmp_path: Path) -> None:
    run()
    run(repetitions=3)
    assert len(directories(tmp_path)) == len(manifest(tmp_path)["order"]) == 6


def test_what_is_complete_stays_in_the_run_when_fewer_are_asked_for(
    run: Run, tmp_path: Path
) -> None:
    run(repetitions=3)
    before = manifest(tmp_path)["order"]
    run()
    assert manifest(tmp_path)["order"] == before
    assert manifest(tmp_path)["repetitions"] == 3


def test_rounds_that_were_never_begun_may_be_given_up(run: Run, tmp_path: Path) -> None:
    run(repetitions=3)
    for name in directories(tmp_path)[3:]:  # as if it had been killed in its second round
        (tmp_path / "run" / name / "done").unlink()
        (tmp_path / "run" / name / "findings.json").unlink()
    run(repetitions=1)
    assert len(manifest(tmp_path)["order"]) == 4


def test_a_second_call_in_the_same_directory_does_not_disturb_the_first(
    run: Run, tmp_path: Path, checks: list[str], refuses: Refuses
) -> None:
    with RunDirectory(tmp_path / "run").locked():
        with refuses(RunDirectoryError):
            run()
        assert "ceiling" not in checks, "a flood during another run's measurement"


def test_what_another_call_has_begun_meanwhile_is_not_mixed_with_this_one(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    check = Session.check
    other = TEXT.replace("20Mbit/s", "10Mbit/s")

    def slow(one: Session) -> None:
        check(one)
        if "20Mbit/s" in one.study.text:  # the other is quicker
            run(other)

    monkeypatch.setattr(Session, "check", slow)
    with refuses(RunDirectoryError):
        run()
    assert (tmp_path / "run" / "scenario.toml").read_text() == other


def test_what_is_refused_leaves_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    def refuse(scenarios: object, known: object) -> None:
        raise RunError("too much", "demand less")

    monkeypatch.setattr(session.ceiling, "refuse_too_much", refuse)
    with refuses(RunError):
        run()
    assert not (tmp_path / "run").exists()
    (tmp_path / "run").mkdir()
    with refuses(RunError):
        run()
    assert (tmp_path / "run").is_dir(), "it existed before"


class FailingCell(Execution):
    """The second cell fails."""

    def __init__(self, testbed: object, scenario: object, repetition: Any, **more: Any) -> None:  # noqa: ANN401
        super().__init__(testbed, scenario, repetition, **more)
        self.cell = repetition.cell

    def carry_out(self) -> RepetitionRecord:
        record = super().carry_out()
        if self.cell == 1:
            failed = FailureRecord(verb="serve", where="server", message="the port is in use")
            return msgspec.structs.replace(record, outcome="failed", failures=[failed])
        return record


def test_a_cell_that_fails_three_times_in_a_row_is_left_out_and_the_others_go_on(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "Execution", FailingCell)
    with pytest.raises(RunError, match=r"3 repetitions of a cell in a row failed.*: the port is"):
        run(repetitions=5)
    assert len(judged(tmp_path)) == 5 + 3
    monkeypatch.setattr(session, "Execution", Execution)
    run(repetitions=5)
    assert len(judged(tmp_path)) == 10, "the same command carries out what was left out"


def test_a_guest_that_does_not_boot_fails_its_repetition_and_the_run_goes_on(
    checks: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boots = iter((True, False, True, True))

    class Fickle(RunTestbed):
        def __enter__(self) -> Fickle:
            if next(boots):
                return self
            raise HostNotStartedError("server", "the guest server did not boot", "see its console")

    class Halved(execute.Execution):
        carry_out = Execution.carry_out
        leaves, more, number = Execution.leaves, Execution.more, 0

    monkeypatch.setattr(session, "Testbed", Fickle)
    monkeypatch.setattr(session, "Execution", Halved)
    (tmp_path / "study.toml").write_text(TEXT)
    directory = RunDirectory(tmp_path / "run")
    study = load(tmp_path / "study.toml")
    Session(study, directory, judge=judge_repetition, about={}, repetitions=2).carry_out()
    records = [directory.record(name) for name in judged(tmp_path)]
    outcomes = [record["outcome"] for record in records]
    assert outcomes == ["complete", "failed", "complete", "complete"]
    assert records[1]["failures"] == [
        {"verb": "start", "where": "server", "message": "the guest server did not boot"}
    ]
    assert [one["reason"] for one in records[1]["workloads"]] == ["the guest server did not boot"]
    assert directory.findings("rep-001")["use"] != "trust"
