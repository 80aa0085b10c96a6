"""`python -m bench.before COMMIT [FILE…]`: CPU of the analysis now against that of a commit.

Builds the engine of the commit in a working tree of its own, below bench-data, and lets both sides
analyse the same captures in turns, in one process each with one worker: the recordings by default.
Prints the median of the ratios of neighbouring turns for each capture, and over all.

Bias: both sides are given plain captures that the file cache holds, so that neither unpacks or
waits for a disk; a ratio says nothing about either.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import IO

from bench.captures import DIRECTORY
from bench.process import ROOT

ROUNDS = 9
LEAST_SECONDS = 0.05
"""A turn repeats a capture until the first side took about this long."""
_SIDE = """
import sys, time
from trustbed import analyze

def once(file, count):
    begun = time.process_time()
    for _ in range(count):
        capture = analyze(file, workers=1)
        for _ in capture.stream("transfers"):
            pass
    return time.process_time() - begun

for line in sys.stdin:
    count, _, file = line.rstrip("\\n").partition(" ")
    print(once(file, int(count)), flush=True)
"""


class Side:
    """A process that analyses captures with the package of one tree."""

    def __init__(self, tree: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SIDE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree / "python")},
        )

    def seconds(self, file: Path, count: int) -> float:
        """CPU seconds of so many analyses of a capture."""
        pipe = self._pipe(self._process.stdin)
        pipe.write(f"{count} {file}\n")
        pipe.flush()
        return float(self._pipe(self._process.stdout).readline())

    def close(self) -> None:
        """Ends the process."""
        self._pipe(self._process.stdin).close()
        self._process.wait()

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe


def ratios(before: Side, now: Side, file: Path, rounds: int) -> list[float]:
    """CPU now over CPU before, of turns that follow each other."""
    first = max(before.seconds(file, 1), 1e-6)
    count = max(1, round(LEAST_SECONDS / first))
    now.seconds(file, 1)
    return [now.seconds(file, count) / before.seconds(file, count) for _ in range(rounds)]


def built(commit: str) -> Path:
    """The tree of a commit with its engine, built once for each commit."""
    name = _git("rev-parse", "--short=12", f"{commit}^{{commit}}")
    tree = DIRECTORY / "before" / name
    engine = tree / "python" / "trustbed" / "_core.abi3.so"
    if not engine.is_file():
        if tree.is_dir():
            shutil.rmtree(tree)
        _git("worktree", "prune")
        _git("worktree", "add", "--detach", str(tree), name)
        subprocess.run(
            ["cargo", "build", "--release", "--locked", "--quiet", "-p", "trustbed-py"],
            cwd=tree,
            env={**os.environ, "CARGO_TARGET_DIR": str(DIRECTORY / "before" / "target")},
            check=True,
        )
        shutil.copy(DIRECTORY / "before" / "target" / "release" / "lib_core.so", engine)
    return tree


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def _plain(files: Sequence[Path], directory: Path) -> Iterator[Path]:
    """The captures, unpacked where they are not."""
    for file in files:
        if file.suffix != ".gz":
            yield file.resolve()
            continue
        target = directory / file.stem
        with gzip.open(file, "rb") as source, target.open("wb") as copy:
            shutil.copyfileobj(source, copy)
        yield target


def main() -> int:
    """Runs what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", help="the commit to compare with")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_intermixed_args()
    files = options.files or sorted((ROOT / "recordings").glob("*.pcap.gz"))
    everything: list[float] = []
    DIRECTORY.mkdir(exist_ok=True)
    try:
        tree = built(options.commit)
    except subprocess.CalledProcessError as error:
        print(f"error: cannot build {options.commit}: {error.stderr or error}", file=sys.stderr)
        print("hint: name a commit of this repository that builds here", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(dir=DIRECTORY) as directory:
        before, now = Side(tree), Side(ROOT)
        for file in _plain(files, Path(directory)):
            found = ratios(before, now, file, options.rounds)
            everything.append(median(found))
            print(f"  {median(found):5.2f}  {file.name}", flush=True)
        before.close()
        now.close()
    print(
        f"CPU now over CPU of {options.commit}: median {median(everything):.2f}, "
        f"{min(everything):.2f} to {max(everything):.2f}, {len(everything)} captures"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
