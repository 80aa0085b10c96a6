"""``trustbed trace``: system calls of a command, of processes, or of another tool's trace."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trustbed.cli import ERROR, FINE, REVIEW, arguments
from trustbed.cli.analyze import describe
from trustbed.cli.interrupt import signals_as_interrupts
from trustbed.report import printable
from trustbed.report.placing import check_file
from trustbed.report.text import table as aligned
from trustbed.report.words import counted, size

if TYPE_CHECKING:
    from trustbed.run.tracing import Recorded

_SHOWN = 20
"""Calls in the summary."""


def parser() -> arguments.Parser:
    """The parser of ``trustbed trace``."""
    parser = arguments.Parser(
        "trace",
        "[OPTIONS] -o FILE -- CMD…\n[OPTIONS] -o FILE\n--import TRACE -o FILE",
        "Records the system calls of a command and all it starts, of processes, or of\n"
        "every process: each thread's in order, with times and results. It counts what\n"
        "it loses, and marker calls prove that it covers every processor from the\n"
        "beginning to the end. Needs root. It costs a busy web server some percent of\n"
        "its requests (strace: nearly all of them).\n\n"
        "--import makes the same table of what another tool printed: strace -f -tt -T,\n"
        "perf script (of raw_syscalls or syscalls), sysdig -r, or bpftrace with\n"
        "  tracepoint:raw_syscalls:sys_enter\n"
        '    { printf("%llu %d %d > %d\\n", nsecs, pid, tid, args.id); }\n'
        "  tracepoint:raw_syscalls:sys_exit\n"
        '    { printf("%llu %d %d < %d %lld\\n", nsecs, pid, tid, args.id, args.ret); }',
        "examples:\n"
        "  trustbed trace -o calls.parquet -- curl -s http://10.0.0.1/\n"
        "  trustbed trace --command nginx --duration 10s -o calls.parquet\n"
        "  trustbed trace --import strace.txt -o calls.parquet\n\n"
        "exit codes: that of CMD; without CMD 0 fine, 1 error, 2 wrong usage,\n"
        "3 calls were lost",
    )
    whose = parser.add_argument_group("whose calls (default: of every process)")
    whose.add_argument(
        "--pid",
        type=_process,
        action="append",
        metavar="N",
        help="this process and its descendants; may be repeated",
    )
    whose.add_argument(
        "--cgroup", type=Path, metavar="DIR", help="processes in a control group: its directory"
    )
    whose.add_argument("--command", metavar="NAME", help="processes that run a program")
    how = parser.add_argument_group("recording")
    how.add_argument(
        "--count", action="store_true", help="only count calls, which costs less; no table"
    )
    how.add_argument(
        "--descriptors",
        action="store_true",
        help="with the descriptor that a call is about, and its kind: file, socket, …",
    )
    how.add_argument(
        "--duration",
        type=arguments.span,
        metavar="TIME",
        help="stop after this time (default: at Ctrl-C), such as 10s",
    )
    imported = parser.add_argument_group("traces of other tools")
    imported.add_argument(
        "--import", dest="imported", type=Path, metavar="TRACE", help="what the tool printed"
    )
    imported.add_argument(
        "--format",
        choices=("strace", "perf", "sysdig", "bpftrace"),
        help="the tool (default: told from the lines)",
    )
    imported.add_argument(
        "--architecture",
        choices=("x86_64", "aarch64"),
        help="whose numbers of calls they are (default: this machine's)",
    )
    output = parser.add_argument_group("output")
    output.add_argument("-o", "--out", type=Path, metavar="FILE", help="the table, Parquet")
    arguments.add_json(output, "the tracer's report as JSON on standard output")
    arguments.add_quiet(output, "no summary")
    arguments.add_end(parser)
    return parser


def _process(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) < 2**22:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of a process")
    return int(text)


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    at = words.index("--") if "--" in words else len(words)
    own, command = words[:at], list(words[at + 1 :])
    before = "put -- before the command: trustbed trace -o calls.parquet -- CMD"
    options = arguments.parse(parser(), own, hint=before)
    _check(options, command, has_dashes=at < len(words))
    if options.imported is not None:
        return _import(options, own)
    recorded = _record(options, command)
    _show(recorded, options, own)
    if recorded.exit_code is not None:
        return recorded.exit_code
    return FINE if recorded.report["complete"] else REVIEW


def _check(options: argparse.Namespace, command: Sequence[str], *, has_dashes: bool) -> None:
    whose = {
        "--pid": options.pid,
        "--cgroup": options.cgroup,
        "--command": options.command,
        "-- CMD": command,
        "--import": options.imported,
    }
    given = [name for name, value in whose.items() if value]
    if has_dashes and not command:
        raise arguments.UsageError("no command follows --", "trustbed trace -o FILE -- CMD")
    if len(given) > 1:
        raise arguments.UsageError(f"{given[0]} and {given[1]} contradict", "give one of them")
    if options.count and options.imported is not None:
        raise arguments.UsageError("--count is for recording", "leave it out")
    if options.descriptors and (options.count or options.imported is not None):
        raise arguments.UsageError("--descriptors is for recording a table", "leave it out")
    if options.duration is not None and (command or options.imported is not None):
        raise arguments.UsageError("--duration ends no command", "leave it out")
    if options.imported is None and (options.format or options.architecture):
        raise arguments.UsageError("--format and --architecture are for --import", "add --import")
    if options.count and options.out is not None:
        raise arguments.UsageError("--count writes no table", "leave -o out, or --count")
    if not options.count and options.out is None:
        raise arguments.UsageError("no file is named for the table", "-o calls.parquet, or --count")
    if options.out is not None:
        check_file(options.out, [options.imported] if options.imported else ())
        if options.out.exists() and not options.out.is_file():
            raise arguments.Complaint(
                f"a table is a file, and {options.out} is none", "name a file, or --count"
            )


def _record(options: argparse.Namespace, command: Sequence[str]) -> Recorded:
    from trustbed.run.tracing import Whose, record, record_command

    if command:
        with signals_as_interrupts():  # until it runs; then they are the command's
            return record_command(command, options.out, descriptors=options.descriptors)
    whose = Whose(
        processes=options.pid or (), cgroup=options.cgroup, command=options.command or None
    )
    seconds = None if options.duration is None else options.duration / 1e9
    with signals_as_interrupts():
        return record(whose, options.out, seconds=seconds, descriptors=options.descriptors)


def _import(options: argparse.Namespace, words: Sequence[str]) -> int:
    from trustbed.calls.importing import import_trace
    from trustbed.calls.summary import by_call

    found = import_trace(
        options.imported, options.out, format=options.format, architecture=options.architecture
    )
    counts = by_call(options.out)
    if options.json:
        described = {
            "format": found.format,
            "calls": found.calls,
            "lost": found.lost,
            "skipped": dict(found.skipped),
            "by_call": counts,
        }
        printable.write_json({"trustbed": describe(words, "trace"), **described})
    elif not options.quiet:
        skipped = ", ".join(f"{count:,} {what}" for what, count in found.skipped.items())
        printable.write(
            f"{found.calls:,} calls of {found.format}, {found.lost:,} lost"
            + (f"; skipped: {skipped}" if skipped else "")
            + "\n"
            + _table(counts)
        )
    if not found.calls:
        return ERROR
    return REVIEW if found.lost else FINE


def _show(recorded: Recorded, options: argparse.Namespace, words: Sequence[str]) -> None:
    from trustbed.calls.summary import most_first

    report = recorded.report
    if options.json:
        printable.write_json({"trustbed": describe(words, "trace"), **report})
    elif not options.quiet:
        switches = _known(report, "context_switches", "context switches")
        threads = len(report["threads"]) + report["threads_left_out"]
        requests = _known(report, "block_requests", "block requests")
        printable.write(
            f"{counted(report['calls'], 'call')} of {counted(threads, 'thread')}, "
            f"{report['lost']:,} lost, {report['markers_seen']} of "
            f"{report['markers_made']} markers seen\n"
            f"{report['reads']['calls']:,} reads{switches}{requests}\n"
            + _table(most_first(report["by_call"]))
            + _kinds(report.get("descriptors") or {})
        )


def _kinds(used: Mapping[str, Mapping[str, int]]) -> str:
    """What was done with descriptors of each kind."""
    rows = [
        [kind, f"{one['calls']:,}", size(one["read_bytes"]), size(one["written_bytes"])]
        for kind, one in sorted(used.items(), key=lambda item: -item[1]["calls"])
    ]
    lines = [*aligned(["descriptors", "calls", "read", "written"], rows)] if rows else []
    return "".join(f"{line}\n" for line in lines)


def _known(report: Mapping[str, Any], key: str, what: str) -> str:
    return "" if report[key] is None else f", {report[key]:,} {what}"


def _table(counts: Mapping[str, int]) -> str:
    total = sum(counts.values())
    rows = [
        [name, f"{count:,}", f"{100 * count / total:.1f} %"]
        for name, count in list(counts.items())[:_SHOWN]
    ]
    more = len(counts) - len(rows)
    lines = [*aligned(["call", "calls", "share"], rows)] if rows else []
    return "".join(f"{line}\n" for line in [*lines, *([f"… and {more} more"] * (more > 0))])
