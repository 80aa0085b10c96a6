"""``trustbed model show``: what a model says."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trustbed.cli import FINE, arguments, terminal
from trustbed.cli.analyze import describe
from trustbed.report import printable

if TYPE_CHECKING:
    from trustbed.report.records import Json, Row
    from trustbed.traffic.model import Model
    from trustbed.traffic.profile import Profile
    from trustbed.traffic.suite import Member


def parser() -> arguments.Parser:
    """The parser of ``trustbed model show``."""
    parser = arguments.Parser(
        "model show",
        "[OPTIONS] MODEL",
        "What a model says: its classes and their distributions, the hosts, how many\n"
        "values are behind each, what was assumed; and what its traffic looks like on the\n"
        "link: rate over time, energy by time scale, Hurst parameter. MODEL is a file, or\n"
        "the name of one that comes with trustbed (trustbed model list).",
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
    from trustbed.report.placing import check_file
    from trustbed.traffic import suite

    if options.out is not None:
        check_file(options.out)
    name, about = options.models[0], describe(words, "model show")
    member = suite.member(name)
    if member is None or suite.is_model(name):
        shown = _of_model(suite.opened(name), name, options, about)
    else:
        shown = _of_member(member, suite.measured(name), options, about)
    if options.json:
        json.dump(shown.document(), sys.stdout, allow_nan=False)
        print()
    elif not options.quiet:
        printable.write(shown.text())
        if options.out is not None:
            printable.write(f"wrote {options.out}\n")
    return FINE


@dataclass(frozen=True, slots=True)
class _Shown:
    """The ways to show a background; each is made only where it is wanted."""

    text: Callable[[], str]
    document: Callable[[], Json]


def _of_model(model: Model, name: str, options: argparse.Namespace, about: Row) -> _Shown:
    from trustbed.report.model import json as model_json
    from trustbed.report.model import page, text

    if options.out is not None:
        page.write(model, name, options.out, about)
    columns, paint = terminal.width(text.WIDEST), terminal.paint(no_color=options.no_color)
    return _Shown(
        lambda: text.render(model, name, columns=columns, paint=paint),
        lambda: model_json.document(model),
    )


def _of_member(
    member: Member, profile: Profile | None, options: argparse.Namespace, about: Row
) -> _Shown:
    from trustbed.report.model import json as model_json
    from trustbed.report.model import page, text

    if options.out is not None:
        page.write_member(member, profile, options.out, about)
    columns, paint = terminal.width(text.WIDEST), terminal.paint(no_color=options.no_color)
    return _Shown(
        lambda: text.member(member, profile, columns=columns, paint=paint),
        lambda: model_json.member(member, profile),
    )
