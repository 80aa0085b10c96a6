"""A whole study of a small application in networks made for the test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE

TRUSTBED = str(Path(sys.executable).with_name("trustbed"))
SCENARIO = """
duration = "400ms"
warm_up = "100ms"
[hosts.client]
[hosts.server]
[link]
rate = "10Mbit/s"
delay = "2ms"
queue = "100ms"
[workload.pages]
kind = "http"
host = "client"
to = "server"
object = "20KB"
"""

pytestmark = [
    pytest.mark.quiet,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("networks"),
]


def studied(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [TRUSTBED, "sensitivity", "pages.toml", "--backgrounds", "steady,poisson", *words],
        cwd=directory,
        env={**os.environ, "TRUSTBED_RUNTIME": str(directory / "registry")},
        capture_output=True,
        text=True,
        timeout=250 * PATIENCE,
        check=False,
    )


def test_a_study_answers_its_questions_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "pages.toml").write_text(SCENARIO, encoding="utf-8")
    asked = ("--loads", "0.7", "--no-reverse", "--no-surrogates")
    short = studied(tmp_path, *asked, "--budget", "5s")
    assert short.returncode == 1
    assert "the budget is" in short.stderr
    assert not (tmp_path / "pages.sensitivity").exists()

    ended = studied(tmp_path, *asked, "--json", "--budget", "30s")
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    by_name = {one["name"]: one for one in found["treatments"]}
    assert by_name.keys() == {"quiet", "steady", "poisson"}
    # 7 of 10 Mbit/s are taken: 20 kB take more than twice as long as on an empty link.
    assert by_name["steady"]["slowdown"]["value"] > 1.5
    assert by_name["steady"]["carried_bits_per_second"] == pytest.approx(7e6, rel=0.1)
    assert found["matters"]["answer"] in ("yes", "unknown")
    page = (tmp_path / "pages.sensitivity" / "report.html").read_text(encoding="utf-8")
    assert found["matters"]["sentence"] in page.replace("\N{NO-BREAK SPACE}", " ")

    again = studied(tmp_path, *asked, "--budget", "30s", "--quiet")
    assert (again.returncode, again.stdout) == (0, "")


COMMAND = """
duration = "400ms"
warm_up = "100ms"
[hosts.client]
[hosts.server]
[link]
rate = "10Mbit/s"
delay = "2ms"
queue = "100ms"
[services.blob]
host = "server"
port = 8100
command = ["python3", "-c", '''
import socket
listener = socket.create_server(("", 8100))
while True:
    listener.accept()[0].sendall(bytes(20_000))
''']
[workload.fetch]
kind = "command"
host = "client"
to = "server"
command = ["python3", "-c", '''
import socket
stream = socket.create_connection(("{server}", 8100))
left = 20_000
while left:
    left -= len(stream.recv(left))
''']
"""
MEASURED = """
from pathlib import Path
from trustbed.testbed import prepare
prepare()
from trustbed.run.session_about import session_about
from trustbed.sensitivity import kept
from trustbed.sensitivity.design import Options, planned
from trustbed.sensitivity.study import Study
asked, out = Options(backgrounds=("steady", "poisson"), surrogates=False), Path("out")
plan = planned("fetch.toml", asked)
print(plan.where.sender, plan.where.is_known)
print(Study(plan, out, kept.read(out), asked, None, session_about()).measured_sender())
again = planned("fetch.toml", asked, sender=kept.read(out).sender)
print(again.where.sender, again.where.is_known)
"""


def test_who_sends_a_command_s_data_is_measured(tmp_path: Path) -> None:
    (tmp_path / "fetch.toml").write_text(COMMAND, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-c", MEASURED],
        cwd=tmp_path,
        env={**os.environ, "TRUSTBED_RUNTIME": str(tmp_path / "registry")},
        capture_output=True,
        text=True,
        timeout=60 * PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == ["client False", "server", "server True"]
