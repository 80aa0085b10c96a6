"""Steps of a study that can be carried out in parts: what is left, the file of results, the end."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from studies import pages
from validation.ending import ending_in_order

Row = dict[str, Any]
_ATTEMPTS = 3
"""How often a step is tried at most that failed, or that the machine made invalid."""


class Keyed(Protocol):
    """A step."""

    @property
    def key(self) -> str:
        """Its name in the file of results."""


Step = TypeVar("Step", bound=Keyed)


@dataclass(frozen=True, kw_only=True)
class Steps(Generic[Step]):
    """The steps of a study and the file of their results, a line each."""

    wanted: Sequence[Step]
    file: Path
    is_done: Callable[[Row], bool]

    def load(self) -> list[Row]:
        """What was measured. A last line that was cut is left out: its step is done again."""
        if not self.file.exists():
            return []
        lines = self.file.read_text(encoding="utf-8").split("\n")
        if lines[-1]:
            self.file.write_text("".join(line + "\n" for line in lines[:-1]), encoding="utf-8")
        return [json.loads(line) for line in lines[:-1]]

    def left(self, rows: Sequence[Row]) -> list[Step]:
        """Steps not tried yet, or less than three times and never well."""
        tried = Counter(row["key"] for row in rows)
        done = {row["key"] for row in rows if self.is_done(row)}
        return [
            step for step in self.wanted if step.key not in done and tried[step.key] < _ATTEMPTS
        ]

    def measure(
        self,
        rows: Sequence[Row],
        carry_out: Callable[[Step], Row],
        is_over: Callable[[], bool],
    ) -> list[Row]:
        """Carries out what is left until the time is over; returns the results."""
        from trustbed.testbed import prepare

        prepare()
        self.file.parent.mkdir(parents=True, exist_ok=True)
        begun, left, found = time.monotonic(), self.left(rows), []
        with ending_in_order(), self.file.open("a", encoding="utf-8") as stream:
            for number, step in enumerate(left):
                if is_over():
                    break
                if sys.stderr.isatty():
                    progress = f"{number} of {len(left)} in {time.monotonic() - begun:.0f} s"
                    print(f"\r{progress}\x1b[K", end="", file=sys.stderr, flush=True)
                row = carry_out(step)
                stream.write(json.dumps(row) + "\n")
                stream.flush()
                found.append(row)
        return found

    def conclude(
        self, rows: Sequence[Row], text: str, name: str, options: argparse.Namespace
    ) -> int:
        """Writes or prints the page; 0 when all steps are done, else 1."""
        missing = len(self.left(rows))
        if options.print or (missing and not options.partial):
            print(text)
        else:
            pages.write(options.output, f"python -m studies {name}", text)
        count = len(self.wanted)
        print(f"{count - missing} of {count} steps done, {self.file}", file=sys.stderr)
        return 1 if missing else 0


def over_after(minutes: float) -> Callable[[], bool]:
    """Whether so many minutes have passed since now."""
    begun = time.monotonic()
    return lambda: time.monotonic() - begun >= minutes * 60


def failed(error: Exception) -> int:
    """Prints why a study cannot go on; its exit code."""
    print(f"error: {getattr(error, 'message', error)}", file=sys.stderr)
    hint = getattr(error, "hint", "the same command goes on with this step")
    print(f"hint: {hint}", file=sys.stderr)
    return 2


def add_page_options(parser: argparse.ArgumentParser, study: str) -> None:
    """Where the page goes, and whether steps may be missing."""
    add = parser.add_argument
    shown = f"studies/{study}/README.md"
    add("--output", type=Path, default=pages.page(study), help=f"the page (default: {shown})")
    add("--partial", action="store_true", help="write the page even though steps are missing")
    add("--print", action="store_true", help="print the page instead")
