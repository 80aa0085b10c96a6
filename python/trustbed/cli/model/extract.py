"""``trustbed model extract``: captures in, a model out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from trustbed.cli import FINE, arguments, interrupt, progress, terminal
from trustbed.cli.analyze import give_up
from trustbed.report import printable

_PROTOCOLS = {"": 6, "tcp": 6, "udp": 17}


def parser() -> arguments.Parser:
    """The parser of ``trustbed model extract``."""
    parser = arguments.Parser(
        "model extract",
        "[OPTIONS] CAPTURE… -o MODEL",
        "Learns the traffic of a link: sessions, exchanges, connections, requests and\n"
        "responses of each class of applications, and the latency, capacity and loss\n"
        "of every host on its side of the link. The capture must hold both directions.\n"
        "The model has no address, no payload and no date.",
        "example:\n  trustbed model extract link.pcap -o web.model\n\n"
        "exit codes: 0 fine, 1 error, 2 wrong usage",
    )
    arguments.add_captures(parser)
    learning = parser.add_argument_group("learning")
    learning.add_argument(
        "--session-gap",
        type=arguments.span,
        default=300_000_000_000,
        metavar="TIME",
        help="a client's pause that ends a session (default: 300s)",
    )
    learning.add_argument(
        "--exchange-gap",
        type=arguments.span,
        default=30_000_000_000,
        metavar="TIME",
        help="a pause that ends an exchange, one page say (default: 30s)",
    )
    learning.add_argument(
        "--class",
        dest="classes",
        action="append",
        default=[],
        type=_class,
        metavar="NAME=PORT,…",
        help="a class for the servers on these ports (of UDP: NAME=udp/PORT,…) beside the usual "
        "ones; may be repeated",
    )
    learning.add_argument(
        "--inner", action="store_true", help="the packets inside VXLAN, GRE, Geneve and IP in IP"
    )
    about = parser.add_argument_group("what the model says of itself")
    about.add_argument("--name", default="", metavar="NAME", help="what it is called")
    about.add_argument("--about", default="", metavar="TEXT", help="what it is")
    about.add_argument("--source", default="", metavar="TEXT", help="where it comes from")
    about.add_argument("--licence", default="", metavar="TEXT", help="under which terms")
    output = parser.add_argument_group("output")
    output.add_argument("-o", "--out", type=Path, metavar="FILE", help="the model")
    arguments.add_quiet(output)
    arguments.add_workers(output)
    arguments.add_end(parser)
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the action."""
    options = arguments.parse(parser(), words)
    if not options.captures:
        raise arguments.UsageError(
            "no capture given", "trustbed model extract link.pcap -o web.model"
        )
    if options.out is None:
        raise arguments.UsageError("nowhere to put the model", "-o web.model")
    _check_gaps(options.session_gap, options.exchange_gap)
    _check_names([name for name, _, _ in options.classes])
    arguments.check_inputs(options.captures, "model extract")
    from trustbed.report.model import text
    from trustbed.report.placing import check_file
    from trustbed.traffic import extract
    from trustbed.traffic.extraction import beside_usual
    from trustbed.traffic.model import ClassRule

    check_file(options.out, options.captures)
    shown = progress.shown(options.captures[0], quiet=options.quiet)
    with interrupt.abandoned_by_interrupt(give_up), shown as bar:
        model = extract(
            options.captures,
            classes=beside_usual([ClassRule(*one) for one in options.classes]),
            session_gap=options.session_gap / 1e9,
            exchange_gap=options.exchange_gap / 1e9,
            name=options.name,
            about=options.about,
            source=options.source,
            licence=options.licence,
            inner=options.inner,
            workers=options.workers,
            progress=bar,
        )
    model.save(options.out)
    if not options.quiet:
        columns, paint = terminal.width(text.WIDEST), terminal.paint(no_color=options.no_color)
        printable.write(text.short(model, str(options.out), columns=columns, paint=paint))
    sys.stdout.flush()
    return FINE


def _class(text: str) -> tuple[str, int, tuple[int, ...]]:
    """A class of servers: its name, protocol and ports."""
    name, _, servers = text.partition("=")
    kind, _, listed = servers.rpartition("/")
    ports = listed.split(",")
    known = all(port.isascii() and port.isdigit() and 0 < int(port) < 65536 for port in ports)
    if not name.strip() or kind not in _PROTOCOLS or not known:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no class (write it like API=8000,8001 or GAME=udp/27015)"
        )
    return name.strip(), _PROTOCOLS[kind], tuple(dict.fromkeys(map(int, ports)))


def _check_names(names: Sequence[str]) -> None:
    from trustbed.traffic.extraction import CLASSES

    others = {rule.name for rule in CLASSES if not rule.ports}
    for name in names:
        wrong = "is what no other class has" if name in others else "is given twice"
        if name in others or names.count(name) > 1:
            raise arguments.UsageError(
                f"--class {name} {wrong}",
                "give each class a name of its own, with all of its ports",
            )


def _check_gaps(session_ns: int, exchange_ns: int) -> None:
    """A session consists of exchanges, so that the pause which ends it is the longer one."""
    if exchange_ns >= session_ns:
        raise arguments.UsageError(
            f"--exchange-gap {exchange_ns / 1e9:g}s is not below --session-gap "
            f"{session_ns / 1e9:g}s",
            "give both, for example --exchange-gap 5s --session-gap 60s",
        )
