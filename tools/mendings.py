"""`python -m tools.mendings`: takes each mending of `mendings.toml` away, and sees its test fail.

In a working tree of its own, below build/, with the engine that is installed. A test must pass with
the mending first; without it, it must fail, or take so much longer that it is stopped. Exits with 1
where one does not, and prints its name; `python -m tools.mendings 7 12` tries those rows only.

A mending in Rust is tried by tests in Rust: Python's would need another engine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
TREE = ROOT / "build" / "mendings"
LONGER, SHORTEST_LIMIT = 10, 20.0
"""A test that takes so many times as long is stopped, after so many seconds at least."""
MEMORY = 8 << 30
"""Address space of a test in bytes: what is bounded with a mending may not be without."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mending:
    """A mending: what is there ``now`` in ``file``, what was there ``before``, and its test."""

    row: str
    file: str
    now: str
    before: str
    suite: str
    test: str

    def taken_away(self, tree: Path) -> str:
        """The file of a tree without it.

        Raises:
            ValueError: The text is not there, or not once.
        """
        text = (tree / self.file).read_text(encoding="utf-8")
        if text.count(self.now) != 1:
            raise ValueError(f"{self.file} has {self.now.strip()!r} {text.count(self.now)} times")
        return text.replace(self.now, self.before)

    def command(self) -> list[str]:
        """What runs its test."""
        if self.suite == "pytest":
            words = self.test.split()
            python = ["prlimit", f"--as={MEMORY}", sys.executable]
            return [*python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *words]
        return ["cargo", "test", "--quiet", "--locked", "--package", self.suite, self.test]

    def build(self) -> None:
        """Builds its test, so that its time is not that of a compiler."""
        if self.suite != "pytest":
            words = ["cargo", "test", "--quiet", "--locked", "--package", self.suite, "--no-run"]
            subprocess.run(words, cwd=TREE, env=_environment(), check=True)

    def run(self, seconds: float | None = None) -> tuple[bool, float]:
        """Whether its test passes, within the time, and how long that took."""
        self.build()
        began = time.monotonic()
        try:
            ended = subprocess.run(
                self.command(),
                cwd=TREE,
                env=_environment(),
                capture_output=True,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False, time.monotonic() - began
        return ended.returncode == 0, time.monotonic() - began


def _environment() -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(TREE / "python"),
        "CARGO_TARGET_DIR": str(ROOT / "build" / "mendings-target"),
    }


def mendings() -> list[Mending]:
    """All of them, by row."""
    table = tomllib.loads((Path(__file__).with_suffix(".toml")).read_text(encoding="utf-8"))
    return [Mending(**one) for one in table["mending"]]


def tried(one: Mending) -> str | None:
    """Why a mending is not held by its test; ``None`` where it is."""
    path = TREE / one.file
    kept = path.read_text(encoding="utf-8")
    passes, took = one.run()
    if not passes:
        return "its test fails with the mending, too"
    try:
        path.write_text(one.taken_away(TREE), encoding="utf-8")
        passes, without = one.run(max(LONGER * took, SHORTEST_LIMIT))
    finally:
        path.write_text(kept, encoding="utf-8")
    if passes:
        return f"its test passes without it, in {without:.1f} s instead of {took:.1f}"
    return None


def main() -> int:
    """Tries those that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="numbers of rows; all by default")
    options = parser.parse_args()
    chosen = [one for one in mendings() if not options.rows or one.row.split()[0] in options.rows]
    _git("worktree", "prune")
    if TREE.is_dir():
        shutil.rmtree(TREE)
        _git("worktree", "prune")
    _git("worktree", "add", "--detach", "--force", str(TREE), "HEAD")
    package = Path("python") / "trustbed"
    shutil.copy(ROOT / package / "_core.abi3.so", TREE / package)
    shutil.copytree(ROOT / package / "bin", TREE / package / "bin", dirs_exist_ok=True)
    failed = 0
    try:
        for one in chosen:
            try:
                reason = tried(one)
            except (OSError, ValueError, subprocess.CalledProcessError) as error:
                reason = str(error)
            failed += reason is not None
            shown = "held" if reason is None else f"NOT HELD: {reason}"
            print(f"  {one.row}: {shown} ({one.test.rpartition('::')[2]})", flush=True)
    finally:
        _git("worktree", "remove", "--force", str(TREE))
    print(f"{len(chosen) - failed} of {len(chosen)} mendings are held by their tests")
    return 1 if failed else 0


def _git(*words: str) -> None:
    subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True)


if __name__ == "__main__":
    sys.exit(main())
