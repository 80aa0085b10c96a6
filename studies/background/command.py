"""`python -m studies background`.

Carries out the scenarios of examples/background in turn, and writes what was found beside what was
published.

Every scenario gets some rounds before any of them gets the next ones, so that a run that ends early
has something of each. The same command continues. An interrupted repetition is carried out again.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from studies.background import page, results
from studies.background.figures import FIGURES, Runs
from trustbed.run.directory import RunDirectoryError
from validation import captures
from validation.ending import ending_in_order

NAME = "background"
REPETITIONS = 10
PASSES = (2, 3, 4, 6)
"""After so many rounds of every scenario the next ones begin."""
_END_SECONDS = 120.0


def main(arguments: Sequence[str]) -> int:
    """Runs the command: 0 when everything is measured, 1 when something is left, 2 on failure."""
    options = _parse(arguments)
    files = [
        file
        for figure in FIGURES
        for file in figure.files
        if not options.only or file in options.only
    ]
    options.directory.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    failed = False
    if options.budget > 0:
        with ending_in_order():
            for file, rounds in planned(files, options.repetitions):
                left = options.budget - (time.monotonic() - begun)
                if left <= 0:
                    break
                code = _run(
                    options.scenarios / f"{file}.toml", options.directory / file, rounds, left
                )
                failed = failed or code not in (0, None)
    return 2 if failed else _conclude(files, options)


def planned(files: Sequence[str], repetitions: int) -> Iterator[tuple[str, int]]:
    """Which scenario is carried out until how many rounds, in order."""
    for rounds in (*(one for one in PASSES if one < repetitions), repetitions):
        yield from ((file, rounds) for file in files)


def _run(scenario: Path, directory: Path, rounds: int, seconds: float) -> int | None:
    """Carries a scenario out; its exit code, or ``None`` if the time was over."""
    command = [sys.executable, "-m", "trustbed", "run", str(scenario), "--out", str(directory)]
    command += ["--repetitions", str(rounds), "--quiet", "--no-report"]
    with subprocess.Popen(command) as child:
        try:
            return child.wait(seconds)
        except BaseException as error:
            child.send_signal(signal.SIGINT)
            child.wait(_END_SECONDS)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            return None


def _conclude(files: Sequence[str], options: argparse.Namespace) -> int:
    runs: dict[str, results.Results] = {}
    for file in files:
        try:
            runs[file] = results.read(options.directory / file)
        except RunDirectoryError as error:
            if (options.directory / file).exists():
                print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
                return 2
    text = page_of({file: one.cells for file, one in runs.items()}, _uses(files, runs))
    if options.print:
        print(text, end="")
    else:
        options.output.write_text(text, encoding="utf-8")
    left = [
        file
        for file in files
        if file not in runs or runs[file].complete < options.repetitions * len(runs[file].cells)
    ]
    done = f"{len(files) - len(left)} of {len(files)} scenarios are complete"
    print(f"{done}, {options.directory}", file=sys.stderr)
    return 1 if left else 0


def page_of(runs: Runs, uses: Sequence[tuple[str, str]]) -> str:
    """The page of what was measured; figures without a run are in it, as not measured."""
    every: Runs = {file: runs.get(file, ()) for figure in FIGURES for file in figure.files}
    compared = [(figure, figure.compare(every)) for figure in FIGURES]
    return page.render(compared, command=f"python -m studies {NAME}", uses=uses)


def _uses(files: Sequence[str], runs: dict[str, results.Results]) -> list[tuple[str, str]]:
    return [
        (file, f"{runs[file].used} of {runs[file].complete}" if file in runs else "none")
        for file in files
    ]


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    root = captures.project()
    examples = root / "examples" / NAME
    parser = argparse.ArgumentParser(
        prog=f"python -m studies {NAME}", description=(__doc__ or "").split("\n\n", 1)[1]
    )
    add = parser.add_argument
    add(
        "--directory",
        type=Path,
        default=root / "build" / NAME,
        help=f"where the runs are kept (default: build/{NAME})",
    )
    add(
        "--repetitions",
        type=_count,
        default=REPETITIONS,
        help=f"rounds of every scenario (default: {REPETITIONS})",
    )
    add(
        "--budget",
        type=float,
        default=float("inf"),
        metavar="SECONDS",
        help="end after so many seconds; 0 only renders (default: no limit)",
    )
    add("--only", nargs="+", metavar="FILE", help="these scenarios only, without .toml")
    add("--scenarios", type=Path, default=examples, help=f"default: examples/{NAME}")
    add(
        "--output",
        type=Path,
        default=examples / "results.md",
        help=f"the page (default: examples/{NAME}/results.md)",
    )
    add("--print", action="store_true", help="print the page instead")
    options = parser.parse_args(arguments)
    known = [file for figure in FIGURES for file in figure.files]
    for file in options.only or ():
        if file not in known:
            parser.error(f"--only: {file} is none of {', '.join(known)}")
    return options


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("give at least 1")
    return number
