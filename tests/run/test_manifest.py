"""A manifest describes a run, and only the same run is continued."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from msgspec import to_builtins

from tests.conftest import Refuses
from trustbed.run import manifest
from trustbed.run.directory import SCENARIO, RunDirectory, RunDirectoryError
from trustbed.run.matrix import order
from trustbed.scenario import ScenarioError, ScenarioFile, load

TEXT = """
name = "study"
seed = 3
repetitions = 2
[hosts.client]
[hosts.server]
[link]
rate_trace = "rates.txt"
[workload.w]
kind = "bulk"
host = "client"
to = "server"
[background.noise]
model = "none"
from = "client"
to = "server"
rate = "1Mbit/s"
[factors]
"background.noise.model" = ["none", "cbr"]
"""
SESSION = {
    "version": "0.1.0",
    "command": "trustbed run study.toml",
    "started": "2026-01-01T00:00:00Z",
}


@pytest.fixture
def study(tmp_path: Path) -> ScenarioFile:
    (tmp_path / "rates.txt").write_text("1\n2\n")
    (tmp_path / "study.toml").write_text(TEXT)
    return load(tmp_path / "study.toml")


def described(study: ScenarioFile) -> dict[str, object]:
    planned = order(study.cells, repetitions=2, seed=3)
    found = manifest.describe(study, planned, session=SESSION)
    return json.loads(msgspec.json.encode(found))  # type: ignore[no-any-return]


def check(
    earlier: dict[str, object], study: ScenarioFile, path: Path, *, repetitions: int = 2
) -> None:
    directory = RunDirectory(path / "run")
    directory.path.mkdir(exist_ok=True)
    directory.write_manifest(earlier)
    planned = order(study.cells, repetitions=repetitions, seed=3)
    manifest.check_same(manifest.read(directory), study, planned, directory.path)


def test_it_leads_to_the_files_that_the_scenario_names(study: ScenarioFile, tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "deep" / "run")
    directory.path.mkdir(parents=True)
    planned = order(study.cells, repetitions=2, seed=3)
    made = manifest.describe(study, planned, session=SESSION, path=directory.path)
    directory.write_manifest(to_builtins(made))
    (directory.path / SCENARIO).write_text(study.text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=r"no such file.*rates.txt"):
        load(directory.path / SCENARIO)
    (found,) = load(directory.path / SCENARIO, beside=directory.beside()).inputs
    assert found.resolve() == tmp_path.resolve() / "rates.txt"


def test_it_has_the_planned_repetitions_with_their_seeds(study: ScenarioFile) -> None:
    found = described(study)
    assert found["scenario"] == {
        "name": "study",
        "about": "",
        "file": "study.toml",
        "sha256": study.sha256,
        "beside": None,
    }
    # printf '1\n2\n' | sha256sum
    digest = "a6e2b7a040683432de03a18fd8a1939a2fdf82585b364bfc874bdd4095c4cae1"
    assert found["inputs"] == [{"file": "rates.txt", "bytes": 4, "sha256": digest}]
    assert found["factors"] == [{"key": "background.noise.model", "levels": ["none", "cbr"]}]
    assert found["cells"] == [
        {"number": 0, "label": "none", "levels": {"background.noise.model": "none"}, "baseline": 0},
        {"number": 1, "label": "cbr", "levels": {"background.noise.model": "cbr"}, "baseline": 0},
    ]
    assert found["repetitions"] == 2
    assert found["sessions"] == [SESSION]
    listed = found["order"]
    assert isinstance(listed, list)
    assert [one["directory"] for one in listed] == ["rep-000", "rep-001", "rep-002", "rep-003"]


def test_every_session_is_remembered(study: ScenarioFile) -> None:
    later = {**SESSION, "started": "2026-01-02T00:00:00Z"}
    planned = order(study.cells, repetitions=2, seed=3)
    first = manifest.describe(study, planned, session=SESSION)
    again = manifest.describe(study, planned, session=later, earlier=first)
    assert again.sessions == (SESSION, later)


def test_the_same_scenario_is_continued(study: ScenarioFile, tmp_path: Path) -> None:
    check(described(study), load(study.file), tmp_path)


def test_another_scenario_is_not(study: ScenarioFile, tmp_path: Path, refuses: Refuses) -> None:
    earlier = described(study)
    study.file.write_text(TEXT.replace("seed = 3", "seed = 4"))
    with refuses(RunDirectoryError):
        check(earlier, load(study.file), tmp_path)


def test_another_input_is_not(study: ScenarioFile, tmp_path: Path, refuses: Refuses) -> None:
    earlier = described(study)
    (tmp_path / "rates.txt").write_text("1\n3\n")
    with refuses(RunDirectoryError):
        check(earlier, load(study.file), tmp_path)


def test_a_run_of_another_schema_is_not(study: ScenarioFile, tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="version"):
        check({**described(study), "schema_version": 99}, study, tmp_path)


@pytest.mark.parametrize("repetitions", [1, 3])
def test_fewer_or_more_rounds_are_the_same_run(
    study: ScenarioFile, tmp_path: Path, repetitions: int
) -> None:
    check(described(study), study, tmp_path, repetitions=repetitions)


def test_repetitions_that_would_be_of_other_cells_are_not_taken_for_those_that_are_there(
    study: ScenarioFile, tmp_path: Path, refuses: Refuses
) -> None:
    earlier = described(study)
    listed = earlier["order"]
    assert isinstance(listed, list)
    listed[1] = {**listed[1], "seed": 5}
    with refuses(RunDirectoryError):
        check(earlier, study, tmp_path)


@pytest.mark.parametrize("key", ["scenario", "inputs", "order"])
def test_an_incomplete_manifest_is_reported(
    study: ScenarioFile, tmp_path: Path, key: str, refuses: Refuses
) -> None:
    earlier = described(study)
    for damaged in (
        {name: value for name, value in earlier.items() if name != key},
        {**earlier, key: 7},
    ):
        with refuses(RunDirectoryError):
            check(damaged, study, tmp_path)
