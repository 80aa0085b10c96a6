"""``trustbed pairs``: a campaign in, rounds of connection pairs between hosts that exist, each judged as it arrives.

Standard output has the summary, or JSON; everything about how it goes is on standard error. Ctrl-C, a kind kill and a closed terminal end
the session in order: what is complete stays, and the same command continues.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trustbed.campaign import Round, Schedule, Skip
from trustbed.cli import FINE, arguments
from trustbed.cli.analyze import describe
from trustbed.cli.interrupt import kills_are_interrupts
from trustbed.cli.status import show
from trustbed.report import words
from trustbed.report.campaign_words import length
from trustbed.rounds.listener import RoundListener
from trustbed.scenario import campaign as campaigns
from trustbed.scenario.campaign import CampaignFile
from trustbed.scenario.campaign_model import Rounds
from trustbed.scenario.outside import name_of


def parser() -> argparse.ArgumentParser:
    """The parser of ``trustbed pairs``."""
    parser = arguments.Parser(prog="trustbed pairs", add_help=False, allow_abbrev=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("campaign", nargs="*", metavar="CAMPAIGN")
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--fail-on", choices=arguments.LEVELS)
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("--no-color", action="store_true")
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    options = arguments.parse(parser(), words)
    if len(options.campaign) != 1:
        message = (
            "no campaign given"
            if not options.campaign
            else f"one campaign, not {len(options.campaign)}"
        )
        raise arguments.UsageError(message, "for example: trustbed pairs campaign.toml")
    study = campaigns.load(Path(options.campaign[0]))
    if options.dry_run:
        print("\n".join(_plan(study)))
        return FINE
    return _carry_out(study, options, words)


def _carry_out(study: CampaignFile, options: argparse.Namespace, words: Sequence[str]) -> int:
    from trustbed.campaigns import default_folder, measure, open_campaign
    from trustbed.rounds import CampaignDirectory
    from trustbed.run.folder import RunDirectoryError

    directory = CampaignDirectory(options.out or default_folder(study))
    if options.resume and not directory.exists:
        raise RunDirectoryError(
            f"no campaign to continue, {directory.path}",
            "leave --resume out to begin one, or name its folder with --out",
        )
    about = {
        key: value for key, value in describe(words, "pairs").items() if key != "schema_version"
    }
    listener = RoundListener() if options.quiet else _Lines()
    with kills_are_interrupts():
        try:
            measure(study, directory, about=about, listener=listener)
        except KeyboardInterrupt:
            print(
                f"complete rounds are kept in {directory.path}; the same command continues",
                file=sys.stderr,
            )
            raise
    return show(open_campaign(directory.path), options, words, "pairs")


class _Lines(RoundListener):
    """A line for whatever happens."""

    def on_begun(self, *, rounds: int, resumed: bool) -> None:
        if resumed:
            _say(f"continues behind {words.counted(rounds, 'round')}")

    def on_host(self, host: str, *, up: bool, why: str | None, hint: str | None) -> None:
        _say(
            f"{host} is there"
            if up
            else f"{host} is not there: {why}{f' ({hint})' if hint else ''}"
        )

    def on_skipped(self, skip: Skip) -> None:
        by = f" ({skip.by})" if skip.by else ""
        _say(
            f"{skip.pair.name}  {words.counted(len(skip.numbers), 'round')} skipped: {skip.reason}{by}"
        )

    def on_ended(self, one: Round, record: Mapping[str, Any]) -> None:
        why = f": {record['error']['message']}" if "error" in record else ""
        if record["outcome"] != "complete":
            _say(f"{one.pair.name}  round {one.number} {record['outcome']}{why}")
        for trouble in record["troubles"]:
            _say(f"{one.pair.name}  round {one.number}: {trouble['what']}: {trouble['message']}")

    def on_judged(self, pair: str, number: int, judged: Mapping[str, Any]) -> None:
        if not judged["connections"]:
            return  # why there are none was said when it ended
        data = [row for row in judged["connections"] if row["role"] == "data"]
        rates = [
            row["app_bytes_per_second"] for row in data if row["app_bytes_per_second"] is not None
        ]
        causes = sorted({row["cause"] for row in data if row["cause"] is not None})
        index = judged["connections"][0]["index"]
        mean = words.rate(sum(rates) / len(rates)) if rates else "nothing"
        told = [", ".join(causes), judged["use"] or "not judged"]
        _say(
            f"{pair}  round {number}  index {index}  {mean} of data  {'  '.join(one for one in told if one)}"
        )


def _say(text: str) -> None:
    now = datetime.datetime.now(datetime.UTC).strftime("%H:%M:%S")
    sys.stderr.write(f"{now}  {text}\n")
    sys.stderr.flush()


# What would be done.


def _steps(rounds: Rounds) -> Sequence[str]:
    """What happens in a round, in order."""
    steps = [words.counted(rounds.pings, "ping")]
    if rounds.delay is not None:
        steps.append(
            f"{words.counted(rounds.delay.probes, 'test packet')} ({length(rounds.delay.longest_ns)} at most)"
        )
    steps += [f"{name} ({length(limit)} at most)" for name, limit in rounds.bandwidth]
    windows = f"windows of {rounds.probe_window_bytes} and {rounds.data_window_bytes} bytes"
    return [
        *steps,
        f"{words.counted(rounds.pairs_at_once, 'connection pair')} ({rounds.arrangement}), {windows}",
    ]


def _plan(study: CampaignFile) -> Sequence[str]:
    campaign = study.campaign
    rounds, schedule = campaign.rounds, Schedule(study.campaign, 0)
    sizes = [schedule.index(campaign.pairs[0].name, number) for number in range(3)]
    lines = [
        f"{campaign.name}, seed {campaign.seed}",
        f"{words.counted(rounds.count, 'round')} of every pair, one in {words.duration(rounds.period_ns / 1e9)}: "
        f"{words.duration(campaign.lasts_ns / 1e9)} in all",
        f"a round: {', then '.join(_steps(rounds))}",
        "",
    ]
    lines += [
        f"  {pair.name:<20} {pair.sender} → {pair.receiver}, first after {words.duration(schedule.due_ns(pair.name, 0) / 1e9)}"
        for pair in campaign.pairs
    ]
    outside = [f"{host.name} ({name_of(one)})" for host in campaign.hosts for one in host.outside]
    if outside:
        lines += ["", f"asked besides the hosts: {', '.join(outside)}"]
    first = ", ".join(
        f"{one.name} ({words.buffer(one.probe_bytes)} and {words.buffer(one.data_bytes)})"
        for one in sizes
    )
    return [*lines, "", f"sizes of {campaign.pairs[0].name}: {first} …"]
