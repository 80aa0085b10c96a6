"""``trustbed explain``: why one transfer was judged as it was."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trustbed.cli import FINE, arguments, selection, terminal
from trustbed.cli.analyze import describe, read
from trustbed.report import printable


def parser() -> arguments.Parser:
    """The parser of ``trustbed explain``."""
    parser = arguments.Parser(
        "explain",
        "[OPTIONS] CAPTURE… TRANSFER\n[OPTIONS] --sender CAPTURE --receiver CAPTURE TRANSFER\n"
        "[OPTIONS] RUN [REPETITION TRANSFER]",
        "Explains one verdict: the rule that fired and its evidence, the rules that did\n"
        "not, and what would change it. TRANSFER, the last word, is one of\n\n"
        "  :53217                  a port of its connection\n"
        "  10.0.0.1:53217>10.0.0.2:5201\n"
        "                          sender and receiver; either may lack its address\n"
        "  12.1                    its name in trustbed analyze\n\n"
        "The captures and options of trustbed analyze lead to the same verdict.\n\n"
        "Of RUN, a directory that trustbed run made: every transfer with one verdict,\n"
        "what is to be discarded, and what the captures at other points say; or all\n"
        "about one.",
        "examples:\n"
        "  trustbed explain server.pcap :53217\n"
        "  trustbed explain server.pcap --workload bulk '10.0.0.1:53217>10.0.0.2:5201'\n"
        "  trustbed explain lossy.run\n"
        "  trustbed explain lossy.run 0 :5201\n\n"
        "exit codes: 0 fine, 1 error, 2 wrong usage",
    )
    arguments.add_captures(parser, "; the last word is the transfer")
    arguments.add_verdict_options(parser)
    output = parser.add_argument_group("output")
    arguments.add_json(output, "the explanation as JSON")
    arguments.add_quiet(output, "no progress bar")
    arguments.add_help(output)
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    options = arguments.parse(parser(), words)
    if options.captures and Path(options.captures[0]).is_dir():
        from trustbed.cli import explain_run

        return explain_run.run(options, words)
    arguments.check_explain(options)
    capture, _ = read(options)
    transfer = capture.transfer(selection.transfer_of(capture, options.transfer))
    if options.json:
        document = {
            "trustbed": describe(words, "explain"),
            "transfer": transfer.row,
            "explanation": transfer.explain().split("\n"),
        }
        printable.write_json(document)
        return FINE
    from trustbed.report.transfer import explanation

    printable.write(
        explanation.render(
            transfer.row,
            transfer.explain(),
            columns=terminal.width(explanation.WIDEST),
            paint=terminal.paint(no_color=options.no_color),
        )
    )
    return FINE
