"""The command: it prints an address, serves until Ctrl-C, and says what is missing."""

from __future__ import annotations

import signal
import subprocess
import sys
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from trustbed.cli import main


def test_it_serves_until_interrupted(place: Path) -> None:
    command = [sys.executable, "-m", "trustbed", "ui", str(place / "lab.store")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as served:
        assert served.stdout is not None
        address = served.stdout.readline().strip()
        client = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(CookieJar())
        )
        with client.open(address, timeout=PATIENCE) as answer:
            assert (answer.status, b"data-ref=" in answer.read()) == (200, True)
        served.send_signal(signal.SIGINT)
        _, errors = served.communicate(timeout=PATIENCE)
    assert (served.returncode, errors) == (0, "serving until Ctrl-C\n")


def test_what_is_no_store_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ui", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: no store, run or campaign in ")
    assert "hint: " in err


@pytest.mark.parametrize("address", ["x", "1.2.3.4", "70000", "host:80"])
def test_what_is_no_address_is_wrong_usage(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ui", "--listen", address]) == 2
    assert "8080" in capsys.readouterr().err


def test_without_its_extra_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("trustbed.ui.server", "trustbed.ui.application"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["ui"]) == 1
    assert "pip install 'trustbed[ui]'" in capsys.readouterr().err
