"""The transport to a host is lost in the middle of a round.

The host does its part, and its data are fetched over the next transport.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.campaign.runner.conftest import study_of
from tests.campaign.runner.test_live import carry_out, measured
from tests.patience import PATIENCE, wait_until
from tests.testbed.conftest import commands_with, processes_with
from tests.testbed.sshd import Server
from tests.testbed.test_remote_ssh import Serves, connected, described, home, host, serves
from trustbed.agent.client import Agent
from trustbed.campaign.runner import CampaignDirectory
from trustbed.campaign.runner.journal import EndedLine, HostLine
from trustbed.campaign.runner.round import RoundCarrier
from trustbed.testbed.remote import Hosts, Keep

__all__ = ["home", "serves"]

SLOW = {
    "table": '[{ probe = "16KiB", data = "32MiB" }]',
    "windows": '{ probe = "4KiB", data = "4KiB" }',
    "pairs_at_once": 2,
}
"""On loopback it takes a moment, enough to stop the sender in it on a busy machine, too."""


def hosts_at(server: Server) -> str:
    """Two hosts, both reached through this server."""
    ssh = f'ssh = "{server.address}"\nport = {server.port}\n'
    return "".join(
        f'[hosts.{name}]\n{ssh}measure = "127.0.0.{number}"\n'
        for number, name in enumerate("ab", 1)
    )


def is_running(pid: int) -> bool:
    """Whether a process is running, and not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def in_the_middle(
    monkeypatch: pytest.MonkeyPatch, judged_here: None
) -> Callable[[Callable[[RoundCarrier, Agent], None]], None]:
    """Does something once, while the sender of a round is stopped amid its transfers."""
    monkeypatch.setattr("trustbed.campaign.runner.runner.RETRY_SECONDS", 0.1)
    monkeypatch.setattr("trustbed.campaign.runner.runner._LONGEST_WAIT_SECONDS", 0.1)
    report = RoundCarrier._report

    def arrange(act: Callable[[RoundCarrier, Agent], None]) -> None:
        acted = []

        def disturbed(carrier: RoundCarrier, agent: Agent, seconds: float) -> Any:  # noqa: ANN401 - as the original
            if agent.name.startswith("pairs") and not acted:
                acted.append(agent.pid)
                os.kill(agent.pid, signal.SIGSTOP)
                act(carrier, agent)
            return report(carrier, agent, seconds)

        monkeypatch.setattr(RoundCarrier, "_report", disturbed)

    return arrange


InTheMiddle = Callable[[Callable[[RoundCarrier, Agent], None]], None]


def test_a_round_whose_transports_are_lost_is_completed_by_its_hosts(
    tmp_path: Path, home: Path, serves: Serves, in_the_middle: InTheMiddle
) -> None:
    server = serves()

    def cut(carrier: RoundCarrier, sender: Agent) -> None:
        server.process.send_signal(signal.SIGSTOP)  # no new connections
        server.kill_sessions()
        wait_until(
            lambda: carrier._sender.is_away and carrier._receiver.is_away,
            "the loss of both transports",
        )  # type: ignore[attr-defined]
        os.kill(sender.pid, signal.SIGCONT)
        wait_until(
            lambda: not is_running(sender.pid), "the end of the sender, without its controller"
        )
        server.process.send_signal(signal.SIGCONT)

    in_the_middle(cut)
    study = study_of(tmp_path, "a-b", hosts=hosts_at(server), count=1, period='"60s"', **SLOW)
    model = carry_out(study, tmp_path / "out")
    directory = CampaignDirectory(tmp_path / "out")
    (round_directory,) = directory.rounds()
    record, judged = round_directory.record(), round_directory.judged()
    assert measured(model, "a-b") == {"complete": 1}, (record.error, record.transport_losses)
    assert record.warnings == []
    assert [loss.host for loss in record.transport_losses] == ["a", "b"]
    ended = record.started_ns["receiver"] + max(
        row.last_byte_ns for row in record.received.read.connections
    )
    for loss in record.transport_losses:
        assert loss.from_ns < ended < loss.until_ns, "it was completed without a transport"
        assert "lost" in loss.why
    assert len(judged.connections) == 4
    for row in judged.connections:
        assert (row.failure, row.received_bytes) == (None, row.size_bytes)
        assert row.transfer is not None, "it was found in the capture"
    for name in ("sender", "receiver"):
        watched = {name: one.whole for name, one in record.watched.items()}
        assert watched[f"{name}.capture"]["complete"]
        assert (round_directory.path / f"{name}.samples.jsonl").is_file()
        assert (
            (round_directory.path / f"{name}.pcapng").stat().st_size
            == watched[f"{name}.capture"]["bytes"]
            > 1000
        )
    lines = list(directory.journal.lines())
    assert [line.transport_losses for line in lines if isinstance(line, EndedLine)] == [("a", "b")]
    for name in "ab":
        assert [line.up for line in lines if isinstance(line, HostLine) and line.host == name] == [
            True,
            False,
            True,
        ]
    wait_until(
        lambda: not list(server.home.glob("trustbed-*/session-*")), "the hosts as they were before"
    )


