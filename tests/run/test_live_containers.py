"""A service in a container against the same service on the host, from a scenario to a page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.testbed import engines
from trustbed.testbed.container import Engine

pytestmark = [pytest.mark.usefixtures("networks"), pytest.mark.timeout(900)]
SCENARIO = """
name = "a container against the host"
repetitions = 2
warm_up = "200ms"
[hosts.client]
[hosts.server]
[link]
rate = "50Mbit/s"
delay = "1ms"
[services.pages]
host = "server"
port = 8080
command = "busybox httpd -f -p 8080 -h {site}"
[workload.fetch]
kind = "http"
host = "client"
to = "server"
service = "pages"
path = "/page"
requests = 20
[factors]
hosts.server.container = ["none", {{ image = "{image}", volumes = ["site:{site}:ro"] }}]
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine with an image; skipped where there is none."""
    (tmp_path / "engine").mkdir()
    with engines.running(tmp_path / "engine") as found:
        if isinstance(found, str):
            pytest.skip(f"no containers: {found}")
        yield found


def test_a_container_is_compared_with_the_host_by_one_command(
    engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "page").write_text("x" * 2000, encoding="ascii")
    text = SCENARIO.format(image=engines.IMAGE, site=tmp_path / "site")
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "trustbed", "compare", "study.toml"),
            *("--by", "hosts.server.container", "--out", "page.html", "--json"),
        ],
        cwd=tmp_path,
        env={**os.environ, "TRUSTBED_RUNTIME": str(tmp_path / "registry")},
        capture_output=True,
        text=True,
        timeout=6 * PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    names = [one["name"] for one in found["testbeds"]]
    assert names[0] == "none"
    assert engines.IMAGE in names[1]
    assert (tmp_path / "page.html").stat().st_size > 10_000
    (run,) = tmp_path.glob("*.run")
    records = [json.loads(file.read_text()) for file in sorted(run.glob("rep-*/repetition.json"))]
    assert [one["outcome"] for one in records] == ["complete"] * 4
    ids = {facts["image_id"] for one in records for facts in one["containers"].values()}
    assert len(ids) == 1
    inside = [one for one in records if one["containers"]]
    assert len(inside) == 2
    assert all(one["workloads"][0]["report"]["good_requests"] == 20 for one in records)
    # The service was sampled by its number out here, in the container too.
    assert all(one["processes"][0]["process"] > 1 for one in inside)
    assert engines.containers(engine) == []
