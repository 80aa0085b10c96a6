"""A local server that answers like Amazon's (moto): CloudWatch, S3."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator

import pytest

from tests.patience import PATIENCE


@pytest.fixture(scope="session")
def moto() -> Iterator[str]:
    """The URL of a server that speaks Amazon's interface."""
    from moto.server import ThreadedMotoServer  # takes seconds to load

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


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
