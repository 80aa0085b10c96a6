"""``trustbed analyze``: a capture in, verdicts out.

Files first, standard output last: whoever closes the pipe early still has the files. The exit code says how the analysis ended, and with
``--fail-on`` what it found.
"""

from __future__ import annotations

import argparse
import datetime
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from trustbed.cli import (
    DISCARD,
    ERROR,
    FINE,
    INTERRUPTED,
    REVIEW,
    arguments,
    interrupt,
    progress,
    tell_interrupted,
)

if TYPE_CHECKING:
    from trustbed.capture import Capture
    from trustbed.ends import Ends


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    options = arguments.parse(arguments.analyze_parser(), words)
    arguments.check_analyze(options)
    _check_places(options)
    about = describe(words, "analyze")
    capture, ends = read(options, samples=options.samples, series=options.report is not None)
    _write_files(capture, ends, options, about)
    if options.json:
        write_json(capture, about, burst=options.burst, ends=ends)
    elif not options.quiet:
        _print_summary(capture, ends, options)
    return _end(capture, options)


def describe(words: Sequence[str], verb: str) -> dict[str, Any]:
    """Which tool made this output, how it was called, and when."""
    from trustbed import __version__
    from trustbed.report.json import SCHEMA_VERSION

    started = (
        datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    )
    return {
        "version": __version__,
        "schema_version": SCHEMA_VERSION,
        "command": shlex.join(["trustbed", verb, *words]),
        "started": started,
    }


def read(
    options: argparse.Namespace, *, samples: bool = False, series: bool = False
) -> tuple[Capture, Ends | None]:
    """The capture, analysed, with a progress bar if somebody waits for it; judged by both ends, and those joined, where there are two."""
    from trustbed.capture import analyze

    ends = _join(options) if options.receiver else None
    asked: dict[str, Any] = {
        "at": options.at,
        "workload": options.workload,
        "capacity": options.capacity,
        "inner": options.inner,
        "dedup": options.dedup,
        "workers": options.workers,
        "samples": samples,
        "series": series,
        "host_of": None if ends is None else ends.host_of,
    }
    with interrupt.ends_waiting(give_up):
        if not progress.wanted(quiet=options.quiet):
            capture = analyze(options.captures, **asked)
        else:
            with progress.Progress(options.captures[0]) as bar:
                capture = analyze(options.captures, **asked, progress=bar)
    if ends is not None:
        _check_ends(capture, options)
    return capture, ends


def _join(options: argparse.Namespace) -> Ends:
    from trustbed.ends import join

    asked: dict[str, Any] = {"same_clock": options.same_clock, "inner": options.inner}
    with interrupt.ends_waiting(give_up):
        if not progress.wanted(quiet=options.quiet):
            return join(options.sender, options.receiver, **asked)
        with progress.Progress(options.receiver[0]) as bar:
            return join(options.sender, options.receiver, **asked, progress=bar)


def _check_ends(capture: Capture, options: argparse.Namespace) -> None:
    """Refuses captures of which the second is beside whoever sent everything that is judged; where only a part is, that part says so."""
    from trustbed.diagnose.both_ends import SENT_AT_OTHER_END

    judged = [
        diagnosis
        for diagnosis in capture.examination.diagnoses
        if diagnosis.verdict != "not_judged"
    ]
    if judged and all(SENT_AT_OTHER_END in diagnosis.flags for diagnosis in judged):
        raise arguments.Complaint(
            f"everything that can be judged was sent beside {options.receiver[0]}, and arrived beside {options.sender[0]}",
            "swap --sender and --receiver",
        )


def give_up() -> NoReturn:
    """Ends the program at once: the main thread waits for input that does not come."""
    tell_interrupted()
    os._exit(INTERRUPTED)  # the main thread is stuck in a read; nothing has been written yet


def _check_places(options: argparse.Namespace) -> None:
    from trustbed.report import placing

    for path in (options.report, options.junit):
        if path is not None:
            placing.check_file(path)
    if options.out is not None:
        placing.check_folder(options.out, force=options.force)


def _write_files(
    capture: Capture, ends: Ends | None, options: argparse.Namespace, about: dict[str, Any]
) -> None:
    if options.out is not None:
        more = None if ends is None else {"crossings": ends.stream()}
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


def _write_junit(capture: Capture, options: argparse.Namespace, about: dict[str, Any]) -> None:
    from trustbed.report import junit, placing

    with placing.whole_file(options.junit) as stream:
        junit.write(
            stream,
            name=capture.question.name,
            transfers=capture.rows(judged_only=True),
            verdicts=capture.overview.verdicts,
            fail_on=options.fail_on,
            started=about["started"],
            properties={"trustbed_version": about["version"], "command": about["command"]},
        )


def write_json(
    capture: Capture, about: dict[str, Any], *, burst: bool = False, ends: Ends | None = None
) -> None:
    """The JSON document on standard output."""
    capture.write_json(
        sys.stdout, burst=burst, both_ends=None if ends is None else ends.model, about=about
    )


def _print_summary(capture: Capture, ends: Ends | None, options: argparse.Namespace) -> None:
    from trustbed.report import paint, terminal

    columns = (
        shutil.get_terminal_size((terminal.WIDEST, 24)).columns
        if sys.stdout.isatty()
        else terminal.WIDEST
    )
    painter = paint.Paint(paint.wanted(sys.stdout, never=options.no_color))
    sys.stdout.write(
        terminal.render(
            capture.overview, asked=arguments.repeated(options), columns=columns, paint=painter
        )
    )
    if ends is not None:
        from trustbed.report import ends_text

        sys.stdout.write("\n" + ends_text.section(ends.model, columns=columns, paint=painter))
    if options.burst:
        from trustbed.report import burst_text

        sys.stdout.write(
            "\n" + burst_text.section(capture.bursts.model, columns=columns, paint=painter)
        )
    for path in (options.out, options.report, options.junit):
        if path is not None:
            sys.stdout.write(f"wrote {path}\n")


def _end(capture: Capture, options: argparse.Namespace) -> int:
    if options.strict and capture.damage:
        print(f"error: part of the capture could not be read, {capture.damage[0]}", file=sys.stderr)
        print("hint: without --strict what could be read is judged all the same", file=sys.stderr)
        return ERROR
    verdicts = capture.overview.verdicts
    if options.fail_on is not None and verdicts.get("discard"):
        return DISCARD
    if options.fail_on == "review" and verdicts.get("review"):
        return REVIEW
    return FINE
