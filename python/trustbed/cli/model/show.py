"""``trustbed model show``: what a model says."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from trustbed.cli import FINE, arguments, terminal
from trustbed.cli.analyze import describe
from trustbed.report import printable


def parser() -> arguments.Parser:
    """The parser of ``trustbed model show``."""
    parser = arguments.Parser(
        "model show",
        "[OPTIONS] MODEL",
        "What a model says: its classes and their distributions, the hosts, how many\n"
        "values are behind each, and what was assumed. MODEL is a file, or the name of\n"
        "one that comes with trustbed (trustbed model list).",
        "example:\n  trustbed model show web.model -o web.html\n\n"
        "exit codes: 0 fine, 1 error, 2 wrong usage",
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help="a model")
    output = parser.add_argument_group("output")
    output.add_argument("-o", "--out", type=Path, metavar="FILE", help="an HTML page with charts")
    arguments.add_json(output)
    arguments.add_quiet(output, "no summary")
    arguments.add_end(parser)
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the action."""
    options = arguments.parse(parser(), words)
    if len(options.models) != 1:
        raise arguments.UsageError(
            "one model at a time" if options.models else "no model given",
            "trustbed model show web.model",
        )
    from trustbed.report.model import json as model_json
    from trustbed.report.model import text
    from trustbed.traffic import suite
    from trustbed.traffic.model import load

    name = options.models[0]
    model = load(suite.located(name))
    if options.out is not None:
        from trustbed.report.model import page
        from trustbed.report.placing import check_file

        check_file(options.out)
        page.write(model, name, options.out, describe(words, "model show"))
    if options.json:
        json.dump(model_json.document(model), sys.stdout, allow_nan=False)
        print()
    elif not options.quiet:
        columns, paint = terminal.width(text.WIDEST), terminal.paint(no_color=options.no_color)
        printable.write(text.render(model, name, columns=columns, paint=paint))
        if options.out is not None:
            printable.write(f"wrote {options.out}\n")
    return FINE
