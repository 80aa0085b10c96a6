"""A local server that answers like Amazon's (moto): CloudWatch, S3."""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tests.patience import PATIENCE


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    """The URL of a server that speaks Amazon's interface."""
    from moto.server import ThreadedMotoServer  # takes seconds to load

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    assert server._server is not None
    server._server.app = _atomic(server._server.app)
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def _atomic(app: Callable[..., Any]) -> Callable[..., Any]:
    """Lets conditional writes pass one at a time.

    Amazon's are atomic; this server asks for the object and then writes it, so that of two that
    come at once both may succeed.
    """
    lock = threading.Lock()

    def answer(environ: Mapping[str, Any], start_response: object) -> Any:  # noqa: ANN401 - WSGI
        if "HTTP_IF_NONE_MATCH" not in environ:
            return app(environ, start_response)
        with lock:
            return list(app(environ, start_response))

    return answer


@pytest.fixture
def amazon(moto: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same, with nothing in it, and with a key for it."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    request = urllib.request.Request(f"{moto}/moto-api/reset", method="POST")
    with urllib.request.urlopen(request, timeout=PATIENCE):
        return moto
