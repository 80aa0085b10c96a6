"""`trustbed shell` as a person uses it.

Commands, terminals, servers at the far end; as root and as anybody.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.patience import PATIENCE
from tests.testbed.conftest import TRUSTBED, Machine, Terminal, processes_with

Opens = Callable[[Machine, Sequence[str]], Terminal]
HTTP = "python3 -m http.server --bind 10.77.0.2 8000"


@pytest.fixture(params=["root", "user"])
def either(request: pytest.FixtureRequest) -> Machine:
    """Both kinds of people."""
    found: Machine = request.getfixturevalue("machine" if request.param == "root" else "user")
    return found


def test_the_exit_code_and_the_output_are_the_command_s(either: Machine) -> None:
    ended = either.trustbed(
        "shell",
        "--",
        "sh",
        "-c",
        "echo out; echo err >&2; echo $TRUSTBED_PEER; exit 7",
        check=False,
    )
    assert ended.returncode == 7
    assert ended.stdout == "out\n10.77.0.2\n"
    first, *_, last = ended.stderr.splitlines()
    assert first == "err"
    assert re.fullmatch(r"link: up nothing · down nothing · emulator idle · TCP \w+", last)


def test_a_delay_holds_in_each_direction(either: Machine) -> None:
    ended = either.trustbed(
        "shell", "--delay", "10ms", "--json", "--", "ping", "-c3", "-i1", "-q", "10.77.0.2"
    )
    found = re.search(r"= ([\d.]+)/", ended.stdout)
    assert found is not None
    assert float(found[1]) >= 20, "the least of three round trips; it is never early"
    pipes = {
        pipe["name"]: pipe
        for pipe in json.loads(ended.stdout.splitlines()[-1])["emulator"]["pipes"]
    }
    assert [pipes[name]["packets"] for name in ("up", "down")] == [3, 3]
    assert "up " in ended.stderr
    assert "none dropped" in ended.stderr


def test_up_and_down_can_differ(either: Machine) -> None:
    words = ("--delay", "1ms", "--up", "loss=100%", "--down", "delay=5ms", "--json", "--")
    ended = either.trustbed(
        "shell", *words, "ping", "-c3", "-i0.1", "-W0.2", "-q", "10.77.0.2", check=False
    )
    assert ended.returncode == 1, "ping received nothing"
    up, down = json.loads(ended.stdout.splitlines()[-1])["emulator"]["pipes"]
    assert (up["dropped"], down["packets"]) == ({"lost": 3}, 0)
    assert "3 of 3 packets dropped (3 on the wire)" in ended.stderr


def test_a_server_at_the_far_end_listens_before_the_command_begins(either: Machine) -> None:
    slow = f"sleep 0.3; exec {HTTP}"
    fetch = "curl -s -o /dev/null -w '%{http_code}' http://$TRUSTBED_PEER:8000/"
    ended = either.trustbed("shell", "--rate", "50Mbit/s", "--far", slow, "--", "sh", "-c", fetch)
    assert ended.stdout == "200"


def test_the_rate_is_not_exceeded(machine: Machine) -> None:
    send = (
        'door = socket.create_server(("10.77.0.2", 8000)); peer, _ = door.accept(); '
        "peer.sendall(bytes(400000))"
    )
    server = f"python3 -c 'import socket; {send}'"
    ended = machine.trustbed(
        "shell",
        "--rate",
        "8Mbit/s",
        "--far",
        server,
        "--json",
        "--",
        "sh",
        "-c",
        "curl -s telnet://10.77.0.2:8000 | wc -c",
    )
    size, summary = ended.stdout.splitlines()
    assert int(size) == 400_000
    down = json.loads(summary)["emulator"]["pipes"][1]
    # Frames are longer than what is in them, so the carried rate may reach the rate, and never
    # more.
    assert down["carried_bytes"] > 400_000
    assert down["carried_bits_per_second"] <= 8.1e6
    assert down["queue_delay"]["max_ns"] > 0


def test_users_of_a_model_are_on_the_link_too(either: Machine) -> None:
    link = ("--rate", "20Mbit/s", "--delay", "2ms", "--background", "web")
    ended = either.trustbed(
        "shell", *link, "--background-rate", "3Mbit/s", "--json", "--", "sleep", "3"
    )
    report = json.loads(ended.stdout.splitlines()[-1])
    users = report["background"]
    assert users["connections"] > 20
    assert users["failed_connections"] == 0
    assert sum(users["client_received_bytes_per_second"]) > 10_000
    pipes = {pipe["name"]: pipe for pipe in report["emulator"]["pipes"]}
    assert pipes["down"]["packets"] > 50
    assert "background: " in ended.stderr
    assert "connections, 0 failed" in ended.stderr


def test_users_need_a_model_and_a_network_of_their_own(machine: Machine) -> None:
    for words, message in (
        (["--background-rate", "3Mbit/s"], "--background-rate without --background"),
        (["--background", "absent.model"], "there is no such file"),
        (
            ["--rate", "10Mbit/s", "--background", "web", "--background-rate", "12Mbit/s"],
            "servers offer 12.0 Mbit/s in the mean, and the link carries 10.0 Mbit/s",
        ),
        (["--background", "web", "--outside"], "exclude each other"),
    ):
        ended = machine.trustbed("shell", *words, "--", "true", check=False)
        assert ended.returncode in (2, 125, 1)
        assert message in ended.stderr


@pytest.mark.parametrize(
    ("far", "part"),
    [
        (
            "no-such-server",
            "ended with code 127 before it listened: /bin/sh: 1: no-such-server: not found",
        ),
        ("echo wrong port >&2; exit 3", "ended with code 3 before it listened: wrong port"),
        ("true", "ended with code 0 before it listened"),
    ],
)
def test_a_far_command_that_does_not_listen_is_shown_with_its_words(
    machine: Machine, far: str, part: str
) -> None:
    ended = machine.trustbed("shell", "--far", far, "--", "true", check=False)
    assert ended.returncode == 125
    assert part in ended.stderr
    assert machine.namespaces() == []


def test_a_remote_command_that_fails_meanwhile_is_reported(machine: Machine) -> None:
    far = (
        'python3 -c \'import socket, sys; door = socket.create_server(("10.77.0.2", 8000)); '
        'door.accept(); sys.exit("full")\''
    )
    wait = "while curl -s --max-time 100 telnet://10.77.0.2:8000; do :; done; true"
    ended = machine.trustbed("shell", "--far", far, "--", "sh", "-c", wait)
    assert re.search(r"warning: the far command .* had ended with code 1: full", ended.stderr)


def test_a_command_that_does_not_exist_is_named(either: Machine) -> None:
    ended = either.trustbed("shell", "--", "no-such-command", check=False)
    assert ended.returncode == 125
    assert ended.stderr.startswith(
        "error: no-such-command cannot be run: no such file or directory\nhint: "
    )


def test_what_a_command_leaves_behind_ends_with_it(either: Machine) -> None:
    either.trustbed("shell", "--", "sh", "-c", "setsid sleep 600.27182 & exit 0")
    assert processes_with("600.27182") == []


def test_the_ledger_has_a_row_for_every_packet_on_each_pipe(
    machine: Machine, tmp_path: Path
) -> None:
    path = tmp_path / "ledger.parquet"
    ping = ("ping", "-c3", "-i1", "-q", "10.77.0.2")
    machine.trustbed(
        "shell", "--delay", "3ms", "--loss", "0", "--ledger", str(path), "-q", "--", *ping
    )
    rows = pyarrow.parquet.read_table(path).to_pylist()
    assert sorted(str(row["pipe"]) for row in rows) == ["down"] * 3 + ["up"] * 3
    assert all(row["due_ns"] - row["arrived_ns"] == 3_000_000 for row in rows)
    assert all(row["actual_ns"] >= row["due_ns"] for row in rows)
    assert list(tmp_path.glob(".trustbed*")) == []


def test_quiet_prints_nothing(machine: Machine) -> None:
    ended = machine.trustbed("shell", "-q", "--", "true")
    assert (ended.stdout, ended.stderr) == ("", "")


def test_help_behind_the_dashes_is_the_command_s(machine: Machine) -> None:
    assert "Usage: ls" in machine.trustbed("shell", "-q", "--", "ls", "--help").stdout


def test_standard_input_reaches_the_command(machine: Machine) -> None:
    child = machine.start(TRUSTBED, "shell", "-q", "--", "cat", stdin=-1)
    out, err = child.communicate("through and through", timeout=PATIENCE)
    assert (out, err) == ("through and through", "")


def test_without_a_command_it_is_a_shell(either: Machine, terminal: Opens) -> None:
    opened = terminal(either, [TRUSTBED, "shell", "--rate", "20Mbit/s", "--delay", "10ms"])
    opened.until(
        r"behind 20.0 Mbit/s, 10.0 ms each way; the far end is peer, "
        r"10\.77\.0\.2; TCP \w+; exit ends it"
    )
    opened.until(r"\$ ")
    opened.type("echo peer=$TRUSTBED_PEER\n")
    opened.until(r"peer=10\.77\.0\.2")
    opened.type("exit 9\n")
    opened.until(r"link: ")
    assert opened.end() == 9


def test_keys_reach_the_command_alone(machine: Machine, terminal: Opens) -> None:
    opened = terminal(machine, [TRUSTBED, "shell", "--", "bash", "--norc", "-i"])
    opened.until(r"\$ ")
    opened.type("sleep 600\n")
    opened.until(r"sleep 600\n")
    _until_runs(machine, "sleep")
    opened.type("\x03")
    opened.until(r"\$ ")
    opened.type("echo code=$?\n")
    opened.until(r"code=130")
    opened.type("sleep 600\n")
    opened.until(r"sleep 600\n")
    _until_runs(machine, "sleep")
    opened.type("\x1a")
    opened.until(r"Stopped")
    opened.type("jobs; disown -a; exit\n")
    opened.until(r"\+ +Stopped +sleep 600")
    opened.until(r"link: ")
    assert opened.end() == 0


def test_a_command_of_its_own_receives_ctrl_c_and_its_code_is_returned(
    machine: Machine, terminal: Opens
) -> None:
    opened = terminal(machine, [TRUSTBED, "shell", "--", "sleep", "600"])
    _until_runs(machine, "sleep")
    opened.type("\x03")
    opened.until(r"link: ")
    assert opened.end() == 130


def test_it_is_a_job_of_the_shell_that_started_it(machine: Machine, terminal: Opens) -> None:
    opened = terminal(machine, ["bash", "--norc", "-i"])
    opened.until(r"\$ ")
    opened.type(f"{TRUSTBED} shell -- sh -c 'echo be''gun; cat'\n")
    opened.until(r"begun")
    _until_runs(
        machine, "cat"
    )  # a shell that is stopped while it starts a program (vfork) is not seen to stop
    opened.type("\x1a")
    opened.until(r"Stopped .*shell")
    opened.until(r"\$ ")
    # A reader that has not yet handled Ctrl-Z takes the next keys from the shell: the kernel looks
    # for input before it looks for signals (n_tty_read), also for what left the foreground.
    _until_runs(machine, "cat", state="T")
    opened.type("echo still he''re; fg\n")
    opened.until(r"still here\n.*shell -- sh .*\n")
    opened.type("typed\n")
    opened.until(r"typed\n(typed\n)?")
    opened.type("\x04")
    opened.until(r"link: ")
    opened.until(r"\$ ")
    opened.type("echo code=$?; exit\n")
    opened.until(r"code=0")
    assert opened.end() == 0


def test_in_the_background_it_leaves_the_terminal_to_the_shell(
    machine: Machine, terminal: Opens
) -> None:
    opened = terminal(machine, ["bash", "--norc", "-i"])
    opened.until(r"\$ ")
    stops = f"{TRUSTBED} shell -q -- sh -c 'kill -STOP $$;"
    opened.type(f"{stops} echo goes o''n; read word; echo got $word'\n")
    opened.until(r"Stopped .*shell")
    opened.until(r"\$ ")
    opened.type("bg\n")
    opened.until(r"goes on\n")
    # Reading from a terminal that is not its own stops it while the shell waits for keys.
    job = f"ps -o stat= --ppid {opened.pid}"
    machine.run("sh", "-c", f"until {job} | grep -q '^T'; do sleep 0.02; done")
    opened.type("echo still he''re; fg\n")
    opened.until(r"still here\n")
    opened.until(r"shell -q -- sh .*\n")
    opened.type("a word\n")
    opened.until(r"got a word\n")
    opened.until(r"\$ ")
    opened.type(f"{stops} echo en''ded'\n")
    opened.until(r"Stopped .*shell")
    opened.until(r"\$ ")
    opened.type("bg\n")
    opened.until(r"ended\n")
    machine.run("sh", "-c", f"while {job} | grep -q .; do sleep 0.02; done")
    opened.type("echo code=$?; exit\n")
    opened.until(r"code=0")
    assert opened.end() == 0


def test_a_command_that_broke_the_terminal_is_cleaned_up_after(
    machine: Machine, terminal: Opens
) -> None:
    opened = terminal(machine, ["bash", "--norc", "-i"])
    opened.until(r"\$ ")
    opened.type(f"{TRUSTBED} shell -q -- sh -c 'stty -echo -icanon; kill -9 $$'; stty -a\n")
    opened.until(r" icanon")
    opened.until(r" echo ")
    opened.type("exit\n")
    opened.end()


def _until_runs(machine: Machine, name: str, *, state: str = "") -> None:
    """Waits until a command of that name runs on one of the hosts, or is in a state of ps(1)."""
    script = (
        "until for n in $(ip netns | cut -d' ' -f1); do ip netns pids $n; done | xargs -r "
        f"ps -o stat=,comm= -p | grep -q '^{state}.* {name}$'; do sleep 0.02; done"
    )
    machine.run("sh", "-c", script)
