"""Who gets an answer, what an answer allows, and that nothing else can be reached."""

from __future__ import annotations

import http.client
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.patience import PATIENCE, wait_until
from tests.ui.serving import Client, serving
from trustbed.ui import server as serving_module
from trustbed.ui.captures import Captures
from trustbed.ui.guard import POLICY
from trustbed.ui.library import Library, UiError
from trustbed.ui.server import LARGEST_REQUEST_BYTES, MOST_CLIENTS, Server


def test_without_the_token_nothing_is_answered(client: Client) -> None:
    for path in ("/", "/static/ui.css", "/points/x/1.0", "/nothing", "/?token=", "/?token=x"):
        found = client.ask(path, cookie=False)
        assert (found.status, "transfer" in found.text) == (403, False), path
    wrong = Client(client.server, client.cookie[:-1] + "~")
    assert wrong.ask("/").status == 403
    other = Client(client.server, client.cookie.replace("=", "x=", 1))
    assert other.ask("/").status == 403


def test_the_token_becomes_a_cookie_and_leaves_the_address(client: Client) -> None:
    token = client.server.token
    found = client.ask(f"/captures?q=a%20b&token={token}", cookie=False)
    assert (found.status, found.headers["location"]) == (303, "/captures?q=a+b")
    assert found.headers["set-cookie"] == (
        f"trustbed-{client.server.port}={token}; Path=/; HttpOnly; SameSite=Strict"
    )
    assert token not in found.text + client.page("/")
    beyond = client.ask(f"//attacker.example/?token={token}", cookie=False)
    assert beyond.headers["location"].startswith("/attacker")


def test_only_who_asks_for_loopback_is_answered(client: Client) -> None:
    for host in ("attacker.example", "127.0.0.1.attacker.example", "10.0.0.1", ""):
        assert client.ask("/", host=host).status == 421, host
    for host in ("localhost", "127.0.0.1:80", "[::1]"):
        assert client.ask("/", host=host).status == 200, host


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_changed(client: Client, method: str) -> None:
    found = client.ask("/", method=method)
    assert (found.status, found.headers["allow"]) == (405, "GET, HEAD")


def test_a_head_has_no_body(client: Client) -> None:
    found = client.ask("/", method="HEAD")
    assert (found.status, found.body) == (200, b"")
    assert int(found.headers["content-length"]) > 1000


def test_every_answer_has_its_policy(client: Client, transfer: str) -> None:
    for path in ("/", f"/transfer/{transfer}", f"/points/{transfer}", "/static/ui.js", "/nothing"):
        headers = client.ask(path).headers
        assert headers["content-security-policy"] == POLICY, path
        assert headers["x-content-type-options"] == "nosniff", path
        assert headers["referrer-policy"] == "no-referrer", path
        assert headers["cache-control"] == "no-store", path
    assert "unsafe" not in POLICY
    report = client.ask("/report/store/hosts").headers["content-security-policy"]
    assert report.startswith("sandbox allow-scripts;")
    assert "allow-same-origin" not in report


def test_pages_have_nothing_that_their_policy_forbids(client: Client, transfer: str) -> None:
    for path in ("/", "/captures", f"/transfer/{transfer}", f"/compare?a={transfer}&b={transfer}"):
        page = client.page(path)
        assert " style=" not in page
        assert "<style" not in page
        assert page.count("<script") == page.count('<script src="/static/')
        assert " onclick=" not in page


def test_a_name_is_never_a_path(client: Client, place: Path) -> None:
    (place / "secret.txt").write_text("secret", encoding="utf-8")
    up = "..%2f..%2f..%2f..%2fetc%2fpasswd"
    key = client.page("/captures").partition('data-href="/capture/')[2].partition('"')[0]
    for path in (
        "/static/../secret.txt",
        "/static/..%2f..%2f__init__.py",
        f"/static/{up}",
        f"/capture/{up}",
        f"/run/{up}",
        f"/transfer/{key}/1.0/{up}",
        f"/transfer/{up}/1.0",
        f"/points/{key}/1.0/{up}",
        f"/report/store/{up}",
        f"/report/{up}/{key}",
        f"/report/capture/{key}/{up}",
        "/secret.txt",
        "/lab.store/trustbed-store.json",
    ):
        found = client.ask(path)
        assert found.status == 404, path
        assert "root:" not in found.text
        assert "secret" not in found.text.replace("secret.txt", "")


def test_no_more_clients_are_served_at_a_time_than_promised(place: Path, tmp_path: Path) -> None:
    with serving(place / "lab.store", tmp_path) as client, ExitStack() as stack:
        for _ in range(MOST_CLIENTS):
            address = ("127.0.0.1", client.server.port)
            stack.enter_context(socket.create_connection(address, PATIENCE)).sendall(b"GET ")
        wait_until(lambda: _refused(client), "a refusal")
        stack.close()
        wait_until(lambda: not _refused(client), "an answer after the others have left")


def _refused(client: Client) -> bool:
    try:
        return client.ask("/static/ui.css").status == 503
    except (ConnectionError, http.client.HTTPException):
        return True


def test_who_asks_for_nothing_is_sent_away(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_module, "LONGEST_SILENCE_SECONDS", 0.2)
    with serving(place / "lab.store", tmp_path) as client:
        whole = f"GET /static/ui.css HTTP/1.1\r\nHost: localhost\r\nCookie: {client.cookie}\r\n\r\n"
        for begun in (b"", b"GET / HTT", whole.encode() + b"GET / HTT"):
            with socket.create_connection(("127.0.0.1", client.server.port), PATIENCE) as slow:
                slow.sendall(begun)
                while slow.recv(1 << 16):
                    pass  # what was asked for is answered, and then the connection ends


def test_an_endless_request_is_refused(client: Client) -> None:
    with socket.create_connection(("127.0.0.1", client.server.port), PATIENCE) as endless:
        endless.sendall(b"GET /?q=" + b"x" * (LARGEST_REQUEST_BYTES + 1))
        assert endless.recv(100).startswith(b"HTTP/1.1 400 ")


def test_an_address_in_use_is_an_error(client: Client, place: Path, tmp_path: Path) -> None:
    with pytest.raises(UiError, match="cannot listen on"):
        Server(Library(str(place)), ("127.0.0.1", client.server.port), Captures(tmp_path))
