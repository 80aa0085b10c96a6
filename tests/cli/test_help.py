"""The help pages: complete, narrow, and nearly free."""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import trustbed
from trustbed.cli import (
    COMMANDS,
    arguments,
    burst,
    doctor,
    help,
    main,
    pairs,
    report,
    run,
    shell,
    status,
    testbed,
    watch,
)

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "analyze": (help.ANALYZE, arguments.analyze_parser()),
    "explain": (help.EXPLAIN, arguments.explain_parser()),
    "burst": (help.BURST, burst.parser()),
    "watch": (help.WATCH, watch.parser()),
    "run": (help.RUN, run.parser()),
    "shell": (help.SHELL, shell.parser()),
    "testbed": (help.TESTBED, testbed.parser()),
    "pairs": (help.PAIRS, pairs.parser()),
    "status": (help.STATUS, status.parser()),
    "report": (help.REPORT, report.parser()),
    "doctor": (help.DOCTOR, doctor.parser()),
}


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    return {name for action in parser._actions for name in action.option_strings}


@pytest.mark.parametrize("verb", PAGES)
def test_page_and_parser_name_the_same_options(verb: str) -> None:
    page, parser = PAGES[verb]
    written = set(re.findall(r"^  (?:(-\w), )?(--[a-z-]+)", page, re.MULTILINE))
    assert {name for pair in written for name in pair if name} == options_of(parser)


@pytest.mark.parametrize("verb", PAGES)
def test_every_choice_is_on_the_page(verb: str) -> None:
    page, parser = PAGES[verb]
    for action in parser._actions:
        for choice in action.choices or ():
            assert re.search(rf"\b{choice}\b", page), f"{action.option_strings}: {choice}"


@pytest.mark.parametrize("page", [help.OVERVIEW, *(page for page, _ in PAGES.values())])
def test_pages_fit_80_columns(page: str) -> None:
    assert max(len(line) for line in page.splitlines()) <= 80
    assert page.endswith("\n")


def test_the_overview_names_every_command() -> None:
    assert re.findall(r"^  ([a-z]+) (?:[A-Z]|list|\[HOST)", help.OVERVIEW, re.MULTILINE) == list(
        COMMANDS
    )


@pytest.mark.parametrize(
    ("words", "page"),
    [
        (["--help"], help.OVERVIEW),
        (["-h"], help.OVERVIEW),
        (["help"], help.OVERVIEW),
        (["analyze", "--help"], help.ANALYZE),
        (["analyze", "x.pcap", "--json", "-h"], help.ANALYZE),
        (["help", "explain"], help.EXPLAIN),
        (["burst", "--help"], help.BURST),
        (["explain", "-h"], help.EXPLAIN),
    ],
)
def test_help_goes_to_standard_output(
    words: list[str], page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    assert capsys.readouterr() == (page, "")


def test_no_words_at_all_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr() == ("", help.OVERVIEW)


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
    code = "import sys; from trustbed.cli import main; main(['--help']); print(sorted(sys.modules), file=sys.stderr)"
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
    code = "import sys, trustbed; trustbed.__all__, dir(trustbed); print(sorted(sys.modules), file=sys.stderr)"
    assert "pyarrow" not in in_a_new_interpreter(code).stderr
