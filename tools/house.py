"""Sizes that the project keeps: bytes of source, widths, untyped records, lines of the first pages.

``make house`` prints each figure beside its bound and fails when one is missed. What is counted is
what git tracks, so that nothing that was built or downloaded counts. Beside them stands how long
the last whole ``make test`` took, which that wrote down itself.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("crates", "python", "tests", "validation", "bench", "tools", "studies")
SOURCE = {".rs", ".py", ".j2", ".css", ".js"}
"""Rust, Python, and the templates, styles and scripts of reports; no data and no snapshots."""
BEFORE_BYTES = 7_627_791
"""The same of commit 6cdd8a3, where this count begins."""
SHRINK = 0.12
BEFORE_BARE_BYTES = 5_992_048
"""The same without white space."""
BEFORE_FORMATTED_BYTES = 7_949_730
"""The same once formatted to width 100: layout alone moves the count of bytes."""
WIDTH = 100
TEST_STAMP = ROOT / ".venv" / "ready" / "test"
"""What ``make test`` leaves once everything passed: its seconds, and on how many cores."""
TEST_MINUTES = 12
"""What ``make test`` may take where everything is built."""
TEST_CORES = 2
PRAGMA = re.compile(r"\s+# (?:noqa|type: ignore)\b.*$")
UNTYPED = re.compile(r"\bdict\[str, (?:Any|object)\]")


@dataclass(frozen=True)
class Figure:
    """A figure and what it may be at most."""

    name: str
    value: float
    bound: float
    unit: str = ""

    @property
    def holds(self) -> bool:
        """Whether it is within its bound."""
        return self.value <= self.bound

    def __str__(self) -> str:
        mark = "ok  " if self.holds else "OVER"
        return f"{mark} {self.name}: {self.value:,g}{self.unit} of {self.bound:,g}{self.unit}"


def tracked(*directories: str) -> Iterator[Path]:
    """The files below the directories that git tracks and that are there."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *directories],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    names = (name for name in listed.stdout.split("\0") if name)
    return (path for name in names if (path := ROOT / name).is_file())


def source() -> list[Path]:
    """Everything that counts as source."""
    return [path for path in tracked(*ROOMS) if path.suffix in SOURCE]


def bare_bytes(files: list[Path]) -> int:
    """Their bytes without white space, which no formatter changes by much."""
    return sum(len(b"".join(path.read_bytes().split())) for path in files)


def lines(path: Path) -> list[str]:
    """A file's lines."""
    return path.read_text(encoding="utf-8").splitlines()


def untyped(files: list[Path]) -> int:
    """Annotations of the product that say no more of a record than that it has keys."""
    product = [path for path in files if path.is_relative_to(ROOT / "python" / "trustbed")]
    return sum(len(UNTYPED.findall(path.read_text(encoding="utf-8"))) for path in product)


def long_lines(files: list[Path]) -> list[str]:
    """Where lines of Python and Rust are too long.

    An address on a line of its own may be; a linter's pragma at the end does not count, as in ruff.
    """
    found = []
    for path in files:
        if path.suffix in {".py", ".rs"}:
            for number, line in enumerate(lines(path), 1):
                text = PRAGMA.sub("", line)
                if len(text) > WIDTH and not re.fullmatch(r"\W*<?https?://\S+", text):
                    found.append(f"{path.relative_to(ROOT)}:{number}")
    return found


def last_test(stamp: Path) -> Figure | None:
    """How long the last whole ``make test`` took, or nothing if none has passed here."""
    if not stamp.is_file():
        return None
    seconds, cores = map(int, stamp.read_text(encoding="ascii").split())
    name = f"make test, built, on {cores} cores"
    if cores != TEST_CORES:
        name += f" (the bound is for {TEST_CORES})"
    return Figure(name, round(seconds / 60, 1), TEST_MINUTES, " min")


def figures() -> list[Figure]:
    """All figures, in the order in which they are printed."""
    files = source()
    megabyte = 1e6
    return [
        Figure(
            "source (*.rs, *.py, *.j2, *.css, *.js)",
            round(sum(path.stat().st_size for path in files) / megabyte, 3),
            round(BEFORE_BYTES * (1 - SHRINK) / megabyte, 3),
            " MB",
        ),
        Figure("dict[str, Any] and dict[str, object] in python/trustbed", untyped(files), 30),
        Figure(f"lines longer than {WIDTH} columns", len(long_lines(files)), 0),
        Figure("lines of README.md", len(lines(ROOT / "README.md")), 120),
        Figure("lines of ARCHITECTURE.md", len(lines(ROOT / "ARCHITECTURE.md")), 130),
    ]


def main() -> int:
    """Prints the figures, and the long lines if there are any."""
    found = figures()
    if (took := last_test(TEST_STAMP)) is not None:
        found.append(took)
    for figure in found:
        print(figure)
    if took is None:
        print(f"     make test, built, on {TEST_CORES} cores: not run yet of {TEST_MINUTES} min")
    bare = bare_bytes(source())
    before, formatted = BEFORE_BARE_BYTES / 1e6, BEFORE_FORMATTED_BYTES / 1e6
    change = f"{bare / BEFORE_BARE_BYTES - 1:+.1%}"
    print(f"     without white space: {bare / 1e6:.3f} MB, at 6cdd8a3 {before:.3f} MB ({change})")
    print(f"     with it, 6cdd8a3 formatted to width {WIDTH}: {formatted:.3f} MB")
    for line in long_lines(source())[:20]:
        print(f"     {line}")
    return 0 if all(figure.holds for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main())
