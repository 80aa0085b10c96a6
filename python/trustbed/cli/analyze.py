"""``trustbed analyze``: a capture in, verdicts out.

Files first, standard output last: a reader that closes the pipe early still has the files.
"""

from __future__ import annotations

import argparse
import datetime
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypedDict

from trustbed.cli import (
    DISCARD,
    ERROR,
    FINE,
    INTERRUPTED,
    REVIEW,
    arguments,
    interrupt,
    print_interrupted,
    progress,
    terminal,
)
from trustbed.report import printable

if TYPE_CHECKING:
    from trustbed.analysis.annotations import Annotated
    from trustbed.analysis.capture import Capture
    from trustbed.analysis.two_point import TwoPoint


def parser() -> arguments.Parser:
    """The parser of ``trustbed analyze``."""
    parser = arguments.Parser(
        "analyze",
        "[OPTIONS] CAPTURE…\n[OPTIONS] --sender CAPTURE --receiver CAPTURE\n"
        "[OPTIONS] --store URL CAPTURE|DIR…",
        "Lists the transfers of a capture, what limited each, how sure that is, and\n"
        "whether its number may be used.",
        "examples:\n"
        "  trustbed analyze server.pcap --workload bulk --capacity 100Mbit/s\n"
        "  trustbed analyze server.pcap --report report.html\n"
        "  trustbed analyze server.pcap --annotate server.pcapng    # for Wireshark\n"
        "  trustbed analyze --sender client.pcap --receiver server.pcap\n"
        "  trustbed analyze captures/ --store lab.store --cluster local\n\n" + arguments.EXIT_CODES,
    )
    arguments.add_captures(parser)
    arguments.add_verdict_options(parser)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--report", type=Path, metavar="FILE", help="an HTML page with charts, works offline"
    )
    output.add_argument(
        "--annotate",
        type=Path,
        metavar="FILE",
        help="the same capture as pcapng, with comments where a phase or pause begins, "
        "something is sent again or a policer drops something",
    )
    output.add_argument(
        "--wireshark-profile",
        type=Path,
        metavar="DIR",
        help="a Wireshark profile for that (columns, colours, filter buttons), for example in "
        "~/.config/wireshark/profiles/trustbed",
    )
    output.add_argument(
        "--burst",
        action="store_true",
        help="burstiness too; reads the capture once more (a report always has it)",
    )
    arguments.add_json(output)
    arguments.add_directory_output(
        output,
        "Parquet tables: connections, transfers, findings, skips; two_point for both ends",
    )
    output.add_argument(
        "--samples",
        action="store_true",
        help="tables rtt, spacing and segments too: a row per packet (with --out)",
    )
    output.add_argument(
        "--junit", type=Path, metavar="FILE", help="a JUnit report for CI, one case per transfer"
    )
    arguments.add_quiet(output)
    arguments.add_store(parser)
    arguments.add_end(parser, fail_on="a transfer", strict="part of the capture could not be read")
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    from trustbed.report.transfer.json import SCHEMA_VERSION

    options = arguments.parse(parser(), words)
    arguments.check_store(options)
    if options.store is not None:
        from trustbed.cli import sweep

        return sweep.run(options, words)
    arguments.check_analyze(options)
    _check_outputs(options)
    about = describe(words, "analyze", schema_version=SCHEMA_VERSION)
    capture, two_point = read(
        options,
        samples=options.samples,
        series=options.report is not None,
        annotations=options.annotate is not None,
    )
    annotated = _write_files(capture, two_point, options, about)
    if options.json:
        write_json(capture, about, burst=options.burst, two_point=two_point)
    elif not options.quiet:
        _print_summary(capture, two_point, options, annotated)
    return _end(capture, options)


class About(TypedDict):
    """What made an output; ``trustbed`` in every JSON document."""

    version: str
    schema_version: int
    command: str
    started: str


def describe(words: Sequence[str], verb: str, *, schema_version: int = 1) -> About:
    """What makes this output, and when: now."""
    from trustbed import __version__

    started = (
        datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    )
    return {
        "version": __version__,
        "schema_version": schema_version,
        "command": shlex.join(["trustbed", verb, *words]),
        "started": started,
    }


def read(
    options: argparse.Namespace,
    *,
    samples: bool = False,
    series: bool = False,
    annotations: bool = False,
) -> tuple[Capture, TwoPoint | None]:
    """The analysed capture and, where both ends were captured, the two joined.

    Shows a progress bar on a terminal.
    """
    from trustbed.analysis.capture import analyze

    two_point = _join(options) if options.receiver else None
    shown = progress.shown(options.captures[0], quiet=options.quiet)
    with interrupt.abandoned_by_interrupt(give_up), shown as bar:
        capture = analyze(
            options.captures,
            at=options.at,
            workload=options.workload,
            capacity=options.capacity,
            inner=options.inner,
            dedup=options.dedup,
            memory=options.memory,
            workers=options.workers,
            samples=samples,
            series=series,
            annotations=annotations,
            host_of=None if two_point is None else two_point.host_of,
            progress=bar,
        )
    if two_point is not None:
        _check_sender(capture, options)
    return capture, two_point


