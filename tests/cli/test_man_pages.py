"""Manual pages: one for every command, which readers of manual pages accept."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tools import man_pages
from trustbed.cli import VERBS
from trustbed.cli.completion import Command, commands

PAGES = man_pages.pages(datetime(2026, 1, 2, tzinfo=UTC))


def written(directory: Path) -> list[Path]:
    for name, text in PAGES.items():
        (directory / name).write_text(text, encoding="utf-8")
    return sorted(directory.iterdir())


def test_every_verb_and_every_action_has_one() -> None:
    assert {"trustbed.1", "trustbed-campaign-run.1"} < PAGES.keys()
    assert [verb for verb in VERBS if f"trustbed-{verb}.1" not in PAGES] == []


def test_mandoc_finds_nothing_wrong(tmp_path: Path) -> None:
    if shutil.which("mandoc") is None:
        pytest.skip("there is no mandoc here")
    command = ["mandoc", "-Tlint", "-Wwarning", *written(tmp_path)]
    said = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (said.stdout, said.returncode) == ("", 0)


@pytest.mark.parametrize("one", list(commands()), ids=lambda one: one.name)
def test_a_page_shows_every_option(one: Command, tmp_path: Path) -> None:
    if shutil.which("mandoc") is None:
        pytest.skip("there is no mandoc here")
    name = f"trustbed-{one.name.replace(' ', '-')}.1"
    page = tmp_path / name
    page.write_text(PAGES[name], encoding="utf-8")
    command = ["mandoc", "-Tutf8", "-O", "width=200", str(page)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    shown = re.sub(r".\x08", "", shown)
    assert [flag for flag in one.flags if flag not in shown] == []


def test_no_line_of_text_is_a_request() -> None:
    assert man_pages._text(".so /etc/passwd \\- 'x'") == "\\&.so /etc/passwd \\e\\- 'x'"
    assert man_pages._text("'br") == "\\&'br"
