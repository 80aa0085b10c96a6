"""All rounds of a campaign, carried out by hosts that are only played.

Order, resuming, hosts that come and go, disk.
"""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.campaign.runner.conftest import (
    Leaping,
    PlayedHosts,
    PlayedRound,
    study_of,
)
from tests.conftest import Refuses
from tests.patience import PATIENCE, wait_until
from trustbed.campaign import Round, Skip
from trustbed.campaign.judge import judge_round
from trustbed.campaign.records import JudgedRound, RoundRecord
from trustbed.campaign.results import read_model
from trustbed.campaign.runner import CampaignDirectory, RoundListener, Runner
from trustbed.campaign.runner.directory import RoundDirectory
from trustbed.campaign.runner.journal import (
    BeganLine,
    CapturesRemovedLine,
    EndedLine,
    FinishedLine,
    HostLine,
    state_of,
)
from trustbed.campaign.runner.round import CancelledRoundError
from trustbed.campaign.runner.space import CampaignError
from trustbed.run.owned_directory import RunDirectoryError
from trustbed.scenario.campaign import CampaignFile

FAST = {"period": '"100ms"', "pings": 0}


def nothing(path: RoundDirectory, record: RoundRecord) -> JudgedRound:
    """Judges nothing."""
    return JudgedRound(use="trust")


class Events(RoundListener):
    """The events of hosts and rounds."""

    def __init__(self) -> None:
        self.hosts: list[tuple[str, bool]] = []
        self.ended: list[int] = []

    def on_host(self, host: str, *, up: bool, why: str | None, hint: str | None) -> None:
        self.hosts.append((host, up))

    def on_ended(self, one: Round, record: RoundRecord) -> None:
        self.ended.append(one.number)


def run(
    study: CampaignFile,
    path: Path,
    hosts: PlayedHosts | None = None,
    *,
    runner: type[Runner] = Runner,
    **options: Any,  # noqa: ANN401 - of the runner
) -> CampaignDirectory:
    """Runs a campaign."""
    directory = CampaignDirectory(path)
    known = {"judge": judge_round, "about": {"version": "1"}, "carrier": PlayedRound, **options}
    runner(study, directory, PlayedHosts(study) if hosts is None else hosts, **known).carry_out()
    return directory


def test_every_round_is_judged_or_skipped(tmp_path: Path) -> None:
    study = study_of(tmp_path, "a-b", "c-d", count=6, period='"200ms"', pings=0)
    directory = run(study, tmp_path / "out")
    model = read_model(directory.path)
    assert model.campaign.finished
    assert not model.campaign.at_work
    for pair in model.pairs:
        rounds = {
            name: count for name, count in pair.rounds.items() if name not in ("asked", "running")
        }
        assert sum(rounds.values()) == 6, rounds
        assert set(rounds) <= {"complete", "overrun", "missed"}
        assert pair.judged == rounds.get("complete", 0) > 0
        assert {one.role for one in pair.aggregates} == {"probe", "data"}
        assert pair.statement.network.throughput_mean >= 1e6


def test_an_interrupted_campaign_continues(tmp_path: Path) -> None:
    study = study_of(tmp_path, "a-b", count=30, **FAST)

    class Interrupts(RoundListener):
        def on_ended(self, one: Round, record: RoundRecord) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(study, tmp_path / "out", listener=Interrupts())
    directory = CampaignDirectory(tmp_path / "out")
    assert len(list(directory.rounds())) == 1
    run(study, tmp_path / "out", runner=Leaping)
    model = read_model(tmp_path / "out")
    (pair,) = model.pairs
    rounds = {
        name: count for name, count in pair.rounds.items() if name not in ("asked", "running")
    }
    assert sum(rounds.values()) == 30
    assert model.campaign.sessions == 2
    assert pair.judged == rounds.get("complete", 0), (
        "what an interrupt left unjudged is judged later"
    )


