"""Hosts that are reached by a command, in a namespace, or not at all.

This machine, treated as another.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import trustbed
from tests.conftest import Refuses
from tests.patience import PATIENCE, wait_until
from tests.testbed.conftest import Machine, processes_with
from trustbed.agent.client import binary
from trustbed.agent.control import frames
from trustbed.agent.control.frames import Kind
from trustbed.scenario import inventory
from trustbed.testbed import TestbedError
from trustbed.testbed.remote import Hosts, Keep
from trustbed.testbed.remote import program as programs
from trustbed.testbed.remote.program import Program

THROUGH_SHELL = ("sh", "-c", 'exec "$@"', "sh")
"""Runs a command when its words are put behind these, as `docker exec -i web` does elsewhere."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where hosts keep what is ours."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / f"trustbed-{os.getuid()}"


@pytest.fixture
def hosts(tmp_path: Path, cache: Path) -> Iterator[Hosts]:
    """This machine, and the same by a command; connected."""
    with Hosts(
        described(tmp_path, "[hosts.here]\nlocal = true\n", prefix("web", THROUGH_SHELL))
    ) as made:
        assert made.connect() == {}
        yield made


def prefix(name: str, words: tuple[str, ...], more: str = "") -> str:
    """A host by a command."""
    return f"[hosts.{name}]\ncommand = {json.dumps(words)}\n{more}\n"


def described(directory: Path, *parts: str) -> inventory.Inventory:
    """An inventory."""
    file = directory / "hosts.toml"
    file.write_text("\n".join(parts), encoding="utf-8")
    return inventory.load(file)


Failure = Callable[..., TestbedError]


@pytest.fixture
def failure(tmp_path: Path, cache: Path, refuses: Refuses) -> Failure:
    """Connects the only host of an inventory, which is refused; the words are a snapshot."""

    def connect(*parts: str) -> None:
        with Hosts(described(tmp_path, *parts)) as made:
            (error,) = made.connect().values()
            assert len(made) == 0
            raise error

    def fails(*parts: str) -> TestbedError:
        with refuses(TestbedError) as caught:
            connect(*parts)
        error: TestbedError = caught.value
        return error

    return fails


def sessions(cache: Path) -> list[Path]:
    """The directories of sessions."""
    return sorted(cache.glob("session-*"))


@pytest.mark.parametrize("name", ["here", "web"])
def test_a_host_runs_commands_in_a_directory_of_its_own(
    hosts: Hosts, cache: Path, name: str, refuses: Refuses
) -> None:
    ended = hosts[name].run(
        ["sh", "-c", "pwd; echo $GIVEN"], seconds=PATIENCE, environment={"GIVEN": "more"}
    )
    assert ended.stdout.splitlines() == [hosts[name].directory, "more"]
    assert Path(hosts[name].directory) in sessions(cache)
    with refuses(TestbedError):
        hosts[name].start_command(["no-such-program"])


def test_only_a_host_that_is_elsewhere_gets_a_copy_of_the_agent(hosts: Hosts, cache: Path) -> None:
    (copy,) = cache.glob("agent-*")
    assert hosts["web"].program == str(copy)
    assert hosts["here"].program == str(binary())
    assert copy.read_bytes() == binary().read_bytes()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


def test_a_copy_is_made_once_and_a_damaged_one_is_replaced(tmp_path: Path, cache: Path) -> None:
    about = described(tmp_path, prefix("web", THROUGH_SHELL))

    def copied() -> os.stat_result:
        with Hosts(about) as made:
            assert made.connect() == {}
        (copy,) = cache.iterdir()  # and neither a session nor half a copy
        return copy.stat()

    first, second = copied(), copied()
    assert (first.st_ino, first.st_mtime_ns) == (second.st_ino, second.st_mtime_ns)
    (copy,) = cache.iterdir()
    copy.write_bytes(copy.read_bytes()[:-1])
    assert copied().st_size == first.st_size


def test_a_link_that_another_user_planted_is_refused(
    tmp_path: Path, cache: Path, failure: Failure
) -> None:
    """It may lead to a directory of ours, in which files of sessions would be removed."""
    precious = tmp_path / "precious"
    dead = precious / f"session-{os.uname().nodename}-999999999"
    dead.mkdir(parents=True)
    cache.parent.mkdir()
    cache.symlink_to(precious)
    for host in ("[hosts.here]\nlocal = true\n", prefix("web", THROUGH_SHELL)):
        failure(host)
        assert list(precious.iterdir()) == [dead]


