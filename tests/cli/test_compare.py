"""``trustbed compare``: its output, files, exit codes and errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.compare.testbeds import SCENARIO, Made, make_testbed
from trustbed.cli import main
from trustbed.compare import needed

FACTOR = """
[background.noise]
model = "none"
from = "client"
to = "server"
rate = "1Mbit/s"
[factors]
background.noise.model = ["none", "cbr"]
"""


@pytest.fixture(scope="module")
def beds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    place = tmp_path_factory.mktemp("beds")
    made = {
        "metal": Made(),
        "again": Made(),
        "slow": Made(slower=1.3),
        "acks": Made(packets=1.05),
        "noisy": Made(noise=0.12),
    }
    return {
        name: str(make_testbed(place / f"{name}.run", one, repetitions=10))
        for name, one in made.items()
    }


def test_a_summary_and_every_file(
    beds: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / name for name in ("c.html", "c.md", "c.xml")]
    options = zip(("--out", "--markdown", "--junit"), map(str, files), strict=True)
    words = [word for pair in options for word in pair]
    assert main(["compare", beds["metal"], beds["slow"], *words]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Different at application;")
    assert err == "".join(f"wrote {file}\n" for file in files)
    starts = ("<!doctype html>", "### slow against metal", '<?xml version="1.0"')
    for file, start in zip(files, starts, strict=True):
        assert file.read_text(encoding="utf-8").startswith(start)


def test_json_is_the_comparison(beds: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", beds["metal"], beds["again"], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["trustbed"]["command"].startswith("trustbed compare")
    assert found["schema_version"] == 1
    levels = found["cases"][0]["candidates"][0]["levels"]
    assert [one["verdict"] for one in levels] == [
        "equivalent",
        "not_compared",
        "equivalent",
        "equivalent",
    ]


@pytest.mark.parametrize(
    ("candidate", "codes"),
    [
        ("again", {"open": 0}),
        ("slow", {"beyond": 4, "open": 4}),
        ("acks", {"beyond": 0, "different": 3, "open": 3}),
        ("noisy", {"beyond": 0, "different": 0, "open": 3}),
    ],
)
def test_a_check_fails_at_the_level_that_was_asked_for(
    candidate: str,
    codes: dict[str, int],
    beds: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(needed, "ROUNDS", 20)  # how many repetitions would settle it is not shown
    words = ["compare", beds["metal"], beds[candidate], "--quiet"]
    for level, code in codes.items():
        assert main([*words, "--fail-on", level]) == code


def test_a_tolerance_decides_what_is_beyond(beds: dict[str, str]) -> None:
    words = ["compare", beds["metal"], beds["slow"], "--quiet", "--fail-on", "beyond"]
    assert main([*words, "--tolerance", "50%"]) == 0
    single = ["--tolerance", "50%", "--tolerance", "response_median_seconds=0.1"]
    assert main([*words, *single]) == 4


def test_a_check_of_nothing_fails_and_says_why(
    beds: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    idle = {number: {"requests": 0} for number in range(3)}
    failed = str(make_testbed(tmp_path / "failed.run", repetitions=3, changed=idle))
    few = str(make_testbed(tmp_path / "few.run", repetitions=2))
    report = tmp_path / "c.xml"
    for candidate, levels, why in (
        (failed, ("beyond",), "failed against metal: failed: no repetition counts"),
        (
            few,
            ("different", "open"),
            "few against metal: too few repetitions to judge: 10 and 2 repetitions",
        ),
    ):
        words = ["compare", beds["metal"], candidate, "--quiet", "--junit", str(report)]
        assert main(words) == 0
        assert "<error" not in report.read_text(encoding="utf-8")
        capsys.readouterr()
        for level in levels:
            assert main([*words, "--fail-on", level]) == 3
            err = capsys.readouterr().err
            assert err.startswith(f"error: no metric could be judged, {why}")
            assert "\nhint: " in err
            assert report.read_text(encoding="utf-8").count("<error message=") == 1


def test_a_metric_that_one_side_lacks_fails_the_strictest_check_only(
    beds: dict[str, str], tmp_path: Path
) -> None:
    traced = str(make_testbed(tmp_path / "traced.run", Made(reads=2.0), repetitions=10))
    words = ["compare", beds["metal"], traced, "--quiet", "--fail-on"]
    assert main([*words, "different"]) == 0
    assert main([*words, "open"]) == 3


def test_the_factor_of_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_testbed(
        tmp_path / "study.run", factors=FACTOR, by_level={"cbr": Made(slower=1.3)}, repetitions=4
    )
    assert main(["compare", "--by", "background.noise.model", str(run)]) == 0
    assert "cbr against none" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("factors", "words", "code", "error"),
    [
        (FACTOR, ["--by", "models"], 1, "no factor is called models, study.toml"),
        (FACTOR, ["--reference", "poisson"], 1, "no level of background.noise.model is called"),
        (FACTOR, ["--tolerance", "read=5%"], 2, "no metric is called read"),
        (FACTOR + 'link.delay = ["1ms", "2ms"]\n', [], 1, "several factors, study.toml"),
        ("", [], 1, "one testbed only, study.toml"),
        (
            '[factors]\nworkload.fetch.object = ["500B", "1MB"]\n',
            [],
            1,
            "object 500 B against 1000000 B",
        ),
    ],
)
def test_a_scenario_is_checked_before_it_is_run(
    factors: str,
    words: list[str],
    code: int,
    error: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("trustbed.testbed.prepare", lambda: True)
    text = SCENARIO.format(repetitions=3, size="500B", duration="20s") + factors
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    assert main(["compare", "study.toml", *words]) == code
    assert error in capsys.readouterr().err
    assert [one.name for one in tmp_path.iterdir()] == ["study.toml"]


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        ([], 2, "no testbed given"),
        (["nowhere"], 1, "no such directory, nowhere"),
        (["a.toml", "b.run"], 2, "a scenario comes alone, a.toml"),
        (["a", "b", "--tolerance", "much"], 2, "'much' is no share"),
        (["a", "b", "--tolerance", "read=5%"], 2, "no metric is called read"),
        (["a", "b", "--order", "5"], 2, "there are no chains of order 5"),
        (["a", "b", "--tolerance", "10"], 2, "a tolerance of 1000 % is none"),
        (["a", "b", "--tolerance=-5%"], 2, "a tolerance of -5 % is none"),
        (["a", "b", "--tolerance", "reads=nan"], 2, "a tolerance of nan % is none"),
        (["a", "b", "--least", "20%"], 2, "20 %, exceeds what is similar, 10 %"),
        (["a", "b", "--least=-1%"], 2, "a smallest difference of -1 % is none"),
        (["a", "b", "--fail-on", "review"], 2, "argument --fail-on"),
        (["a", "--warm-up", "-1"], 2, "argument --warm-up"),
    ],
)
def test_errors_say_what_to_do(
    words: list[str],
    code: int,
    error: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["compare", *words]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert error in err
    assert "\nhint: " in err
