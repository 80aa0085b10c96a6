"""``trustbed testbed list|clean``: the testbeds of this host, and the end of those left over."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from trustbed.cli import FINE, arguments
from trustbed.report.words import counted
from trustbed.testbed.netns import registry

ACTIONS = ("list", "clean")


def parser() -> arguments.Parser:
    """The parser of ``trustbed testbed``."""
    parser = arguments.Parser(
        "testbed",
        "[OPTIONS] list|clean",
        "Lists the testbeds of this host, or removes those whose owner is dead: their\n"
        "processes, namespaces and control groups. It leaves all others alone.",
        "exit codes: 0 fine, 1 error, 2 wrong usage",
    )
    parser.add_argument("action", nargs="*", metavar="list|clean", help="what to do")
    output = parser.add_argument_group("output")
    arguments.add_json(output, "the list, or what was removed, as JSON")
    arguments.add_help(output)
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    options = arguments.parse(parser(), words)
    if len(options.action) != 1 or options.action[0] not in ACTIONS:
        given = " ".join(options.action)
        message = f"no such action, {given}" if given else "no action given"
        raise arguments.UsageError(message, "trustbed testbed list, or trustbed testbed clean")
    (_list if options.action[0] == "list" else _clean)(options)
    return FINE


def _list(options: argparse.Namespace) -> None:
    records = registry.records()
    if options.json:
        print(
            json.dumps(
                [
                    {
                        **asdict(record),
                        "owner_lives": record.is_owned(),
                        "processes": record.processes(),
                    }
                    for record in records
                ]
            )
        )
        return
    if not records:
        print("no testbeds")
        return
    rows = [("ID", "MADE", "OWNER", "HOSTS", "PROCESSES", "WHAT FOR")]
    for record in records:
        owner = str(record.owner.pid) if record.is_owned() else "dead"
        hosts = str(len(record.hosts)) if len(record.hosts) > 3 else ", ".join(record.hosts)
        rows.append(
            (record.id, record.created, owner, hosts, str(len(record.processes())), record.purpose)
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        print(
            "  ".join(
                [*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]
            )
        )
    if any(row[2] == "dead" for row in rows):
        print("hint: trustbed testbed clean removes those whose owner is dead", file=sys.stderr)


def _clean(options: argparse.Namespace) -> None:
    removed = registry.clean()
    if options.json:
        print(json.dumps([asdict(one) for one in removed]))
        return
    for one in removed:
        ended, gone = (
            counted(one.processes, "process", "processes"),
            counted(one.namespaces, "namespace"),
        )
        print(f"removed {one.record.id} ({one.record.purpose}): {ended} ended, {gone} removed")
    if not removed:
        print("nothing to remove")
