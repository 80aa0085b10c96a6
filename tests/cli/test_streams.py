"""Standard error may lose its reader; standard output may not."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trustbed.cli import main
from trustbed.cli.streams import Messages, guarded
from trustbed.report import printable
from trustbed.report.paint import Paint

ROOT = Path(__file__).resolve().parents[2]
TRUSTBED = str(Path(sys.executable).with_name("trustbed"))


def test_messages_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    with guarded():
        print("a message", file=sys.stderr, flush=True)
        assert sys.stderr.isatty() is False
    assert capsys.readouterr().err == "a message\n"


def test_messages_without_a_reader_are_dropped() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w", encoding="utf-8") as stream:
        messages = Messages(stream)
        print("one", file=messages)
        messages.flush()
        assert os.read(reading, 100) == b"one\n"
        os.close(reading)
        for _ in range(3):
            assert messages.write("two\n") == 4
            messages.flush()
        # It now leads to the null device, for every other user of it as well.
        os.write(stream.fileno(), b"three\n")


def test_a_full_disk_drops_messages() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as stream:
        messages = Messages(stream)
        assert messages.write("no room\n") == len("no room\n")
        messages.flush()


@pytest.mark.parametrize(
    ("words", "code"),
    [(["analyze", "no-such.pcap"], 1), (["analyze", "--no-such-option"], 2), ([], 2)],
)
def test_the_exit_code_does_not_depend_on_standard_error(words: list[str], code: int) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [TRUSTBED, *words], stderr=writing, stdout=subprocess.DEVNULL, check=False
    )
    os.close(writing)
    assert ended.returncode == code


def test_results_without_a_reader_end_the_program() -> None:
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


def test_json_is_utf8_in_every_locale() -> None:
    recording = ROOT / "recordings" / "random-loss.sender.pcap.gz"
    words = [TRUSTBED, "analyze", str(recording), "--json"]
    latin = {**os.environ, "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    printed = subprocess.run(words, capture_output=True, check=True, env=latin).stdout
    usual = subprocess.run(words, capture_output=True, check=True).stdout
    assert not printed.isascii()
    found, other = json.loads(printed.decode("utf-8")), json.loads(usual)
    assert found.pop("trustbed")["version"] == other.pop("trustbed")["version"]
    assert found == other


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["analyze", "--help"]])
def test_help_on_a_full_disk_is_an_error_in_two_lines(words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [TRUSTBED, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: no space left on device")
    assert len(ended.stderr.splitlines()) == 2


def test_a_name_that_is_no_utf8_costs_no_output(tmp_path: Path) -> None:
    recording = ROOT / "recordings" / "random-loss.sender.pcap.gz"
    name = os.fsencode(tmp_path) + b"/caf\xe9.pcap.gz"
    Path(os.fsdecode(name)).write_bytes(recording.read_bytes())
    words = [TRUSTBED, "analyze", name, "--out", "tables", "--report", "page.html", "-q"]
    subprocess.run(words, cwd=tmp_path, check=True)
    assert json.loads((tmp_path / "tables" / "trustbed.json").read_text(encoding="utf-8"))
    assert "caf?" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_escape_sequences_of_others_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    foreign = "\x1b]0;owned\x07, \x9b2J, \u202etxt\r\x1b[K\x1b[1;32mtrust\x1b[0m"
    shown = "\\x1b]0;owned\\x07, \\x9b2J, \\u202etxt\\r\\x1b[K\\x1b[1;32mtrust\\x1b[0m"
    with guarded():
        print(foreign)
        print(f"error: {foreign}", file=sys.stderr)
    assert capsys.readouterr() == (f"{shown}\n", f"error: {shown}\n")
    assert main(["analyze", foreign]) == 1
    assert capsys.readouterr().err.startswith(f"error: {shown}: there is no such file\n")


def test_colours_and_redraws_of_our_own_reach_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    painted = Paint(on=True)("trust", "a\r\x1b[1;31mb")
    with guarded():
        print(painted)
        printable.write(f"{painted}\n")
        printable.redraw("half\rdone", sys.stderr)
    out, err = capsys.readouterr()
    assert out.splitlines() == ["\x1b[1;32ma\\r\\x1b[1;31mb\x1b[0m"] * 2
    assert err == "\rhalf\\rdone\x1b[K"


def test_json_holds_control_characters_as_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"name": "\x1b]0;\x9b2J \u202e\u2028 \U000e0041 \x7f ü →"}
    printable.write_json(value)
    out = capsys.readouterr().out
    assert json.loads(out) == value
    assert out.replace("\n", "").isprintable()
    assert "ü →" in out


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOMEM, errno.ENOSPC])
def test_only_its_own_failure_is_standard_output_s(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(words: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("trustbed.cli.doctor.run", fail)
    assert main(["doctor"]) == 1
    first, hint = capsys.readouterr().err.splitlines()
    assert first == f"error: {os.strerror(number).lower()}"
    assert hint.startswith("hint: ")
    print("standard output still works")
    assert capsys.readouterr().out == "standard output still works\n"
