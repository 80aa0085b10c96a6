"""A server in a thread, and a client that knows its token."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE, wait_until
from trustbed.ui.captures import Captures
from trustbed.ui.library import Library
from trustbed.ui.server import Server


@dataclass(frozen=True)
class Answer:
    """What a request was answered: status, headers by lower-case name, body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:  # noqa: ANN401 - JSON
        return json.loads(self.body)


@dataclass(frozen=True)
class Client:
    """Asks one server; ``cookie`` is what it has been given."""

    server: Server
    cookie: str = field(default="")

    def ask(
        self, path: str, *, method: str = "GET", host: str | None = "localhost", cookie: bool = True
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        connection.putrequest(method, path, skip_host=True)
        if host is not None:
            connection.putheader("Host", host)
        if cookie:
            connection.putheader("Cookie", self.cookie)
        connection.endheaders()
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        found = Answer(answer.status, headers, answer.read())
        connection.close()
        return found

    def page(self, path: str) -> str:
        found = self.ask(path)
        assert found.status == 200, (path, found.text)
        return found.text

    def points(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """The points of a transfer once its capture has been read."""
        found: list[Any] = []

        def there() -> bool:
            found.append(self.ask(path).json)
            return (found[-1]["pending"] or {}).get("state") != "reading"

        wait_until(there, path)
        return found[-1]


@contextmanager
def serving(url: str | Path, cache: Path) -> Iterator[Client]:
    """Serves what a URL names until the block ends."""
    server = Server(Library(str(url)), ("127.0.0.1", 0), Captures(cache))
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(ready.set,), daemon=True)
    thread.start()
    assert ready.wait(PATIENCE)
    try:
        opened = Client(server).ask(f"/?token={server.token}", cookie=False)
        yield Client(server, opened.headers["set-cookie"].partition(";")[0])
    finally:
        server.stop()
        thread.join(PATIENCE)
