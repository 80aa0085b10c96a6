"""`trustbed-agent estimate` on paths that take shorter packets than its own interface does.

None of its packets may be fragmented.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from bench.estimators import NONCE, Agents
from bench.namespaces import Host, NoNamespaces, address, mac, star

NEAR, FAR = address(1, 0), address(2, 0)
BRIEF = {
    "kind": "pathchirp",
    "payload_bytes": 1472,
    "mean_bits_per_second": 10e6,
    "adapts": False,
    "duration_ns": 500_000_000,
}


@pytest.fixture
def three() -> Iterator[tuple[Host, Host, Host]]:
    """The middle, the near and the far host."""
    with contextlib.ExitStack() as stack:
        try:
            middle, (near, far) = stack.enter_context(star(["near", "far"]))
        except NoNamespaces as error:
            pytest.skip(str(error))
        yield middle, near, far


def route(middle: Host) -> None:
    """The router forwards, and reports packets that are too long."""
    middle.run("sysctl", "-qw", "net.ipv4.ip_forward=1")
    middle.ip("link set lo up")
    middle.ip("address add 10.0.0.1/32 dev lo")
    for name, there in (("near", NEAR), ("far", FAR)):
        middle.ip(f"route add {there}/32 dev {name} src 10.0.0.1")


def bridge(middle: Host, near: Host, far: Host) -> None:
    """The middle is a switch, and drops what is too long without a word."""
    middle.ip("link add switch type bridge")
    for name in ("near", "far"):
        middle.ip(f"link set {name} master switch")
    middle.ip("link set switch up")
    near.ip(f"neighbour replace {FAR} lladdr {mac(2)} dev eth0 nud permanent")
    far.ip(f"neighbour replace {NEAR} lladdr {mac(1)} dev eth0 nud permanent")


def longest(near: Host, far: Host, from_: str = NEAR, to: str = FAR) -> int:
    """The longest IP packets of an estimate, in bytes; chirps of them arrived."""
    brackets = f"[{to}]" if ":" in to else to
    with contextlib.ExitStack() as stack:
        agents = Agents(stack)
        receiver = agents.start(
            far,
            "estimate",
            {"role": "receive", "listen": f"{brackets}:0", "peer": from_, "nonce": NONCE},
        )
        options = {
            "role": "send",
            "to": receiver.ready["listening"],
            "from": from_,
            "nonce": NONCE,
            "estimator": BRIEF,
        }
        report = agents.start(near, "estimate", options).report()
        got = receiver.stop()
    # Except for some that the machine delayed, and those by which the MTU was found.
    assert got["kept_packets"] > 0.9 * report["sent_packets"] - 20
    assert (
        report["sent_ip_bytes"]
        <= report["longest_packet_bytes"] * report["sent_packets"] + 20 * 1500
    )
    found: int = report["longest_packet_bytes"]
    return found


def test_a_router_reports_packets_that_are_too_long(three: tuple[Host, Host, Host]) -> None:
    middle, near, far = three
    route(middle)
    middle.ip("link set far mtu 1340")
    assert longest(near, far) == 1340


def test_a_switch_that_drops_without_a_word_is_sounded(three: tuple[Host, Host, Host]) -> None:
    middle, near, far = three
    bridge(middle, near, far)
    middle.ip("link set far mtu 1400")
    assert longest(near, far) == 1380


def test_headers_of_the_other_version_leave_less_room(three: tuple[Host, Host, Host]) -> None:
    middle, near, far = three
    bridge(middle, near, far)
    for number, host, other in ((1, near, 2), (2, far, 1)):
        host.ip(f"address add fd00::{number}/64 dev eth0 nodad")
        host.ip(f"neighbour replace fd00::{other} lladdr {mac(other)} dev eth0 nud permanent")
    assert longest(near, far, "fd00::1", "fd00::2") == 1500
