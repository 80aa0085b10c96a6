"""A repetition passes its phases in order, whatever happens, and leaves nothing running."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from tests.run.fakes import FakeAgent, FakeTestbed
from trustbed.errors import HostLostError
from trustbed.run.directory import RAW_FOLDERS
from trustbed.run.error import RunError
from trustbed.run.execution.execute import Execution
from trustbed.run.execution.foreground import POLL_SECONDS
from trustbed.run.matrix import Repetition
from trustbed.scenario import load

BASE = """
duration = "10s"
warm_up = "2s"
[hosts.client]
[hosts.server]
[link]
rate = "20Mbit/s"
delay = "10ms"
"""
BULK = '[workload.w]\nkind = "bulk"\nhost = "client"\nto = "server"\n'
COMMAND = (
    '[workload.w]\nkind = "command"\nhost = "client"\ncommand = "tool {server}"\ntime_limit = '
    '"30s"\n'
)
NOISE = '[background.noise]\nmodel = "cbr"\nrate = "1Mbit/s"\nfrom = "client"\nto = "server"\n'
SERVICE = '[services.web]\nhost = "server"\ncommand = "nginx"\nport = 80\nready = "5s"\n'
GOOD = {"transfers": [{"outcome": "complete"}]}

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Carries out the keys of a scenario on a testbed."""
    for name in RAW_FOLDERS:
        (tmp_path / name).mkdir()

    def carry_out(keys: str, testbed: FakeTestbed, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - those of Execution
        (tmp_path / "study.toml").write_text(BASE + keys)
        scenario = load(tmp_path / "study.toml").first
        repetition = Repetition(number=0, cell=0, round=0, seed=7)
        known: Any = testbed
        record = Execution(
            known,
            scenario,
            repetition,
            directory=tmp_path,
            clock=testbed.clock,
            emulator={"seed": 1},
            **options,
        ).carry_out()
        return to_builtins(record)

    return carry_out


def test_everything_runs_before_traffic_flows_and_ends_in_the_opposite_order(run: Run) -> None:
    testbed = FakeTestbed(agents={"bulk send": {"lasts": 10.0, "report_with": GOOD}})
    record = run(BULK + NOISE, testbed)
    order = [what for what, _ in testbed.log]
    listed = """
        start emulate, begin emulate, start bulk, begin bulk, start sink, start capture, begin
        capture, start send,
        start bulk, start sample, begin sample, start sample, begin sample, begin sink, begin send,
        begin bulk""".strip().replace("\n", "")
    before = [" ".join(words.split()) for words in listed.split(",")]
    assert order[: len(before)] == before
    assert order[len(before) :] == [
        "stop send",
        "stop sink",
        "stop bulk",
        "stop sample",
        "stop sample",
        "stop capture",
        "stop emulate",
    ]
    assert record["outcome"] == "complete"
    assert all(agent.closed for agent in testbed.started)


OUTAGE = 'up.outages = [{ at = "1s", lasts = "1s" }]\n'
CHAIN = """[topology]
shape = "chain"
path = ["client", "first", "server"]
[links.a]
[links.b]
[capture]
points = ["client", "first"]
"""


def test_times_of_links_begin_with_the_workloads(run: Run) -> None:
    testbed = FakeTestbed(agents={"bulk send": {"lasts": 10.0, "report_with": GOOD}})
    record = run(OUTAGE + BULK + NOISE, testbed)
    begun = {agent.verb: agent.times_ns for agent in testbed.started}
    assert begun["emulate"] == record["workload_start_ns"]
    order = [what for what, _ in testbed.log]
    assert order.index("start send") < order.index("times emulate") < order.index("begin send")


def test_links_without_times_receive_none(run: Run) -> None:
    testbed = FakeTestbed(agents={"bulk send": {"lasts": 10.0, "report_with": GOOD}})
    run(BULK, testbed)
    assert "times emulate" not in [what for what, _ in testbed.log]


def test_captures_at_routers_are_the_emulators(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    tap = {
        "router": "first",
        "frames": 7,
        "troubles": [{"message": "no space left", "hint": "make some"}],
    }
    testbed = FakeTestbed(
        agents={
            "bulk send": {"lasts": 10.0, "report_with": GOOD},
            "emulate": {"report_with": {"taps": [tap]}},
        }
    )
    monkeypatch.setattr(
        "tests.run.test_execute.BASE",
        BASE.replace('[link]\nrate = "20Mbit/s"\ndelay = "10ms"\n', ""),
    )
    record = run(CHAIN + BULK, testbed)
    assert [where for what, where in testbed.log if what == "start capture"] == ["client"]
    assert [(one["point"], one["report"].get("frames")) for one in record["captures"]] == [
        ("client", None),
        ("first", 7),
    ]
    assert [failure["message"] for failure in record["failures"]] == ["no space left"]


def test_background_begins_at_second_zero_and_the_workload_after_the_warm_up(run: Run) -> None:
    testbed = FakeTestbed(agents={"bulk send": {"lasts": 10.0, "report_with": GOOD}})
    record = run(BULK + NOISE, testbed)
    begun = {agent.verb: agent.begun for agent in testbed.started}
    assert begun["send"] == begun["sink"]
    assert begun["send"] is not None
    assert begun["bulk"] == pytest.approx(begun["send"] + 2.0)
    assert record["workload_start_ns"] - record["epoch_ns"] == 2_000_000_000
    assert record["workloads"][0]["seconds"] == pytest.approx(10.0, abs=0.05)
    assert record["workloads"][0]["started_ns"] == record["workload_start_ns"]


def test_background_with_a_start_begins_that_long_after_the_workload(run: Run) -> None:
    testbed = FakeTestbed(agents={"bulk send": {"lasts": 10.0, "report_with": GOOD}})
    record = run(BULK + NOISE + 'start = "3s"\nduration = "4s"\n', testbed)
    begun = {agent.verb: agent.begun for agent in testbed.started}
    assert begun["sink"] is not None
    assert begun["send"] == pytest.approx(begun["sink"] + 2.0 + 3.0)
    assert record["outcome"] == "complete"


def test_a_program_that_ends_well(run: Run, tmp_path: Path) -> None:
    testbed = FakeTestbed(programs={"tool": (3.0, 0)})
    record = run(COMMAND, testbed)
    (workload,) = record["workloads"]
    assert (workload["outcome"], workload["exit_code"], workload["reason"]) == ("complete", 0, None)
    early = record["workload_start_ns"] - workload["started_ns"]
    assert early == pytest.approx(2 * POLL_SECONDS * 1e9, abs=POLL_SECONDS * 1e9)
    assert workload["seconds"] == pytest.approx(3.0, abs=0.05)
    assert (tmp_path / "logs" / "w.out").read_text() == "tool 10.77.0.2"


@pytest.mark.parametrize(("code", "words"), [(7, "exit code 7"), (139, "killed by signal 11")])
def test_a_program_that_crashes(run: Run, code: int, words: str) -> None:
    testbed = FakeTestbed(programs={"tool": (3.0, code)})
    record = run(COMMAND, testbed)
    assert record["outcome"] == "failed"
    assert record["workloads"][0]["outcome"] == "failed"
    assert words in record["workloads"][0]["reason"]
    assert record["failures"] == []


def test_a_program_that_never_ends_is_ended_at_its_limit(run: Run) -> None:
    testbed = FakeTestbed(programs={"tool": (None, 0)})
    record = run(COMMAND, testbed)
    assert record["workloads"][0]["outcome"] == "time_limit"
    assert record["workloads"][0]["seconds"] == pytest.approx(30.0, abs=0.1)
    assert testbed.processes[0].ended
    assert ("stop emulate", "net") in testbed.log


@pytest.mark.parametrize("verb", ["emulate", "sink", "send", "capture", "sample"])
def test_a_part_that_dies_ends_the_workload_and_is_reported(run: Run, verb: str) -> None:
    testbed = FakeTestbed(agents={verb: {"dies_after": 4.0}}, programs={"tool": (None, 0)})
    record = run(COMMAND + 'to = "server"\n' + NOISE, testbed)
    assert record["outcome"] == "failed"
    assert {failure["verb"] for failure in record["failures"]} == {verb}
    assert "killed by signal 9" in record["failures"][0]["message"]
    assert record["workloads"][0]["outcome"] == "failed"
    assert record["workloads"][0]["seconds"] < 5
    assert testbed.processes[0].ended
    assert all(agent.closed for agent in testbed.started)


@pytest.mark.parametrize("request_of", ["start", "begin", "poll", "stop"])
@pytest.mark.parametrize("verb", ["sink", "send", "capture", "sample", "bulk send"])
def test_a_malformed_answer_spoils_the_repetition_and_not_the_run(
    run: Run, verb: str, request_of: str
) -> None:
    agents: dict[str, dict[str, Any]] = {
        "bulk send": {"lasts": None if request_of == "stop" else 1.0, "report_with": GOOD}
    }
    agents.setdefault(verb, {})["answers_wrongly"] = request_of
    testbed = FakeTestbed(agents=agents)
    record = run(BULK + NOISE, testbed)
    assert record["outcome"] == "failed"
    reasons = [
        *(f"{one['verb']} on {one['where']}: {one['message']}" for one in record["failures"]),
        *(one["reason"] or "" for one in record["workloads"]),
    ]
    assert any(f"{verb.split()[0]} on " in one and "malformed" in one for one in reasons) or (
        # What did not end in time is stopped, and has failed whatever it answers then.
        (verb, request_of) == ("bulk send", "stop")
    )
    assert all(agent.closed for agent in testbed.started)


def test_a_host_that_is_lost_while_the_parts_start_spoils_the_repetition(run: Run) -> None:
    class Lost(FakeTestbed):
        def start_agent(self, verb: str, config: Mapping[str, Any], *, where: str) -> FakeAgent:
            if verb == "sample":
                raise HostLostError("the guest client is gone: malformed frame", "see its log")
            return super().start_agent(verb, config, where=where)

    testbed = Lost()
    record = run(BULK, testbed)
    assert record["outcome"] == "failed"
    assert "the guest client is gone" in record["failures"][0]["message"]
    assert record["workloads"][0]["reason"] == "the guest client is gone: malformed frame"
    assert all(agent.closed for agent in testbed.started)


def test_a_capture_that_could_not_be_written_is_a_failure(run: Run) -> None:
    problem = {
        "message": "the file cannot be written: No space left on device",
        "hint": "free some space",
    }
    testbed = FakeTestbed(
        agents={"capture": {"report_with": {"complete": False, "troubles": [problem]}}},
        programs={"tool": (1.0, 0)},
    )
    record = run(COMMAND, testbed)
    assert record["outcome"] == "failed"
    assert record["failures"] == [
        {"verb": "capture", "where": "client", "message": problem["message"]}
    ]


def test_samples_that_could_not_be_written_are_a_failure(run: Run) -> None:
    testbed = FakeTestbed(
        agents={
            "sample": {
                "report_with": {"samples": 3, "error": "No space left on device (os error 28)"}
            }
        },
        programs={"tool": (1.0, 0)},
    )
    record = run(COMMAND, testbed)
    assert record["outcome"] == "failed"
    assert record["failures"] == [
        {
            "verb": "sample",
            "where": "client",
            "message": "its file cannot be written: No space left on device (os error 28)",
        }
    ]


def test_requests_that_could_not_be_written_down_are_a_failure(run: Run) -> None:
    fetch = BULK.replace('"bulk"', '"http"') + 'object = "1KB"\n'
    rows = {"rows": 3, "rows_left_out": 9, "error": "No space left on device (os error 28)"}
    testbed = FakeTestbed(
        agents={
            "fetch": {
                "lasts": 1.0,
                "report_with": {"requests": 12, "good_requests": 12, "rows": rows},
            }
        }
    )
    (workload,) = run(fetch, testbed)["workloads"]
    assert (workload["outcome"], workload["reason"]) == (
        "failed",
        "its file cannot be written: No space left on device (os error 28)",
    )


def test_a_playback_that_is_over_is_no_failure(run: Run) -> None:
    testbed = FakeTestbed(
        agents={"send": {"lasts": 1.0, "report_with": {"offered_packets": 3}}},
        programs={"tool": (5.0, 0)},
    )
    record = run(COMMAND + NOISE, testbed)
    assert record["outcome"] == "complete"
    assert record["backgrounds"][0]["send"]["offered_packets"] == 3


def test_a_sink_that_is_over_is_one(run: Run) -> None:
    testbed = FakeTestbed(agents={"sink": {"lasts": 1.0}}, programs={"tool": (5.0, 0)})
    record = run(COMMAND + NOISE, testbed)
    assert record["failures"] == [
        {"verb": "sink", "where": "server", "message": "it ended before the workload"}
    ]


def test_a_service_is_waited_for(run: Run) -> None:
    testbed = FakeTestbed(programs={"nginx": (None, 0), "tool": (1.0, 0)})
    testbed.listening = lambda host, port: (
        (host, port) == ("server", 80) and testbed.clock.now > 1003
    )
    assert run(COMMAND + SERVICE, testbed)["outcome"] == "complete"
    assert [process.ended for process in testbed.processes] == [True, True]


@pytest.mark.parametrize(
    ("programs", "words"),
    [
        ({"nginx": (None, 0)}, "does not listen on port 80 after 5 s"),
        ({"nginx": (1.0, 3)}, "exit code 3 before it listened"),
    ],
)
def test_a_service_that_does_not_stand_ends_the_run(
    run: Run, programs: dict[str, tuple[float | None, int]], words: str
) -> None:
    testbed = FakeTestbed(programs=programs, listening=lambda host, port: False)
    with pytest.raises(RunError, match=words) as caught:
        run(COMMAND + SERVICE, testbed)
    assert "web.err" in caught.value.hint
    assert all(process.ended for process in testbed.processes)
    assert all(agent.closed for agent in testbed.started)


def test_a_service_that_stops_is_a_failure_that_is_reported_once(run: Run) -> None:
    testbed = FakeTestbed(programs={"nginx": (4.0, 1), "tool": (None, 0)})
    assert run(COMMAND + SERVICE, testbed)["failures"] == [
        {
            "verb": "service",
            "where": "server",
            "message": "web ended before the workload, exit code 1",
        }
    ]


def test_transfers_that_broke_are_a_failure(run: Run) -> None:
    broken = {
        "transfers": [{"outcome": "complete"}, {"outcome": "failed", "error": "connection refused"}]
    }
    testbed = FakeTestbed(agents={"bulk send": {"lasts": 1.0, "report_with": broken}})
    (workload,) = run(BULK, testbed)["workloads"]
    assert (workload["outcome"], workload["reason"]) == (
        "failed",
        "1 of 2 transfers: connection refused",
    )


ESTIMATOR = '[workload.w]\nkind = "pathload"\nhost = "client"\nto = "server"\n'


def test_an_estimator_has_an_agent_at_both_ends(run: Run) -> None:
    report = {"ending": "resolution", "pathload": {"low_bits_per_second": 1.0}}
    agents = {"estimate send": {"lasts": 4.0, "report_with": report}}
    testbed = FakeTestbed(agents=agents)
    record = run(ESTIMATOR, testbed)
    ends = [(one.where, one.config["role"]) for one in testbed.started if one.verb == "estimate"]
    assert ends == [("server", "receive"), ("client", "send")]
    order = [entry for entry in testbed.log if "estimate" in entry[0]]
    assert order == [
        ("start estimate", "server"),
        ("begin estimate", "server"),
        ("start estimate", "client"),
        ("begin estimate", "client"),
        ("stop estimate", "server"),
    ]
    assert record["outcome"] == "complete"
    assert record["workloads"][0]["report"]["ending"] == "resolution"


def test_an_estimator_whose_receiver_was_lost_has_failed(run: Run) -> None:
    report = {"ending": "receiver_lost", "receiver_lost": "connection reset"}
    testbed = FakeTestbed(agents={"estimate send": {"lasts": 1.0, "report_with": report}})
    record = run(ESTIMATOR, testbed)
    assert record["outcome"] == "failed"
    reason = record["workloads"][0]["reason"]
    assert reason == "the receiver of probes was lost: connection reset"


def test_requests_of_which_none_was_answered_are_a_failure(run: Run) -> None:
    keys = '[workload.w]\nkind = "http"\nhost = "client"\nto = "server"\nobject = "4KB"\n'
    testbed = FakeTestbed(
        agents={"fetch": {"lasts": 10.0, "report_with": {"requests": 9, "good_requests": 0}}}
    )
    assert run(keys, testbed)["workloads"][0]["reason"] == "none of 9 requests was answered well"
    assert ("start serve", "server") in testbed.log


@pytest.mark.parametrize(
    "phase", ["network", "servers", "captures", "background", "workload", "end"]
)
def test_an_interrupt_in_any_phase_ends_everything(run: Run, phase: str) -> None:
    testbed = FakeTestbed(programs={"tool": (3.0, 0), "nginx": (None, 0)})

    def interrupt(name: str) -> None:
        if name == phase:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(COMMAND + SERVICE + NOISE, testbed, on_phase=interrupt)
    assert all(process.ended for process in testbed.processes)
    assert all(agent.closed for agent in testbed.started)


def test_seeds_differ_between_sources_and_stay_between_runs(run: Run) -> None:
    def seeds() -> list[int]:
        testbed = FakeTestbed(programs={"tool": (1.0, 0)})
        run(COMMAND + NOISE + 'sources = 3\ndirection = "both"\n', testbed)
        return [
            source["seed"]
            for agent in testbed.started
            if agent.verb == "send"
            for source in agent.config["sources"]
        ]

    found = seeds()
    assert len(set(found)) == len(found) == 6
    assert seeds() == found


def test_sources_share_a_recording_by_its_flows(run: Run) -> None:
    for sources, parts in ((3, [(0, 3), (1, 3), (2, 3)]), (1, [(None, None)])):
        testbed = FakeTestbed(programs={"tool": (1.0, 0)})
        played = NOISE.replace('"cbr"\nrate = "1Mbit/s"', '"playback"\nfile = "study.toml"')
        run(f"{COMMAND}{played}sources = {sources}\n", testbed)
        found = [
            (source["model"].get("part"), source["model"].get("parts"))
            for agent in testbed.started
            if agent.verb == "send"
            for source in agent.config["sources"]
        ]
        assert found == parts


def test_sources_share_a_rate_to_the_bit(run: Run) -> None:
    testbed = FakeTestbed(programs={"tool": (1.0, 0)})
    run(COMMAND + NOISE.replace("1Mbit/s", "1000001bit/s") + "sources = 3\n", testbed)
    rates = [
        source["model"]["rate_bits_per_second"]
        for agent in testbed.started
        if agent.verb == "send"
        for source in agent.config["sources"]
    ]
    assert rates == [333_334, 333_334, 333_333]