def test_a_round_that_runs_when_it_is_interrupted_leaves_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_of(tmp_path, "a-b", count=3, **FAST)
    never = threading.Event()
    monkeypatch.setattr(PlayedRound, "waits", never)

    class Interrupts(RoundListener):
        def on_waiting(self, until_ns: int | None, running: int) -> None:
            if running:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(study, tmp_path / "out", listener=Interrupts())
    events = Counter(type(line) for line in CampaignDirectory(tmp_path / "out").journal.lines())
    assert (events[BeganLine], events[EndedLine], events[FinishedLine]) == (1, 1, 0)
    assert list(CampaignDirectory(tmp_path / "out").rounds()) == []


def test_the_next_session_continues_after_a_kill(tmp_path: Path) -> None:
    study = study_of(tmp_path, "a-b", count=40, **FAST)
    code = """
        import os, signal, sys
        from pathlib import Path
        from tests.campaign.runner.conftest import PlayedRound
        from tests.campaign.runner.test_runner import run, PlayedHosts
        from trustbed.campaign.runner import RoundListener
        from trustbed.scenario import campaign

        class Kills(RoundListener):
            def on_round(self, one):
                if one.number >= 2:
                    os.kill(os.getpid(), signal.SIGKILL)

        run(campaign.load(Path(sys.argv[1])), Path(sys.argv[2]), listener=Kills())
    """
    words = [sys.executable, "-c", textwrap.dedent(code), str(study.file), str(tmp_path / "out")]
    ended = subprocess.run(words, timeout=PATIENCE, check=False, cwd=Path(__file__).parents[3])
    assert ended.returncode == -9
    directory = run(study, tmp_path / "out", runner=Leaping)
    (pair,) = read_model(directory.path).pairs
    rounds = pair.rounds
    assert rounds["interrupted"] == 1
    assert sum(count for name, count in rounds.items() if name not in ("asked", "running")) == 40


def test_a_host_that_is_down_costs_its_own_rounds_only(tmp_path: Path) -> None:
    study = study_of(tmp_path, "a-b", "c-d", count=4, **FAST)
    events = Events()
    hosts = PlayedHosts(study, down=("d",))
    directory = run(study, tmp_path / "out", hosts, listener=events, runner=Leaping)
    model = read_model(directory.path)
    one, other = model.pairs
    assert one.rounds.get("complete", 0) > 0
    assert set(other.rounds) - {"asked", "running"} == {"unreachable"}
    assert events.hosts.count(("d", False)) == 1
    assert [host.why for host in model.hosts if host.up is False] == ["the host d does not answer"]


def test_a_host_that_hangs_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trustbed.campaign.runner.runner.FIRST_SECONDS", 0.05)
    study = study_of(tmp_path, "a-b", "c-d", count=900, **FAST)
    over = threading.Event()

    class Hang(PlayedHosts):
        def connect_one(self, name: str) -> None:
            if name == "d":
                over.wait(PATIENCE)
            super().connect_one(name)

    class Sees(Events):
        def on_ended(self, one: Round, record: RoundRecord) -> None:
            super().on_ended(one, record)
            if one.pair.name == "a-b":
                over.set()  # rounds began without it
            else:
                raise KeyboardInterrupt  # and it was connected in the end

    events = Sees()
    with pytest.raises(KeyboardInterrupt):
        run(study, tmp_path / "out", Hang(study), listener=events)
    assert [up for host, up in events.hosts if host == "d"] == [False, True]
    assert [up for host, up in events.hosts if host == "a"] == [True]


def test_a_host_that_comes_back_is_connected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trustbed.campaign.runner.runner.RETRY_SECONDS", 0.01)
    study = study_of(tmp_path, "a-b", count=900, **FAST)
    hosts = PlayedHosts(study, down=("b",))

    class Mends(Events):
        def on_skipped(self, skip: object) -> None:
            hosts.down.clear()

        def on_ended(self, one: Round, record: RoundRecord) -> None:
            raise KeyboardInterrupt  # a round has ended: enough

    events = Mends()
    with pytest.raises(KeyboardInterrupt):
        run(study, tmp_path / "out", hosts, listener=events)
    assert events.hosts[-1] == ("b", True)


