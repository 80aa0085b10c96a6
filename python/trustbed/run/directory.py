"""The run directory: the contract between carrying out a run and judging it.

    manifest.json  scenario.toml  host.json
    rep-000/captures  samples  ledger  logs  repetition.json      raw, written once
    rep-000/done                                                  marker: the raw part is complete
    rep-000/tables  findings.json                                 derived, can be computed again

A repetition with its marker is complete, whenever the writer was killed; one without is repeated
from scratch. Files that replace others are written beside them and renamed. What goes into a
repetition is decided elsewhere.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trustbed.disk import flush, flush_tree
from trustbed.run import former
from trustbed.run.owned_directory import (
    MANIFEST,
    REPORT,
    OwnedDirectory,
    RunDirectoryError,
    as_text,
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
    """The directory of a run, or of a run to be."""

    kind = "run"
    maker = "trustbed run"
    again = "run into a new directory"

    def is_ours(self, name: str) -> bool:
        """Whether a run writes files or directories of that name."""
        return name in (SCENARIO, HOST) or (
            name.startswith("rep-") and name.removeprefix("rep-").isdecimal()
        )

    def begin(self, manifest: Mapping[str, Any], scenario: str, host: Mapping[str, Any]) -> None:
        """Creates the run directory. Files that do not belong to it are an error."""
        self.begin_directory(manifest, {SCENARIO: scenario, HOST: as_text(host)})

    def beside(self) -> Path:
        """The directory of the scenario that was run, where the files are that it names."""
        scenario = self.manifest().get("scenario")
        named = scenario.get("beside") if isinstance(scenario, dict) else None
        return self.path / named if isinstance(named, str) else self.path

    # Repetitions.

    def repetition(self, name: str) -> Path:
        """The path of a repetition."""
        return self.path / name

    def is_complete(self, name: str) -> bool:
        """Whether the raw part of a repetition is complete."""
        return (self.path / name / DONE).is_file()

    def is_judged(self, name: str) -> bool:
        """Whether the derived part of a repetition is complete."""
        return (self.path / name / FINDINGS).is_file()

    def begin_repetition(self, name: str) -> Path:
        """Creates an empty directory for a repetition; removes what a killed run left of it."""
        path = self.path / name
        if self.is_complete(name):
            raise AssertionError(f"{name} is complete: raw data are written once")
        if path.exists():
            shutil.rmtree(path)
        for name in RAW_FOLDERS:
            (path / name).mkdir(parents=True)
        return path

    def finish_repetition(self, name: str, record: Mapping[str, Any]) -> None:
        """Writes the record, flushes everything to the disk, and sets the marker."""
        path = self.path / name
        write_whole(path / RECORD, as_text(record))
        flush_tree(path)
        flush(self.path)
        write_whole(path / DONE, as_text({"outcome": record.get("outcome")}))

    def record(self, name: str) -> dict[str, Any]:
        """The record of a complete repetition, under today's keys."""
        found: dict[str, Any] = former.keys(
            json.loads((self.path / name / RECORD).read_text(encoding="utf-8"))
        )
        return found

    @contextmanager
    def judging(self, name: str) -> Iterator[Path]:
        """A directory for derived tables, which replaces the earlier one when the block succeeds.

        Findings are written afterwards.
        """
        path = self.path / name
        (path / FINDINGS).unlink(missing_ok=True)
        partial = path / (TABLES + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        yield partial
        flush_tree(partial)
        shutil.rmtree(path / TABLES, ignore_errors=True)
        partial.replace(path / TABLES)
        flush(path)

    def write_findings(self, name: str, findings: Mapping[str, Any]) -> None:
        """Writes the findings, the last step of judging."""
        write_whole(self.path / name / FINDINGS, as_text(findings))

    def findings(self, name: str) -> dict[str, Any]:
        """The findings of a judged repetition."""
        found: dict[str, Any] = json.loads(
            (self.path / name / FINDINGS).read_text(encoding="utf-8")
        )
        return found


def open_directory(path: Path, *, must_exist: bool) -> RunDirectory:
    """The directory of a run; with ``must_exist``, of one to continue."""
    directory = RunDirectory(path)
    if must_exist and not directory.exists:
        raise RunDirectoryError(
            f"no run to continue, {path}",
            "leave --resume out to begin one, or name its directory with --out",
        )
    return directory
