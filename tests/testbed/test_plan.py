"""What a testbed consists of, decided without touching anything."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Refuses
from trustbed.testbed import Host, TestbedError, plan
from trustbed.testbed.netns.plan import GATEWAY_MAC

PAIR = (Host(name="near", addresses=("10.77.0.1",)), Host(name="far", addresses=("10.77.0.2",)))


def test_a_pair_knows_its_route_through_the_gateway() -> None:
    near, far = plan(PAIR).veths
    (route,) = near.routes
    assert (str(route.to), route.gateway, str(route.source)) == (
        "10.77.0.2/32",
        "169.254.77.1",
        "10.77.0.1",
    )
    assert [str(route.to) for route in far.routes] == ["10.77.0.1/32"]
    assert near.versions == far.versions == (4,)


def test_the_emulator_receives_every_port_and_the_mac_behind_it() -> None:
    planned = plan(PAIR)
    config = planned.emulator(
        {"hosts": []},
        seed=7,
        ledger={"path": "x", "detail": "packets"},
        priority="normal",
        idle="halt",
    )
    assert config == {
        "topology": {"hosts": []},
        "ports": [
            {"host": "near", "interface": "p0", "mac": planned.veths[0].mac},
            {"host": "far", "interface": "p1", "mac": planned.veths[1].mac},
        ],
        "seed": 7,
        "priority": "normal",
        "idle": "halt",
        "ledger": {"path": "x", "detail": "packets"},
    }
    assert "ledger" not in planned.emulator({}, seed=1)


def test_many_neighbouring_addresses_need_few_routes() -> None:
    many = tuple(str(ipaddress.ip_address("10.78.0.0") + number) for number in range(1024))
    near, _ = plan([PAIR[0], Host(name="crowd", addresses=many)]).veths
    assert [str(route.to) for route in near.routes] == ["10.78.0.0/22"]


def test_the_default_route_is_shared() -> None:
    near, far = plan([PAIR[0], Host(name="far", addresses=("10.77.0.2",), outside=True)]).veths
    assert [str(route.to) for route in near.routes] == ["0.0.0.0/0"]
    assert [str(route.to) for route in far.routes] == ["10.77.0.1/32"]


def test_each_version_of_ip_has_its_routes_from_its_own_address() -> None:
    hosts = [
        Host(name="a", addresses=("10.0.0.1", "fd00::1")),
        Host(name="b", addresses=("fd00::2",)),
        Host(name="c", addresses=("10.0.0.3",)),
    ]
    a, b, c = plan(hosts).veths
    assert {(str(route.to), str(route.source)) for route in a.routes} == {
        ("10.0.0.3/32", "10.0.0.1"),
        ("fd00::2/128", "fd00::1"),
    }
    assert [str(route.to) for route in b.routes] == ["fd00::1/128"]
    assert [str(route.to) for route in c.routes] == ["10.0.0.1/32"]


@given(st.sampled_from((1, 2, 255, 256, 257, 700)))
def test_hardware_addresses_and_ports_are_all_different(count: int) -> None:
    hosts = [
        Host(name=f"h{number}", addresses=(str(ipaddress.ip_address("10.0.0.0") + number),))
        for number in range(count)
    ]
    veths = plan(hosts).veths
    macs = {mac for veth in veths for mac in (veth.mac, veth.port_mac)} | {GATEWAY_MAC}
    assert len(macs) == 2 * count + 1
    assert all(int(mac[:2], 16) & 3 == 2 for mac in macs), (
        "locally administered, and of one interface"
    )
    assert len({veth.port for veth in veths}) == count
    assert all(len(veth.port) <= 15 for veth in veths)


@pytest.mark.parametrize(
    "hosts",
    [
        [],
        [Host(name="", addresses=("10.0.0.1",))],
        [Host(name="A b", addresses=("10.0.0.1",))],
        [Host(name="x" * 33, addresses=("10.0.0.1",))],
        [Host(name="net", addresses=("10.0.0.1",))],
        [Host(name="a", addresses=("10.0.0.1",)), Host(name="a", addresses=("10.0.0.2",))],
        [Host(name="a", addresses=())],
        [Host(name="a", addresses=("10.0.0.300",))],
        [Host(name="a", addresses=("127.0.0.1",))],
        [Host(name="a", addresses=("224.0.0.1",))],
        [Host(name="a", addresses=("169.254.0.1",))],
        [Host(name="a", addresses=("10.0.0.1", "10.0.0.1"))],
        [Host(name="a", addresses=("10.0.0.1",)), Host(name="b", addresses=("10.0.0.1",))],
        [
            Host(name=name, addresses=(f"10.0.0.{number}",), outside=True)
            for number, name in enumerate(("a", "b"), 1)
        ],
    ],
)
def test_what_cannot_be_is_refused(hosts: list[Host], refuses: Refuses) -> None:
    with refuses(TestbedError) as caught:
        plan(hosts)
    assert caught.value.hint


def test_an_mtu_that_cannot_be_is_refused(refuses: Refuses) -> None:
    with refuses(TestbedError):
        plan(PAIR, mtu=100)


def test_an_unknown_host_is_an_error(refuses: Refuses) -> None:
    with refuses(TestbedError):
        plan(PAIR).veth("middle")
