"""What `python -m tools.mendings` takes away is there, and so are the tests that must then fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.mendings import ROOT, Mending, mendings

ALL = mendings()


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.row)
def test_a_mending_and_its_test_are_there(one: Mending) -> None:
    assert one.taken_away(ROOT) != (ROOT / one.file).read_text(encoding="utf-8")
    if one.suite == "pytest":
        paths = [word.split("::") for word in one.test.partition(" -k ")[0].split()]
        for path, *names in paths:
            source = (ROOT / path).read_text(encoding="utf-8")
            assert all(f"def {name}(" in source for name in names), path
    else:
        crate = ROOT / "crates" / one.suite.removeprefix("trustbed-").replace("-", "_")
        sources = [*crate.glob("src/**/*.rs"), *crate.glob("tests/**/*.rs")]
        assert any(f"fn {one.test}(" in text(source) for source in sources), one.test


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_every_row_has_a_mending() -> None:
    assert {int(one.row.split()[0]) for one in ALL} == set(range(1, 21))
