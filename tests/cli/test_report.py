"""``trustbed report``.

Its output, its exit codes, its errors when there is no run.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.report.campaign_directories import Story, make_campaign
from tests.report.run_directories import STUDY, make_run
from trustbed.cli import main


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("runs") / "study", repetitions=1).path


def test_a_summary_and_a_page(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    assert main(["report", str(study), "--out", str(page)]) == 0
    out, err = capsys.readouterr()
    assert "Background traffic makes fetch up to" in out
    assert out.endswith(f"wrote {page}\n")
    assert err == ""
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_json_is_the_model(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(study), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["trustbed"]["command"].startswith("trustbed report")
    assert len(found["cells"]) == 7
    assert found["run"]["uses"] == {"discard": 1, "trust": 6}


@pytest.mark.parametrize("level", ["review", "discard"])
def test_what_must_be_discarded_can_fail_a_build_and_quiet_prints_nothing(
    level: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one_cell = STUDY.partition("[background")[0]
    late = make_run(tmp_path / "late", one_cell, repetitions=1).path
    assert main(["report", str(late), "--quiet"]) == 0
    assert main(["report", str(late), "--quiet", "--fail-on", level]) == 4
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        ([], 2, "no run given"),
        (["a", "b"], 2, "one run at a time, not 2"),
        (["nowhere"], 1, "not a run, nowhere"),
        (["x", "--jsn"], 2, "no such option, --jsn"),
    ],
)
def test_an_unreadable_run_is_an_error(
    words: list[str],
    code: int,
    error: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", *words]) == code
    messages = capsys.readouterr().err.splitlines()
    assert messages[0] == f"error: {error}"
    assert messages[1].startswith("hint: ")


def test_any_other_directory_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 1
    hint = capsys.readouterr().err.splitlines()[1]
    assert hint == "hint: name a directory that trustbed run has made"


def test_an_unwritable_page_is_reported_before_anything_is_read(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(study), "--out", str(tmp_path)]) == 1
    assert "is a directory, not a file" in capsys.readouterr().err


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    story = Story(pairs=(("alpha", "beta"), ("gamma", "delta")), rounds=40, always={"gamma": 0.5})
    return make_campaign(tmp_path_factory.mktemp("campaigns") / "out", story)


def test_a_campaign_has_a_summary_and_a_page(
    campaign: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    words = ["campaign", "report", str(campaign), "--out", str(page), "--fail-on", "discard"]
    assert main(words) == 4
    out, err = capsys.readouterr()
    assert "Avoid gamma as sender" in out
    assert out.endswith(f"wrote {page}\n")
    assert err == ""
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "[[pairs]]" in text, "its file"


def test_runs_and_campaigns_name_each_other_s_command(
    study: Path, campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, message, hint in (
        (["report", campaign], "this is a campaign", "trustbed campaign report"),
        (["campaign", "status", study], "this is a run", "trustbed report"),
        (["campaign", "report", study], "this is a run", "trustbed report"),
        (["status", study], "this is a run", "trustbed report"),
    ):
        assert main([str(word) for word in words]) == 1
        assert capsys.readouterr().err == (
            f"error: {message}, {words[-1]}\nhint: {hint} {words[-1]}\n"
        )


def test_the_timeline_of_a_campaign_is_in_the_report_only(
    campaign: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["campaign", "report", str(campaign), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(found["pairs"][0]["timeline"]["throughput"]["rounds"]) == found["pairs"][0]["judged"]
    assert main(["campaign", "status", str(campaign), "--json"]) == 0
    short = json.loads(capsys.readouterr().out)
    assert "timeline" not in short["pairs"][0]
    assert short["avoid"] == found["avoid"]
