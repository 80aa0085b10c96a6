"""Who listens, read from the kernel's tables."""

from __future__ import annotations

import socket

from trustbed.agent import listening

HEAD = (
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
    "timeout inode\n"
)


def row(local: str, remote: str, state: str) -> str:
    return (
        f"   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000     0        "
        f"0 1 1 0 100 0 0 10 0\n"
    )


def test_only_sockets_that_wait_are_counted() -> None:
    table = (
        HEAD
        + row("0100007F:1F90", "00000000:0000", "0A")
        + row("0100007F:1F91", "0200007F:0016", "01")
        + row("0100007F:1F92", "0:0", "06")
    )
    assert listening.parse(table, "tcp") == {8080}


def test_a_udp_socket_that_talks_to_one_peer_does_not_wait() -> None:
    table = (
        HEAD
        + row("00000000:0035", "00000000:0000", "07")
        + row("0100007F:C000", "0200007F:0035", "01")
    )
    assert listening.parse(table, "udp") == {53}


def test_it_agrees_with_the_kernel() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as door,
        socket.socket(type=socket.SOCK_DGRAM) as box,
    ):
        box.bind(("127.0.0.1", 0))
        with open("/proc/self/net/tcp") as tcp, open("/proc/self/net/udp") as udp:  # noqa: PTH123
            assert door.getsockname()[1] in listening.parse(tcp.read(), "tcp")
            assert box.getsockname()[1] in listening.parse(udp.read(), "udp")
