"""``trustbed campaign report``: a campaign's directory in, its results and an HTML page out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trustbed.cli import arguments
from trustbed.cli.analyze import describe
from trustbed.cli.campaign import status


def parser() -> arguments.Parser:
    """The parser of ``trustbed campaign report``."""
    parser = arguments.Parser(
        "campaign report",
        "[OPTIONS] DIR",
        "Results of a campaign: what the network gives without the rounds that measured\n"
        "a host, rounds and hosts over time, both ends of each path, and which hosts and\n"
        "hours to avoid. The campaign may still be running.",
        "example:\n"
        "  trustbed campaign report campaign.pairs --out campaign.html\n\n" + arguments.EXIT_CODES,
    )
    parser.add_argument("directory", nargs="*", metavar="DIR", help="made by trustbed campaign run")
    output = parser.add_argument_group("output")
    output.add_argument("-o", "--out", type=Path, metavar="FILE", help="an HTML page with charts")
    arguments.add_json(output, "everything as JSON on standard output, with the timeline")
    arguments.add_quiet(output, "no summary")
    arguments.add_end(parser, fail_on="a round")
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the action."""
    options = arguments.parse(parser(), words)
    directory = status.directory_of(options, "report")
    if options.out is not None:
        from trustbed.report import placing

        placing.check_file(options.out)
    from trustbed.campaign.results import campaign_text_of, read_model

    model = read_model(directory, timeline=True)
    about = describe(words, "campaign report")
    if options.out is not None:
        from trustbed.report.campaign import page

        page.write(options.out, model, about, text=campaign_text_of(directory))
    return status.show(model, options, about, wrote=options.out)
