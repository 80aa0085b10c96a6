"""A testbed while it exists.

Interfaces, offloads, addresses, neighbours, routes; and what is left when it is gone.
"""

from __future__ import annotations

import pytest

from tests.testbed.conftest import Machine

SHOW = """
def show(testbed, host, *words):
    return json.loads(testbed.run(host, ["ip", "-json", "-details", *words], seconds=100).stdout)
"""


@pytest.fixture(params=["root", "user"])
def either(request: pytest.FixtureRequest) -> Machine:
    """Both kinds of people."""
    found: Machine = request.getfixturevalue("machine" if request.param == "root" else "user")
    return found


def test_a_host_has_a_cable_and_nothing_to_ask_on_it(either: Machine) -> None:
    found = either.python(
        SHOW
        + """
with Testbed(plan(PAIR, mtu=1400)) as testbed:
    kinds = ("link", "address", "route", "neighbour")
    print(json.dumps({what: show(testbed, "near", *what.split()) for what in kinds}))
"""
    )
    loopback, veth = found["link"]
    assert loopback["flags"][:2] == ["LOOPBACK", "UP"]
    assert (veth["ifname"], veth["mtu"], veth["operstate"]) == ("eth0", 1400, "UP")
    (address,) = found["address"][1]["addr_info"]
    assert (address["family"], address["local"], address["prefixlen"]) == (
        "inet",
        "10.77.0.1",
        32,
    ), "no IPv6 unless configured"
    (route,) = found["route"]
    assert (route["dst"], route["gateway"], route["prefsrc"]) == (
        "10.77.0.2",
        "169.254.77.1",
        "10.77.0.1",
    )
    (neighbour,) = found["neighbour"]
    assert (neighbour["dst"], neighbour["lladdr"], neighbour["state"]) == (
        "169.254.77.1",
        "02:74:62:ff:ff:fe",
        ["PERMANENT"],
    )


def test_no_offload_is_on_at_either_end(either: Machine) -> None:
    found = either.python("""
from trustbed.testbed.netns import namespaces
from trustbed.testbed.netns.plan import OFFLOADS_OFF
from pyroute2.ethtool.ioctl import IoctlEthtool
state = {}
with Testbed(plan(PAIR)) as testbed:
    for where, interface in (("near", "eth0"), ("far", "eth0"), ("net", "p0"), ("net", "p1")):
        with namespaces.inside(testbed.namespace(where)):
            driver = IoctlEthtool(interface)
            flags = driver.get_offload_flags()
            driver.close()
        state[f"{where} {interface}"] = [name for name in OFFLOADS_OFF if flags[name]]
print(json.dumps(state))
""")
    assert found == {"near eth0": [], "far eth0": [], "net p0": [], "net p1": []}


def test_a_host_with_an_egress_has_a_token_bucket_filter(either: Machine) -> None:
    found = either.python("""
from trustbed.scenario.egress import Egress
limit = Egress(rate=20_000_000, burst_bytes=16_000, limit_bytes=141_000)
hosts = (Host(name="near", addresses=("10.77.0.1",), egress=limit), PAIR[1])
def qdiscs(testbed, host):
    words = ["tc", "-json", "qdisc", "show", "dev", "eth0"]
    return json.loads(testbed.run(host, words, seconds=100).stdout)
with Testbed(plan(hosts)) as testbed:
    print(json.dumps({host: qdiscs(testbed, host) for host in ("near", "far")}))
""")
    (qdisc,) = found["near"]
    assert (qdisc["kind"], qdisc["root"]) == ("tbf", True)
    options = qdisc["options"]
    # tc prints bytes per second, and the time of what may wait: (141,000 - 16,000) B / 20 Mbit/s.
    assert (options["rate"], options["burst"]) == (2_500_000, 16_000)
    assert options["lat"] == pytest.approx(50_000, rel=0.01)
    assert [one["kind"] for one in found["far"]] == ["noqueue"]


def test_thousands_of_addresses_and_routes_that_cannot_be_joined(either: Machine) -> None:
    found = either.python(
        SHOW
        + """
import ipaddress
many = tuple(str(ipaddress.ip_address("10.78.0.0") + 2 * number) for number in range(3000))
with Testbed(plan([PAIR[0], Host(name="crowd", addresses=many)])) as testbed:
    addresses = show(testbed, "crowd", "-4", "address", "show", "eth0")[0]["addr_info"]
    routes = show(testbed, "near", "-4", "route")
print(json.dumps([
    [one["local"] for one in addresses] == list(many),
    sorted(one["dst"] for one in routes) == sorted(many),
]))
"""
    )
    assert found == [True, True]


