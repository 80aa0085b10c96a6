"""A testbed reaches the host's network through the link; another namespace is the Internet."""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests.testbed.conftest import TRUSTBED, Machine
from trustbed.testbed.netns import address_translation as outside
from trustbed.testbed.netns import registry

FETCH = "curl -s --max-time 100 -o /dev/null -w '%{http_code}' http://203.0.113.5:8000/"


@pytest.fixture
def world(machine: Machine) -> Machine:
    """The machine's upstream: a router without routes to testbeds, and a server at 203.0.113.5."""
    machine.run("ip", "netns", "add", "world")
    for line in (
        "ip link add wan type veth peer name lan netns world",
        "ip address add 192.0.2.1/24 dev wan",
        "ip link set wan up",
        "ip -n world address add 192.0.2.2/24 dev lan",
        "ip -n world address add 203.0.113.5/32 dev lan",
        "ip -n world link set lan up",
        "ip route add default via 192.0.2.2",
    ):
        machine.run(*line.split())
    server = machine.start(
        "ip",
        "netns",
        "exec",
        "world",
        "python3",
        "-u",
        "-m",
        "http.server",
        "8000",
        "--bind",
        "203.0.113.5",
    )
    assert server.stdout is not None
    server.stdout.readline()  # it reports that it listens
    return machine


TABLES = """
import json
from pyroute2.nftables.main import NFTables
tables = NFTables(nfgen_family=2)
print(json.dumps([table.get("name") for table in tables.get_tables()]))
tables.close()
"""


def state(machine: Machine, *where: str) -> list[str]:
    """The state that an uplink may change, in the machine's network or one a command enters."""
    return [
        machine.run(*where, "sysctl", "net.ipv4.ip_forward").stdout,
        machine.run(*where, "ip", "-brief", "link").stdout.replace("UNKNOWN", "UP"),
        machine.run(*where, sys.executable, "-c", TABLES).stdout,
    ]


