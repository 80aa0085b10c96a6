"""The transfers that were made.

One file each, complete or not there, so that a run can be interrupted at any moment.

A directory belongs to one plan. Names of transfers are the same in every plan, so that those of
another plan would be mistaken for this one's; they can be read and judged, but not added to.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

VERSION = 1
_ENDING = ".json.gz"


class StoreError(Exception):
    """A directory that does not hold what it should. Has a ``hint``."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Store:
    """A directory of transfers, their stored captures, and the plan that they belong to."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def belong_to(self, plan: Mapping[str, Any]) -> None:
        """Claims the directory for the transfers of this plan.

        Raises an error if it holds those of another.
        """
        file = self._plan_file
        theirs = _plan(file) if file.is_file() else None
        if theirs is None and not self._holds_any:
            self.directory.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{json.dumps(dict(plan))}\n", encoding="utf-8")
        elif theirs != plan:
            words = (
                "an earlier plan"
                if theirs is None
                else f"another plan ({_words(theirs)}; this one is {_words(plan)})"
            )
            hint = (
                "give --directory another name, or remove the directory; --score-only judges what "
                "is there"
            )
            raise StoreError(f"{self.directory} holds transfers of {words}", hint)

    @property
    def _plan_file(self) -> Path:
        return self.directory / "plan.json"

    @property
    def _holds_any(self) -> bool:
        return next((self.directory / "transfers").glob(f"*{_ENDING}"), None) is not None

    @property
    def plan(self) -> dict[str, Any] | None:
        """The identity of the plan whose transfers it holds, if it is recorded."""
        return _plan(self._plan_file) if self._plan_file.is_file() else None

    def file(self, name: str) -> Path:
        """The file of a transfer."""
        return self.directory / "transfers" / f"{name}{_ENDING}"

    def captures(self, name: str) -> Path:
        """The directory of its captures, if they were stored."""
        return self.directory / "captures" / name

    def holds(self, name: str) -> bool:
        """Whether it was made, or found to be impossible."""
        return self.file(name).is_file()

    def write(self, stored: Mapping[str, Any]) -> None:
        """Adds a transfer, or replaces it."""
        file = self.file(stored["name"])
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(file.name + ".partial")
        text = json.dumps({"version": VERSION, **stored}, ensure_ascii=False, separators=(",", ":"))
        partial.write_bytes(gzip.compress(text.encode(), mtime=0))
        partial.replace(file)

    def remove(self, name: str) -> None:
        """Removes a transfer."""
        self.file(name).unlink(missing_ok=True)

    def read(self, name: str) -> dict[str, Any]:
        """A transfer that the store holds."""
        return _read(self.file(name))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Every transfer, in the order of their names."""
        for file in sorted((self.directory / "transfers").glob(f"*{_ENDING}")):
            yield _read(file)


def _plan(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(
            f"cannot be read, {file}: {error}",
            "give --directory another name, or remove the directory",
        ) from None
    return found if isinstance(found, dict) else {"plan": found}


def _words(plan: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in plan.items())


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(gzip.decompress(file.read_bytes()))
    except (OSError, EOFError, ValueError) as error:
        raise StoreError(
            f"transfer cannot be read, {file}: {error}", "remove it: the next run makes it again"
        ) from None
    if not isinstance(found, dict) or found.get("version") != VERSION:
        raise StoreError(
            f"transfer of another version, {file}",
            "give --directory another name, or remove the directory",
        )
    return found
