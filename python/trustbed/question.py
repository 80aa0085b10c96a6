"""What was asked of a capture: its files, what the person knows about it, and how to read it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Place: TypeAlias = Literal["sender", "receiver", "middle"]
Workload: TypeAlias = Literal["bulk", "interactive"]

STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One analysis as it was asked for. ``capacity`` is in bit/s; ``None`` is "not known"."""

    files: tuple[str, ...]
    at: Place | None = None
    workload: Workload | None = None
    capacity: int | None = None
    inner: bool = False
    dedup: bool = False
    samples: bool = False
    workers: int = 1

    @property
    def name(self) -> str:
        """The capture in a word or two: its file, or its first file and how many more."""
        first = "standard input" if self.files[0] == STANDARD_INPUT else Path(self.files[0]).name
        return first if len(self.files) == 1 else f"{first} and {len(self.files) - 1} more"

    @property
    def repeatable(self) -> bool:
        """Whether the files can be read a second time."""
        return STANDARD_INPUT not in self.files and all(Path(file).is_file() for file in self.files)


def files_of(captures: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """One path or several as strings."""
    if isinstance(captures, (str, os.PathLike)):
        captures = [captures]
    files = tuple(os.fspath(capture) for capture in captures)
    if not files:
        raise ValueError("no capture given")
    return files


def available_cores() -> int:
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
