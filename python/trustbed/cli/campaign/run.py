"""``trustbed campaign run``: a campaign file in, judged rounds between real hosts out.

The summary, or JSON, goes to standard output, progress to standard error. Ctrl-C, SIGTERM and
SIGHUP end the session in order: complete rounds stay, and the same command continues.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Sequence
from pathlib import Path

from trustbed.campaign import Round, Schedule, Skip
from trustbed.campaign.records import JudgedRound, RoundRecord
from trustbed.campaign.runner.listener import RoundListener
from trustbed.cli import FINE, arguments
from trustbed.cli.analyze import describe
from trustbed.cli.campaign.status import show
from trustbed.cli.interrupt import signals_as_interrupts
from trustbed.report import printable, words
from trustbed.report.campaign.words import length, windows
from trustbed.scenario import campaign as campaigns
from trustbed.scenario.campaign import CampaignFile
from trustbed.scenario.campaign_model import ROLES, Rounds
from trustbed.scenario.metric_sources import name_of


def parser() -> arguments.Parser:
    """The parser of ``trustbed campaign run``."""
    parser = arguments.Parser(
        "campaign run",
        "[OPTIONS] FILE",
        "Runs a campaign: rounds of connection pairs (a short transfer, the probe, next\n"
        "to a long one, the data) between real hosts, for hours or weeks. Each round is\n"
        "judged as it arrives: what the network gives, which rounds measured a host\n"
        "instead, and why.\n\n"
        "SSH or a command reaches the hosts; trustbed copies its agent to each and\n"
        "captures and samples on both ends. A host that fails loses only its own rounds.\n"
        "Ctrl-C ends in order; the same command continues.",
        "examples:\n"
        "  trustbed campaign init\n"
        "  trustbed campaign run campaign.toml --dry-run\n"
        "  trustbed campaign run campaign.toml\n\n" + arguments.EXIT_CODES,
    )
    parser.add_argument(
        "campaign",
        nargs="*",
        metavar="FILE",
        help="names pairs of hosts, sizes and times (docs/campaign.md); its inventory describes "
        "how to reach the hosts (docs/inventory.md)",
    )
    action = parser.add_argument_group("action")
    action.add_argument(
        "--resume", action="store_true", help="only continue; an error if there is no campaign yet"
    )
    action.add_argument("--dry-run", action="store_true", help="print the plan, and stop")
    output = parser.add_argument_group("output")
    output.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="DIR",
        help="the campaign's directory (default: the name of the file with .pairs)",
    )
    arguments.add_json(output, "the results as JSON on standard output")
    arguments.add_quiet(output, "no progress lines and no summary")
    arguments.add_end(parser, fail_on="a round")
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the action."""
    options = arguments.parse(parser(), words)
    arguments.check_plan(options)
    if len(options.campaign) != 1:
        message = (
            f"one campaign, not {len(options.campaign)}"
            if options.campaign
            else "no campaign given"
        )
        raise arguments.UsageError(message, "for example: trustbed campaign run campaign.toml")
    study = campaigns.load(Path(options.campaign[0]))
    if options.dry_run:
        printable.write("\n".join(_plan(study)) + "\n")
        return FINE
    return _carry_out(study, options, words)


def _carry_out(study: CampaignFile, options: argparse.Namespace, words: Sequence[str]) -> int:
    from trustbed.campaign.api import default_directory, measure
    from trustbed.campaign.results import read_model
    from trustbed.campaign.runner import CampaignDirectory
    from trustbed.run.owned_directory import RunDirectoryError

    directory = CampaignDirectory(options.out or default_directory(study))
    if options.resume and not directory.exists:
        raise RunDirectoryError(
            f"no campaign to continue, {directory.path}",
            "leave --resume out to begin one, or name its directory with --out",
        )
    about = describe(words, "campaign run")
    session_about = {key: value for key, value in about.items() if key != "schema_version"}
    listener = RoundListener() if options.quiet else _Lines()
    with signals_as_interrupts():
        try:
            measure(study, directory, about=session_about, listener=listener)
        except KeyboardInterrupt:
            print(
                f"complete rounds stay in {directory.path}; the same command continues",
                file=sys.stderr,
            )
            raise
    return show(read_model(directory.path), options, about)


