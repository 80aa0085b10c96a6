"""The run directory: the one contract between the half that makes data and the half that judges it.

    manifest.json  scenario.toml  host.json rep-000/captures  samples  ledger  logs  repetition.json
    raw, written once rep-000/done                                                 the marker: the
    raw part of this repetition is complete rep-000/tables  findings.json
    derived, can be made again

Whatever moment the writer is killed at, a repetition with its marker is whole, and one without is
begun again from nothing. Files that replace others are written beside them and renamed. Does not
decide what goes into a repetition.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trustbed.run import former
from trustbed.run.owned_directory import (
    MANIFEST,
    REPORT,
    OwnedDirectory,
    RunDirectoryError,
    as_text,
    flush,
    flush_tree,
    write_whole,
)

__all__ = [
    "MANIFEST",
    "REPORT",
    "RunDirectory",
    "RunDirectoryError",
    "open_directory",
    "write_whole",
]

SCENARIO, HOST, DONE, RECORD = "scenario.toml", "host.json", "done", "repetition.json"
RAW_FOLDERS = ("captures", "samples", "ledger", "logs")
TABLES, FINDINGS = "tables", "findings.json"


class RunDirectory(OwnedDirectory):
    """A directory that holds a run, or will."""

    kind = "run"
    maker = "trustbed run"
    again = "run into a new directory"

    def is_ours(self, name: str) -> bool:
        """Whether a run has made something of that name."""
        return name in (SCENARIO, HOST) or (
            name.startswith("rep-") and name.removeprefix("rep-").isdecimal()
        )

    def begin(self, manifest: Mapping[str, Any], scenario: str, host: Mapping[str, Any]) -> None:
        """Makes the directory a run directory. Files of others in it are an error."""
        self.begin_directory(manifest, {SCENARIO: scenario, HOST: as_text(host)})

    # Repetitions.

    def repetition(self, name: str) -> Path:
        """Where a repetition is, or will be."""
        return self.path / name

    def is_complete(self, name: str) -> bool:
        """Whether its raw part is whole."""
        return (self.path / name / DONE).is_file()

    def is_judged(self, name: str) -> bool:
        """Whether its derived part is whole."""
        return (self.path / name / FINDINGS).is_file()

    def begin_repetition(self, name: str) -> Path:
        """An empty directory for a repetition; what a killed run left in its place is removed."""
        path = self.path / name
        if self.is_complete(name):
            raise AssertionError(f"{name} is complete: raw data are written once")
        if path.exists():
            shutil.rmtree(path)
        for name in RAW_FOLDERS:
            (path / name).mkdir(parents=True)
        return path

    def finish_repetition(self, name: str, record: Mapping[str, Any]) -> None:
        """Writes what happened, makes sure that everything is on the disk, and sets the marker."""
        path = self.path / name
        write_whole(path / RECORD, as_text(record))
        flush_tree(path)
        write_whole(path / DONE, as_text({"outcome": record.get("outcome")}))
        flush(path)

    def record(self, name: str) -> dict[str, Any]:
        """What happened in a complete repetition."""
        found: dict[str, Any] = former.keys(
            json.loads((self.path / name / RECORD).read_text(encoding="utf-8"))
        )
        return found

    @contextmanager
    def judging(self, name: str) -> Iterator[Path]:
        """A directory for derived tables, which replaces the earlier one when the block succeeds.

        Findings come last.
        """
        path = self.path / name
        (path / FINDINGS).unlink(missing_ok=True)
        partial = path / (TABLES + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        yield partial
        shutil.rmtree(path / TABLES, ignore_errors=True)
        partial.replace(path / TABLES)

    def write_findings(self, name: str, findings: Mapping[str, Any]) -> None:
        """The last step of judging."""
        write_whole(self.path / name / FINDINGS, as_text(findings))

    def findings(self, name: str) -> dict[str, Any]:
        """What was found in a judged repetition."""
        found: dict[str, Any] = json.loads(
            (self.path / name / FINDINGS).read_text(encoding="utf-8")
        )
        return found


def open_directory(path: Path, *, must_exist: bool) -> RunDirectory:
    """The directory of a run; ``must_exist`` for those who want to continue one."""
    directory = RunDirectory(path)
    if must_exist and not directory.exists:
        raise RunDirectoryError(
            f"no run to continue, {path}",
            "leave --resume out to begin one, or name its directory with --out",
        )
    return directory
