"""What the command line refuses, in one line and a hint, with exit code 2."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from trustbed.cli import arguments, main


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["analyse", "x.pcap"], "no such command, analyse", "did you mean analyze?"),
        (["frobnicate"], "no such command, frobnicate", "see trustbed --help"),
        (["analyze"], "no capture given", "trustbed analyze server.pcap"),
        (["analyze", "x.pcap", "--jsn"], "no such option, --jsn", "did you mean --json?"),
        (
            ["analyze", "x.pcap", "--worker=2"],
            "no such option, --worker=2",
            "did you mean --workers?",
        ),
        (
            ["analyze", "x.pcap", "--at", "home"],
            "argument --at: invalid choice: 'home'",
            "see trustbed analyze --help",
        ),
        (
            ["analyze", "x.pcap", "--workers", "0"],
            "argument --workers: '0' is not a number of threads (1 to 1024)",
            "see trustbed analyze --help",
        ),
        (
            ["analyze", "x.pcap", "--workers", "many"],
            "'many' is not a number of threads",
            "see trustbed analyze --help",
        ),
        (
            ["analyze", "x.pcap", "--capacity", "fast"],
            "argument --capacity:",
            "see trustbed analyze --help",
        ),
        (
            ["analyze", "x.pcap", "--capacity", "20"],
            "'20' lacks a unit (write it like 20Mbit/s",
            "see trustbed analyze --help",
        ),
        (
            ["analyze", "x.pcap", "--capacity", "1.5"],
            "'1.5' lacks a unit",
            "see trustbed analyze --help",
        ),
        (
            ["analyze", "x.pcap", "--capacity", "bit"],
            "has no number",
            "see trustbed analyze --help",
        ),
        (
            ["analyze", "x.pcap", "--capacity", "0"],
            "a link with a rate of 0 carries nothing",
            "see trustbed analyze --help",
        ),
        (
            ["watch", "eth0", "--ring", "32"],
            "argument --ring: '32' lacks a unit (write it like 64KiB",
            "see trustbed watch --help",
        ),
        (
            ["analyze", "x.pcap", "--capacity", "0bit/s"],
            "a link with a rate of 0 carries nothing",
            "see trustbed analyze --help",
        ),
        (["analyze", "x.pcap", "--csv"], "--csv needs a place, --out DIR", "--out tables --csv"),
        (
            ["analyze", "x.pcap", "--samples"],
            "--samples needs a place, --out DIR",
            "--out tables --samples",
        ),
        (
            ["analyze", "x.pcap", "--force"],
            "--force says nothing without --out DIR",
            "see trustbed analyze --help",
        ),
        (["analyze", "x.pcap", "-"], "standard input (-) cannot be one of several files", "only -"),
        (
            ["analyze", "--report"],
            "argument --report: expected one argument",
            "see trustbed analyze --help",
        ),
        (
            ["explain", "x.pcap"],
            "a capture and a transfer are needed",
            "trustbed explain server.pcap 1.0",
        ),
        (
            ["explain", "--sender", "a", "--receiver", "b"],
            "a capture and a transfer are needed",
            "trustbed explain server.pcap 1.0",
        ),
        (
            ["explain", "--sender", "a", "1.0"],
            "one end alone cannot be joined, --receiver is missing",
            "trustbed explain --sender client.pcap",
        ),
        (
            ["explain", "--sender", "a", "--receiver", "b", "c", "1.0"],
            "c is neither",
            "--receiver server.pcap 1.0",
        ),
        (
            ["explain", "x.pcap", "1.0", "--fail-on=review"],
            "no such option, --fail-on=review",
            "see trustbed explain --help",
        ),
    ],
)
def test_wrong_usage_is_one_error_and_one_hint(
    words: list[str], message: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    first, second = err.splitlines()
    assert first.startswith("error: ")
    assert message in first
    assert second.startswith("hint: ")
    assert hint in second


def test_a_file_in_the_place_of_a_command_is_understood(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture = tmp_path / "server.pcap"
    capture.touch()
    assert main([str(capture)]) == 2
    assert f"hint: to judge that file: trustbed analyze {capture}" in capsys.readouterr().err


def test_the_keyboard_is_no_capture(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", type("Terminal", (), {"isatty": lambda self: True})())
    assert main(["analyze", "-"]) == 2
    assert "tcpdump -w - | trustbed analyze -" in capsys.readouterr().err


def test_options_and_captures_mix() -> None:
    options = arguments.parse(
        arguments.analyze_parser(),
        ["a.pcap", "--at", "sender", "b.pcap", "--capacity", "20Mbit/s", "-q"],
    )
    assert options.captures == ["a.pcap", "b.pcap"]
    assert (options.at, options.capacity, options.quiet, options.no_color) == (
        "sender",
        20_000_000,
        True,
        False,
    )


def test_options_are_not_abbreviated() -> None:
    with pytest.raises(arguments.UsageError, match=re.escape("no such option, --work")):
        arguments.parse(arguments.analyze_parser(), ["a.pcap", "--work", "2"])


@pytest.mark.parametrize(
    ("given", "repeated"),
    [
        (["x.pcap", "--json", "--workers", "2"], "x.pcap"),
        (
            ["my file.pcap", "--workload", "bulk", "--at", "middle"],
            "--at middle --workload bulk 'my file.pcap'",
        ),
        (
            ["x.pcap", "--capacity", "1.5Gbit/s", "--inner", "--dedup"],
            "--capacity 1500Mbit/s --inner --dedup x.pcap",
        ),
        (["x.pcap", "--capacity", "64000bit/s"], "--capacity 0.064Mbit/s x.pcap"),
        (
            ["--sender", "a b", "--receiver", "c", "--same-clock"],
            "--sender 'a b' --receiver c --same-clock",
        ),
        (
            ["--sender", "a", "--sender", "b", "--receiver", "c"],
            "--sender a --sender b --receiver c",
        ),
        (["-", "--workload", "interactive"], "--workload interactive CAPTURE"),
        (["a", "b", "c"], "CAPTURE…"),
    ],
)
def test_what_was_asked_can_be_asked_again(given: list[str], repeated: str) -> None:
    options = arguments.parse(arguments.analyze_parser(), given)
    arguments.check_analyze(options)
    assert arguments.repeated(options) == repeated
    if "CAPTURE" not in repeated:
        again = arguments.parse(arguments.explain_parser(), [*shlex.split(repeated), "1.0"])
        arguments.check_explain(again)
        assert {
            name: value
            for name, value in vars(again).items()
            if name in vars(options) and name not in ("json", "workers")
        } == {
            name: value
            for name, value in vars(options).items()
            if name in vars(again) and name not in ("json", "workers")
        }