def test_a_host_that_vanishes_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trustbed.campaign.runner.runner.RETRY_SECONDS", 0.01)
    study = study_of(tmp_path, "a-b", count=900, **FAST)
    hosts = PlayedHosts(study)

    class Breaks(Events):
        def on_ended(self, one: Round, record: RoundRecord) -> None:
            super().on_ended(one, record)
            if len(self.ended) == 1:
                hosts["a"].is_gone = True
            elif [up for host, up in self.hosts if host == "a"] == [True, False, True]:
                raise KeyboardInterrupt  # it went down, and up again

    events = Breaks()
    with pytest.raises(KeyboardInterrupt):
        run(study, tmp_path / "out", hosts, listener=events)
    assert ("a", False) in events.hosts


def test_a_host_whose_transport_is_lost_is_down_until_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trustbed.campaign.runner.runner.RETRY_SECONDS", 0.01)
    study = study_of(tmp_path, "a-b", count=900, **FAST)
    hosts = PlayedHosts(study)

    class Loses(Events):
        def on_ended(self, one: Round, record: RoundRecord) -> None:
            super().on_ended(one, record)
            if len(self.ended) == 1:
                hosts["a"].is_away = True
            elif [up for host, up in self.hosts if host == "a"] == [True, False, True]:
                raise KeyboardInterrupt

        def on_skipped(self, skip: Skip) -> None:
            if skip.reason == "unreachable":
                hosts["a"].is_away = False

    events = Loses()
    hosts.connect_one("a")
    before = hosts["a"]
    with pytest.raises(KeyboardInterrupt):
        run(study, tmp_path / "out", hosts, listener=events)
    assert hosts["a"] is before, "it is what it was"
    (line,) = (
        line
        for line in CampaignDirectory(tmp_path / "out").journal.lines()
        if isinstance(line, HostLine) and not line.up
    )
    assert line.why == "the transport to the host a is lost"


def test_the_first_period_counts_from_when_hosts_are_connected(tmp_path: Path) -> None:
    study = study_of(tmp_path, "a-b", count=100_000, **FAST)
    connected: list[int] = []
    due: list[int] = []

    class Slow(PlayedHosts):
        def connect_one(self, name: str) -> None:
            if name == "b":
                threading.Event().wait(0.15)  # more than a period
            super().connect_one(name)
            connected.append(time.time_ns())

    class Notes(RoundListener):
        def on_round(self, one: Round) -> None:
            due.append(one.due_ns)

        def on_ended(self, one: Round, record: RoundRecord) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(study, tmp_path / "out", Slow(study), listener=Notes())
    assert due[0] >= max(connected)
    before = state_of(CampaignDirectory(tmp_path / "out").journal.lines())
    assert before.scheduled_ns == due[0], "round 0 was not missed"
    with pytest.raises(KeyboardInterrupt):
        run(study, tmp_path / "out", Slow(study), listener=Notes())
    assert (due[1] - due[0]) % 100_000_000 == 0, "a campaign that continues keeps its periods"


def test_an_interrupt_does_not_wait_for_a_lost_host(tmp_path: Path) -> None:
    study = study_of(tmp_path, "a-b", count=3, **FAST)
    hosts = PlayedHosts(study)

    class Waits(PlayedRound):
        def carry_out(self, directory: Path) -> RoundRecord:
            self.sender.is_away = True
            wait_until(lambda: self.sender.is_gone, "that it is given up")
            raise CancelledRoundError

    class Interrupts(RoundListener):
        def on_waiting(self, until_ns: int | None, running: int) -> None:
            if running and hosts["a"].is_away:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(study, tmp_path / "out", hosts, listener=Interrupts(), carrier=Waits)
    assert hosts["a"].is_gone