def test_ipv6_is_static_where_configured(either: Machine) -> None:
    found = either.python(
        SHOW
        + """
hosts = [Host(name="a", addresses=("fd00::1", "10.0.0.1")), Host(name="b", addresses=("fd00::2",))]
with Testbed(plan(hosts)) as testbed:
    kinds = ("address show eth0", "neighbour", "route show dev eth0")
    print(json.dumps({what: show(testbed, "a", "-6", *what.split()) for what in kinds}))
"""
    )
    (address,) = found["address show eth0"][0]["addr_info"]
    assert (address["local"], address["scope"], address.get("tentative", False)) == (
        "fd00::1",
        "global",
        False,
    )
    assert [(one["dst"], one["state"]) for one in found["neighbour"]] == [
        ("fe80::77:1", ["PERMANENT"])
    ]
    assert [(one["dst"], one["gateway"]) for one in found["route show dev eth0"]] == [
        ("fd00::2", "fe80::77:1")
    ]


def test_congestion_control_is_the_requested_one(either: Machine) -> None:
    found = either.python(
        SHOW
        + """
from dataclasses import replace
names = open("/proc/sys/net/ipv4/tcp_available_congestion_control").read().split()
used = {}
for name in names:
    with Testbed(plan([replace(PAIR[0], congestion_control=name), PAIR[1]])) as testbed:
        used[name] = [route["metrics"][0]["congestion"] for route in show(testbed, "near", "route")]
try:
    Testbed(plan([replace(PAIR[0], congestion_control="carrier-pigeon")])).__enter__()
except TestbedError as error:
    used["error"] = [error.message, error.hint]
print(json.dumps(used))
"""
    )
    message, hint = found.pop("error")
    assert "carrier-pigeon" in message
    assert all(name in hint for name in found)
    assert found == {name: [name] for name in found}


def test_only_the_testbed_can_be_reached(machine: Machine) -> None:
    machine.run("ip", "address", "add", "192.0.2.1/24", "dev", "lo")
    code = """
with Testbed(plan(PAIR)) as testbed:
    print(json.dumps([
        testbed.run("near", ["ping", "-c1", "-W1", where], seconds=100).returncode
        for where in ("192.0.2.1", "10.77.0.1")
    ]))
"""
    unreachable, itself = machine.python(code)
    assert unreachable != 0
    assert itself == 0


def test_nothing_is_left_after_the_block_whatever_happened_in_it(machine: Machine) -> None:
    before = machine.run("ip", "-brief", "link").stdout
    machine.python("""
with Testbed(plan(PAIR)) as testbed:
    assert testbed.namespace("near").exists()
    testbed.start("near", ["sleep", "1234567"])
try:
    with Testbed(plan(PAIR)) as testbed:
        testbed.start("far", ["sleep", "1234567"])
        raise ValueError
except ValueError:
    pass
print("[]")
""")
    assert machine.namespaces() == []
    assert machine.records() == []
    assert machine.processes("1234567") == []
    assert machine.run("ip", "-brief", "link").stdout == before


def test_a_failed_step_leaves_nothing_and_is_named(machine: Machine) -> None:
    message, hint = machine.python("""
from trustbed.testbed.netns import apply
def fails(interface):
    raise PermissionError(1, "Operation not permitted", interface)
apply._offloads_off = fails
try:
    Testbed(plan(PAIR)).__enter__()
except TestbedError as error:
    print(json.dumps([error.message, error.hint]))
""")
    assert message == "host near cannot be made: operation not permitted, p0"
    assert "CAP_NET_ADMIN" in hint
    assert machine.namespaces() == []
    assert machine.records() == []


def test_two_testbeds_side_by_side_do_not_meet(machine: Machine) -> None:
    first, second, names = machine.python("""
from trustbed.testbed.netns import namespaces
with Testbed(plan(PAIR)) as one, Testbed(plan(PAIR)) as other:
    serve = ["python3", "-m", "http.server", "--bind", "10.77.0.1", "8000"]
    server = one.start("near", serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not one.listens("near", 8000):
        time.sleep(0.02)
    fetch = ["curl", "-s", "-o", "/dev/null", "--max-time", "100", "http://10.77.0.1:8000/"]
    codes = [testbed.run("near", fetch, seconds=100).returncode for testbed in (one, other)]
    names = sorted(path.name for path in namespaces.DIRECTORY.iterdir())
print(json.dumps([*codes, names]))
""")
    assert (first, second) == (0, 7), "the other one has no listener (curl: 7)"
    assert len(names) == 6
