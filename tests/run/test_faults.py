"""Faults of a repetition on a testbed without hosts.

Which processes they target, when they are injected, and what is reported if they cannot be.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from tests.run.fakes import FakeTestbed
from trustbed.diagnose.run_findings import run_findings, use
from trustbed.run.directory import RAW_FOLDERS
from trustbed.run.execution import faults
from trustbed.run.execution.execute import Execution
from trustbed.run.matrix import Repetition
from trustbed.scenario import load

BASE = """
duration = "10s"
warm_up = "2s"
[hosts.client]
[hosts.server]
[link]
delay = "10ms"
"""
BULK = '[workload.w]\nkind = "bulk"\nhost = "client"\nto = "server"\n'
COMMAND = '[workload.w]\nkind = "command"\nhost = "client"\ncommand = "tool"\n'
FREEZE = (
    '[faults.slow]\nkind = "freeze"\nhost = "client"\nstopped = "35ms"\nevery = "50ms"\nstart '
    '= "3s"\n'
)
QUOTA = '[faults.slow]\nkind = "cpu-quota"\nhost = "server"\nshare = "30%"\n'
SENT = {"lasts": 10.0, "report_with": {"transfers": [{"outcome": "complete"}]}}
DONE = {"begun_ns": 5, "ended_ns": 9, "stops": 4}

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Carries out the keys of a scenario on a testbed."""
    for name in RAW_FOLDERS:
        (tmp_path / name).mkdir()

    def carry_out(keys: str, testbed: FakeTestbed) -> dict[str, Any]:
        (tmp_path / "study.toml").write_text(BASE + keys)
        repetition = Repetition(number=0, cell=0, round=0, seed=7)
        known: Any = testbed
        scenario = load(tmp_path / "study.toml").first
        record = Execution(
            known,
            scenario,
            repetition,
            directory=tmp_path,
            clock=testbed.clock,
            emulator={"seed": 1},
        ).carry_out()
        return to_builtins(record)

    return carry_out


def test_a_fault_is_injected_into_the_sender_from_its_start_to_the_end(run: Run) -> None:
    testbed = FakeTestbed(agents={"bulk send": SENT, "inject": {"report_with": DONE}})
    record = run(BULK + FREEZE, testbed)
    (sender,) = [agent for agent in testbed.started if agent.config.get("role") == "send"]
    (injector,) = [agent for agent in testbed.started if agent.verb == "inject"]
    assert injector.config == {
        "processes": [sender.pid],
        "fault": {"kind": "freeze", "stopped_ns": 35_000_000, "every_ns": 50_000_000},
    }
    assert injector.begun == pytest.approx(sender.begun + 3.0)
    stops = [what for what, _ in testbed.log if what.startswith("stop")]
    assert stops[0] == "stop inject"
    assert injector.closed
    assert record["outcome"] == "complete"
    (fault,) = record["faults"]
    assert (fault["name"], fault["kind"], fault["host"], fault["made"]) == (
        "slow",
        "freeze",
        "client",
        True,
    )
    assert (fault["begun_ns"], fault["ended_ns"], fault["reports"][0]["stops"]) == (5, 9, 4)


def test_a_fault_is_injected_into_a_program_as_soon_as_it_runs(run: Run) -> None:
    testbed = FakeTestbed(programs={"tool": (6.0, 0)}, agents={"inject": {"report_with": DONE}})
    assert run(COMMAND + FREEZE, testbed)["faults"][0]["made"]
    (injector,) = [agent for agent in testbed.started if agent.verb == "inject"]
    assert injector.config["processes"] == [testbed.processes[0].pid]
    order = [what for what, _ in testbed.log]
    assert order.index("run tool") < order.index("start inject") < order.index("begin inject")