def test_captures_are_removed_to_stay_within_the_disk_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlayedRound, "capture_bytes", 300_000)
    study = study_of(tmp_path, "a-b", count=20, more='[recording]\ndisk = "1MiB"\n', **FAST)
    directory = run(study, tmp_path / "out", judge=nothing, runner=Leaping)
    directories = sorted(directory.rounds())
    with_captures = [
        round_directory.number
        for round_directory in directories
        if (round_directory.path / "sender.pcapng").is_file()
    ]
    assert with_captures, "the newest captures stay"
    assert len(with_captures) < len(directories)
    assert (
        with_captures
        == [round_directory.number for round_directory in directories][-len(with_captures) :]
    )
    state = [line for line in directory.journal.lines() if isinstance(line, CapturesRemovedLine)]
    assert len(state) == len(directories) - len(with_captures)
    assert directory.used_bytes() < (1 << 20) + 2 * 300_000


def test_files_that_are_added_to_a_round_later_count_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    monkeypatch.setattr("trustbed.campaign.runner.space._UNCOUNTED_ROUNDS", 2)
    study = study_of(tmp_path, "a-b", count=20, more='[recording]\ndisk = "1MiB"\n', **FAST)

    def derives(round_directory: RoundDirectory, record: RoundRecord) -> JudgedRound:
        (round_directory.path / "resources.parquet").write_bytes(b"x" * 400_000)
        return nothing(round_directory, record)

    with refuses(CampaignError):
        run(study, tmp_path / "out", judge=derives, runner=Leaping)


def test_a_disk_limit_that_is_too_small_ends_the_campaign(tmp_path: Path, refuses: Refuses) -> None:
    study = study_of(tmp_path, "a-b", count=5, more='[recording]\ndisk = "1MiB"\n', **FAST)
    (tmp_path / "out" / "hosts").mkdir(parents=True)
    (tmp_path / "out" / "hosts" / "big.json").write_bytes(b"x" * (2 << 20))
    with refuses(CampaignError):
        run(study, tmp_path / "out")


def test_the_directory_of_another_campaign_is_refused(tmp_path: Path, refuses: Refuses) -> None:
    study = study_of(tmp_path, "a-b", count=1, **FAST)
    run(study, tmp_path / "out")
    with refuses(RunDirectoryError):
        run(study_of(tmp_path, "a-b", count=2, **FAST), tmp_path / "out")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with refuses(RunDirectoryError):
        run(study, tmp_path / "other")


def test_a_host_without_an_address_is_refused_before_anything(
    tmp_path: Path, refuses: Refuses
) -> None:
    hosts = '[hosts.a]\nlocal = true\n[hosts.b]\nssh = "beta.example.net"\n'
    study = study_of(tmp_path, "a-b", hosts=hosts, **FAST)
    with refuses(CampaignError):
        run(study, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_round_whose_judging_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    def broken(round_directory: RoundDirectory, record: RoundRecord) -> JudgedRound:
        if record.number == 0:
            raise ValueError("no sense")
        return judge_round(round_directory, record)

    directory = run(study_of(tmp_path, "a-b", count=4, **FAST), tmp_path / "out", judge=broken)
    first, *others = (one.judged() for one in directory.rounds())
    assert first.flags == ["not_judged"]
    assert first.judging_error.message == "ValueError: no sense"
    assert others
    assert all(judged.connections for judged in others)
    (pair,) = read_model(directory.path).pairs
    assert pair.flags["not_judged"] == 1


def test_a_round_whose_judging_failed_is_judged_when_the_campaign_goes_on(tmp_path: Path) -> None:
    def starved(round_directory: RoundDirectory, record: RoundRecord) -> JudgedRound:
        raise OSError(errno.ENOMEM, "cannot allocate memory")

    study = study_of(tmp_path, "a-b", count=3, **FAST)
    directory = run(study, tmp_path / "out", judge=starved)
    rounds = list(directory.rounds())
    assert all(one.judging_failed for one in rounds)
    assert "continue the campaign" in rounds[0].judged().judging_error.hint
    # Of one round there is nothing left that could be judged.
    for file in rounds[0].captures:
        file.unlink()
    run(study, tmp_path / "out")
    assert [one.judging_failed for one in directory.rounds()] == [True, False, False]


def test_captures_that_could_not_be_judged_are_removed_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PlayedRound, "capture_bytes", 300_000)

    def once(round_directory: RoundDirectory, record: RoundRecord) -> JudgedRound:
        if record.number == 0:
            raise ValueError("no sense")
        return nothing(round_directory, record)

    study = study_of(tmp_path, "a-b", count=8, more='[recording]\ndisk = "1MiB"\n', **FAST)
    directory = run(study, tmp_path / "out", judge=once, runner=Leaping)
    first, second, *_ = directory.rounds()
    assert first.captures
    assert not second.captures


