"""The owner of a testbed is killed without warning.

Nothing it left hinders the next one, and `clean` removes it all.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.patience import PATIENCE, wait_until
from tests.testbed.conftest import BEGIN, TRUSTBED, Machine, processes_with

BUSY = (
    BEGIN
    + """
mark = sys.argv[1]
while True:
    with Testbed(plan(PAIR), purpose=mark) as testbed:
        print(testbed.id, flush=True)
        pipes = [
            {"name": "up", "from": "near", "to": "far"},
            {"name": "down", "from": "far", "to": "near"},
        ]
        hosts = [{"name": host.name, "addresses": list(host.addresses)} for host in PAIR]
        links = testbed.plan.emulator({"hosts": hosts, "pipes": pipes}, seed=1)
        agent = testbed.start_agent("emulate", links, where="net")
        agent.begin()
        stubborn = f"trap '' TERM; (setsid sleep 600.{mark} &); sleep 600.{mark}"
        testbed.start("near", ["sh", "-c", stubborn])
        testbed.start("far", ["sleep", f"600.{mark}"])
        time.sleep(0.05)
"""
)
"""Makes testbeds with everything in them, one after the other."""


@pytest.mark.parametrize("seed", range(6))
def test_at_any_moment(machine: Machine, seed: int) -> None:
    mark = str(random.Random(f"mark {seed}").randrange(10**6, 10**7))
    owner = machine.start(sys.executable, "-c", BUSY, mark)
    assert owner.stdout is not None
    owner.stdout.readline()
    time.sleep(random.Random(seed).uniform(0, 0.6))
    pid = _python(owner)
    machine.run("kill", "-KILL", str(pid))
    owner.communicate()
    machine.trustbed("testbed", "clean")
    assert machine.namespaces() == []
    assert machine.records() == []
    assert processes_with(mark) == []


def _python(child: subprocess.Popen[str]) -> int:
    """The requested process: nsenter and unshare have become it."""
    return child.pid


def test_the_next_testbed_removes_what_was_left(machine: Machine) -> None:
    owner = machine.start(sys.executable, "-c", BUSY, "1234321")
    assert owner.stdout is not None
    first = owner.stdout.readline().strip()
    owner.kill()
    owner.communicate()
    assert any(first in name for name in machine.namespaces())
    second = machine.python("""
with Testbed(plan(PAIR)) as testbed:
    print(json.dumps([testbed.id, [record.id for record in registry.records()]]))
""")
    assert second[1] == [second[0]]
    assert machine.namespaces() == []


def test_a_testbed_whose_owner_lives_is_left_alone(machine: Machine) -> None:
    code = (
        BEGIN
        + """
with Testbed(plan(PAIR), purpose="alive") as testbed:
    print(testbed.id, flush=True)
    sys.stdin.readline()
    print(testbed.run("near", ["true"], seconds=100).returncode, flush=True)
"""
    )
    owner = machine.start(sys.executable, "-c", code, stdin=subprocess.PIPE)
    assert owner.stdout is not None
    name = owner.stdout.readline().strip()
    assert machine.trustbed("testbed", "clean").stdout == "nothing to remove\n"
    (listed,) = json.loads(machine.trustbed("testbed", "list", "--json").stdout)
    assert (listed["id"], listed["purpose"], listed["owner_lives"], listed["hosts"]) == (
        name,
        "alive",
        True,
        ["near", "far"],
    )
    assert "alive" in machine.trustbed("testbed", "list").stdout
    out, err = owner.communicate("\n", timeout=PATIENCE)
    assert out == "0\n", err


def test_clean_lists_what_it_removed(machine: Machine) -> None:
    owner = machine.start(sys.executable, "-c", BUSY, "7654567")
    assert owner.stdout is not None
    name = owner.stdout.readline().strip()
    owner.kill()
    owner.communicate()
    listed = machine.trustbed("testbed", "list")
    assert "dead" in listed.stdout
    assert "hint: trustbed testbed clean" in listed.stderr
    assert f"removed {name} (7654567)" in machine.trustbed("testbed", "clean").stdout
    assert machine.trustbed("testbed", "list").stdout == "no testbeds\n"


def test_without_root_everything_vanishes_with_its_processes(user: Machine) -> None:
    owner = user.start(sys.executable, "-c", BUSY, "9182736")
    assert owner.stdout is not None
    owner.stdout.readline()
    owner.kill()
    owner.communicate()
    user.trustbed("testbed", "clean")
    assert user.records() == []
    assert processes_with("9182736") == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_shell_that_is_stopped_leaves_nothing(machine: Machine, number: signal.Signals) -> None:
    child = machine.start(
        sys.executable,
        "-m",
        "trustbed",
        "shell",
        "--",
        "sh",
        "-c",
        "echo ready; exec sleep 600.31415",
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(number)
    child.communicate(timeout=PATIENCE)
    assert child.returncode == 128 + number
    assert machine.namespaces() == []
    assert machine.records() == []
    assert processes_with("600.31415") == []


def test_a_kind_kill_before_the_command_runs_leaves_nothing(machine: Machine) -> None:
    child = machine.start(TRUSTBED, "shell", "--far", "sleep 600.7654321", "--", "true")

    def waits_for_it_to_listen() -> bool:
        # The far command itself, which never will; what starts it has its words among its own.
        return any(
            line.startswith(("sleep ", "/bin/sh -c sleep "))
            for line in processes_with("600.7654321")
        )

    wait_until(waits_for_it_to_listen, "the far command")
    child.terminate()
    _, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode == 130
    assert "interrupted" in errors
    assert machine.namespaces() == []
    assert machine.records() == []
    assert processes_with("600.7654321") == []


def test_a_command_whose_attendant_is_killed_was_killed(machine: Machine) -> None:
    ended = machine.python("""
with Testbed(plan(PAIR)) as testbed:
    process = testbed.start("near", ["sleep", "600"])
    attendant = int(open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()[1])
    os.kill(attendant, 9)
    code = process.wait(100)
print(json.dumps([code, process.poll()]))
""")
    assert ended == [137, 137]


def test_a_shell_whose_emulator_is_killed_ends_with_an_error(machine: Machine) -> None:
    child = machine.start(
        TRUSTBED,
        "shell",
        "--",
        "sh",
        "-c",
        "(setsid sleep 600.16180 &); echo ready; exec sleep 600.16180",
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    machine.run(
        "pkill",
        "-KILL",
        "--ns",
        str(machine.holder.pid),
        "--nslist",
        "mnt",
        "-f",
        "bin/trustbed-agent emulate",
    )
    _, errors = child.communicate(timeout=PATIENCE)
    assert child.returncode == 125
    assert errors.startswith("error: emulate on net: the agent was killed by signal 9\nhint: ")
    assert machine.namespaces() == []
    assert machine.records() == []
    assert processes_with("600.16180") == []