@contextlib.contextmanager
def standing(machine: Machine, *where: str) -> Iterator[None]:
    """A testbed with an uplink, in the machine's network or one that a command enters.

    The test kills the testbed's owner at the end.
    """
    child = machine.start(
        *where, TRUSTBED, "shell", "--outside", "--", "sh", "-c", "echo ready; sleep 600"
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    yield
    child.kill()
    child.communicate()


def test_root_reaches_the_world_and_leaves_nothing(world: Machine) -> None:
    before = state(world)
    ended = world.trustbed(
        "shell",
        "--outside",
        "--delay",
        "5ms",
        "--json",
        "--",
        "sh",
        "-c",
        f"{FETCH}; echo; ping -c1 -W100 -q 192.0.2.2",
    )
    first, *_, last = ended.stdout.splitlines()
    assert first == "200"
    up, down = json.loads(last)["emulator"]["pipes"]
    assert up["packets"] > 5
    assert down["packets"] > 5, "all of it went through the link"
    assert state(world) == before


def test_without_it_the_world_cannot_be_reached(world: Machine) -> None:
    ended = world.trustbed("shell", "--", "sh", "-c", FETCH, check=False)
    assert ended.returncode == 7, "curl: no route to the host"
    assert ended.stdout == "000"


def test_two_at_once_do_not_take_each_other_s_subnet(world: Machine) -> None:
    before = state(world)
    inner = f"{FETCH}; echo"
    nested = (
        f"nsenter --target {world.holder.pid} --net --mount {TRUSTBED} shell -q --outside -- "
        f'sh -c "{inner}"'
    )
    outer = world.trustbed(
        "shell", "-q", "--outside", "--", "sh", "-c", f"{inner}; {nested}; {inner}", check=False
    )
    assert outer.stdout.split() == ["200", "200", "200"], outer.stderr
    assert state(world) == before


def test_a_network_that_has_its_route_back_counts_as_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of two that end at once each has its file still, when the other looks.

    The second must switch forwarding off.
    """
    changes = [
        registry.Outside(
            network_namespace=number,
            interface=name,
            table=name,
            forwarding_was="0",
            iptables=False,
        )
        for number, name in ((1, "tb-own"), (1, "tb-other"), (2, "tb-third"))
    ]
    monkeypatch.setattr(
        registry, "records", lambda: [SimpleNamespace(outside=one) for one in changes]
    )
    monkeypatch.setattr(outside, "_tables", lambda: {"tb-own", "tb-other", "tb-third"})
    assert outside._others_in(1, "tb-own") == [changes[1]]
    monkeypatch.setattr(outside, "_tables", lambda: {"tb-own"})
    assert outside._others_in(1, "tb-own") == []


def test_what_a_killed_one_changed_is_taken_back(world: Machine) -> None:
    before = state(world)
    with standing(world):
        assert state(world) != before
    world.trustbed("testbed", "clean")
    assert state(world) == before


@pytest.fixture
def closed(world: Machine) -> Machine:
    """The same machine with the iptables FORWARD policy DROP, as Docker sets it."""
    if shutil.which("iptables") is None:
        pytest.skip("no iptables")
    world.run("iptables", "-P", "FORWARD", "DROP")
    world.run("iptables", "-A", "FORWARD", "-i", "docker0", "-j", "ACCEPT")
    return world


def forwarded(machine: Machine) -> list[str]:
    """The rules for what is forwarded."""
    return machine.run("iptables", "-S", "FORWARD").stdout.splitlines()


def test_where_forwarding_is_closed_it_is_opened_for_the_testbed_alone(closed: Machine) -> None:
    before, rules = state(closed), forwarded(closed)
    nested = f"nsenter --target {closed.holder.pid} --net iptables -S FORWARD"
    ended = closed.trustbed(
        "shell", "--outside", "-q", "--", "sh", "-c", f"{FETCH}; echo; {nested}"
    )
    status, *meanwhile = ended.stdout.splitlines()
    assert status == "200"
    added = [line for line in meanwhile if line not in rules]
    (interface,) = {line.split()[3] for line in added}
    assert interface.startswith("tb-")
    assert sorted(added) == [
        f"-A FORWARD -i {interface} -j ACCEPT",
        f"-A FORWARD -o {interface} -j ACCEPT",
    ]
    assert forwarded(closed) == rules
    assert state(closed) == before


def test_forwarding_that_is_closed_stops_a_testbed_for_which_it_is_not_opened(
    closed: Machine,
) -> None:
    shut = f"nsenter --target {closed.holder.pid} --net sh -c 'iptables -F FORWARD'"
    fetch = FETCH.replace("--max-time 100", "--max-time 3")
    ended = closed.trustbed(
        "shell", "--outside", "-q", "--", "sh", "-c", f"{shut}; {fetch}", check=False
    )
    assert ended.stdout == "000", "else the test above shows nothing"
    assert forwarded(closed) == ["-P FORWARD DROP"]


def test_a_killed_one_leaves_it_closed(closed: Machine) -> None:
    before, rules = state(closed), forwarded(closed)
    with standing(closed):
        assert forwarded(closed) != rules
    closed.trustbed("testbed", "clean")
    assert forwarded(closed) == rules
    assert state(closed) == before


@pytest.fixture(params=["a name", "a process"])
def elsewhere(request: pytest.FixtureRequest, machine: Machine) -> tuple[str, ...]:
    """A network beside the machine's own, which has a name or lasts as long as a process in it.

    The command that enters it.
    """
    machine.run("ip", "netns", "add", "elsewhere")
    if request.param == "a name":
        return ("ip", "netns", "exec", "elsewhere")
    keeper = machine.start(
        "ip", "netns", "exec", "elsewhere", "sh", "-c", "echo $$; exec sleep 6000"
    )
    assert keeper.stdout is not None
    enter = ("nsenter", "--target", keeper.stdout.readline().strip(), "--net", "--")
    machine.run("umount", "/run/netns/elsewhere")
    return enter


def test_what_a_killed_one_changed_in_another_network_is_taken_back_there(
    machine: Machine, elsewhere: tuple[str, ...]
) -> None:
    before, own = state(machine, *elsewhere), state(machine)
    with standing(machine, *elsewhere):
        assert state(machine, *elsewhere) != before
    machine.trustbed("testbed", "clean")
    assert state(machine, *elsewhere) == before
    assert state(machine) == own
    assert machine.records() == []


def test_a_network_that_is_gone_needs_nothing_taken_back(machine: Machine) -> None:
    with standing(machine, "unshare", "--net"):
        pass
    own = state(machine)
    assert machine.trustbed("testbed", "clean").stdout.startswith("removed ")
    assert state(machine) == own
    assert machine.records() == []


def test_a_network_with_the_number_of_one_that_is_gone_is_left_alone(machine: Machine) -> None:
    with standing(machine):
        pass
    (name,) = (name.removesuffix(".json") for name in machine.records())
    # As in a new network whose router was switched on since.
    machine.python(
        (
            "from pyroute2.nftables.main import NFTables; "
            'NFTables(nfgen_family=2).table("del", name=sys.argv[1]); print(0)'
        ),
        f"tb-{name}",
    )
    machine.trustbed("testbed", "clean")
    assert machine.run("sysctl", "-n", "net.ipv4.ip_forward").stdout == "1\n"


def test_anybody_reaches_it_through_pasta(world: Machine) -> None:
    if shutil.which("pasta") is None:
        pytest.skip("no pasta (Debian: passt)")
    user = Machine(world.holder, world.runtime, user=True, started=world.started)
    ended = user.trustbed("shell", "--outside", "--delay", "5ms", "--", "sh", "-c", FETCH)
    assert ended.stdout == "200"
    assert "link: up " in ended.stderr


def test_behind_pasta_it_is_left_alone_by_others(world: Machine) -> None:
    """There it has another process id, so that it cannot be checked from outside."""
    if shutil.which("pasta") is None:
        pytest.skip("no pasta (Debian: passt)")
    user = Machine(world.holder, world.runtime, user=True, started=world.started)
    with standing(user):
        assert len(user.records()) == 1
        assert user.trustbed("testbed", "clean").stdout == "nothing to remove\n"
        assert len(user.records()) == 1
    assert user.trustbed("testbed", "clean").stdout.startswith("removed ")
    assert user.records() == []


@pytest.mark.parametrize(("groups", "answered"), [("0 2147483647", True), ("1 0", False)])
def test_through_pasta_ping_is_answered_where_users_may_send_echoes(
    world: Machine, groups: str, answered: bool
) -> None:
    if shutil.which("pasta") is None:
        pytest.skip("no pasta (Debian: passt)")
    world.run("sh", "-c", f"echo {groups} > /proc/sys/net/ipv4/ping_group_range")
    user = Machine(world.holder, world.runtime, user=True, started=world.started)
    seconds = 100 if answered else 3
    echo = (
        f"ping -c1 -W100 -q $TRUSTBED_PEER | grep -c ' 1 received'; ping -c1 -W{seconds} -q "
        f"203.0.113.5 | grep -c ' 1 received'; true"
    )
    ended = user.trustbed("shell", "-q", "--outside", "--", "sh", "-c", echo)
    assert ended.stdout.split() == ["1", "1" if answered else "0"]


def test_without_pasta_it_is_an_error(world: Machine) -> None:
    user = Machine(world.holder, world.runtime, user=True, started=world.started)
    ended = user.run(
        "env", "PATH=/nowhere", TRUSTBED, "shell", "--outside", "--", "true", check=False
    )
    assert ended.returncode == 125
    assert "pasta only, which is not installed" in ended.stderr
    assert "run as root, or do without --outside" in ended.stderr
