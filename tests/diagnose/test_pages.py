"""The documentation is made from the tables that decide, and is up to date."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from trustbed.diagnose import CATALOGUE, CAUSES, FLAGS, Thresholds
from trustbed.diagnose.pages import PAGES, diagnosis_page, findings_page, main
from trustbed.diagnose.rules import RULES

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), f"run: python -m trustbed.diagnose.pages docs (for {name})"


def test_the_page_of_the_diagnosis_is_complete() -> None:
    page = diagnosis_page()
    for name in (*CAUSES, *FLAGS, *(rule.name for rule in RULES), *(field.name for field in fields(Thresholds))):
        assert f"| `{name}` |" in page, name
    assert "{" not in page


def test_every_finding_has_its_section() -> None:
    page = findings_page()
    for code, entry in CATALOGUE.items():
        assert f"\n## {code}\n" in page
        assert entry.anchor == f"findings.md#{code}"
        assert entry.meaning in page
    assert "{" not in page


def test_every_threshold_has_a_meaning_and_a_source() -> None:
    assert all(field.metadata["meaning"] and field.metadata["source"] for field in fields(Thresholds))


def test_writing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(PAGES)
    assert main([]) == 2
    assert "usage:" in capsys.readouterr().err
