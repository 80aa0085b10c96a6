"""How late an emulator may be: the trials, the measures, what counts as harm, and how rules are compared. No emulator runs here."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.patience import PATIENCE
from trustbed.scenario import load
from validation.lateness import cases, command, effects, rules
from validation.lateness.cases import DISTURBANCES, GROUPS, Disturbance
from validation.lateness.measures import Sent, lateness, unasked
from validation.lateness.pauses import Pauses, carry_out

MS = 1_000_000


def test_every_group_meets_every_disturbance_once_and_twins_are_never_far() -> None:
    trials = cases.trials(1)
    for group in GROUPS:
        own = [trial.disturbance for trial in trials if trial.group == group]
        assert sorted(map(repr, filter(None, own))) == sorted(
            map(repr, [*DISTURBANCES, cases.LONG])
        )
        assert own[0] is None
        assert own[-1] is None
        between = [len(list(run)) for disturbed, run in itertools.groupby(own, bool) if disturbed]
        assert max(between) == cases.BETWEEN_TWINS
    assert len({trial.key for trial in trials}) == len(trials)


def test_the_order_is_the_seeds() -> None:
    assert cases.trials(1) == cases.trials(1)
    assert [trial.disturbance for trial in cases.trials(1)] != [
        trial.disturbance for trial in cases.trials(2)
    ]


@pytest.mark.parametrize("disturbance", [*DISTURBANCES, cases.LONG], ids=lambda one: one.words)
def test_stops_do_not_overlap_and_end_with_the_transfer(disturbance: Disturbance) -> None:
    stops = disturbance.stops(3, 3.0)
    assert stops
    assert all(begin >= 0 and begin + length <= 3.0 for begin, length in stops)
    assert all(first[0] + first[1] <= second[0] for first, second in itertools.pairwise(stops))
    if disturbance.every_ms is not None:
        assert len(stops) == pytest.approx(3000 / disturbance.every_ms, rel=0.35)


@pytest.mark.parametrize("group", GROUPS)
def test_a_groups_scenario_can_be_read(group: str, tmp_path: Path) -> None:
    file = tmp_path / "group.toml"
    file.write_text(cases.scenario(group, 5), encoding="utf-8")
    scenario = load(file).first
    assert {link.name for link in scenario.links if not link.name.endswith("-joins")} == {
        case.name for case in GROUPS[group]
    }
    assert set(scenario.capture.points) == {cases.sender(case) for case in GROUPS[group]}
    for case in GROUPS[group]:
        (link,) = (link for link in scenario.links if link.name == case.name)
        assert link.forward.rate == case.megabits * 1_000_000
        assert 2 * link.forward.delay_ns == case.rtt_ms * MS


spans = st.lists(st.tuples(st.integers(0, 500), st.integers(-5, 200)), min_size=1, max_size=40)


@given(spans)
def test_the_time_overdue_is_that_of_a_slow_count(drawn: list[tuple[int, int]]) -> None:
    """Against every microsecond looked at by itself. 1000 Mbit/s: a full frame takes 12.112 µs."""
    sent = [Sent(due * 1000, (due + late) * 1000, 100) for due, late in drawn]
    found = lateness(sent, megabits=1000, rtt_ns=2_000_000, begin=0, end=1_000_000)
    overdue = {each for due, late in drawn if late > 12 for each in range(due, due + late)}
    assert found.overdue_frame_share == pytest.approx(len(overdue) / 1000)
    late = sorted(max(late, 0) * 1000 for _, late in drawn)
    assert found.max_ns == late[-1]
    assert found.mean_ns == pytest.approx(sum(late) / len(late))
    assert found.later_than_frame_time == pytest.approx(
        sum(each > 12_112 for each in late) / len(late)
    )
    assert found.later_than_rtt_share == pytest.approx(
        sum(each > 100_000 for each in late) / len(late)
    )
    assert found.later_than_own_time == pytest.approx(sum(each > 800 for each in late) / len(late))


def test_lateness_is_of_what_was_due_in_the_transfer() -> None:
    sent = [
        Sent(0, 90 * MS, 1514),
        *(Sent(each * MS, each * MS + each, 1514) for each in range(1, 101)),
        Sent(200 * MS, 290 * MS, 60),
    ]
    found = lateness(sent, megabits=10, rtt_ns=MS, begin=MS, end=150 * MS)
    assert (found.packets, found.p50_ns, found.p90_ns, found.p99_ns, found.max_ns) == (
        100,
        50,
        90,
        99,
        100,
    )


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 30)), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(1, 10), st.integers(1, 10)), max_size=5),
)
def test_what_the_machine_adds_is_what_no_stop_explains(
    drawn: list[tuple[int, int]], steps: list[tuple[int, int]]
) -> None:
    stops, at = [], 0
    for gap, length in steps:
        stops.append((at + gap, at + gap + length))
        at += gap + length
    stopped = {each for begin, end in stops for each in range(begin, end)}
    wanted = max(sum(each not in stopped for each in range(due, due + late)) for due, late in drawn)
    assert unasked([Sent(due, due + late, 60) for due, late in drawn], stops) == wanted


def test_a_trial_is_left_until_the_machine_took_no_part() -> None:
    trial = cases.trials(1)[0]

    def rows(*unasked_ns: int) -> list[dict[str, Any]]:
        return [{"key": trial.key, "unasked_max_ns": each} for each in unasked_ns]

    assert command._left([trial], []) == [trial]
    assert command._left([trial], rows(9 * MS)) == [trial]
    assert command._left([trial], rows(9 * MS, 2 * MS)) == []
    assert command._left([trial], rows(9 * MS, 8 * MS, 7 * MS)) == []


def row(
    number: int,
    throughput: float,
    *,
    stop_ms: float | None = None,
    rtt: float = 20.0,
    cause: str = "bandwidth",
) -> dict[str, Any]:
    got: dict[str, Any] = {
        "throughput": throughput,
        "rtt_p50_ns": rtt,
        "rtt_p99_ns": rtt,
        "retransmitted": 3,
    }
    got |= {"cause": cause, "verdict": "trust"}
    late = {"p99_ns": (stop_ms or 0) * MS}
    one = {"late": late, "got": got, "dropped": {}}
    return {
        "key": str(number),
        "seed": 1,
        "unasked_max_ns": 0,
        "stop_ms": stop_ms,
        "every_ms": 20 if stop_ms else None,
        "cases": {"bulk-20-20": one},
    }


TWINS = [row(1, 100.0), row(2, 101.0), row(3, 99.0), row(4, 100.0)]


@pytest.mark.parametrize(
    ("changed", "harmful"),
    [
        (row(9, 96.0, stop_ms=1), False),
        (row(9, 94.0, stop_ms=1), True),
        (row(9, 106.0, stop_ms=1), True),
        (row(9, 100.0, stop_ms=1, rtt=21.1), True),
        (row(9, 100.0, stop_ms=1, rtt=20.9), False),
        (row(9, 100.0, stop_ms=1, cause="host_scheduling"), True),
    ],
)
def test_harm_is_what_changes_the_result(changed: dict[str, Any], harmful: bool) -> None:
    found, noises = effects.outcomes([*TWINS, changed])
    assert [one.harmful for one in found if one.stop_ms is not None] == [harmful]
    assert not any(one.harmful for one in found if one.stop_ms is None)
    assert noises[1, "bulk-20-20"].throughput == pytest.approx(0.01)


def test_nothing_within_the_noise_is_harm() -> None:
    noisy = [*TWINS, row(5, 80.0)]
    found, _ = effects.outcomes([*noisy, row(9, 85.0, stop_ms=1), row(10, 75.0, stop_ms=1)])
    assert [one.harmful for one in found if one.stop_ms is not None] == [False, True]


def test_without_twins_nothing_is_said() -> None:
    assert effects.outcomes([*TWINS[:2], row(9, 50.0, stop_ms=1)]) == ([], {})


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=30))
def test_the_best_threshold_is_that_of_a_search(drawn: list[tuple[int, bool]]) -> None:
    change = effects.Change(
        throughput=0,
        rtt_p50=0,
        rtt_p99=0,
        retransmitted=0,
        cause_changed=False,
        verdict_changed=False,
    )
    found = [
        effects.Outcome(1, "bulk-20-20", 1, None, {"p99_ns": late * 1e6}, change, harmful, True)
        for late, harmful in drawn
    ]
    score = rules.BY_NAME["p99"].score
    threshold = rules.best(found, score)
    f1 = [rules.scored(found, lambda one, at=at: score(one) >= at).f1 for at in range(11)]
    if any(harmful for _, harmful in drawn):
        assert rules.scored(found, lambda one: score(one) >= threshold).f1 == pytest.approx(max(f1))
    else:
        assert threshold == float("inf")


def test_precision_and_recall() -> None:
    found = rules.Scored(hits=6, false_alarms=2, misses=3)
    assert (found.precision, found.recall) == (0.75, pytest.approx(2 / 3))
    assert found.f1 == pytest.approx(12 / 17)
    assert (rules.Scored(0, 0, 0).precision, rules.Scored(0, 0, 0).recall) == (None, None)


def state(process: subprocess.Popen[bytes]) -> str:
    return Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2][0]


@pytest.fixture
def sleeper() -> Any:  # noqa: ANN401 - a generator
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        yield process
        process.kill()


def test_a_process_is_stopped_and_goes_on(sleeper: subprocess.Popen[bytes]) -> None:
    pauses = Pauses(sleeper.pid, [(0.0, 0.002), (0.01, 0.005)])
    try:
        pauses.begin()
        pauses._process.wait(PATIENCE)  # by itself: asking it would end it
        done = pauses.done()
    finally:
        pauses.close()
    assert len(done) == 2
    assert all(
        end - begin >= wanted * MS for (begin, end), wanted in zip(done, (2, 5), strict=True)
    )
    assert state(sleeper) != "T"


def test_what_is_ended_early_leaves_the_process_running(sleeper: subprocess.Popen[bytes]) -> None:
    pauses = Pauses(sleeper.pid, [(500.0, 5.0)])
    pauses.begin()
    assert pauses.done() == []
    assert state(sleeper) != "T"
    pauses.close()


def test_an_error_between_leaves_the_process_running(
    sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_seconds: float) -> None:
        os.kill(sleeper.pid, signal.SIGSTOP)
        raise InterruptedError

    read, write = os.pipe()
    with monkeypatch.context() as patch:
        patch.setattr("validation.lateness.pauses.time.sleep", interrupted)
        with pytest.raises(InterruptedError):
            carry_out(sleeper.pid, [(0.0, 1.0)], input_number=read)
    os.close(read)
    os.close(write)
    os.kill(sleeper.pid, signal.SIGTERM)  # a stopped process would not hear it
    assert sleeper.wait(PATIENCE) == -signal.SIGTERM


def test_results_are_kept_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "lateness.jsonl"
    assert command.load(file) == []
    file.write_text('{"key": "1"}\n{"key": "2"}\n{"key": "3', encoding="utf-8")
    assert [each["key"] for each in command.load(file)] == ["1", "2"]
    assert [json.loads(line)["key"] for line in file.read_text(encoding="utf-8").splitlines()] == [
        "1",
        "2",
    ]


LATE = {
    "packets": 1000,
    "mean_ns": 9000.0,
    "p50_ns": 6000,
    "p90_ns": 12_000,
    "p99_ns": 40_000,
    "max_ns": 900_000,
    "later_than_own_time": 0.3,
    "later_than_frame_time": 0.001,
    "later_than_rtt_share": 0.0,
    "overdue_frame_share": 0.001,
    "overdue_100us_share": 0.001,
    "overdue_1ms_share": 0.0,
}


def measured(
    number: int, throughput: float, *, stop_ms: float | None = None, overdue: float = 0.0
) -> dict[str, Any]:
    made = row(number, throughput, stop_ms=stop_ms)
    made["cases"]["bulk-20-20"]["late"] = {**LATE, "overdue_1ms_share": overdue}
    return made


def test_the_page_tells_harm_from_false_alarms(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [measured(number, 100.0 + number % 2) for number in range(4)]
    rows += [
        measured(4, 80.0, stop_ms=5.0, overdue=0.25),
        measured(5, 99.0, stop_ms=5.0, overdue=0.03),
    ]
    rows += [
        measured(6, 80.0, stop_ms=5.0, overdue=0.005),
        {**measured(7, 70.0, overdue=0.5), "unasked_max_ns": 90 * MS},
    ]
    results, page = tmp_path / "lateness.jsonl", tmp_path / "validation.md"
    results.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    assert (
        command.main(["--minutes", "0", "--results", str(results), "--output", str(page)]) == 1
    )  # most trials are missing
    assert not page.exists()
    text = capsys.readouterr().out
    assert (
        command.main(
            ["--minutes", "0", "--results", str(results), "--output", str(page), "--partial"]
        )
        == 1
    )
    assert text.strip() in page.read_text(encoding="utf-8")
    assert text.startswith(
        "## Lateness of the emulator\n\n**Not complete**: of the 129 trials that the command asks for, 129 are missing"
    )
    assert (
        "8 trials were made, of seeds 1. In 7 of them nothing but the emulator stood still" in text
    )
    assert "In the other 1 the machine" in text
    assert "| **in use** | 50% | 50% | 50% | 100% | 100% | 100% |" in text
    assert "| 20 Mbit/s | 4 | 30.0% | 0.1% |" in text
    assert "discards 1 transfers of an emulator that was stopped alone, and 0 of a machine" in text
    assert (
        "| 20 Mbit/s, 20 ms | emulator | 5 ms, every 20 ms | 0.5% | 0.04 | 0.9 | -20.4% |" in text
    )


def test_without_results_the_page_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        command.main(["--minutes", "0", "--results", str(tmp_path / "none.jsonl"), "--print"]) == 1
    )
    assert "Nothing has been measured yet." in capsys.readouterr().out