def test_nothing_is_removed_behind_a_planted_link(
    hosts: Hosts, tmp_path: Path, cache: Path
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "agent-of-ours").touch()
    cache.rename(tmp_path / "away")
    cache.symlink_to(precious)
    assert list(hosts.remove_programs()) == ["web"]
    assert (precious / "agent-of-ours").exists()
    cache.unlink()
    (tmp_path / "away").rename(cache)


def test_what_was_copied_is_removed_on_request(hosts: Hosts, cache: Path) -> None:
    assert hosts.remove_programs() == {}
    assert len(hosts) == 0
    assert not cache.exists() or list(cache.iterdir()) == []
    assert binary().exists(), "the one of this machine stays"


def test_files_in_use_by_another_session_are_not_removed(
    hosts: Hosts, tmp_path: Path, cache: Path
) -> None:
    with Hosts(described(tmp_path, prefix("other", THROUGH_SHELL))) as others:
        assert others.connect() == {}
        failed = hosts.remove_programs()
        assert list(failed) == ["web"]
        assert (
            others["other"].run(["echo", "still here"], seconds=PATIENCE).stdout == "still here\n"
        )
        assert others.remove_programs() == {}
    assert not cache.exists()


@pytest.mark.parametrize("name", ["here", "web"])
def test_an_agent_writes_a_file_that_is_here_when_it_has_reported(
    hosts: Hosts, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "deep" / "samples"
    file.parent.mkdir()
    config = {"path": str(file), "interval_ns": 50_000_000, "sockets": False}
    with hosts[name].start_agent(
        "sample", config, name=f"sample on {name}", seconds=PATIENCE
    ) as agent:
        agent.begin(seconds=PATIENCE)
        time.sleep(0.2)
        assert not file.exists(), "it lies there until then"
        agent.stop(PATIENCE)
    assert file.stat().st_size > 0
    left = hosts[name].run(
        ["find", hosts[name].directory, "-type", "f", "!", "-name", "program"], seconds=PATIENCE
    )
    assert left.stdout == "", "and takes no room there any more"


def test_clock_ports_and_facts_are_read(hosts: Hosts) -> None:
    reading = hosts["here"].read_clock()
    assert abs(reading.ahead_ns) <= reading.error_ns
    with hosts["web"].start_command(
        [sys.executable, "-c", LISTEN], stdout=subprocess.PIPE
    ) as listener:
        assert listener.stdout is not None
        port = int(listener.stdout.readline())
        assert ("tcp", port) in hosts["web"].listening()
    facts = hosts["web"].facts()
    assert facts["way"].startswith("sh -c")
    assert facts["agent_sha256"] == Program.read().sha256
    assert (facts["system"], facts["kernel"]) == ("Linux", os.uname().release)


LISTEN = (
    "import socket, time; s = socket.create_server(('127.0.0.1', 0)); "
    "print(s.getsockname()[1], flush=True); time.sleep(600)"
)


def test_nothing_runs_and_nothing_lies_there_when_it_has_ended(tmp_path: Path, cache: Path) -> None:
    with Hosts(described(tmp_path, prefix("web", THROUGH_SHELL))) as made:
        made.connect()
        made["web"].start_command(["sh", "-c", "sleep 617 & echo text > file; wait"])
        wait_until(lambda: processes_with("sleep\x00617"), "what the command has started")
    assert processes_with("sleep\x00617") == []
    assert processes_with(str(cache)) == []
    assert sessions(cache) == []


@contextlib.contextmanager
def owner(
    about: inventory.Inventory, seconds: str, *, keep: str = "None"
) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has a command sleep so long on each of the hosts, to be killed."""
    script = textwrap.dedent(f"""
        import sys, time
        from pathlib import Path
        from trustbed.scenario import inventory
        from trustbed.testbed.remote import Hosts, Keep
        hosts = Hosts(inventory.load(Path(sys.argv[1])), keep={keep})
        assert hosts.connect() == {{}}
        for name in hosts:
            hosts[name].start_command(["sleep", "{seconds}"])
        print("ready", flush=True)
        time.sleep(600)
    """)
    words = [sys.executable, "-c", script, str(about.file)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            yield process
        finally:
            process.kill()


def test_a_killed_owner_leaves_nothing_running(tmp_path: Path, cache: Path) -> None:
    about = described(tmp_path, prefix("web", THROUGH_SHELL), "[hosts.here]\nlocal = true\n")
    with owner(about, "619") as killed:
        wait_until(lambda: len(processes_with("sleep\x00619")) == 2, "both commands")
        killed.send_signal(signal.SIGKILL)
    wait_until(lambda: not processes_with("sleep\x00619"), "the end of what ran there")
    wait_until(lambda: not sessions(cache), "the end of what lay there")


def test_a_silent_agent_ends_with_all_that_it_started(tmp_path: Path) -> None:
    words = [str(binary()), "exec", "--", str(binary()), "control", "-", "--silence", "4"]
    order = frames.pack(
        1,
        Kind.OPEN,
        json.dumps(
            {"words": ["sleep", "621"], "environment": {}, "directory": None, "terminal": None}
        ).encode(),
    )
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as control:
        assert control.stdin is not None
        assert control.stdout is not None
        assert control.stderr is not None
        control.stdin.write(order)
        control.stdin.flush()  # and nothing more, though the stream stays open
        received = bytearray()
        while Kind.STARTED not in [frame.kind for frame in frames.unpack(bytearray(received))]:
            piece = os.read(control.stdout.fileno(), 4096)
            assert piece, "it ended before it had started anything"
            received += piece
        assert control.wait(PATIENCE) == 4
        assert b"silent for 4 s" in control.stderr.read()
    assert processes_with("sleep\x00621") == []


def test_files_of_a_session_whose_host_lost_its_power_are_removed_by_the_next(
    tmp_path: Path, cache: Path
) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    dead, other = (
        cache / f"session-{os.uname().nodename}-{ended.pid}",
        cache / f"session-elsewhere-{ended.pid}",
    )
    alive = cache / f"session-{os.uname().nodename}-{os.getpid()}"
    for directory in (dead, alive, other):
        (directory / "1").mkdir(parents=True)
    half = cache / f".agent-0123456789abcdef.{os.uname().nodename}.{ended.pid}"
    half.touch()
    with Hosts(described(tmp_path, "[hosts.here]\nlocal = true\n")) as made:
        assert made.connect() == {}
        assert not dead.exists()
        assert not half.exists()
        assert alive.exists()
        assert other.exists(), "another machine with the same home knows better"


def test_a_bad_host_does_not_stop_others_and_is_tried_again(
    tmp_path: Path, cache: Path, snapshot: SnapshotAssertion
) -> None:
    switch = tmp_path / "on"
    fickle = ("sh", "-c", f'test -e {shlex.quote(str(switch))} && exec "$@"', "sh")
    with Hosts(
        described(
            tmp_path,
            "[hosts.here]\nlocal = true\n",
            prefix("web", fickle),
            prefix("none", ("no-such-program",)),
        )
    ) as made:
        failed = made.connect()
        assert list(made) == ["here"]
        assert {name: error.message for name, error in failed.items()} == snapshot
        before = made["here"]
        switch.touch()
        assert list(made.connect()) == ["none"]
        assert list(made) == ["here", "web"]
        assert made["here"] is before, "who is connected stays so"


def test_an_interrupt_while_connecting_does_not_wait_for_hanging_hosts(
    tmp_path: Path, cache: Path
) -> None:
    def interrupt() -> None:
        wait_until(lambda: processes_with("sleep\x00657"), "what hangs")
        os.kill(os.getpid(), signal.SIGINT)

    interrupting = threading.Thread(target=interrupt)
    with Hosts(described(tmp_path, prefix("web", ("sh", "-c", "exec sleep 657", "sh")))) as made:
        interrupting.start()
        with pytest.raises(KeyboardInterrupt):
            made.connect()
        interrupting.join()
    assert processes_with("sleep\x00657") == []


@pytest.mark.parametrize(
    "hangs", ["exec sleep 653", 'case "$*" in *control*) exec sleep 653;; esac; exec "$@"']
)
def test_hosts_that_are_closed_give_up_connecting(tmp_path: Path, cache: Path, hangs: str) -> None:
    """At the look as well as at the agent that does not answer.

    Connecting reports it, and does not wait for it.
    """
    made = Hosts(described(tmp_path, prefix("web", ("sh", "-c", hangs, "sh"))))
    with ThreadPoolExecutor(1) as pool:
        connecting = pool.submit(made.connect)
        wait_until(lambda: processes_with("sleep\x00653"), "what hangs")
        made.close()
        assert isinstance(connecting.exception(PATIENCE), CancelledError)
    wait_until(lambda: not processes_with("sleep\x00653"), "its end")
    with pytest.raises(CancelledError):
        made.connect()


def test_a_host_that_is_gone_is_taken_up_again(hosts: Hosts) -> None:
    web = hosts["web"]
    session = Path(web.directory)
    os.kill(
        int(session.name.rpartition("-")[2]), signal.SIGKILL
    )  # the shell; the kernel ends what depends on it
    with pytest.raises(TestbedError, match="is gone"):
        web.run(["sleep", "600"], seconds=PATIENCE)
    assert hosts.connect() == {}
    assert hosts["web"] is not web
    assert hosts["web"].run(["echo", "again"], seconds=PATIENCE).stdout == "again\n"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("sh", "-c", 'echo Welcome!; exec "$@"', "sh"), id="a greeting"),
        pytest.param(("echo",), id="no shell"),
        pytest.param(("sh", "-c", '"$@" | sed "s/$/\r/"', "sh"), id="a terminal"),
    ],
)
def test_an_answer_that_is_none_of_a_shell_is_named(
    failure: Failure, words: tuple[str, ...]
) -> None:
    failure(prefix("web", words))


def test_a_machine_of_another_kind_is_refused_before_anything_is_copied(
    cache: Path, monkeypatch: pytest.MonkeyPatch, failure: Failure
) -> None:
    other = replace(Program.read(), machine="s390x")
    monkeypatch.setattr(Program, "read", lambda: other)
    failure(prefix("web", THROUGH_SHELL))
    assert not cache.exists()


def test_an_agent_of_another_version_is_refused(
    cache: Path, monkeypatch: pytest.MonkeyPatch, failure: Failure
) -> None:
    monkeypatch.setattr(trustbed, "__version__", "99.0.0")
    failure(prefix("web", THROUGH_SHELL))
    assert sessions(cache) == []


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path, failure: Failure) -> None:
    (tmp_path / "file").touch()
    failure(prefix("web", THROUGH_SHELL, f'directory = "{tmp_path}/file"'))


@pytest.mark.skipif(os.geteuid() != 0, reason="a directory can be given away by root only")
def test_a_directory_of_another_user_is_not_trusted_even_with_the_right_program_in_it(
    tmp_path: Path, failure: Failure
) -> None:
    program = Program.read()
    shared = tmp_path / "shared" / f"trustbed-{os.getuid()}"
    shared.mkdir(parents=True)
    (shared / program.name).write_bytes(program.content)
    (shared / program.name).chmod(0o755)
    os.chown(shared, 65534, 65534)
    failure(prefix("web", THROUGH_SHELL, f'directory = "{tmp_path}/shared"'))


def test_a_host_in_a_namespace_sees_its_network_alone(machine: Machine) -> None:
    found = machine.python(
        """
from pathlib import Path
from typing import Any
from trustbed.scenario import inventory
from trustbed.testbed.remote import Hosts, Keep
from trustbed.testbed.remote import program as programs
LINE = '[hosts.{0}]\\nnamespace = "{1}"\\n'
with Testbed(plan(PAIR)) as testbed:
    file = Path(sys.argv[1], "hosts.toml")
    named = {name: testbed.namespace(name).name for name in ("near", "far")}
    file.write_text("".join(LINE.format(*one) for one in named.items()))
    with Hosts(inventory.load(file)) as hosts:
        assert hosts.connect() == {}, hosts.connect()
        show = ["ip", "-4", "-brief", "address"]
        addresses = {name: hosts[name].run(show, seconds=60).stdout for name in hosts}
        facts = hosts["far"].facts()
print(json.dumps([addresses, facts["way"]]))
""",
        str(machine.runtime),
    )
    assert "10.77.0.1" in found[0]["near"]
    assert "10.77.0.2" not in found[0]["near"]
    assert "10.77.0.2" in found[0]["far"]
    assert found[1].startswith("namespace /run/netns/tb-")


def test_a_host_that_never_stops_talking_is_not_listened_to(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, refuses: Refuses
) -> None:
    """As with a shell that prints without end before it runs a command."""
    for module in ("trustbed.testbed.remote.transport", "trustbed.agent.control.commands"):
        monkeypatch.setattr(f"{module}.MOST_BYTES", 1 << 20)
    with Hosts(
        described(
            tmp_path, "[hosts.here]\nlocal = true\n", prefix("web", ("sh", "-c", "yes", "sh"))
        )
    ) as made:
        failed = made.connect()
        assert failed["web"].message.startswith("sh for the host web wrote more than")
        with refuses(TestbedError):
            made["here"].run(["yes"], seconds=PATIENCE)
        assert made["here"].run(["echo", "on"], seconds=PATIENCE).stdout == "on\n"


def test_an_unkillable_writer_ends_with_our_streams(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As what sudo runs; here it has left the group that is killed."""
    monkeypatch.setattr("trustbed.testbed.remote.transport.MOST_BYTES", 1 << 20)
    talks = f"talks on and on beside {tmp_path.name}"
    with Hosts(
        described(tmp_path, prefix("web", ("sh", "-c", f"setsid yes '{talks}' & wait", "sh")))
    ) as made:
        assert made.connect()["web"].message.startswith("sh for the host web wrote more than")
        wait_until(
            lambda: not processes_with(f"yes\x00{talks}"), "the end of the writer without a reader"
        )


def versions(cache: Path) -> list[str]:
    """The agents that are kept there."""
    return sorted(file.name for file in cache.glob("agent-*"))


@pytest.fixture
def newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """Installs an agent of other content; the name of its copies."""
    count = 0

    def install() -> str:
        nonlocal count
        count += 1
        path = tmp_path / f"trustbed-agent-{count}"
        path.write_bytes(Program.read().content + b"\0")
        path.chmod(0o755)
        monkeypatch.setenv("TRUSTBED_AGENT", str(path))
        return Program.read().name

    return install


def test_the_agent_of_another_version_is_replaced(
    tmp_path: Path, cache: Path, newer: Callable[[], str]
) -> None:
    about = described(tmp_path, prefix("web", THROUGH_SHELL))
    with Hosts(about) as made:
        assert made.connect() == {}
    old = versions(cache)
    new = newer()
    with Hosts(about) as made:
        assert made.connect() == {}
        assert versions(cache) == [new] != old
        assert Path(made["web"].program).name == new


def test_an_agent_that_another_session_uses_stays(
    tmp_path: Path, cache: Path, newer: Callable[[], str]
) -> None:
    about = described(tmp_path, prefix("web", THROUGH_SHELL))
    with Hosts(about) as older:
        assert older.connect() == {}
        (old,) = versions(cache)
        new = newer()
        with Hosts(about) as made:
            assert made.connect() == {}
            assert versions(cache) == sorted([old, new])
        assert older["web"].run(["echo", "on"], seconds=PATIENCE).stdout == "on\n"
    (cache / "session-elsewhere-1").mkdir()  # of a former version, which names no agent
    newest = newer()
    with Hosts(about) as made:
        assert made.connect() == {}
        assert versions(cache) == sorted([old, new, newest])


def test_an_agent_that_is_removed_just_before_it_starts_is_copied_again(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = described(tmp_path, prefix("web", THROUGH_SHELL))
    with Hosts(about) as made:
        assert made.connect() == {}
    probe = programs.probe

    def removed(*asked: Any) -> Any:  # noqa: ANN401 - as the one that it replaces
        found = probe(*asked)
        for file in cache.glob("agent-*"):
            file.unlink()
        return found

    monkeypatch.setattr(programs, "probe", removed)
    with Hosts(about) as made:
        assert made.connect() == {}
        assert made["web"].run(["echo", "on"], seconds=PATIENCE).stdout == "on\n"


def test_a_campaign_that_continues_with_a_newer_agent_ends_the_old_one(
    tmp_path: Path, cache: Path, newer: Callable[[], str]
) -> None:
    """Its controller was killed, and its session goes on."""
    about = described(tmp_path, prefix("web", THROUGH_SHELL))
    with owner(about, "673", keep="Keep(seconds=600, owner='test')") as killed:
        killed.kill()
    new = newer()
    with Hosts(about, keep=Keep(seconds=600, owner="test")) as made:
        assert made.connect() == {}
        wait_until(lambda: not processes_with("sleep\x00673"), "the end of what ran there")
        assert versions(cache) == [new]
