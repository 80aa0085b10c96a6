"""``trustbed model list``: the backgrounds that come with trustbed."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from trustbed.cli import FINE, arguments, terminal
from trustbed.report import printable, words


def parser() -> arguments.Parser:
    """The parser of ``trustbed model list``."""
    parser = arguments.Parser(
        "model list",
        "[OPTIONS]",
        "The backgrounds that come with trustbed, from none at all to heavy-tailed, with\n"
        "what to write into a scenario. All of them take any load (rate). Hurst parameter\n"
        "and fit quality are those of a measurement; trustbed model show NAME has all of it.",
        "exit codes: 0 fine, 1 error, 2 wrong usage",
    )
    output = parser.add_argument_group("output")
    arguments.add_json(output)
    arguments.add_quiet(output, "nothing")
    arguments.add_end(parser)
    return parser


def run(given: Sequence[str]) -> int:
    """Runs the action."""
    options = arguments.parse(parser(), given)
    from trustbed.report.model import link, text
    from trustbed.traffic.model import load
    from trustbed.traffic.offer import load_of
    from trustbed.traffic.suite import NAMES, SUITE, measured, path

    models = {one: load(path(one)) for one in sorted(NAMES)}
    profiles = [measured(one.name) for one in SUITE]
    loads = {name: load_of(model) for name, model in models.items()}
    if options.json:
        document = [
            {
                "name": one.name,
                "keys": dict(one.keys),
                "about": one.about,
                "server_bits_per_second": loads[one.name].server if one.name in loads else None,
                "client_bits_per_second": loads[one.name].client if one.name in loads else None,
                "source": models[one.name].header.source if one.name in models else one.source,
                "licence": models[one.name].header.licence if one.name in models else one.licence,
                **link.in_short(profile),
            }
            for one, profile in zip(SUITE, profiles, strict=True)
        ]
        json.dump(document, sys.stdout)
        print()
    elif not options.quiet:
        paint = terminal.paint(no_color=options.no_color)
        shown = [words.bits(loads[one.name].larger) if one.name in loads else "" for one in SUITE]
        printable.write(text.suite(SUITE, shown, profiles, paint=paint))
    return FINE
