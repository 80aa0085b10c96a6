"""What `make house` prints of the time that `make test` took."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import house


@pytest.fixture
def stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where `make test` writes its seconds and the number of cores; it has not done so yet."""
    path = tmp_path / "test"
    monkeypatch.setattr(house, "TEST_STAMP", path)
    monkeypatch.setattr(house, "figures", lambda: [house.Figure("lines of a page", 1, 1)])
    return path


@pytest.mark.parametrize(
    ("wrote", "line", "code"),
    [
        (None, "     make test, built, on 2 cores: not run yet of 12 min", 0),
        ("662 2\n", "ok   make test, built, on 2 cores: 11 min of 12 min", 0),
        ("720 2\n", "ok   make test, built, on 2 cores: 12 min of 12 min", 0),
        ("723 2\n", "OVER make test, built, on 2 cores: 12.1 min of 12 min", 1),
        ("300 8\n", "ok   make test, built, on 8 cores (the bound is for 2): 5 min of 12 min", 0),
    ],
)
def test_the_time_of_the_tests_stands_beside_its_bound(
    stamp: Path, capsys: pytest.CaptureFixture[str], wrote: str | None, line: str, code: int
) -> None:
    if wrote is not None:
        stamp.write_text(wrote, encoding="ascii")
    assert house.main() == code
    assert capsys.readouterr().out.splitlines()[:2] == ["ok   lines of a page: 1 of 1", line]


def test_make_leaves_the_time_where_the_house_reads_it() -> None:
    makefile = (house.ROOT / "Makefile").read_text(encoding="utf-8")
    ready = house.TEST_STAMP.parent.relative_to(house.ROOT)
    assert f"READY := {ready}\n" in makefile
    assert f"> $(READY)/{house.TEST_STAMP.name}\n" in makefile
