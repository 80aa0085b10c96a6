"""A run directory is consistent whenever its writer is killed; a resumed run ends the same."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Refuses
from trustbed.report.placing import whole_directory, whole_file
from trustbed.run.directory import DONE, FINDINGS, MANIFEST, RunDirectory, RunDirectoryError
from trustbed.run.owned_directory import write_whole

REPETITIONS = ("rep-000", "rep-001")


class Killed(BaseException):
    """The process is gone: nothing that it would still do reaches the disk."""


class Bomb:
    """Ends everything at the n-th change of the file system, every clean-up included.

    With a full disk instead, that change and all later ones fail that need room.
    """

    CHANGES = frozenset({"os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"})
    NEEDS_ROOM = frozenset({"os.mkdir", "os.rename"})

    def __init__(self) -> None:
        self.left: int | None = None
        self.seen = 0
        self.fills = False
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.left is None:
            return
        writes = (
            event == "open"
            and isinstance(arguments[2], int)
            and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR))
        )
        if event in self.CHANGES or writes:
            self.seen += 1
            if self.left > 0:
                self.left -= 1
            elif not self.fills:
                raise Killed
            elif writes or event in self.NEEDS_ROOM:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    @contextmanager
    def after(self, changes: int, *, fills: bool = False) -> Iterator[None]:
        self.left, self.seen, self.fills = changes, 0, fills
        try:
            yield
        finally:
            self.left = None


BOMB = Bomb()


@pytest.fixture(autouse=True, scope="module")
def _no_waiting_for_the_disk() -> Iterator[None]:
    """Flushing is for machines that crash; nothing here can see it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def carry_out(directory: RunDirectory) -> None:
    """A run in small: begins or continues, and does what is missing."""
    with directory.locked():
        if not directory.exists:
            directory.begin({"name": "run"}, "scenario", {"kernel": "x"})
        for repetition in REPETITIONS:
            if not directory.is_complete(repetition):
                path = directory.begin_repetition(repetition)
                assert all(
                    list((path / name).iterdir()) == []
                    for name in ("captures", "samples", "ledger", "logs")
                )
                (path / "logs" / "first").write_text(repetition)
                (path / "captures" / "second").write_text(repetition)
                directory.finish_repetition(
                    repetition, {"outcome": "complete", "directory": repetition}
                )
            if not directory.is_judged(repetition):
                with directory.judging(repetition) as tables:
                    (tables / "table").write_text(repetition)
                directory.write_findings(repetition, {"findings": [repetition]})


