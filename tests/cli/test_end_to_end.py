"""The program as people run it: files and pipes in, exit codes and whole files out.

It has a process of its own where streams, signals or rights are concerned.
"""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.patience import PATIENCE, wait_until
from trustbed import analyze, join
from trustbed.cli import main

TRUSTBED = [sys.executable, "-m", "trustbed"]
Trustbed = Callable[..., subprocess.CompletedProcess[bytes]]
EMPTY = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")


def trustbed(*words: str | Path, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*TRUSTBED, *map(str, words)], input=stdin, capture_output=True, check=False
    )


@pytest.fixture
def here(capsysbinary: pytest.CaptureFixture[bytes]) -> Trustbed:
    """The same in the process of the tests."""

    def call(*words: str | Path) -> subprocess.CompletedProcess[bytes]:
        given = [str(word) for word in words]
        code = main(given)
        return subprocess.CompletedProcess(given, code, *capsysbinary.readouterr())

    return call


def complaint(ended: subprocess.CompletedProcess[bytes]) -> tuple[str, str]:
    """The error and the hint: the only two lines on standard error."""
    assert ended.stdout == b""
    error, hint = ended.stderr.decode().splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
    return error, hint


@pytest.fixture
def quota(recordings: Path) -> Path:
    return recordings / "guest-quota.sender.pcap.gz"


def test_a_starved_guest_is_discarded(quota: Path) -> None:
    ended = trustbed("analyze", quota, "--workload", "bulk", "--fail-on", "discard")
    assert ended.returncode == 4
    assert ended.stderr == b""
    text = ended.stdout.decode()
    assert re.search(r"\ndiscard  \S+ → \S+ +12\.1 ", text)
    assert "host_scheduling" in text
    assert (
        max(
            len(line)
            for line in text.splitlines()
            if not line.startswith(("Next", "      trustbed"))
        )
        <= 100
    )
    assert "\x1b" not in text


def test_a_verdict_made_of_both_ends_is_explained_by_both(recordings: Path, here: Trustbed) -> None:
    sender, receiver = (
        recordings / "random-loss.sender.pcap.gz",
        recordings / "random-loss.receiver.pcap.gz",
    )
    both = json.loads(
        here("explain", "--sender", sender, "--receiver", receiver, "12.0", "--json").stdout
    )
    expected = (
        analyze(sender, at="sender", host_of=join(sender, receiver).host_of)
        .transfer("12.0")
        .explain()
    )
    assert both["explanation"] == expected.split("\n")
    assert (
        both["explanation"]
        != json.loads(here("explain", sender, "12.0", "--json").stdout)["explanation"]
    )


def test_standard_input_is_read_like_a_file(quota: Path, here: Trustbed) -> None:
    from_file = json.loads(here("analyze", quota, "--json").stdout)
    from_pipe = json.loads(
        trustbed("analyze", "-", "--json", stdin=gzip.decompress(quota.read_bytes())).stdout
    )
    for part in ("transfers", "connections", "summary"):
        assert from_pipe[part] == from_file[part]


def test_tables_are_the_same_bytes_for_any_number_of_workers(
    quota: Path, tmp_path: Path, here: Trustbed
) -> None:
    for workers in ("1", "2", "7"):
        assert (
            here(
                "analyze",
                quota,
                "--workers",
                workers,
                "--out",
                tmp_path / workers,
                "--samples",
                "--csv",
                "-q",
            ).returncode
            == 0
        )
    names = sorted(path.name for path in (tmp_path / "1").iterdir())
    assert {name.partition(".")[0] for name in names} == {
        "connections",
        "exchanges",
        "findings",
        "phases",
        "rtt",
        "segments",
        "skips",
        "spacing",
        "transfers",
        "trustbed",
    }
    for name in names:
        if name != "trustbed.json":
            assert (
                len({(tmp_path / workers / name).read_bytes() for workers in ("1", "2", "7")}) == 1
            ), name