def test_a_host_whose_session_ended_has_failed(
    tmp_path: Path,
    home: Path,
    serves: Serves,
    in_the_middle: InTheMiddle,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trustbed.campaign.api.KEEP_SECONDS", 0)
    server = serves()

    def kill(carrier: RoundCarrier, sender: Agent) -> None:
        session = Path(carrier._sender.directory)  # type: ignore[attr-defined]
        shell = int(session.name.rpartition("-")[2])
        os.kill(
            shell, signal.SIGKILL
        )  # what depends on it is ended by the kernel, as with the machine
        server.kill_sessions()

    in_the_middle(kill)
    study = study_of(tmp_path, "a-b", hosts=hosts_at(server), count=1, period='"60s"', **SLOW)
    model = carry_out(study, tmp_path / "out")
    (round_directory,) = CampaignDirectory(tmp_path / "out").rounds()
    assert measured(model, "a-b") == {"failed": 1}
    assert round_directory.record().error.message.startswith("pairs on a: ")
    assert {loss.host: loss.until_ns is None for loss in round_directory.record().transport_losses}[
        "a"
    ], "it has not come back"
    # The other host may have had no transport when the campaign ended: it keeps its data for the
    # time of a round.
    wait_until(lambda: not processes_with(str(server.home)), "the end of all that ran there")
    with connected(home, host(server)):
        pass
    wait_until(
        lambda: not list(server.home.glob("trustbed-*/session-*")),
        "the next session, which removes the old ones and then itself",
    )


def test_a_host_whose_controller_never_comes_back_ends_by_itself(
    tmp_path: Path, home: Path, serves: Serves, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serves()
    with Hosts(described(home, host(server)), keep=Keep(seconds=6, owner="test")) as hosts:
        assert hosts.connect() == {}
        alpha = hosts["alpha"]
        alpha.start_command(["sh", "-c", "sleep 647 & echo stored > file; wait"])
        wait_until(
            lambda: processes_with("sleep\x00647"), "the process that the command has started"
        )
        server.kill_sessions()
        wait_until(lambda: alpha.is_away, "the loss of the transport")
        assert processes_with("sleep\x00647"), "it continues"
        assert list(server.home.glob("trustbed-*/session-*/file"))
        wait_until(lambda: alpha.is_gone, "the host to be given up", seconds=PATIENCE)
        wait_until(lambda: not processes_with("sleep\x00647"), "the end of what ran there")
        wait_until(
            lambda: not list(server.home.glob("trustbed-*/session-*")), "the end of its directory"
        )


def test_a_lost_session_ends_when_its_owner_connects_again(home: Path, serves: Serves) -> None:
    """As when the owner was killed while its session continues.

    Another host on the same machine is not disturbed.
    """
    server = serves()
    keep = Keep(seconds=int(2 * PATIENCE), owner="test")
    inventory = described(home, host(server), host(server, "beta"))
    with Hosts(inventory, keep=keep) as lost:
        assert lost.connect() == {}
        for name, seconds in (("alpha", "661"), ("beta", "663")):
            lost[name].start_command(["sleep", seconds])
        server.kill_sessions()
        wait_until(
            lambda: lost["alpha"].is_away and lost["beta"].is_away, "the loss of the transport"
        )
        with Hosts(inventory, ("alpha",), keep=keep) as hosts:
            assert hosts.connect() == {}
            wait_until(lambda: not processes_with("sleep\x00661"), "the end of what was lost")
            assert processes_with("sleep\x00663")
            assert hosts["alpha"].run(["echo", "again"], seconds=PATIENCE).stdout == "again\n"
            assert lost.connect() == {}, "one has a new session, the other a new transport"
        assert not lost["beta"].is_away
    wait_until(lambda: not processes_with("sleep\x00663"), "the end of what ran there")


def test_a_host_that_comes_back_empty_gets_a_new_session_at_once(
    home: Path, serves: Serves
) -> None:
    """As a guest whose disk is empty whenever it starts: session and program are gone."""
    server = serves()
    with Hosts(
        described(home, host(server)), keep=Keep(seconds=int(10 * PATIENCE), owner="test")
    ) as hosts:
        assert hosts.connect() == {}
        before = hosts["alpha"]
        before.start_command(["sleep", "667"])
        server.kill_sessions()
        wait_until(lambda: before.is_away, "the loss of the transport")
        for pid in commands_with(str(server.home)):
            with contextlib.suppress(ProcessLookupError):  # it may have ended by itself
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not commands_with(str(server.home)), "the end of all that ran there")
        shutil.rmtree(server.home / f"trustbed-{os.getuid()}")
        assert hosts.connect() == {}
        assert hosts["alpha"] is not before
        assert before.is_gone
        assert hosts["alpha"].run(["echo", "again"], seconds=PATIENCE).stdout == "again\n"


def test_a_session_with_a_replay_buffer_that_cannot_begin_reports_why(
    home: Path, serves: Serves
) -> None:
    server = serves(mounts="mkdir /run/still && mount -t tmpfs -o noexec tmpfs /run/still")
    inventory = described(home, host(server, more='directory = "/run/still"'))
    with Hosts(inventory, keep=Keep(seconds=int(2 * PATIENCE), owner="test")) as hosts:
        (error,) = hosts.connect().values()
    assert error.message.startswith(
        f"the agent may not be executed in /run/still/trustbed-{os.getuid()} on the host alpha: "
    )
    assert "noexec" in error.hint


def test_a_silent_transport_is_lost_too(
    tmp_path: Path,
    home: Path,
    serves: Serves,
    in_the_middle: InTheMiddle,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No connection is closed.

    The first transport still exists beside the second, and does not disturb it.
    """
    monkeypatch.setattr("trustbed.testbed.remote.ssh._WHY_SECONDS", 0.1)
    monkeypatch.setattr("trustbed.testbed.remote.ssh._CLOSE_SECONDS", 0.5)
    server = serves()
    stopped: list[int] = []

    def cut(carrier: RoundCarrier, sender: Agent) -> None:
        stopped.extend(server.sessions())
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        for control in (carrier._sender.control, carrier._receiver.control):  # type: ignore[attr-defined]
            # Not before: a busy machine may be as silent, and what is about to begin is not to be
            # disturbed.
            control.peer = replace(control.peer, silence_seconds=4.0)
            control._due = 0.0
            control._notify()
        os.kill(sender.pid, signal.SIGCONT)

    in_the_middle(cut)
    study = study_of(tmp_path, "a-b", hosts=hosts_at(server), count=1, period='"60s"', **SLOW)
    try:
        model = carry_out(study, tmp_path / "out")
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGKILL)
    (round_directory,) = CampaignDirectory(tmp_path / "out").rounds()
    assert measured(model, "a-b") == {"complete": 1}, round_directory.record()
    losses = round_directory.record().transport_losses
    assert {loss.host for loss in losses} == {"a", "b"}
    assert any("silent" in loss.why for loss in losses)
