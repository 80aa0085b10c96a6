"""``trustbed campaign run|status|report|init``: paths between real hosts, for hours or weeks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import ModuleType

from trustbed.cli import arguments
from trustbed.cli.campaign import report, starter, status
from trustbed.cli.campaign import run as run_action

ACTIONS: Mapping[str, ModuleType] = {
    "run": run_action,
    "status": status,
    "report": report,
    "init": starter,
}


def parser() -> arguments.Parser:
    """The parser of ``trustbed campaign`` itself."""
    parser = arguments.Parser(
        "campaign",
        "run [OPTIONS] FILE\nstatus [OPTIONS] DIR\nreport [OPTIONS] DIR\ninit [OPTIONS] [DIR]",
        "Measures the paths between real hosts for hours or weeks: rounds of pings,\n"
        "estimates and connection pairs, each judged by its captures as it arrives.",
        "actions:\n"
        "  init                    Write a starter inventory and campaign for two hosts\n"
        "  run                     Run a campaign, or continue it\n"
        "  status                  Progress, unreachable hosts, and results so far\n"
        "  report                  An HTML page: rounds and hosts over time\n\n"
        "trustbed campaign ACTION --help lists the options of an action.\n"
        "docs/campaign.md and docs/inventory.md explain the files.",
    )
    parser.add_argument("action", nargs="?", metavar="ACTION", help="run, status, report or init")
    arguments.add_help(parser)
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the action that the first word names."""
    if not words:
        raise arguments.UsageError("no action given", "trustbed campaign run|status|report|init")
    action = ACTIONS.get(words[0])
    if action is None:
        raise arguments.unknown_command(words[0], tuple(ACTIONS), parent="campaign")
    code: int = action.run(words[1:])
    return code
