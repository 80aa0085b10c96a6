"""The help pages: complete, narrow, made by the parsers, and cheap."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import trustbed
from trustbed.cli import COMMANDS, main, overview

ROOT = Path(__file__).resolve().parents[2]
ACTIONS = [f"campaign {action}" for action in ("run", "status", "report", "init")]
VERBS = [*COMMANDS, *ACTIONS]


def page_of(verb: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([*verb.split(), "--help"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_page(verb: str, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion) -> None:
    page = page_of(verb, capsys)
    assert max(len(line) for line in page.splitlines()) <= 80
    assert page.endswith("\n")
    assert page == snapshot


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_has_a_help_text(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = page_of(verb, capsys)
    for line, below in zip(page.splitlines(), [*page.splitlines()[1:], ""], strict=True):
        if re.match(r"  --?[a-z]", line) and not re.search(r"\S  +\S", line.strip()):
            assert below.startswith(" " * 10), line


def test_the_overview_names_every_command() -> None:
    commands = overview().partition("commands:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^  ([a-z]+) ", commands, re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (["-h"], ["--help"]),
        (["help"], ["--help"]),
        (["analyze", "x.pcap", "--json", "-h"], ["analyze", "--help"]),
        (["help", "explain"], ["explain", "--help"]),
        (["help", "campaign", "run"], ["campaign", "run", "--help"]),
        (["testbed", "clean", "--help"], ["testbed", "--help"]),
        (["pairs", "--help"], ["campaign", "run", "--help"]),
        (["status", "-h"], ["campaign", "status", "--help"]),
    ],
)
def test_help_has_many_spellings(
    words: list[str], same: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    page = capsys.readouterr()
    assert main(same) == 0
    assert capsys.readouterr() == page


def test_no_words_at_all_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr() == ("", overview())


def test_the_version_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"trustbed {trustbed.__version__}\n"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    assert (
        trustbed.__version__
        == project["project"]["version"]
        == workspace["workspace"]["package"]["version"]
    )


def in_a_new_interpreter(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)


def test_help_loads_nothing_large() -> None:
    code = (
        "import sys; from trustbed.cli import main; main(['--help']); "
        "print(sorted(sys.modules), file=sys.stderr)"
    )
    loaded = in_a_new_interpreter(code).stderr
    assert not re.findall(
        r"'(pyarrow|numpy|trustbed\._core|argparse|asyncio|rich|typer|jinja2)'", loaded
    )


def test_help_costs_at_most_a_fifth_of_a_second_of_cpu() -> None:
    code = "import sys; from trustbed.cli import main; sys.exit(main(['--help']))"
    in_a_new_interpreter(code)  # compiles and reads the files for the first time

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    before = spent()
    for _ in range(5):
        in_a_new_interpreter(code)
    assert (spent() - before) / 5 <= 0.2


def test_importing_the_library_is_cheap() -> None:
    code = (
        "import sys, trustbed; trustbed.__all__, dir(trustbed); print(sorted(sys.modules), "
        "file=sys.stderr)"
    )
    assert "pyarrow" not in in_a_new_interpreter(code).stderr
