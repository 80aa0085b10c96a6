"""``trustbed doctor``: is this host, or are others, fit to measure on, and how to fix it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trustbed.cli import DISCARD, ERROR, FINE, REVIEW, arguments, terminal
from trustbed.cli.analyze import describe
from trustbed.report import printable

if TYPE_CHECKING:
    from trustbed.host_check.findings import HostsModel


def parser() -> arguments.Parser:
    """The parser of ``trustbed doctor``."""
    parser = arguments.Parser(
        "doctor",
        "[OPTIONS] [HOST…]",
        "Checks whether a host is fit to measure on: clock, timers, processors, load,\n"
        "limits, interfaces, sockets, permissions. Every finding has the measured value,\n"
        "why it matters, and the command that fixes it. It changes no setting.\n\n"
        "For three seconds it measures wake-up latency, the CPU share of a spinning\n"
        "thread, and whether a capture on loopback gets every packet with a true\n"
        "timestamp. Start it while nothing else runs.",
        "examples:\n"
        "  trustbed doctor\n"
        "  trustbed doctor --inventory hosts.toml alpha beta\n\n"
        "exit codes: 0 fine, 1 error or unreachable host, 2 wrong usage, 3 review,\n4 unfit",
    )
    parser.add_argument(
        "hosts",
        nargs="*",
        metavar="HOST",
        help="hosts and groups of the inventory (default: all of it; without an inventory, this "
        "host)",
    )
    checks = parser.add_argument_group("checks")
    checks.add_argument(
        "--inventory",
        type=Path,
        metavar="FILE",
        help="how to reach hosts (docs/inventory.md); trustbed copies its agent to each",
    )
    checks.add_argument("--quick", action="store_true", help="only read settings, measure nothing")
    output = parser.add_argument_group("output")
    arguments.add_json(output, "findings, and the facts behind them, as JSON on standard output")
    arguments.add_quiet(output, "no summary")
    arguments.add_end(parser, fail_on="a host")
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    options = arguments.parse(parser(), words)
    if options.hosts and options.inventory is None:
        message = f"no inventory describes how to reach {options.hosts[0]}"
        raise arguments.UsageError(
            message, "name an inventory: trustbed doctor --inventory hosts.toml alpha beta"
        )
    model = _model(options)
    _show(model, options, words)
    return exit_code(model, options.fail_on)


def _model(options: argparse.Namespace) -> HostsModel:
    from trustbed.host_check.check import check_hosts, facts_of_this_host, judge_host, model_of

    live = not options.quick
    if options.inventory is None:
        return model_of([judge_host(facts_of_this_host(live=live))])
    from trustbed.scenario import inventory
    from trustbed.testbed.remote import Hosts

    with Hosts(inventory.load(options.inventory), options.hosts or (inventory.ALL,)) as hosts:
        return model_of(list(check_hosts(hosts, live=live)))


def exit_code(model: HostsModel, fail_on: str | None) -> int:
    """The exit code for these hosts; an unreachable host is an error."""
    if model["summary"]["unknown"]:
        return ERROR
    if fail_on is not None and model["summary"]["unfit"]:
        return DISCARD
    return REVIEW if fail_on == "review" and model["summary"]["review"] else FINE


def _show(model: HostsModel, options: argparse.Namespace, words: Sequence[str]) -> None:
    from trustbed.report.host import text as doctor_text

    if options.json:
        printable.write_json({"trustbed": describe(words, "doctor"), **model})
    elif not options.quiet:
        columns = terminal.width(doctor_text.WIDEST)
        paint = terminal.paint(no_color=options.no_color)
        printable.write(doctor_text.render(model, columns=columns, paint=paint))
