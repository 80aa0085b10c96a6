"""The run directory: the one contract between the half that makes data and the half that judges it.

    manifest.json  scenario.toml  host.json
    rep-000/captures  samples  ledger  logs  repetition.json     raw, written once
    rep-000/done                                                 the marker: the raw part of this repetition is complete
    rep-000/tables  findings.json                                derived, can be made again

Whatever moment the writer is killed at, a repetition with its marker is whole, and one without is begun again from nothing. Files that
replace others are written beside them and renamed. Does not decide what goes into a repetition.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

MANIFEST, SCENARIO, HOST, DONE, RECORD = "manifest.json", "scenario.toml", "host.json", "done", "repetition.json"
RAW_FOLDERS = ("captures", "samples", "ledger", "logs")
TABLES, FINDINGS, REPORT = "tables", "findings.json", "report.html"
_LOCK = ".lock"
_PARTIAL = ".partial"


class RunDirectoryError(Exception):
    """A run directory that cannot be used as asked."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class RunDirectory:
    """A folder that holds a run, or will."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def exists(self) -> bool:
        """Whether a run has begun here. The manifest is written last of what begins one."""
        return (self.path / MANIFEST).is_file()

    def begin(self, manifest: Mapping[str, Any], scenario: str, host: Mapping[str, Any]) -> None:
        """Makes the folder a run directory. Files of others in it are an error."""
        self._check_free()
        self.path.mkdir(parents=True, exist_ok=True)
        write_whole(self.path / SCENARIO, scenario)
        write_whole(self.path / HOST, _text(host))
        self.write_manifest(manifest)

    def _check_free(self) -> None:
        """Looks only: what belongs to others stays as it was."""
        if self.path.exists() and not self.path.is_dir():
            raise RunDirectoryError(f"exists and is not a folder, {self.path}", "give --out another name")
        strange = [entry.name for entry in self.path.iterdir() if not _ours(entry.name)] if self.path.exists() else []
        if strange:
            raise RunDirectoryError(f"folder holds something else, {self.path} ({sorted(strange)[0]})", "give --out another name")

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Puts a manifest in the place of the earlier one."""
        write_whole(self.path / MANIFEST, _text(manifest))

    def manifest(self) -> dict[str, Any]:
        """What the run is."""
        try:
            found = json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise RunDirectoryError(f"no run directory, {self.path}", "name one that trustbed run has made") from None
        except (OSError, ValueError) as error:
            raise RunDirectoryError(
                f"manifest cannot be read, {self.path / MANIFEST}: {error}", "restore it, or run into a new folder"
            ) from None
        if not isinstance(found, dict):
            raise RunDirectoryError(f"manifest is no object, {self.path / MANIFEST}", "restore it, or run into a new folder")
        return found

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One run at a time. The lock goes with the process that holds it, however that ends.

        A folder that was made for it, and in which nothing was begun then, is removed.
        """
        if not self.exists:
            self._check_free()
        is_new = not self.path.exists()
        self.path.mkdir(parents=True, exist_ok=True)
        lock = self.path / _LOCK
        with lock.open("a") as stream:
            if not _held(stream, lock):
                raise RunDirectoryError(f"another run is at work here, {self.path}", "wait for it, or give --out another name")
            try:
                yield
            finally:
                if is_new and [entry.name for entry in self.path.iterdir()] == [_LOCK]:
                    lock.unlink()
                    self.path.rmdir()

    # Repetitions.

    def repetition(self, folder: str) -> Path:
        """Where a repetition is, or will be."""
        return self.path / folder

    def is_complete(self, folder: str) -> bool:
        """Whether its raw part is whole."""
        return (self.path / folder / DONE).is_file()

    def is_judged(self, folder: str) -> bool:
        """Whether its derived part is whole."""
        return (self.path / folder / FINDINGS).is_file()

    def begin_repetition(self, folder: str) -> Path:
        """An empty folder for a repetition; what a killed run left in its place is removed."""
        path = self.path / folder
        if self.is_complete(folder):
            raise AssertionError(f"{folder} is complete: raw data are written once")
        if path.exists():
            shutil.rmtree(path)
        for name in RAW_FOLDERS:
            (path / name).mkdir(parents=True)
        return path

    def finish_repetition(self, folder: str, record: Mapping[str, Any]) -> None:
        """Writes what happened, makes sure that everything is on the disk, and sets the marker."""
        path = self.path / folder
        write_whole(path / RECORD, _text(record))
        for inside, _, names in os.walk(path):
            for name in names:
                _flush(Path(inside) / name)
            _flush(Path(inside))
        write_whole(path / DONE, _text({"outcome": record.get("outcome")}))
        _flush(path)

    def record(self, folder: str) -> dict[str, Any]:
        """What happened in a complete repetition."""
        found: dict[str, Any] = json.loads((self.path / folder / RECORD).read_text(encoding="utf-8"))
        return found

    @contextmanager
    def judging(self, folder: str) -> Iterator[Path]:
        """A folder for the derived tables, which replaces the earlier one when the block ends well. Findings come last."""
        path = self.path / folder
        (path / FINDINGS).unlink(missing_ok=True)
        partial = path / (TABLES + _PARTIAL)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        yield partial
        shutil.rmtree(path / TABLES, ignore_errors=True)
        partial.replace(path / TABLES)

    def write_findings(self, folder: str, findings: Mapping[str, Any]) -> None:
        """The last step of judging."""
        write_whole(self.path / folder / FINDINGS, _text(findings))

    def findings(self, folder: str) -> dict[str, Any]:
        """What was found in a judged repetition."""
        found: dict[str, Any] = json.loads((self.path / folder / FINDINGS).read_text(encoding="utf-8"))
        return found


def open_directory(path: Path, *, must_exist: bool) -> RunDirectory:
    """The directory of a run; ``must_exist`` for those who want to continue one."""
    directory = RunDirectory(path)
    if must_exist and not directory.exists:
        raise RunDirectoryError(f"no run to continue, {path}", "leave --resume out to begin one, or name its folder with --out")
    return directory


def write_whole(path: Path, text: str) -> None:
    """A text file that is there with all its content or not at all, after a crash of the machine too."""
    partial = path.with_name(path.name + _PARTIAL)
    with partial.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(path)


def _held(stream: IO[str], lock: Path) -> bool:
    """Takes a lock; false if somebody else has it, or has just removed it."""
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(stream.fileno()), lock.stat())
    except (BlockingIOError, FileNotFoundError):
        return False


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _ours(name: str) -> bool:
    known = (MANIFEST, SCENARIO, HOST, _LOCK, REPORT)
    return name.removesuffix(_PARTIAL) in known or (name.startswith("rep-") and name.removeprefix("rep-").isdecimal())
