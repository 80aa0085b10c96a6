"""``trustbed report``: a run directory, or a campaign's folder, in; what was measured, and what of it may be used, out."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trustbed.cli import DISCARD, FINE, REVIEW, arguments
from trustbed.cli.analyze import describe

if TYPE_CHECKING:
    from trustbed.run_report import Run


def parser() -> argparse.ArgumentParser:
    """The parser of ``trustbed report``."""
    parser = arguments.Parser(prog="trustbed report", add_help=False, allow_abbrev=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("runs", nargs="*", metavar="RUN")
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--fail-on", choices=arguments.LEVELS)
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("--no-color", action="store_true")
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    options = arguments.parse(parser(), words)
    if len(options.runs) != 1:
        message = (
            "no run given" if not options.runs else f"one run at a time, not {len(options.runs)}"
        )
        raise arguments.UsageError(message, "for example: trustbed report study --out report.html")
    if options.out is not None:
        from trustbed.report import placing

        placing.check_file(options.out)
    from trustbed.run.folder import MANIFEST, kind_of

    folder = Path(options.runs[0])
    if kind_of(folder) == "campaign":
        return _campaign(options, words)
    if not (folder / MANIFEST).is_file():
        raise arguments.Complaint(
            f"neither a run nor a campaign, {folder}",
            "name a folder that trustbed run or trustbed pairs has made",
        )
    return _show(options, words)


def _campaign(options: argparse.Namespace, words: Sequence[str]) -> int:
    from trustbed.campaign_report import campaign_text_of, open_campaign
    from trustbed.cli import status

    model = open_campaign(options.runs[0], timeline=True)
    if options.out is not None:
        from trustbed.report import campaign_page

        campaign_page.write(
            options.out, model, describe(words, "report"), text=campaign_text_of(options.runs[0])
        )
    return status.show(model, options, words, "report", wrote=options.out)


def _show(options: argparse.Namespace, words: Sequence[str]) -> int:
    from trustbed.run_report import open_run

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
    """What a run came to on standard output, in the form that the options ask for; the exit code that they ask for."""
    from trustbed.report import paint, run_text

    if options.json:
        found.write_json(sys.stdout, about=about)
    elif not options.quiet:
        columns = (
            shutil.get_terminal_size((run_text.WIDEST, 24)).columns
            if sys.stdout.isatty()
            else run_text.WIDEST
        )
        painter = paint.Paint(paint.wanted(sys.stdout, never=options.no_color))
        sys.stdout.write(run_text.render(found.model, name, columns=columns, paint=painter))
        if wrote is not None:
            sys.stdout.write(f"wrote {wrote}\n")
    uses = found.model["run"]["uses"]
    if options.fail_on is not None and uses.get("discard"):
        return DISCARD
    return REVIEW if options.fail_on == "review" and uses.get("review") else FINE