def test_a_full_disk_ends_judging_and_the_next_session_judges(tmp_path: Path) -> None:
    def full(round_directory: RoundDirectory, record: RoundRecord) -> JudgedRound:
        raise OSError(errno.ENOSPC, "no space left on device")

    study = study_of(tmp_path, "a-b", count=20, **FAST)
    with pytest.raises(OSError, match="no space"):
        run(study, tmp_path / "out", judge=full)
    run(study, tmp_path / "out", runner=Leaping)
    assert all(one.is_judged for one in CampaignDirectory(tmp_path / "out").rounds())


def test_an_unexpected_error_in_a_round_fails_only_that_round(tmp_path: Path) -> None:
    class Breaks(PlayedRound):
        def carry_out(self, directory: Path) -> RoundRecord:
            if self.one.pair.name == "a-b":
                raise KeyError("start_ns")
            return super().carry_out(directory)

    study = study_of(tmp_path, "a-b", "c-d", count=2, **FAST)
    directory = run(study, tmp_path / "out", carrier=Breaks)
    broken, whole = read_model(directory.path).pairs
    assert broken.rounds["failed"] >= 1
    assert whole.rounds["complete"] >= 1
    record = next(iter(directory.rounds())).record()
    assert record.error.message == "KeyError: 'start_ns'"


def test_hours_of_five_pairs_need_little_memory_and_grow_evenly(tmp_path: Path) -> None:
    """Four hours of rounds of 300 s, 48 of each pair, of which the first hour fills memory."""
    study = study_of(
        tmp_path, "a-b", "c-d", "e-f", "g-h", "i-j", count=48, period='"300s"', pings=0
    )
    code = """
        import json, os, re, sys
        from pathlib import Path
        from tests.campaign.runner.conftest import Leaping
        from tests.campaign.runner.test_runner import run
        from trustbed.campaign.results import read_model
        from trustbed.campaign.runner import RoundListener
        from trustbed.scenario import campaign

        # Of this program, not of its parent.
        def held(what):
            status = Path("/proc/self/status").read_text()
            return int(re.search(rf"{what}:\\s+(\\d+)", status)[1])

        class Measures(RoundListener):
            def __init__(self): self.sizes, self.held = [], []
            def on_judged(self, pair, number, judged):
                self.held.append(held("VmRSS"))
                round_directory = Path(sys.argv[2]) / "rounds" / pair / f"{number:06}"
                self.sizes.append(sum(file.stat().st_size for file in round_directory.iterdir()))

        events = Measures()
        os.fsync = lambda file: None  # nothing here is to outlast the machine
        study = campaign.load(Path(sys.argv[1]))
        run(study, Path(sys.argv[2]), listener=events, runner=Leaping)
        model = read_model(sys.argv[2])
        rounds = sum(pair.rounds.get("complete", 0) for pair in model.pairs)
        print(json.dumps([events.sizes, rounds, events.held, held("VmHWM")]))
    """
    words = [sys.executable, "-c", textwrap.dedent(code), str(study.file), str(tmp_path / "out")]
    ended = subprocess.run(
        words,
        timeout=PATIENCE,
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    sizes, rounds, held, most = json.loads(ended.stdout.splitlines()[-1])
    assert len(sizes) == rounds == 5 * 48
    assert most < 300_000
    assert held[-1] - held[5 * 12] < 4_000, "kilobytes do not grow with the rounds"
    assert max(sizes) < 1.2 * min(sizes), "every round takes the same"