def test_a_quota_is_that_of_a_group_with_the_receiver_in_it(run: Run, tmp_path: Path) -> None:
    testbed = FakeTestbed(
        agents={"bulk send": SENT, "inject": {"report_with": DONE}}, groups=tmp_path
    )
    run(BULK + QUOTA, testbed)
    (receiver,) = [agent for agent in testbed.started if agent.config.get("role") == "receive"]
    (injector,) = [agent for agent in testbed.started if agent.verb == "inject"]
    assert injector.config["fault"] == {
        "kind": "quota",
        "group": str(tmp_path / "slow"),
        "version": 1,
        "granted_us": 3000,
        "period_us": 10_000,
    }
    assert [(group.joined, group.left) for group in testbed.created_groups] == [
        ([receiver.pid], True)
    ]


@pytest.mark.parametrize(
    ("keys", "testbed", "reason"),
    [
        (QUOTA, {}, "no control groups"),
        (
            FREEZE,
            {"agents": {"inject": {"refuses": "no real-time priority"}}},
            "no real-time priority",
        ),
    ],
)
def test_a_fault_that_cannot_be_applied_is_an_outcome_and_nothing_is_measured(
    run: Run, keys: str, testbed: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "_is_alive", lambda pid: True)
    here = FakeTestbed(**testbed)
    record = run(BULK + keys, here)
    assert record["outcome"] == "not made"
    (workload,), (fault,) = record["workloads"], record["faults"]
    assert workload["outcome"] == "not made"
    assert "slow: " in workload["reason"]
    assert not fault["made"]
    assert reason in fault["reason"]
    assert ("begin bulk", "client") not in here.log
    assert all(agent.closed for agent in here.started)
    (found,) = [one for one in run_findings(record) if one.code == "run_fault_not_applied"]
    assert use([found], {"trust": 1})[0] == "discard"


def test_a_program_that_ended_before_the_injection_is_left_alone(run: Run) -> None:
    testbed = FakeTestbed(
        programs={"tool": (0.1, 0)}, agents={"inject": {"refuses": "there is no such process"}}
    )
    record = run(COMMAND + FREEZE, testbed)
    assert record["outcome"] == "complete"
    assert_not_applied(record, "had ended before it could be injected")


def assert_not_applied(record: dict[str, Any], reason: str) -> None:
    """The only fault was not applied, which is reported; the repetition is to be discarded."""
    (fault,) = record["faults"]
    assert not fault["made"]
    assert reason in fault["reason"]
    assert fault["hint"]
    found = run_findings(record)
    assert [one.code for one in found] == ["run_fault_not_applied"]
    assert use(found, {"trust": 1})[0] == "discard"


@pytest.mark.parametrize(
    ("report", "reason"),
    [
        ({"begun_ns": None, "ended_ns": None}, "over before it began"),
        ({"begun_ns": 5, "ended_ns": 9, "stops": 0}, "before its first stop"),
    ],
)
def test_a_fault_that_began_too_late_was_not_applied(
    run: Run, report: dict[str, Any], reason: str
) -> None:
    testbed = FakeTestbed(agents={"bulk send": SENT, "inject": {"report_with": report}})
    assert_not_applied(run(BULK + FREEZE, testbed), reason)


def test_an_interface_that_would_have_stalled_later_did_not(run: Run) -> None:
    stall = '[faults.hang]\nkind = "nic-stall"\nhost = "client"\nstart = "11s"\nduration = "2s"\n'
    assert_not_applied(
        run(BULK + stall, FakeTestbed(agents={"bulk send": SENT})), "over before it began"
    )


def test_an_interface_stalls_no_longer_than_there_are_links(run: Run) -> None:
    stall = '[faults.hang]\nkind = "nic-stall"\nhost = "client"\nstart = "9s"\nduration = "13s"\n'
    (fault,) = run(BULK + stall, FakeTestbed(agents={"bulk send": SENT}))["faults"]
    assert fault["made"]
    assert fault["ended_ns"] - fault["begun_ns"] == pytest.approx(1_000_000_000, abs=100_000_000)


