"""``trustbed model edit``: a variant of a model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from trustbed.cli import FINE, arguments, terminal
from trustbed.report import printable


class _Change(argparse.Action):
    """Collects changes in the order of the command line."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        namespace.changes = [*(getattr(namespace, "changes", None) or []), (self.dest, values)]


def parser() -> arguments.Parser:
    """The parser of ``trustbed model edit``."""
    parser = arguments.Parser(
        "model edit",
        "[OPTIONS] MODEL -o VARIANT",
        "A variant of a model. The changes stand in its file as a recipe, in the order\n"
        "of the command line; the distributions stay as they were learned.",
        "examples:\n"
        "  trustbed model edit web.model --sessions 2 -o busy.model\n"
        "  trustbed model edit web.model --variant HB -o bursty.model\n\n"
        "exit codes: 0 fine, 1 error, 2 wrong usage",
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help="a model")
    parser.set_defaults(changes=None)
    changes = parser.add_argument_group("changes")
    for name, metavar, what in (
        ("sessions", "K", "K times as many sessions"),
        ("responses", "K", "responses K times as large"),
        ("requests", "K", "requests K times as large"),
        ("think", "K", "user think times K times as long; 0: none"),
        ("rtt", "K", "round trips K times as long"),
    ):
        changes.add_argument(f"--{name}", action=_Change, type=float, metavar=metavar, help=what)
    changes.add_argument(
        "--every-rtt",
        action=_Change,
        type=arguments.span,
        metavar="TIME",
        help="every round trip takes this long",
    )
    changes.add_argument(
        "--access-rate",
        action=_Change,
        type=arguments.rate,
        metavar="RATE",
        help="rate of all access links",
    )
    changes.add_argument(
        "--variant",
        action=_Change,
        metavar="NAME",
        help="one of Vishwanath and Vahdat (2008): RSP2, RSP4, HB, Traffic1 or Traffic2",
    )
    about = parser.add_argument_group("what the variant says of itself")
    about.add_argument("--name", metavar="NAME", help="what it is called")
    about.add_argument("--about", metavar="TEXT", help="what it is")
    output = parser.add_argument_group("output")
    output.add_argument("-o", "--out", type=Path, metavar="FILE", help="the variant")
    arguments.add_quiet(output, "no summary")
    arguments.add_end(parser)
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the action."""
    import msgspec

    options = arguments.parse(parser(), words)
    if len(options.models) != 1:
        raise arguments.UsageError(
            "one model at a time" if options.models else "no model given",
            "trustbed model edit web.model --sessions 2 -o busy.model",
        )
    if options.out is None:
        raise arguments.UsageError("nowhere to put the variant", "-o busy.model")
    from dataclasses import replace

    from trustbed.report.model import text
    from trustbed.report.placing import check_file
    from trustbed.traffic import suite, vary
    from trustbed.traffic.recipe import named

    check_file(options.out)
    name = options.models[0]
    model = suite.opened(name)
    given: list[tuple[str, object]] = options.changes or []
    if not given and options.name is None and options.about is None:
        raise arguments.UsageError("nothing to change", "--sessions 2, or --variant HB")
    for option, value in given:
        if option == "variant":
            model = model.with_steps(*named(str(value)))
        elif option == "every_rtt":
            assert isinstance(value, int), "the option's type"
            model = vary(model, rtt_ms=value / 1e6)
        else:
            assert isinstance(value, int | float), "the option's type"
            model = vary(model, **{option: float(value)})
    says = {key: getattr(options, key) for key in ("name", "about") if getattr(options, key)}
    model = replace(model, header=msgspec.structs.replace(model.header, **says))
    model.save(options.out)
    if not options.quiet:
        columns, paint = terminal.width(text.WIDEST), terminal.paint(no_color=options.no_color)
        printable.write(text.short(model, str(options.out), columns=columns, paint=paint))
    return FINE
