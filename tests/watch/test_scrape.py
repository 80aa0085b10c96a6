"""The endpoint for scrapers: few clients at a time, and on loopback only for loopback."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.patience import PATIENCE, wait_until
from trustbed.watch import scrape
from trustbed.watch.scrape import LOOPBACK, MOST_CLIENTS, Endpoint, names_loopback


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint((LOOPBACK, 0), lambda: "one 1\n# EOF\n") as endpoint:
        yield endpoint


def port_of(endpoint: Endpoint) -> int:
    return int(endpoint.url.rpartition(":")[2].partition("/")[0])


def ask(endpoint: Endpoint, host: str | None, path: str = "/metrics") -> tuple[int, str]:
    connection = http.client.HTTPConnection(LOOPBACK, port_of(endpoint), timeout=PATIENCE)
    connection.putrequest("GET", path, skip_host=True)
    if host is not None:
        connection.putheader("Host", host)
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_only_who_asks_for_loopback_is_answered(endpoint: Endpoint) -> None:
    for host in ("localhost", "LOCALHOST:9464", "127.0.0.1:9464", "[::1]:9464", "127.1.2.3", None):
        assert ask(endpoint, host) == (200, "one 1\n# EOF\n"), host
    for host in ("attacker.example", "127.0.0.1.attacker.example", "localhost:x", "10.0.0.1", ""):
        status, text = ask(endpoint, host)
        assert (status, "one" in text) == (421, False), host


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=300),
        st.builds(b"GET %b HTTP/1.1\r\n%b\r\n\r\n".__mod__, st.tuples(st.binary(), st.binary())),
    )
)
def test_whatever_a_client_sends_others_are_served(endpoint: Endpoint, sent: bytes) -> None:
    with socket.create_connection((LOOPBACK, port_of(endpoint)), PATIENCE) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            while answer := client.recv(1 << 16):
                assert b"one 1" not in answer or b" 200 " in answer
    assert ask(endpoint, "localhost")[0] == 200


def ended(client: socket.socket) -> bool:
    """Sends one more byte; whether the server has had enough."""
    try:
        client.sendall(b"G")
        return client.recv(1) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_a_request_that_comes_byte_by_byte_ends(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrape, "LONGEST_SILENCE", 0.5)
    with socket.create_connection((LOOPBACK, port_of(endpoint)), PATIENCE) as client:
        client.settimeout(0.05)
        wait_until(lambda: ended(client), "it is not served for longer than promised")
    monkeypatch.undo()
    assert ask(endpoint, "localhost")[0] == 200


def test_a_host_header_that_is_none_names_nothing() -> None:
    for host in ("[", "[::1", "[::1]x", "[::1]:", "::1:", "127.0.0.1:80:90", "user@localhost"):
        assert not names_loopback(host), host


def test_no_more_clients_are_served_at_a_time_than_promised(endpoint: Endpoint) -> None:
    before = threading.active_count()
    with ExitStack() as stack:

        def connect() -> socket.socket:
            address = LOOPBACK, port_of(endpoint)
            return stack.enter_context(socket.create_connection(address, PATIENCE))

        for _ in range(MOST_CLIENTS):
            served = connect()
            served.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert served.recv(12, socket.MSG_WAITALL) == b"HTTP/1.1 200"
        for _ in range(2 * MOST_CLIENTS):
            assert connect().recv(1) == b"", "a further client is closed at once"
        assert threading.active_count() == before + MOST_CLIENTS
    wait_until(lambda: threading.active_count() == before, "clients that left are forgotten")
    assert ask(endpoint, "localhost")[0] == 200
