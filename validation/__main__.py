"""`python -m validation`.

Compares trustbed with tcptrace and tshark on every capture and writes its section of
docs/validation.md.

`python -m validation NAME …` is another command, most of which write a section of that page: see
`PARTS`.
"""

import argparse
import fnmatch
import importlib
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from validation import captures, document, sections
from validation.run import Outcome, outcomes

NAME = "agreement"
PARTS = {
    "provenance": "validation.provenance",
    "truth": "validation.truth.command",
    "external": "validation.external.command",
    "traffic": "validation.traffic.command",
}
"""Other commands, by the module whose `main` takes the words behind their name."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    0 when enough is equal or explained, 1 when not, 2 when nothing could be compared.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] in PARTS:
        return int(importlib.import_module(PARTS[words[0]]).main(words[1:]))
    options = _parse(words)
    sources = [
        s
        for s in captures.sources()
        if not options.only or any(fnmatch.fnmatch(s.name, f"*{glob}*") for glob in options.only)
    ]
    if not sources:
        print("error: no captures to compare", file=sys.stderr)
        print(
            "hint: set TRUSTBED_TRACES to a directory of captures, or check --only", file=sys.stderr
        )
        return 2
    found = _run(sources, options.workers)
    text = document.render(found)
    if options.output is None:
        sys.stdout.write(text)
    else:
        sections.write(options.output, NAME, "make validate", text)
    return _verdict(found, options.output)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m validation", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="GLOB",
        help="captures whose name contains this (repeatable); prints instead of writing",
    )
    parser.add_argument(
        "--output",
        type=Path,
        help="where the page goes (default: docs/validation.md, or standard output with --only)",
    )
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count() or 1, help="processes (default: one per core)"
    )
    options = parser.parse_args(arguments)
    if options.output is None and not options.only:
        options.output = captures.project() / "docs" / "validation.md"
    return options


def _run(sources: list[captures.Source], workers: int) -> list[Outcome]:
    """Outcomes in the order of the names. The largest captures begin first."""
    order = sorted(range(len(sources)), key=lambda index: -sources[index].path.stat().st_size)
    by_index: dict[int, list[Outcome]] = {}
    with ProcessPoolExecutor(max_workers=workers) as pool:
        for count, (index, result) in enumerate(
            zip(order, pool.map(outcomes, [sources[i] for i in order]), strict=True), 1
        ):
            by_index[index] = result
            if sys.stderr.isatty():
                print(f"\r{count} of {len(sources)}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return [outcome for index in range(len(sources)) for outcome in by_index[index]]


def _verdict(found: list[Outcome], output: Path | None) -> int:
    share, unknown = document.share(found), document.unknown_reasons(found)
    directions, unexplained = (
        sum(o.directions for o in found),
        sum(len(o.unexplained) for o in found),
    )
    where = f"; see {output}" if output else ""
    print(
        (
            f"{directions} directions: {share:.2%} equal or explained, {unexplained} "
            f"unexplained{where}"
        ),
        file=sys.stderr,
    )
    if unknown:
        print(f"error: reasons that nothing documents: {', '.join(unknown)}", file=sys.stderr)
    if directions == 0:
        print("error: nothing was compared", file=sys.stderr)
        print(
            "hint: every capture was damaged or refused; the page gives the reasons",
            file=sys.stderr,
        )
        return 2
    return 0 if share >= document.WANTED and not unknown else 1


if __name__ == "__main__":
    sys.exit(main())
