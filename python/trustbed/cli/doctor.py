"""``trustbed doctor``: whether this host, or others, are fit to measure on, and what to do where they are not."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trustbed.cli import DISCARD, ERROR, FINE, REVIEW, arguments
from trustbed.cli.analyze import describe


def parser() -> argparse.ArgumentParser:
    """The parser of ``trustbed doctor``."""
    parser = arguments.Parser(prog="trustbed doctor", add_help=False, allow_abbrev=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("hosts", nargs="*", metavar="HOST")
    parser.add_argument("--inventory", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--fail-on", choices=arguments.LEVELS)
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("--no-color", action="store_true")
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    options = arguments.parse(parser(), words)
    if options.hosts and options.inventory is None:
        message = f"nothing says how {options.hosts[0]} is reached"
        raise arguments.UsageError(
            message, "name an inventory: trustbed doctor --inventory hosts.toml alpha beta"
        )
    model = _model(options)
    _show(model, options, words)
    return exit_code(model, options.fail_on)


def _model(options: argparse.Namespace) -> Mapping[str, Any]:
    from trustbed.doctor import examine, examine_hosts, facts_of_this_host, model_of

    live = not options.quick
    if options.inventory is None:
        return model_of([examine(facts_of_this_host(live=live))])
    from trustbed.scenario import inventory
    from trustbed.testbed.remote import Hosts

    with Hosts(inventory.load(options.inventory), options.hosts or (inventory.ALL,)) as hosts:
        return model_of(list(examine_hosts(hosts, live=live)))


def exit_code(model: Mapping[str, Any], fail_on: str | None) -> int:
    """What the fitness of the hosts asks for; a host that could not be asked is an error."""
    if model["summary"]["unknown"]:
        return ERROR
    if fail_on is not None and model["summary"]["unfit"]:
        return DISCARD
    return REVIEW if fail_on == "review" and model["summary"]["review"] else FINE


def _show(model: Mapping[str, Any], options: argparse.Namespace, words: Sequence[str]) -> None:
    from trustbed.report import doctor_text, paint

    if options.json:
        json.dump(
            {"trustbed": describe(words, "doctor"), **model},
            sys.stdout,
            ensure_ascii=False,
            allow_nan=False,
            indent=1,
        )
        sys.stdout.write("\n")
    elif not options.quiet:
        columns = (
            shutil.get_terminal_size((doctor_text.WIDEST, 24)).columns
            if sys.stdout.isatty()
            else doctor_text.WIDEST
        )
        painter = paint.Paint(paint.wanted(sys.stdout, never=options.no_color))
        sys.stdout.write(doctor_text.render(model, columns=columns, paint=painter))
