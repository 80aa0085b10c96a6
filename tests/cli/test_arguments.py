"""What the command line refuses, in one line and a hint, with exit code 2."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from trustbed.cli import analyze, arguments, explain, main

WRONG = """\
analyse x.pcap
frobnicate
analyze
analyze x.pcap --jsn
analyze x.pcap --worker=2
analyze x.pcap --at home
analyze x.pcap --workers 0
analyze x.pcap --workers many
analyze x.pcap --capacity fast
analyze x.pcap --capacity 20
analyze x.pcap --capacity 1.5
analyze x.pcap --capacity bit
analyze x.pcap --capacity 0
analyze x.pcap --capacity 0bit/s
analyze x.pcap --memory 64
analyze x.pcap --memory 1MiB
analyze x.pcap --report same --junit same
analyze x.pcap --csv
analyze x.pcap --samples
analyze x.pcap --force
analyze x.pcap -
analyze --report
analyze a.pcap --sender a.pcap --receiver b.pcap
analyze --at sender --sender a.pcap --receiver b.pcap
analyze a.pcap --same-clock
explain x.pcap
explain --sender a --receiver b
explain --sender a :1
explain --sender a --receiver b c :1
explain x.pcap :1 --fail-on=review
watch eth0 --ring 32
watch
watch eth0 --mode static
watch eth0 --mode dynamic-same --rate 1Mbit/s
burst
burst x.pcap --mode static
burst x.pcap --lost
burst x.pcap --octaves 3
burst x.pcap --octaves 3-4294967296
compare a.run b.run --repetitions 3
compare a.toml --repetitions 0
model list web
shell --rate 1Mbit/s curl x
shell ping -c1 10.77.0.2
shell --rate 1Mbit/s --rat 5
campaign
campaign rum x.toml
campaign run
campaign run a.toml b.toml
campaign run a.toml --dry-run --json
sensitivity a.toml --dry-run --json
campaign status
campaign status x --round alpha
campaign status x --round alpha --resources x.parquet
campaign report
campaign init a b
report
report a b
run
doctor alpha
testbed
testbed lost
"""


@pytest.mark.parametrize("command", WRONG.splitlines())
def test_wrong_usage_is_one_error_and_one_hint(
    command: str, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    assert main(command.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    first, second = err.splitlines()
    assert first.startswith("error: ")
    assert second.startswith("hint: ")
    assert f"{first}\n{second}" == snapshot


def test_a_file_instead_of_a_command_is_understood(
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
        analyze.parser(),
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
        arguments.parse(analyze.parser(), ["a.pcap", "--work", "2"])


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
        (["x.pcap", "--memory", "64MiB"], "--memory 67108864B x.pcap"),
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
def test_arguments_can_be_repeated(given: list[str], repeated: str) -> None:
    options = arguments.parse(analyze.parser(), given)
    arguments.check_analyze(options)
    assert arguments.repeated(options) == repeated
    if "CAPTURE" not in repeated:
        again = arguments.parse(explain.parser(), [*shlex.split(repeated), "1.0"])
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
