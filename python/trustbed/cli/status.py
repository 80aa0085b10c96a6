"""``trustbed status``: a campaign's folder in; how far it is, and what its rounds so far come to, out. It may be at work meanwhile."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trustbed.cli import DISCARD, FINE, REVIEW, arguments
from trustbed.cli.analyze import describe


def parser() -> argparse.ArgumentParser:
    """The parser of ``trustbed status``."""
    parser = arguments.Parser(prog="trustbed status", add_help=False, allow_abbrev=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("folder", nargs="*", metavar="FOLDER")
    parser.add_argument("--resources", type=Path, metavar="FILE")
    parser.add_argument("--round", metavar="PAIR/NUMBER")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--fail-on", choices=arguments.LEVELS)
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("--no-color", action="store_true")
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    options = arguments.parse(parser(), words)
    if len(options.folder) != 1:
        message = (
            "no campaign given"
            if not options.folder
            else f"one campaign at a time, not {len(options.folder)}"
        )
        raise arguments.UsageError(message, "for example: trustbed status campaign.pairs")
    only = None if options.round is None else _round(options.round)
    if only is not None and options.resources is None:
        raise arguments.UsageError(
            "--round chooses what --resources writes", "add --resources FILE.parquet"
        )
    from trustbed.campaigns import open_campaign

    code = show(open_campaign(options.folder[0]), options, words, "status")
    if options.resources is not None:
        from trustbed.report import words as spoken
        from trustbed.resources import write_resources

        rows = write_resources(options.folder[0], options.resources, only=only)
        if not options.quiet:
            print(f"{spoken.counted(rows, 'row')} in {options.resources}", file=sys.stderr)
    return code


def _round(text: str) -> tuple[str, int]:
    """A round as its folder is named below ``rounds``."""
    pair, _, number = text.rpartition("/")
    if not pair or not (number.isascii() and number.isdecimal()):
        raise arguments.UsageError(
            f"--round: {text!r} is no round",
            "write the pair and the number, for example --round alpha-beta/17",
        )
    return pair, int(number)


def show(
    model: Mapping[str, Any],
    options: argparse.Namespace,
    words: Sequence[str],
    verb: str,
    *,
    wrote: Path | None = None,
) -> int:
    """What a campaign came to on standard output, in the form that the options ask for; the exit code that they ask for."""
    from trustbed.report import campaign_text, paint

    if options.json:
        json.dump(
            {"trustbed": describe(words, verb), **model},
            sys.stdout,
            ensure_ascii=False,
            allow_nan=False,
            indent=1,
        )
        sys.stdout.write("\n")
    elif not options.quiet:
        columns = (
            shutil.get_terminal_size((campaign_text.WIDEST, 24)).columns
            if sys.stdout.isatty()
            else campaign_text.WIDEST
        )
        painter = paint.Paint(paint.wanted(sys.stdout, never=options.no_color))
        sys.stdout.write(
            campaign_text.render(model, now_ns=time.time_ns(), columns=columns, paint=painter)
        )
        if wrote is not None:
            sys.stdout.write(f"wrote {wrote}\n")
    uses = [pair["uses"] for pair in model["pairs"]]
    if options.fail_on is not None and any(one["discard"] for one in uses):
        return DISCARD
    return REVIEW if options.fail_on == "review" and any(one["review"] for one in uses) else FINE
