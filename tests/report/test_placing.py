"""Output appears whole under its name, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from trustbed.report import placing
from trustbed.report.placing import OutputError


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    with placing.whole_file(path) as stream:
        stream.write("new")
        assert path.read_text(encoding="utf-8") == "old"
    assert path.read_text(encoding="utf-8") == "new"
    assert names(tmp_path) == ["report.html"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_file_that_fails_leaves_the_old_one(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    writing = placing.whole_file(path)
    writing.__enter__().write("half")
    assert not writing.__exit__(error, error(), None)  # false: the error goes on its way
    assert path.read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["report.html"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with placing.whole_file(tmp_path / "link") as stream:
        stream.write("text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text(encoding="utf-8") == "text"


def test_a_device_is_written_to_and_stays_a_device() -> None:
    with placing.whole_file(Path("/dev/null")) as stream:
        stream.write("text")
    assert Path("/dev/null").is_char_device()


def put(directory: Path, **files: str) -> None:
    with placing.whole_directory(directory) as inside:
        for name, text in files.items():
            (inside / name).write_text(text, encoding="utf-8")
        listed = ", ".join(f'"{name}"' for name in sorted(files))
        (inside / placing.MANIFEST).write_text(f'{{"files": [{listed}]}}', encoding="utf-8")


def test_an_interruption_between_two_names_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "tables", old="old")
    rename = Path.rename

    def interrupted(path: Path, target: Path) -> Path:
        if "partial" in path.name:
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        put(tmp_path / "tables", new="new")
    assert names(tmp_path) == ["tables"]
    assert (tmp_path / "tables" / "old").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize("exists", [False, True])
def test_a_new_or_empty_folder_is_filled_in_one_step(tmp_path: Path, exists: bool) -> None:
    if exists:
        (tmp_path / "out").mkdir()
    put(tmp_path / "out", a="1")
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["a", "trustbed.json"]


def test_a_result_replaces_an_earlier_one_without_leftovers(tmp_path: Path) -> None:
    put(tmp_path / "out", a="1", b="1")
    put(tmp_path / "out", b="2", c="2")
    assert names(tmp_path / "out") == ["b", "c", "trustbed.json"]
    assert names(tmp_path) == ["out"]


def test_files_of_others_are_never_removed(tmp_path: Path) -> None:
    put(tmp_path / "out", a="1", b="1")
    (tmp_path / "out" / "notes").write_text("mine", encoding="utf-8")
    put(tmp_path / "out", b="2", c="2")
    assert names(tmp_path / "out") == ["b", "c", "notes", "trustbed.json"]
    assert (tmp_path / "out" / "b").read_text(encoding="utf-8") == "2"


def test_a_manifest_cannot_name_files_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("x", encoding="utf-8")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    (tmp_path / "out" / placing.MANIFEST).write_text(
        '{"files": ["../precious", "a"]}', encoding="utf-8"
    )
    put(tmp_path / "out", a="1")
    assert names(tmp_path) == ["out", "precious"]
    assert names(tmp_path / "out") == ["a", "mine", "trustbed.json"]


def test_a_folder_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    put(tmp_path / "out", a="1")
    writing = placing.whole_directory(tmp_path / "out")
    (writing.__enter__() / "a").write_text("half", encoding="utf-8")
    assert not writing.__exit__(
        KeyboardInterrupt, KeyboardInterrupt(), None
    )  # false: the interrupt goes on its way
    assert (tmp_path / "out" / "a").read_text(encoding="utf-8") == "1"
    assert names(tmp_path) == ["out"]


def test_what_is_refused_and_why(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    (tmp_path / "file").touch()
    refused = {
        tmp_path / "full": "not empty",
        tmp_path / "file": "not a directory",
        tmp_path / "no" / "where": "does not exist",
    }
    for path, reason in refused.items():
        with pytest.raises(OutputError, match=reason) as caught:
            placing.check_directory(path, force=False)
        assert caught.value.hint
    placing.check_directory(tmp_path / "full", force=True)
    with pytest.raises(OutputError, match="is a directory"):
        placing.check_file(tmp_path / "full")