class _Lines(RoundListener):
    """A line for every event."""

    def on_begun(self, *, rounds: int, resumed: bool) -> None:
        if resumed:
            _print(f"continues after {words.counted(rounds, 'round')}")

    def on_host(self, host: str, *, up: bool, why: str | None, hint: str | None) -> None:
        _print(
            f"{host} is reachable"
            if up
            else f"{host} is unreachable: {why}{f' ({hint})' if hint else ''}"
        )

    def on_skipped(self, skip: Skip) -> None:
        by = f" ({skip.by})" if skip.by else ""
        _print(
            f"{skip.pair.name}  {words.counted(len(skip.numbers), 'round')} skipped: "
            f"{skip.reason}{by}"
        )

    def on_ended(self, one: Round, record: RoundRecord) -> None:
        why = "" if record.error is None else f": {record.error.message}"
        if record.outcome != "complete":
            _print(f"{one.pair.name}  round {one.number} {record.outcome}{why}")
        for warning in record.warnings:
            _print(f"{one.pair.name}  round {one.number}: {warning.what}: {warning.message}")

    def on_judged(self, pair: str, number: int, judged: JudgedRound) -> None:
        if not judged.connections:
            return  # on_ended has printed why there are none
        data = [row for row in judged.connections if row.role == "data"]
        rates = [row.app_bytes_per_second for row in data if row.app_bytes_per_second is not None]
        causes = sorted({row.cause for row in data if row.cause is not None})
        index = judged.connections[0].index
        mean = words.rate(sum(rates) / len(rates)) if rates else "nothing"
        outcome = [", ".join(causes), judged.use or "not judged"]
        _print(
            f"{pair}  round {number}  index {index}  data {mean}  "
            f"{'  '.join(one for one in outcome if one)}"
        )


def _print(text: str) -> None:
    now = datetime.datetime.now(datetime.UTC).strftime("%H:%M:%S")
    sys.stderr.write(f"{now}  {text}\n")
    sys.stderr.flush()


# The plan of --dry-run.


def _steps(rounds: Rounds) -> Sequence[str]:
    """The parts of a round, in order."""
    steps = [words.counted(rounds.pings, "ping")]
    if rounds.delay is not None:
        steps.append(
            f"{words.counted(rounds.delay.probes, 'test packet')} "
            f"({length(rounds.delay.longest_ns)} at most)"
        )
    steps += [f"{name} ({length(limit)} at most)" for name, limit in rounds.bandwidth]
    clamps: dict[str, int | None] = {role: rounds.window_of(role) for role in ROLES}
    return [
        *steps,
        (
            f"{words.counted(rounds.pairs_at_once, 'connection pair')} "
            f"({rounds.arrangement}), {windows(clamps)}"
        ),
    ]


def _plan(study: CampaignFile) -> Sequence[str]:
    campaign = study.campaign
    rounds, schedule = campaign.rounds, Schedule(study.campaign, 0)
    sizes = [schedule.index(campaign.pairs[0].name, number) for number in range(3)]
    lines = [
        f"{campaign.name}, seed {campaign.seed}",
        f"{words.counted(rounds.count, 'round')} of every pair, one in "
        f"{words.duration(rounds.period_ns / 1e9)}: "
        f"{words.duration(campaign.lasts_ns / 1e9)} in all",
        f"a round: {', then '.join(_steps(rounds))}",
        "",
    ]
    lines += [
        (
            f"  {pair.name:<20} {pair.sender} → {pair.receiver}, first after "
            f"{words.duration(schedule.due_ns(pair.name, 0) / 1e9)}"
        )
        for pair in campaign.pairs
    ]
    outside = [f"{host.name} ({name_of(one)})" for host in campaign.hosts for one in host.outside]
    if outside:
        lines += ["", f"other sources: {', '.join(outside)}"]
    first = ", ".join(
        f"{one.name} ({words.size(one.probe_bytes)} and {words.size(one.data_bytes)})"
        for one in sizes
    )
    return [*lines, "", f"sizes of {campaign.pairs[0].name}: {first} …"]