def _join(options: argparse.Namespace) -> TwoPoint:
    from trustbed.analysis.two_point import join

    shown = progress.shown(options.receiver[0], quiet=options.quiet)
    with interrupt.abandoned_by_interrupt(give_up), shown as bar:
        return join(
            options.sender,
            options.receiver,
            same_clock=options.same_clock,
            inner=options.inner,
            progress=bar,
        )


def _check_sender(capture: Capture, options: argparse.Namespace) -> None:
    """Refuses swapped captures: everything that is judged was sent at the receiver's.

    If only some transfers were, their own flags show it.
    """
    from trustbed.diagnose.two_point import SENT_AT_OTHER_END

    judged = [outcome for outcome in capture.judgement.outcomes if outcome.verdict != "not_judged"]
    if judged and all(SENT_AT_OTHER_END in outcome.flags for outcome in judged):
        raise arguments.Complaint(
            f"every transfer that can be judged was sent at {options.receiver[0]} and "
            f"arrived at {options.sender[0]}",
            "swap --sender and --receiver",
        )


def give_up() -> NoReturn:
    """Ends the program at once: the main thread waits for input that does not come."""
    print_interrupted()
    os._exit(INTERRUPTED)  # the main thread is stuck in a read; nothing has been written yet


def _check_outputs(options: argparse.Namespace) -> None:
    from trustbed.report import placing

    inputs = [*options.captures, *(options.receiver or ())]
    files = [path for path in (options.report, options.junit) if path is not None]
    for path in files:
        placing.check_file(path, inputs)
    if len({path.absolute() for path in files}) < len(files):
        raise arguments.UsageError(f"two outputs are {files[0]}", "give each its own name")
    if options.annotate is not None:
        _check_annotate(options)
    if options.wireshark_profile is not None:
        from trustbed.report import wireshark

        wireshark.check(options.wireshark_profile, force=options.force)
    if options.out is not None:
        placing.check_directory(options.out, force=options.force)


def _check_annotate(options: argparse.Namespace) -> None:
    from trustbed.analysis import annotations
    from trustbed.analysis.options import Options, files_of

    annotations.check(options.annotate, Options(files=files_of(options.captures)))


def _write_files(
    capture: Capture,
    two_point: TwoPoint | None,
    options: argparse.Namespace,
    about: About,
) -> Annotated | None:
    if options.out is not None:
        more = None if two_point is None else {"two_point": two_point.stream()}
        capture.write(
            options.out,
            csv=options.csv,
            force=options.force,
            burst=options.burst,
            more=more,
            about=about,
        )
    if options.junit is not None:
        _write_junit(capture, options, about)
    if options.report is not None:
        capture.report(options.report, about=about)
    if options.wireshark_profile is not None:
        from trustbed.report import wireshark

        wireshark.write(options.wireshark_profile, force=options.force)
    if options.annotate is None:
        return None
    with progress.shown(options.captures[0], quiet=options.quiet) as bar:
        return capture.annotate(options.annotate, progress=bar)


def _write_junit(capture: Capture, options: argparse.Namespace, about: About) -> None:
    from trustbed.report import placing
    from trustbed.report.transfer import junit

    with placing.whole_file(options.junit) as stream:
        junit.write(
            stream,
            name=capture.options.name,
            transfers=capture.rows(judged_only=True),
            verdicts=capture.verdicts,
            fail_on=options.fail_on,
            started=about["started"],
            properties={"trustbed_version": about["version"], "command": about["command"]},
        )


def write_json(
    capture: Capture,
    about: About,
    *,
    burst: bool = False,
    two_point: TwoPoint | None = None,
) -> None:
    """The JSON document on standard output."""
    capture.write_json(
        sys.stdout,
        burst=burst,
        two_point=None if two_point is None else two_point.model,
        about=about,
    )


def _print_summary(
    capture: Capture,
    two_point: TwoPoint | None,
    options: argparse.Namespace,
    annotated: Annotated | None,
) -> None:
    from trustbed.report.transfer import terminal as summary

    columns, paint = terminal.width(summary.WIDEST), terminal.paint(no_color=options.no_color)
    arguments_again = arguments.repeated(options)
    printable.write(
        summary.render(capture.overview, repeated=arguments_again, columns=columns, paint=paint)
    )
    if two_point is not None:
        from trustbed.report.transfer import two_point as two_point_text

        text = two_point_text.section(two_point.model, columns=columns, paint=paint)
        printable.write(f"\n{text}")
    if options.burst:
        from trustbed.report.burst import text as burst_text

        text = burst_text.section(capture.bursts.model, columns=columns, paint=paint)
        printable.write(f"\n{text}")
    for path in (options.out, options.report, options.junit, options.wireshark_profile):
        if path is not None:
            printable.write(f"wrote {path}\n")
    if annotated is not None:
        said = f"{annotated.comments:,} comments on {annotated.packets:,} packets"
        printable.write(f"wrote {options.annotate}: {said}\n")


def _end(capture: Capture, options: argparse.Namespace) -> int:
    if options.strict and capture.damage:
        print(f"error: part of the capture could not be read, {capture.damage[0]}", file=sys.stderr)
        print("hint: without --strict trustbed judges what it could read", file=sys.stderr)
        return ERROR
    verdicts = capture.verdicts
    if options.fail_on is not None and verdicts.get("discard"):
        return DISCARD
    if options.fail_on == "review" and verdicts.get("review"):
        return REVIEW
    return FINE
