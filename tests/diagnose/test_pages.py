"""The documentation is made from the tables that decide, and is up to date."""

from __future__ import annotations

import re
from dataclasses import asdict, fields
from pathlib import Path
from string import Formatter

import pytest

from tools.pages import CATALOGUE, PAGES, diagnosis_page, findings_page
from trustbed.diagnose import CAUSES, FLAGS, Thresholds
from trustbed.diagnose.causes import VERDICT_RULES
from trustbed.diagnose.confidence import CONFIDENCE
from trustbed.diagnose.limits import LIMITS
from trustbed.diagnose.rules import RULES
from trustbed.diagnose.thresholds import THRESHOLDS

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), (
        f"run: make docs (for {name})"
    )


def test_the_page_of_the_diagnosis_is_complete() -> None:
    page = diagnosis_page()
    for name in (
        *CAUSES,
        *FLAGS,
        *(rule.name for rule in RULES),
        *(field.name for field in fields(Thresholds)),
    ):
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
    assert all(
        field.metadata["meaning"] and field.metadata["source"] for field in fields(Thresholds)
    )


def test_no_threshold_is_rounded_away_by_its_words() -> None:
    values = asdict(THRESHOLDS)
    conditions = [condition.words for rule in RULES for condition in rule.conditions]
    additions = [
        condition.words for table in CONFIDENCE.values() for _, condition in table.additions
    ]
    for words in (
        *conditions,
        *additions,
        *(limit.when for limit in LIMITS),
        *VERDICT_RULES.values(),
    ):
        for _, name, form, _ in Formatter().parse(words):
            if name is not None:
                stated = format(values[name], form or "")
                number = float(stated.rstrip("%")) / (100 if stated.endswith("%") else 1)
                assert number == pytest.approx(values[name]), f"{name} is documented as {stated}"


def test_a_step_that_begins_with_a_command_can_be_copied() -> None:
    page = findings_page()
    assert (
        "**Next step.** `sysctl -w net.core.rmem_max=16777216 net.core.wmem_max=16777216`." in page
    )
    assert "**Next step.** `ip -s link show dev INTERFACE`;" in page
    assert (
        re.findall(
            (
                r"\*\*Next step\.\*\* "
                r"(?i:apt|chronyc|cpupower|docker|echo|ethtool|ip|sysctl|tc|trustbed|ulimit)\b.*"
            ),
            page,
        )
        == []
    )
    assert all(entry.next_step.count("`") % 2 == 0 for entry in CATALOGUE.values())


def test_every_severity_is_on_the_page_with_its_condition() -> None:
    page = findings_page()
    assert "| [`read_problem`](#read_problem) | error or warning |" in page
    assert (
        "(error; warning where nothing but the last record is cut short; capture; value in bytes)"
        in page
    )
    assert "(warning; info below 0.1 % of the bytes; capture; value in share)" in page
    assert "  %" not in page
