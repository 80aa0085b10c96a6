"""The log of looks at the families that are reported, and the published rows."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from validation.truth import command, looks, page, published
from validation.truth.looks import Look
from validation.truth.plan import Plan
from validation.truth.result import Result
from validation.truth.store import Store, StoreError

from .test_result import store, stored

__all__ = ["store"]


def look(result: Result, day: int = 1, commit: str = "abc") -> Look:
    return Look.of(result, date=f"2026-11-{day:02d} 12:00 UTC", commit=commit)


def test_a_look_holds_the_figures_of_the_report_half_only(store: Store) -> None:
    found = look(Result.of(store))
    assert set(found.views) == {"sender-known", "sender", "receiver"}
    known = found.views["sender-known"]
    assert (known.cases, known.networks, known.macro_f1) == (2, 1, 1.0)
    assert known.missed_discards == (0, 1)


def test_looks_are_appended_and_read_back_the_first_first(store: Store, tmp_path: Path) -> None:
    file, result = tmp_path / "looks.jsonl", Result.of(store)
    assert looks.read(file) == []
    assert looks.record(look(result), file)
    assert not looks.record(look(result, day=2), file), "the same figures by the same commit"
    assert looks.record(look(result, day=3, commit="def"), file)
    assert [(one.date[:10], one.commit) for one in looks.read(file)] == [
        ("2026-11-01", "abc"),
        ("2026-11-03", "def"),
    ]
    assert looks.read(file)[0] == look(result)


def test_without_a_case_there_is_no_look(tmp_path: Path) -> None:
    assert not looks.record(look(Result([])), tmp_path / "looks.jsonl")


def test_the_page_shows_the_looks_at_its_own_plan(store: Store) -> None:
    result = Result.of(store)
    other = replace(look(result, commit="other"), plan={"seed": 99})
    section = page.render(result, [look(result, commit="abc"), other])
    assert "| 1 | 2026-11-01 12:00 UTC | `abc` | sender's capture alone | 2 |" in section
    assert "other" not in section.split("#### Looks")[1].split("####")[0]
    assert "#### Looks" not in page.render(result, [])


def test_a_commit_is_marked_where_files_differ_from_it(tmp_path: Path) -> None:
    assert looks.commit(tmp_path) == "unknown"
    git = ("git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b")
    (tmp_path / "file").write_text("one")
    for words in (("init", "-q"), ("add", "file"), ("commit", "-qm", "one")):
        subprocess.run([*git, *words], check=True)
    clean = looks.commit(tmp_path)
    assert len(clean) == 12
    (tmp_path / "file").write_text("two")
    assert looks.commit(tmp_path) == f"{clean} and changes"


def test_scoring_the_families_for_development_is_no_look(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[Look] = []
    monkeypatch.setattr(looks, "record", lambda one: bool(logged.append(one)) or True)
    words = ["--directory", str(store.directory), "--score-only"]
    assert command.main(words) == 0
    assert not logged
    assert command.main([*words, "--document"]) == 0, "not complete, so nothing is written"
    assert not logged
    assert command.main([*words, "--half", "report"]) == 0
    assert len(logged) == 1


def test_published_rows_give_the_same_score_again(store: Store, tmp_path: Path) -> None:
    store.write(stored("guest-quota.1", "guest-quota", "self-congested"))
    result = Result.of(store)
    published.write(result, tmp_path / "rows")
    again = published.read(tmp_path / "rows")
    assert again.as_json("all") == result.as_json("all")
    assert {file.name for file in (tmp_path / "rows").iterdir()} == {
        published.TRANSFERS,
        published.ANSWERS,
    }


def test_an_interrupted_plan_goes_on_from_its_published_transfers(
    store: Store, tmp_path: Path
) -> None:
    identity = Plan(3).identity
    result = Result(list(store), identity=identity)
    assert not result.is_complete
    published.write(result, tmp_path / "rows")
    answers = pq.read_table(tmp_path / "rows" / published.ANSWERS)
    held = {one.stored["name"] for one in result.made if one.half == "report"}
    assert held
    assert not held & set(answers["name"].to_pylist()), "what is reported is not looked at yet"

    elsewhere = Store(tmp_path / "elsewhere")
    assert published.restore(elsewhere, tmp_path / "rows") == len(list(store))
    assert list(elsewhere) == list(store)
    assert elsewhere.plan == json.loads(json.dumps(identity))
    assert published.restore(elsewhere, tmp_path / "rows") == 0
    other = Store(tmp_path / "other")
    other.belong_to({"plan": 1})
    with pytest.raises(StoreError):
        published.restore(other, tmp_path / "rows")
