"""``trustbed campaign init``: writes a starter inventory and campaign for two hosts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trustbed.cli import FINE, arguments
from trustbed.report import printable
from trustbed.report.placing import whole_file

INVENTORY = """\
# How to reach the hosts. Every key: docs/inventory.md. Check both with
#     trustbed doctor --inventory hosts.toml

[hosts.alpha]
ssh = "alpha.example.net"     # as in ~/.ssh/config, or user@address
# measure = "10.0.0.4"        # the address to measure, if SSH takes another

[hosts.beta]
ssh = "beta.example.net"
"""

CAMPAIGN = """\
# Which paths, how often, for how long. Every key: docs/campaign.md. Print the plan with
#     trustbed campaign run campaign.toml --dry-run

inventory = "hosts.toml"

[[pairs]]                     # one entry per direction
sender = "alpha"
receiver = "beta"

[[pairs]]
sender = "beta"
receiver = "alpha"

[rounds]
lasts = "24h"                 # of the whole campaign
period = "300s"               # one round of every pair in each period
# table = "planetlab"         # the sizes and windows of the papers, instead of plain bulk
# delay.probes = 100          # one-way delay and loss (STAMP) before the connections
# bandwidth.pathload = "120s" # available bandwidth, 120 s at most

[recording]
disk = "20GB"                 # the oldest captures go first; results stay
"""

FILES = {"hosts.toml": INVENTORY, "campaign.toml": CAMPAIGN}


def parser() -> arguments.Parser:
    """The parser of ``trustbed campaign init``."""
    parser = arguments.Parser(
        "campaign init",
        "[OPTIONS] [DIR]",
        "Writes two starter files with comments: hosts.toml, an inventory of two hosts,\n"
        "and campaign.toml, both directions between them for a day.",
        "example:\n  trustbed campaign init paths && $EDITOR paths/hosts.toml",
    )
    parser.add_argument(
        "directory", nargs="*", metavar="DIR", help="where to (default: here); made if missing"
    )
    options = parser.add_argument_group("options")
    options.add_argument("--force", action="store_true", help="replace files of these names")
    arguments.add_help(options)
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the action."""
    options = arguments.parse(parser(), words)
    if len(options.directory) > 1:
        raise arguments.UsageError(
            f"one directory, not {len(options.directory)}", "for example: trustbed campaign init"
        )
    directory = Path(*options.directory)
    existing = next((name for name in FILES if (directory / name).exists()), None)
    if existing is not None and not options.force:
        raise arguments.Complaint(
            f"{directory / existing} exists already", "name another directory, or use --force"
        )
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in FILES.items():
        with whole_file(directory / name) as stream:
            stream.write(text)
    campaign = directory / "campaign.toml"
    printable.write(
        f"wrote {directory / 'hosts.toml'} and {campaign}\n"
        f"next: put your hosts into {directory / 'hosts.toml'}, then\n"
        f"      trustbed campaign run {campaign} --dry-run\n"
    )
    return FINE
