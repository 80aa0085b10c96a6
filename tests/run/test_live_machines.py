"""The same scenario on machines that exist: reached by SSH, on a network that nobody emulates."""

from __future__ import annotations

import json
import shutil
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from tests.patience import wait_until
from tests.run.here import Trustbed, trustbed  # noqa: F401 - a fixture
from tests.testbed.sshd import Server
from tests.testbed.test_remote_ssh import Serves, home, serves  # noqa: F401 - fixtures
from trustbed.agent.control.peer import Reading
from trustbed.cli import main
from trustbed.testbed.remote import RemoteHost

pytestmark = [pytest.mark.usefixtures("networks"), pytest.mark.timeout(600)]
INVENTORY = """
[hosts.alpha]
ssh = "127.0.0.1"
port = {port}
measure = "127.0.0.1"
[hosts.beta]
ssh = "127.0.0.1"
port = {port}
measure = "127.0.0.2"
"""
MACHINES = """
warm_up = "100ms"
repetitions = 2
inventory = "hosts.toml"
[hosts.client]
machine = "alpha"
[hosts.server]
machine = "beta"
"""
EMULATED = """
warm_up = "100ms"
repetitions = 2
[hosts.client]
[hosts.server]
[link]
rate = "100Mbit/s"
"""
STUDY = """
[capture]
points = ["client", "server"]
"""
UPLOAD = """
[workload.upload]
kind = "bulk"
host = "client"
to = "server"
bytes = "2MB"
write = {{ burst = "64kB", pause = "10ms" }}
""".replace("{{", "{").replace("}}", "}")
PAGES = """
[workload.pages]
kind = "ab"
host = "client"
to = "server"
object = "4kB"
requests = 50
[trace.server]
of = "pages"
host = "server"
"""


@pytest.fixture
def inventory(tmp_path: Path, serves: Serves) -> Server:  # noqa: F811 - a fixture
    """The server of an inventory of two machines, both this one, under two addresses."""
    server = serves()
    text = INVENTORY.format(port=server.port)
    (tmp_path / "hosts.toml").write_text(text, encoding="utf-8")
    return server


def read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


@pytest.mark.usefixtures("inventory")
def test_a_transfer_between_machines_is_captured_sampled_and_judged(
    trustbed: Trustbed,  # noqa: F811 - a fixture
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = trustbed(MACHINES + STUDY + UPLOAD, "--repetitions", "1")
    assert done.returncode in (0, 2, 3), done.stderr
    run = tmp_path / "run"
    record = read(run / "rep-000" / "repetition.json")
    assert record["outcome"] == "complete"
    assert record["failures"] == []
    assert record["emulator"] is None
    assert record["machines"]["client"]["way"].startswith("ssh 127.0.0.1 port ")
    assert abs(record["machines"]["client"]["clock"]["ahead_ns"]) < 100_000_000
    assert read(run / "host.json")["machines"].keys() == {"client", "server"}
    transfers = pyarrow.parquet.read_table(run / "rep-000" / "tables" / "transfers.parquet")
    uploads = [row for row in transfers.to_pylist() if row["unique_bytes"] == 2_000_000]
    assert [row["dst"] for row in uploads] == 2 * ["127.0.0.2"], "as both ends saw it"
    assert all(row["cause"] != "insufficient" for row in uploads)
    for host in ("client", "server"):
        for kind in ("machine", "processes", "sockets", "interfaces"):
            assert (run / "rep-000" / "samples" / f"{host}.{kind}.parquet").is_file()
    end = f":{uploads[0]['src_port']}"
    capsys.readouterr()
    assert main(["explain", str(run), "0", end]) == 0
    assert "127.0.0.2:5001" in capsys.readouterr().out
    assert main(["report", str(run), "--out", str(tmp_path / "page.html")]) == 0


@pytest.mark.usefixtures("inventory")
def test_machines_are_compared_with_namespaces(
    trustbed: Trustbed,  # noqa: F811 - a fixture
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if shutil.which("ab") is None:
        pytest.skip("no ab (Debian: apache2-utils)")
    for name, hosts in (("real", MACHINES), ("emulated", EMULATED)):
        done = trustbed(hosts + STUDY + PAGES)
        assert done.returncode in (0, 2, 3), done.stderr
        (tmp_path / "run").rename(tmp_path / name)
        record = read(tmp_path / name / "rep-001" / "repetition.json")
        assert record["outcome"] == "complete", record["workloads"]
        assert (tmp_path / name / "rep-001" / "samples" / "server.calls.parquet").is_file()
    requests = pyarrow.parquet.read_table(
        tmp_path / "real" / "rep-000" / "tables" / "pages.requests.parquet"
    )
    assert requests.num_rows == 50, "the file that ab wrote there was fetched"
    page = tmp_path / "compare.html"
    words = [str(tmp_path / "emulated"), str(tmp_path / "real"), "--out", str(page)]
    assert main(["compare", *words]) == 0
    assert "system calls" in capsys.readouterr().out
    assert "server (ssh 127.0.0.1 port" in page.read_text(encoding="utf-8")


def test_a_machine_that_cannot_be_reached_ends_the_run_before_it_begins(
    trustbed: Trustbed,  # noqa: F811 - a fixture
    tmp_path: Path,
    home: Path,  # noqa: F811 - a fixture
) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        text = INVENTORY.format(port=nobody.getsockname()[1])
        (tmp_path / "hosts.toml").write_text(text, encoding="utf-8")
        done = trustbed(MACHINES + STUDY + UPLOAD)
    assert done.returncode == 1
    assert "the host client" in done.stderr
    assert not (tmp_path / "run" / "rep-000").exists()


def test_a_machine_that_is_lost_spoils_its_repetition_and_not_the_run(
    trustbed: Trustbed,  # noqa: F811 - a fixture
    tmp_path: Path,
    inventory: Server,
) -> None:
    def lose() -> None:
        logs = tmp_path / "run" / "rep-000" / "logs"
        wait_until(lambda: logs.is_dir() and len(inventory.sessions()) >= 2, "connected machines")
        time.sleep(0.5)
        inventory.kill_sessions()

    losing = threading.Thread(target=lose)
    losing.start()
    slow = UPLOAD.replace("2MB", "20MB")
    done = trustbed(MACHINES + STUDY + slow)
    losing.join()
    assert done.returncode in (0, 2, 3, 4), done.stderr
    outcomes = [read(tmp_path / "run" / f"rep-00{at}" / "repetition.json") for at in (0, 1)]
    assert [one["outcome"] for one in outcomes] == ["failed", "complete"]


@pytest.mark.usefixtures("inventory")
def test_a_clock_that_is_far_off_is_refused(
    trustbed: Trustbed,  # noqa: F811 - a fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late = Reading(ahead_ns=-700_000_000, error_ns=1000, at_ns=1)
    monkeypatch.setattr(RemoteHost, "read_clock", lambda host: late)
    done = trustbed(MACHINES + STUDY + UPLOAD)
    assert done.returncode == 1
    assert "its clock is 0.7 s behind this machine's" in done.stderr
    assert "chrony" in done.stderr