def test_a_workload_that_is_over_is_not_ended_again_when_a_later_fault_cannot_be_applied(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "_is_alive", lambda pid: True)
    later = '[workload.later]\nkind = "command"\nhost = "server"\ncommand = "tool"\nstart = "5s"\n'
    freeze = FREEZE.replace('"client"', '"server"')
    testbed = FakeTestbed(
        agents={"bulk send": {"dies_after": 1.0}, "inject": {"report_with": DONE}}
    )
    begin = testbed.start_agent

    def refuses(verb: str, config: Any, *, where: str) -> Any:  # noqa: ANN401 - as in the testbed
        if verb == "inject" and testbed.clock.now > 1006:
            testbed.agents = {**testbed.agents, "inject": {"refuses": "no real-time priority"}}
        return begin(verb, config, where=where)

    monkeypatch.setattr(testbed, "start_agent", refuses)
    record = run(BULK + later + freeze, testbed)
    assert record["outcome"] == "not made"
    assert {one["outcome"] for one in record["workloads"]} == {"not made"}


def test_a_injector_that_dies_fails_the_repetition(run: Run) -> None:
    testbed = FakeTestbed(agents={"bulk send": SENT, "inject": {"dies_after": 1.0}})
    record = run(BULK + FREEZE, testbed)
    assert record["outcome"] == "failed"
    assert record["failures"][0]["verb"] == "inject"
    assert "slow: " in record["failures"][0]["message"]


def test_a_injector_that_is_over_before_the_workload_is_no_failure(run: Run) -> None:
    testbed = FakeTestbed(agents={"bulk send": SENT, "inject": {"lasts": 1.0, "report_with": DONE}})
    record = run(BULK + FREEZE + 'duration = "1s"\n', testbed)
    assert (record["outcome"], record["failures"]) == ("complete", [])
    assert record["faults"][0]["reports"] == [DONE]


def test_a_stalled_interface_is_reported_with_its_times(run: Run) -> None:
    stall = '[faults.hang]\nkind = "nic-stall"\nhost = "client"\nstart = "1s"\nduration = "2s"\n'
    record = run(BULK + stall, FakeTestbed(agents={"bulk send": SENT}))
    (fault,) = record["faults"]
    assert fault["made"]
    assert fault["begun_ns"] - record["workload_start_ns"] == 1_000_000_000
    assert fault["ended_ns"] - fault["begun_ns"] == 2_000_000_000


class Interrupted(list[tuple[str, str]]):
    """A log with a Ctrl-C before the n-th entry."""

    def __init__(self, moment: int) -> None:
        super().__init__()
        self.left = moment

    def append(self, entry: tuple[str, str]) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        super().append(entry)


def test_whenever_a_run_is_interrupted_everything_ends_and_no_fault_remains(
    run: Run, tmp_path: Path
) -> None:
    keys = (
        BULK
        + '[services.web]\nhost = "server"\ncommand = "nginx"\nport = 80\n'
        + FREEZE
        + QUOTA.replace("slow", "narrow")
    )
    keys += '[background.noise]\nmodel = "cbr"\nrate = "1Mbit/s"\nfrom = "client"\nto = "server"\n'

    def testbed(moment: int) -> FakeTestbed:
        agents = {"bulk send": SENT, "inject": {"report_with": DONE}}
        return FakeTestbed(
            agents=agents, programs={"nginx": (None, 0)}, groups=tmp_path, log=Interrupted(moment)
        )

    whole = testbed(0)
    assert run(keys, whole)["outcome"] == "complete"
    assert len(whole.log) > 25
    for moment in range(1, len(whole.log) + 1):
        here = testbed(moment)
        with pytest.raises(KeyboardInterrupt):
            run(keys, here)
        assert all(agent.closed for agent in here.started), moment
        assert all(process.ended for process in here.processes), moment
        order = [agent.verb for agent in here.started]
        assert all(group.left or "inject" not in order for group in here.created_groups), moment