def test_a_reader_that_goes_away_ends_it_quietly(quota: Path) -> None:
    ended = subprocess.run(
        f"{sys.executable} -m trustbed analyze {quota} --json | head -c 20 >/dev/null; "
        f"echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        check=True,
    )
    assert ended.stderr == b""
    assert ended.stdout.splitlines()[-1] == b"141"


def test_a_full_disk_behind_standard_output_is_an_error(quota: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [*TRUSTBED, "analyze", str(quota), "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert ended.returncode == 1
    assert (
        ended.stderr.decode().splitlines()[0] == "error: no space left on device, standard output"
    )


def test_closed_streams_do_no_harm(quota: Path) -> None:
    command = f"{sys.executable} -m trustbed analyze {quota} --fail-on discard >&- 2>&-"
    assert subprocess.run(["/bin/bash", "-c", command], check=False).returncode == 4


def test_an_interrupt_ends_it_cleanly(tmp_path: Path) -> None:
    words = [
        "analyze",
        "-",
        "--out",
        str(tmp_path / "tables"),
        "--junit",
        str(tmp_path / "junit.xml"),
    ]
    with subprocess.Popen(
        [*TRUSTBED, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(EMPTY)
        process.stdin.flush()
        pipe = process.stdin.fileno()
        wait_until(
            lambda: struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))) == (0,),
            "the header was read",
        )
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert process.stderr.read() == b"interrupted, no incomplete file is left\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("text.pcap", b"no packets here\n" * 10),
        ("zero.pcap", b""),
        ("magic.pcap", b"\x00\x01\x02\x03" * 20),
        ("cut.pcap", EMPTY[:20]),
        # Its bytes are in the test's name, which every worker has to find alike.
        ("text.pcap.gz", gzip.compress(b"no packets here\n", mtime=0)),
    ],
)
def test_what_is_no_capture_is_one_clear_error(
    tmp_path: Path, name: str, content: bytes, here: Trustbed
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    ended = here("analyze", path)
    assert ended.returncode == 1
    error, _ = complaint(ended)
    assert name in error


def test_a_missing_file_and_a_directory_are_one_clear_error(tmp_path: Path, here: Trustbed) -> None:
    for path in (tmp_path / "nowhere.pcap", tmp_path):
        ended = here("analyze", path)
        assert ended.returncode == 1
        assert path.name in complaint(ended)[0]


@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None,
    reason="root reads everything, and no setpriv takes that right away (Debian: util-linux)",
)
def test_a_file_that_may_not_be_read_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "secret.pcap"
    path.write_bytes(EMPTY)
    path.chmod(0)
    drop = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"] if os.geteuid() == 0 else []
    ended = subprocess.run(
        [*drop, *TRUSTBED, "analyze", str(path)], capture_output=True, check=False
    )
    assert ended.returncode == 1
    assert "secret.pcap" in complaint(ended)[0]


def test_a_cut_capture_is_analysed_and_the_cut_is_named(
    quota: Path, tmp_path: Path, here: Trustbed
) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes(gzip.decompress(quota.read_bytes())[:-7])
    ended = here("analyze", path, "--json")
    assert ended.returncode == 0
    document = json.loads(ended.stdout)
    (problem,) = document["capture"]["problems"]
    assert problem["file"].endswith("cut.pcap")
    assert problem["offset"] > 0
    assert any(
        finding["code"] == "read_problem" and str(problem["offset"]) in finding["message"]
        for finding in document["findings"]
    )

    strict = here("analyze", path, "--strict", "-q")
    assert strict.returncode == 1
    assert f"byte {problem['offset']}" in complaint(strict)[0]


def test_explain_and_analyze_agree(quota: Path, here: Trustbed) -> None:
    ended = here("explain", quota, "12.1")
    assert ended.returncode == 0
    assert "verdict discard" in " ".join(ended.stdout.decode().split())


def test_a_report_is_written_whole(quota: Path, tmp_path: Path, here: Trustbed) -> None:
    ended = here("analyze", quota, "--report", tmp_path / "report.html", "-q")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.rstrip().endswith("</html>")
    assert "12.1" in page
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
