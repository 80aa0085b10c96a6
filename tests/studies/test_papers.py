"""The campaigns of the papers' paths as they are shipped.

The files are what the command writes, and their page says what they need.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.field import papers, papers_page
from trustbed.cli import main

DIRECTORY = Path(__file__).resolve().parents[2] / "examples" / "papers"
STUDIES = ("ec2", "planetlab")


@pytest.mark.parametrize("name", STUDIES)
def test_a_shipped_file_is_what_the_command_writes_and_says_whose_its_hosts_are(name: str) -> None:
    text = (DIRECTORY / f"{name}.toml").read_text(encoding="utf-8")
    assert text == papers.study(name, Path("hosts.toml"), None)
    assert "`python -m studies papers` makes" in text.split("name =")[0]


@pytest.mark.parametrize("name", STUDIES)
def test_a_shipped_file_is_understood_beside_an_inventory(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = sorted(
        {
            host
            for path in papers.PATHS
            if path.study == name
            for host in (path.sender, path.receiver)
        }
    )
    (tmp_path / "hosts.toml").write_text(
        "".join(f'[hosts.{host}]\nssh = "192.0.2.1"\n' for host in hosts), encoding="utf-8"
    )
    (tmp_path / f"{name}.toml").write_text(
        (DIRECTORY / f"{name}.toml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    assert main(["pairs", str(tmp_path / f"{name}.toml"), "--dry-run"]) == 0
    assert "rounds" in capsys.readouterr().out


def test_the_shipped_page_has_every_sentence_that_the_command_writes() -> None:
    page = (DIRECTORY / "README.md").read_text(encoding="utf-8")
    for paragraph in papers_page.render([]).split("\n\n"):
        assert paragraph.strip("\n") in page
