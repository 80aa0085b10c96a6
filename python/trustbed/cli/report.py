"""``trustbed report``: a run directory in, its results and an HTML page out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trustbed.cli import DISCARD, FINE, REVIEW, arguments, terminal
from trustbed.cli.analyze import describe
from trustbed.report import printable

if TYPE_CHECKING:
    from trustbed.run.results import Run


def parser() -> arguments.Parser:
    """The parser of ``trustbed report``."""
    parser = arguments.Parser(
        "report",
        "[OPTIONS] RUN",
        "Results of a run: workloads with 95 % confidence intervals, slowdown by\n"
        "background traffic, links and background, and which repetitions to discard,\n"
        "and why. For campaigns: trustbed campaign report.",
        "example:\n  trustbed report lossy.run --out lossy.html\n\n" + arguments.EXIT_CODES,
    )
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="made by trustbed run; it need not be complete",
    )
    output = parser.add_argument_group("output")
    output.add_argument("-o", "--out", type=Path, metavar="FILE", help="an HTML page with charts")
    arguments.add_json(output)
    arguments.add_quiet(output, "no summary")
    arguments.add_end(parser, fail_on="a repetition")
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    options = arguments.parse(parser(), words)
    if len(options.runs) != 1:
        message = f"one run at a time, not {len(options.runs)}" if options.runs else "no run given"
        raise arguments.UsageError(message, "for example: trustbed report study --out report.html")
    if options.out is not None:
        from trustbed.report import placing

        placing.check_file(options.out)
    from trustbed.run.owned_directory import MANIFEST, kind_of

    directory = Path(options.runs[0])
    if kind_of(directory) == "campaign":
        raise arguments.Complaint(
            f"this is a campaign, {directory}", f"trustbed campaign report {directory}"
        )
    if not (directory / MANIFEST).is_file():
        raise arguments.Complaint(
            f"not a run, {directory}", "name a directory that trustbed run has made"
        )
    return _show(options, words)


def _show(options: argparse.Namespace, words: Sequence[str]) -> int:
    from trustbed.run.results import open_run

    found, about = open_run(options.runs[0]), describe(words, "report")
    if options.out is not None:
        found.report(options.out, about=about)
    return show(found, options.runs[0], options, about=about, wrote=options.out)


def show(
    found: Run,
    name: str,
    options: argparse.Namespace,
    *,
    about: Mapping[str, Any],
    wrote: Path | None,
) -> int:
    """Prints a run's results in the form that the options select; returns the exit code."""
    if options.json:
        found.write_json(sys.stdout, about=about)
    elif not options.quiet:
        from trustbed.report.run import text

        columns, paint = terminal.width(text.WIDEST), terminal.paint(no_color=options.no_color)
        printable.write(text.render(found.model, name, columns=columns, paint=paint))
        if wrote is not None:
            printable.write(f"wrote {wrote}\n")
    uses = found.model.run.uses
    if options.fail_on is not None and uses.get("discard"):
        return DISCARD
    return REVIEW if options.fail_on == "review" and uses.get("review") else FINE
