"""``trustbed ui``: stores, runs and campaigns in a browser, until Ctrl-C."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress

from trustbed.cli import FINE, arguments
from trustbed.report import printable
from trustbed.watch.scrape import parse_address


def parser() -> arguments.Parser:
    """The parser of ``trustbed ui``."""
    parser = arguments.Parser(
        "ui",
        "[OPTIONS] [URL]",
        "A store, runs and campaigns in a browser: lists, packets, comparisons, reports,\n"
        "and the progress of what is being measured. Prints an address to open; serves\n"
        "this machine only, changes nothing, and ends with Ctrl-C.",
        "examples:\n"
        "  trustbed ui lab.store\n"
        "  trustbed ui                  everything in this directory\n"
        "  trustbed ui paths.pairs      a campaign, while it runs\n\n"
        "exit codes: 0 fine (Ctrl-C too), 1 error, 2 wrong usage",
    )
    parser.add_argument(
        "url",
        nargs="?",
        default=".",
        metavar="URL",
        help="a store, a run, a campaign, or a directory that has some (default: this one)",
    )
    parser.add_argument(
        "--listen",
        type=_address,
        default=("127.0.0.1", 0),
        metavar="ADDR",
        help="a port on loopback, or ADDRESS:PORT (default: any free port on loopback)",
    )
    parser.add_argument("--open", action="store_true", help="open the address in a browser")
    arguments.add_help(parser.add_argument_group("help"))
    return parser


def _address(text: str) -> tuple[str, int]:
    try:
        return parse_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no address ({error}; write it like 8080 or 127.0.0.1:8080)"
        ) from error


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    options = arguments.parse(parser(), words)
    try:
        from trustbed.ui.captures import Captures
        from trustbed.ui.library import Library
        from trustbed.ui.server import Server
    except ModuleNotFoundError as error:
        raise arguments.Complaint(
            f"{error.name}, which serves pages, is not installed", "pip install 'trustbed[ui]'"
        ) from error
    library = Library(options.url)
    library.holdings()
    host, port = options.listen
    server = Server(library, ("127.0.0.1" if host == "localhost" else host, port), Captures())

    def ready() -> None:
        printable.write(f"{server.url}\n")
        print("serving until Ctrl-C", file=sys.stderr)
        sys.stdout.flush()
        if options.open:
            import webbrowser

            webbrowser.open(server.url)

    with suppress(KeyboardInterrupt):  # how it ends
        server.run(ready)
    return FINE
