"""Standard error that nobody reads any more ends nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trustbed.cli.talk import Talk, nobody_has_to_listen

ROOT = Path(__file__).resolve().parents[2]
TRUSTBED = str(Path(sys.executable).with_name("trustbed"))


def test_what_is_heard_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    with nobody_has_to_listen():
        print("heard", file=sys.stderr, flush=True)
        assert sys.stderr.isatty() is False
    assert capsys.readouterr().err == "heard\n"


def test_a_reader_that_goes_away_is_not_missed() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        talk = Talk(stream)
        print("one", file=talk)
        talk.flush()
        assert os.read(reading, 100) == b"one\n"
        os.close(reading)
        for _ in range(3):
            assert talk.write("two\n") == 4
            talk.flush()
        # It leads nowhere now, for others who have it too.
        os.write(stream.fileno(), b"three\n")


def test_a_full_disk_is_no_reason_to_end() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as stream:
        talk = Talk(stream)
        talk.write("no room\n")
        talk.flush()


@pytest.mark.parametrize(
    ("words", "code"),
    [(["analyze", "no-such.pcap"], 1), (["analyze", "--no-such-option"], 2), ([], 2)],
)
def test_the_exit_code_is_the_same_when_nobody_hears_why(words: list[str], code: int) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [TRUSTBED, *words], stderr=writing, stdout=subprocess.DEVNULL, check=False
    )
    os.close(writing)
    assert ended.returncode == code


def test_results_without_a_reader_end_as_before() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    recording = ROOT / "recordings" / "random-loss.sender.pcap.gz"
    ended = subprocess.run(
        [TRUSTBED, "analyze", "--json", recording],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, b"")
