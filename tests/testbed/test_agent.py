"""The conversation with an agent, against programs that play one.

Their events, refusals and ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Refuses
from tests.patience import PATIENCE
from trustbed.agent import client as agent
from trustbed.agent.client import Agent, AgentError, MalformedAnswerError

Plays = Callable[[str], None]


@pytest.fixture
def plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plays:
    """Makes a program the agent.

    It has `config`, and `emit(**event)`, `order()` for the exchange of messages.
    """

    def play(part: str) -> None:
        head = f"#!{sys.executable}\nimport json, os, sys, time\n"
        tools = """
        def emit(**event): print(json.dumps(event), flush=True)
        def order():
            line = sys.stdin.readline()
            return json.loads(line) if line else None
        config = order()
        """
        program = tmp_path / "agent"
        program.write_text(head + textwrap.dedent(tools) + textwrap.dedent(part), encoding="utf-8")
        program.chmod(0o755)
        monkeypatch.setenv("TRUSTBED_AGENT", str(program))

    return play


def test_a_conversation_from_beginning_to_end(plays: Plays) -> None:
    plays("""
    emit(event="ready", verb=sys.argv[1], rate=config["rate"])
    emit(event="started", order=order())
    emit(event="progress", percent=50)
    emit(event="report", order=order())
    """)
    with Agent.start("send", {"rate": "much"}) as one:
        assert one.ready == {"event": "ready", "verb": "send", "rate": "much"}
        assert one.begin(at_ns=5)["order"] == {"do": "start", "at_ns": 5}
        assert one.stop()["order"] == {"do": "stop"}
        assert one.poll() == {"event": "progress", "percent": 50}, (
            "events that were not awaited are stored"
        )


def test_what_it_refuses_is_raised_with_its_hint_and_its_name(
    plays: Plays, refuses: Refuses
) -> None:
    plays("""emit(event="error", message="no such host", hint="try another"); sys.exit(2)""")
    with refuses(AgentError) as caught:
        Agent.start("send", {}, name="send on client")
    assert (caught.value.hint, caught.value.code) == ("try another", 2)


@pytest.mark.parametrize(
    "line",
    [
        "[1]",
        "7",
        "null",
        "{",
        "{}",
        '{"event": 1}',
        '{"event": "error"}',
        "\\udcff",
        "[" * 100_000,
        '{"event":' * 100_000,
    ],
)
def test_a_malformed_answer_is_an_error(plays: Plays, line: str, refuses: Refuses) -> None:
    plays(f"""print({line!r}, flush=True); order()""")
    with refuses(MalformedAnswerError):
        Agent.start("send", {}, name="send on b")


@pytest.mark.parametrize(
    "line",
    [
        '{"event": "ready", "rate": NaN}',
        '{"event": "report", "transfers": {"outcome": "complete"}}',
        '{"event": "report", "transfers": [7]}',
        '{"event": "report", "transfers": [{"outcome": ["complete"]}]}',
        '{"event": "report", "transfers": [{"tcp": {"rtt_ns": [1]}}]}',
        '{"event": "report", "transfers": [{"payload_bytes": 1e300}]}',
        '{"event": "report", "taps": 1}',
        '{"event": "report", "troubles": [{}]}',
        '{"event": "report", "troubles": [{"message": null}]}',
        '{"event": "report", "rows": "many"}',
        '{"event": "report", "ledger": {"error": {}}}',
        '{"event": "report", "start_ns": "soon"}',
    ],
)
def test_a_report_of_other_types_is_malformed(plays: Plays, line: str) -> None:
    plays(f"""print({line!r}, flush=True); order()""")
    with pytest.raises(MalformedAnswerError, match="send on b: malformed answer"):
        Agent.start("send", {}, name="send on b")


def test_an_error_in_between_is_raised_at_the_next_read(plays: Plays, refuses: Refuses) -> None:
    plays(
        """
        emit(event="ready"); emit(event="started"); order()
        emit(event="error", message="disk full", hint="make room"); sys.exit(1)
        """
    )
    with Agent.start("send", {}) as one:
        one.begin()
        with refuses(AgentError):
            one.report(PATIENCE)


def test_its_last_error_is_raised_when_it_has_to_stop(plays: Plays, refuses: Refuses) -> None:
    plays(
        """
        emit(event="ready")
        emit(event="error", message="disk full", hint="make room"); sys.exit(1)
        """
    )
    with Agent.start("send", {}) as one:
        one._process.wait(PATIENCE)
        with refuses(AgentError):
            one.stop()


@pytest.mark.parametrize(
    "end", ["sys.exit('something odd')", "os.kill(os.getpid(), 9)", "sys.exit(0)"]
)
def test_a_death_without_an_error_is_reported_with_what_is_known(
    plays: Plays, end: str, refuses: Refuses
) -> None:
    plays(f"emit(event='ready'); {end}")
    with Agent.start("emulate", {}) as one, refuses(AgentError):
        one.report(PATIENCE)


def test_one_that_dies_before_it_has_read_its_configuration_is_reported(
    plays: Plays, refuses: Refuses
) -> None:
    plays("emit(event='error', message='too much', hint='less'); sys.exit(1)")
    with refuses(AgentError):
        Agent.start("emulate", {"text": "x" * 10_000_000})


def test_a_configuration_longer_than_the_pipe_arrives_whole(plays: Plays) -> None:
    plays("emit(event='ready', length=len(config['text']))")
    with Agent.start("emulate", {"text": "x" * 10_000_000}) as one:
        assert one.ready["length"] == 10_000_000


def test_a_silent_agent_is_not_waited_for_forever(
    plays: Plays, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    started: list[int] = []

    class Known(subprocess.Popen[bytes]):
        def __init__(self, *words: object, **options: object) -> None:
            super().__init__(*words, **options)  # type: ignore[call-overload]
            started.append(self.pid)

    plays("time.sleep(600)")
    monkeypatch.setattr("trustbed.agent.client.subprocess.Popen", Known)
    with refuses(AgentError):
        Agent.start("emulate", {}, seconds=0.5)
    (pid,) = started
    assert not Path("/proc", str(pid)).exists(), "and it is not left behind"


def test_closing_ends_one_that_does_not_want_to(plays: Plays) -> None:
    plays(
        "emit(event='ready'); import signal; signal.signal(15, signal.SIG_IGN)\nwhile "
        "True: time.sleep(1)"
    )
    one = Agent.start("emulate", {})
    one.close(seconds=0.1)
    one.close()
    assert not Path("/proc", str(one.pid)).exists()


def test_it_ends_by_itself_without_a_controller(plays: Plays) -> None:
    plays("emit(event='ready')\nwhile order(): pass\nsys.exit(0)")
    one = Agent.start("emulate", {})
    one.close(seconds=PATIENCE)
    assert one._process.returncode == 0


def test_lines_that_come_in_pieces_are_put_together(plays: Plays) -> None:
    plays("""
    for piece in (
        '{"event": "re', 'ady", "n"', ': 1}',
        '\\n{"event": "started"}\\n{"event": "rep', 'ort"}\\n',
    ):
        sys.stdout.write(piece); sys.stdout.flush(); time.sleep(0.02)
    order(); order()
    """)
    with Agent.start("emulate", {}) as one:
        assert one.ready["n"] == 1
        one.begin()
        assert one.poll(PATIENCE) == {"event": "report"}
        assert one.poll() is None


def test_without_the_program_the_error_names_where_it_should_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    monkeypatch.setenv("TRUSTBED_AGENT", str(tmp_path / "none"))
    with refuses(AgentError):
        agent.binary()
    (tmp_path / "none").touch(mode=0o644)
    if os.geteuid() != 0 or not os.access(tmp_path / "none", os.X_OK):
        with refuses(AgentError):
            agent.binary()


def test_one_that_this_machine_cannot_run_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    program = tmp_path / "agent"
    program.write_bytes(b"\x7fELF of another kind of machine")
    program.chmod(0o755)
    monkeypatch.setenv("TRUSTBED_AGENT", str(program))
    before = sorted(Path("/proc/self/fd").iterdir())
    with refuses(AgentError):
        Agent.start("send", {})
    assert sorted(Path("/proc/self/fd").iterdir()) == before, "nothing is left open"


def test_the_real_one_names_its_verbs(refuses: Refuses) -> None:
    with refuses(AgentError) as caught:
        Agent.start("nonsense", {})
    assert caught.value.code == 2


def test_a_namespace_that_does_not_exist_is_named(refuses: Refuses) -> None:
    with refuses(AgentError):
        Agent.start("emulate", {}, namespace=Path("/nowhere"))


@pytest.mark.parametrize("answer", ["", '{"event": "ready"}\n'])
def test_a_line_without_an_end_is_an_error(plays: Plays, answer: str) -> None:
    plays(f"""
    print({answer!r}, end="", flush=True)
    while True:
        os.write(1, b"x" * 65536)
    """)
    with pytest.raises(AgentError, match="more than 16 MiB"), Agent.start("send", {}) as one:
        one.report(PATIENCE)


def test_answers_that_nobody_asked_for_are_an_error_before_they_fill_memory(
    plays: Plays, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "MOST_UNREAD", 1000)
    plays("""
    emit(event="ready")
    while True:
        os.write(1, b'{"event": "progress"}\\n' * 1000)
    """)
    with Agent.start("send", {}) as one, pytest.raises(AgentError, match="more than 1000 answers"):
        one.report(PATIENCE)


def test_long_answers_that_nobody_asked_for_are_an_error_sooner(
    plays: Plays, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "MOST_UNREAD_BYTES", 1 << 20)
    plays("""
    emit(event="ready")
    while True:
        emit(event="progress", more="x" * 100_000)
    """)
    with Agent.start("send", {}) as one, pytest.raises(AgentError, match="more than 1048576 bytes"):
        one.report(PATIENCE)
