"""``trustbed campaign status``: progress of a campaign and its results so far.

The campaign may be running meanwhile.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trustbed.cli import DISCARD, FINE, REVIEW, arguments, terminal
from trustbed.cli.analyze import describe
from trustbed.report import printable

if TYPE_CHECKING:
    from trustbed.campaign.model import CampaignModel

COLUMNS = """\
columns of the table of each pair, a row per index and role:
  index      the pair of sizes (docs/campaign.md)
  role       probe or data
  conn.      connections that ended
  failed     connections that failed
  ideal      X₀: throughput that the window allows at the RTT of the pings
  min mean max
             throughput; ! marks a mean above 1.1 times what the window
             allows at the RTT of the transfer
  RTT        mean round-trip time
  loss       lost segments, as a share of all
  spacing    mean time between packets
  more       rounds still needed for the configured confidence interval"""


def parser() -> arguments.Parser:
    """The parser of ``trustbed campaign status``."""
    parser = arguments.Parser(
        "campaign status",
        "[OPTIONS] DIR",
        "Progress of a campaign, its unreachable hosts, and its results so far. The\n"
        "campaign may be running meanwhile.",
        f"{COLUMNS}\n\n{arguments.EXIT_CODES}",
    )
    parser.add_argument("directory", nargs="*", metavar="DIR", help="made by trustbed campaign run")
    output = parser.add_argument_group("output")
    output.add_argument(
        "--resources",
        type=Path,
        metavar="FILE",
        help="write the hosts' resources, as hosts, Prometheus and CloudWatch report them, as "
        "one Parquet table",
    )
    output.add_argument(
        "--round", metavar="PAIR/NUMBER", help="of one round only (with --resources)"
    )
    arguments.add_json(output)
    arguments.add_quiet(output, "no summary")
    arguments.add_end(parser, fail_on="a round")
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the action."""
    options = arguments.parse(parser(), words)
    directory = directory_of(options, "status")
    only = None if options.round is None else _round(options.round)
    if only is not None and options.resources is None:
        raise arguments.UsageError(
            "--round chooses what --resources writes", "add --resources FILE.parquet"
        )
    from trustbed.campaign.results import read_model

    code = show(read_model(directory), options, describe(words, "campaign status"))
    if options.resources is not None:
        from trustbed.campaign.metrics import write_resources
        from trustbed.report.words import counted

        rows = write_resources(directory, options.resources, only=only)
        if not options.quiet:
            print(f"{counted(rows, 'row')} in {options.resources}", file=sys.stderr)
    return code


def directory_of(options: argparse.Namespace, action: str) -> Path:
    """The campaign directory that was named.

    Raises:
        UsageError: None or several were.
        Complaint: It is a run.
    """
    if len(options.directory) != 1:
        message = (
            f"one campaign at a time, not {len(options.directory)}"
            if options.directory
            else "no campaign given"
        )
        raise arguments.UsageError(
            message, f"for example: trustbed campaign {action} campaign.pairs"
        )
    from trustbed.run.owned_directory import MANIFEST, kind_of

    directory = Path(options.directory[0])
    if kind_of(directory) != "campaign" and (directory / MANIFEST).is_file():
        raise arguments.Complaint(f"this is a run, {directory}", f"trustbed report {directory}")
    return directory


def _round(text: str) -> tuple[str, int]:
    """A round as its directory is named below ``rounds``."""
    pair, _, number = text.rpartition("/")
    if not pair or not (number.isascii() and number.isdecimal()):
        raise arguments.UsageError(
            f"--round: {text!r} is not a round",
            "write the pair and the number, for example --round alpha-beta/17",
        )
    return pair, int(number)


def show(
    model: CampaignModel,
    options: argparse.Namespace,
    about: Mapping[str, Any],
    *,
    wrote: Path | None = None,
) -> int:
    """Prints a campaign's results in the form that the options select; returns the exit code."""
    if options.json:
        from trustbed.campaign.results import as_json

        printable.write_json({"trustbed": about, **as_json(model)})
    elif not options.quiet:
        from trustbed.report.campaign import text

        printable.write(
            text.render(
                model,
                now_ns=time.time_ns(),
                columns=terminal.width(text.WIDEST),
                paint=terminal.paint(no_color=options.no_color),
            )
        )
        if wrote is not None:
            printable.write(f"wrote {wrote}\n")
    uses = [pair.uses for pair in model.pairs]
    if options.fail_on is not None and any(one["discard"] for one in uses):
        return DISCARD
    return REVIEW if options.fail_on == "review" and any(one["review"] for one in uses) else FINE