def content(path: Path) -> dict[str, str]:
    return {
        str(file.relative_to(path)): file.read_text()
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def check(directory: RunDirectory) -> None:
    """What must hold at every moment."""
    if directory.exists:
        assert directory.manifest() == {"name": "run"}
        assert (directory.path / "scenario.toml").read_text() == "scenario"
        assert json.loads((directory.path / "host.json").read_text()) == {"kernel": "x"}
    for repetition in REPETITIONS:
        if directory.is_complete(repetition):
            assert (directory.path / repetition / "captures" / "second").read_text() == repetition
            assert directory.record(repetition) == {
                "outcome": "complete",
                "directory": repetition,
            }
        if directory.is_judged(repetition):
            assert directory.is_complete(repetition)
            assert directory.findings(repetition) == {"findings": [repetition]}
            assert (directory.path / repetition / "tables" / "table").read_text() == repetition


def undisturbed() -> tuple[dict[str, str], int]:
    with tempfile.TemporaryDirectory() as repetition, BOMB.after(10**6):
        carry_out(RunDirectory(Path(repetition) / "run"))
        changes = BOMB.seen
        return content(Path(repetition) / "run"), changes


@settings(max_examples=80)
@given(st.lists(st.integers(0, 80), max_size=4))
def test_a_run_killed_at_any_moments_ends_like_one_that_was_not(kills: list[int]) -> None:
    wanted, _ = undisturbed()
    with tempfile.TemporaryDirectory() as repetition:
        directory = RunDirectory(Path(repetition) / "run")
        for changes in kills:
            try:
                with BOMB.after(changes):
                    carry_out(directory)
            except Killed:
                pass
            check(directory)
        carry_out(directory)
        assert content(directory.path) == wanted


def test_the_bomb_reaches_every_change_and_no_single_one_leaves_a_half(tmp_path: Path) -> None:
    wanted, changes = undisturbed()
    assert changes > 40
    for moment in range(changes):
        directory = RunDirectory(tmp_path / str(moment))
        with pytest.raises(Killed), BOMB.after(moment):
            carry_out(directory)
        check(directory)
        carry_out(directory)
        assert content(directory.path) == wanted


def test_a_disk_that_is_full_from_any_change_on_leaves_no_half(tmp_path: Path) -> None:
    wanted, changes = undisturbed()
    failed = 0
    for moment in range(changes):
        directory = RunDirectory(tmp_path / str(moment))
        try:
            with BOMB.after(moment, fills=True):
                carry_out(directory)
        except (OSError, RunDirectoryError):
            failed += 1
        check(directory)
        carry_out(directory)
        assert content(directory.path) == wanted
    assert failed > changes / 2, "removing needs no room, the rest does"


def test_a_killed_process_can_be_followed_at_once(tmp_path: Path) -> None:
    code = "import sys, os, signal, pathlib\nfrom trustbed.run.directory import RunDirectory\n" + (
        "d = RunDirectory(pathlib.Path(sys.argv[1]))\nwith d.locked():\n    d.begin({}, "
        "'', {})\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    assert (
        subprocess.run([sys.executable, "-c", code, str(tmp_path / "run")], check=False).returncode
        == -9
    )
    with RunDirectory(tmp_path / "run").locked():
        pass


def test_two_runs_do_not_share_a_directory(tmp_path: Path, refuses: Refuses) -> None:
    with (
        RunDirectory(tmp_path).locked(),
        refuses(RunDirectoryError),
        RunDirectory(tmp_path).locked(),
    ):
        pass


def test_files_of_others_are_left_alone(tmp_path: Path, refuses: Refuses) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with refuses(RunDirectoryError):
        RunDirectory(tmp_path).begin({}, "", {})
    with refuses(RunDirectoryError):
        RunDirectory(tmp_path / "thesis.tex").begin({}, "", {})


@pytest.mark.parametrize(
    ("name", "message"), [(".", "something else"), ("thesis.tex", "not a directory")]
)
def test_a_directory_that_belongs_to_others_is_not_even_locked(
    tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(RunDirectoryError, match=message), RunDirectory(tmp_path / name).locked():
        pass
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_complete_repetition_is_never_written_again(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    carry_out(directory)
    with pytest.raises(AssertionError, match="written once"):
        directory.begin_repetition(REPETITIONS[0])


def test_judging_again_replaces_the_tables_and_keeps_the_raw_part(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    carry_out(directory)
    with directory.judging(REPETITIONS[0]) as tables:
        (tables / "other").write_text("new")
        assert not directory.is_judged(REPETITIONS[0])
    directory.write_findings(REPETITIONS[0], {"findings": []})
    assert [file.name for file in (directory.path / REPETITIONS[0] / "tables").iterdir()] == [
        "other"
    ]
    assert (directory.path / REPETITIONS[0] / "logs" / "first").read_text() == REPETITIONS[0]


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_file_that_is_no_manifest_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(RunDirectoryError, match="manifest"):
        RunDirectory(tmp_path).manifest()


def test_a_directory_without_a_run_is_an_error(tmp_path: Path, refuses: Refuses) -> None:
    assert not RunDirectory(tmp_path).exists
    with refuses(RunDirectoryError):
        RunDirectory(tmp_path).manifest()


def test_markers_have_the_names_that_are_documented() -> None:
    assert (DONE, FINDINGS, MANIFEST) == ("done", "findings.json", "manifest.json")


@contextmanager
def _disk_writes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    """What is flushed and what is renamed, in order, by name."""
    seen: list[tuple[str, str]] = []
    fsync, replace = os.fsync, Path.replace

    def flushed(descriptor: int) -> None:
        seen.append(("flush", Path(f"/proc/self/fd/{descriptor}").readlink().name))
        fsync(descriptor)

    def renamed(path: Path, to: Path) -> Path:
        seen.append(("rename", Path(to).name))
        return replace(path, to)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", flushed)
        patched.setattr(Path, "replace", renamed)
        yield seen


def test_a_file_is_on_the_disk_before_it_has_its_name_and_its_name_before_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with _disk_writes(monkeypatch) as seen:
        write_whole(folder / "name", "text")
    assert seen == [("flush", "name.partial"), ("rename", "name"), ("flush", "folder")]


def test_a_report_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with _disk_writes(monkeypatch) as seen, whole_file(folder / "page.html") as stream:
        stream.write("page")
    assert [kind for kind, _ in seen] == ["flush", "rename", "flush"]
    assert seen[1:] == [("rename", "page.html"), ("flush", "folder")]
    with _disk_writes(monkeypatch) as seen, whole_directory(folder / "tables") as directory:
        (directory / "one.parquet").write_bytes(b"rows")
    assert ("flush", "one.parquet") in seen[: seen.index(("rename", "tables"))]
    assert seen[-1] == ("flush", "folder")


def test_a_repetition_is_on_the_disk_before_it_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = RunDirectory(tmp_path / "run")
    directory.path.mkdir()
    raw = directory.begin_repetition("rep-000")
    (raw / "ledger" / "rows").write_bytes(b"rows")
    with _disk_writes(monkeypatch) as seen:
        directory.finish_repetition("rep-000", {"outcome": "complete"})
    marked = seen.index(("rename", DONE))
    assert {("flush", "rows"), ("flush", "ledger"), ("flush", "run")} <= set(seen[:marked])
    assert ("flush", "rep-000") in seen[marked:]


def test_who_asks_whether_a_run_is_at_work_holds_nobody_up(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    with directory.locked():
        assert directory.is_held
        directory.path.joinpath("kept").touch()
    with (directory.path / ".lock").open() as other:
        fcntl.flock(other, fcntl.LOCK_SH)  # as somebody who asks does
        assert not directory.is_held
