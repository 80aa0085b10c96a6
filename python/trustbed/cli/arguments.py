"""What the command line accepts: parsers with their help, values with units, and errors.

Only argparse: it starts in a tenth of the time that the larger command-line libraries need.
"""

from __future__ import annotations

import argparse
import functools
import re
import shlex
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn, Protocol

from trustbed.errors import TrustbedError

CAPTURE_POINTS = ("sender", "receiver", "middle")
WORKLOADS = ("bulk", "interactive")
LEVELS = ("review", "discard")
EXIT_CODES = "exit codes: 0 fine, 1 error, 2 wrong usage, 3 review, 4 discard"


class Group(Protocol):
    """A receiver of options: a parser, or a group of one."""

    def add_argument(self, *name_or_flags: str, **kwargs: Any) -> argparse.Action:  # noqa: ANN401
        """As of argparse."""


class Complaint(TrustbedError):
    """A request cannot be carried out: what, where, and what to do instead."""


class UsageError(Complaint):
    """The command line is incomplete or contradictory."""

    exit_code = 2


class Parser(argparse.ArgumentParser):
    """A verb's parser: raises errors instead of printing them; its help fits 80 columns."""

    def __init__(self, verb: str, usage: str, description: str, epilog: str | None = None) -> None:
        """Makes the parser of ``trustbed VERB``.

        Args:
            verb: Its words after ``trustbed``.
            usage: What follows them; one line for each form.
            description: What the verb does, at most 80 columns wide.
            epilog: Examples and exit codes, as they are to be printed.
        """
        prog = f"trustbed {verb}"
        forms = usage.splitlines()
        super().__init__(
            prog=prog,
            usage=f"\n{'':7}".join(f"{prog} {form}" for form in forms),
            description=description,
            epilog=epilog,
            formatter_class=functools.partial(
                argparse.RawDescriptionHelpFormatter, max_help_position=26, width=80
            ),
            add_help=False,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Raises the error, with a hint.

        Raises:
            UsageError: Always.
        """
        raise UsageError(message, f"see {self.prog} --help")


def workers(text: str) -> int:
    """A number of threads."""
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of threads (1 to 1024)")
    return int(text)


def rate(text: str) -> int:
    """Bits per second, above 0."""
    from trustbed._core import parse_rate
    from trustbed.analysis.options import lacks_unit

    if lacks_unit(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} lacks a unit (write it like 20Mbit/s or 1.5Gbit/s)"
        )
    try:
        bits_per_second = int(parse_rate(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{error} (write it like 20Mbit/s or 1.5Gbit/s)"
        ) from error
    if bits_per_second == 0:
        raise argparse.ArgumentTypeError("a link with a rate of 0 delivers nothing")
    return bits_per_second


def span(text: str) -> int:
    """Nanoseconds, above 0."""
    from trustbed._core import parse_span

    try:
        nanoseconds = int(parse_span(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if nanoseconds <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not a positive duration")
    return nanoseconds


def size(text: str) -> int:
    """Bytes."""
    from trustbed._core import parse_size
    from trustbed.analysis.options import lacks_unit

    if lacks_unit(text):
        raise argparse.ArgumentTypeError(f"{text!r} lacks a unit (write it like 64KiB or 1500B)")
    try:
        return int(parse_size(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def memory(text: str) -> int:
    """Bytes of connection state."""
    from trustbed.analysis.options import LEAST_MEMORY

    given = size(text)
    if given < LEAST_MEMORY:
        raise argparse.ArgumentTypeError(f"{text} is too little: at least {LEAST_MEMORY >> 20}MiB")
    return given


def add_verdict_options(parser: argparse.ArgumentParser) -> None:
    """What a verdict depends on: ``analyze`` and ``explain`` take the same options."""
    known = parser.add_argument_group("what you know (packets cannot show it)")
    known.add_argument(
        "--at",
        choices=CAPTURE_POINTS,
        metavar="POINT",
        help="capture point: sender, receiver or middle (default: inferred per connection)",
    )
    known.add_argument(
        "--workload",
        choices=WORKLOADS,
        metavar="KIND",
        help="bulk: the sender always had data to send; interactive: it waited for requests",
    )
    known.add_argument(
        "--capacity",
        type=rate,
        metavar="RATE",
        help="rate of the narrowest link, for example 20Mbit/s",
    )
    both = parser.add_argument_group("two-point capture (the same packets at both ends)")
    both.add_argument(
        "--sender",
        action="append",
        metavar="CAPTURE",
        help="taken at the sender: its transfers are judged. Repeat for each rotated file",
    )
    both.add_argument(
        "--receiver",
        action="append",
        metavar="CAPTURE",
        help="taken at the receiver: adds loss between the ends, one-way delay increase and the "
        "receiver's own delay. Repeat for each rotated file",
    )
    both.add_argument(
        "--same-clock", action="store_true", help="one clock timestamped both captures"
    )
    reading = parser.add_argument_group("reading")
    reading.add_argument(
        "--inner",
        action="store_true",
        help="judge the packets inside VXLAN, GRE, Geneve and IP in IP, not the tunnel",
    )
    reading.add_argument("--dedup", action="store_true", help="drop packets captured twice")
    reading.add_argument(
        "--memory",
        type=memory,
        metavar="SIZE",
        help="memory for the state of open connections (default: 1GiB); what does not fit is "
        "evicted early and counted",
    )
    add_workers(reading)


def add_workers(group: Group) -> None:
    """``--workers``."""
    group.add_argument(
        "--workers",
        type=workers,
        metavar="N",
        help="threads (default: one per core); the result is the same for any number",
    )


def add_store(parser: argparse.ArgumentParser) -> None:
    """Where many captures go, and who analyses them."""
    group = parser.add_argument_group("many captures (each on its own; rotated files together)")
    group.add_argument(
        "--store",
        metavar="URL",
        help="add them to a store: a directory, or a URL like s3://bucket/path. What is in it is "
        "not done again (docs/store.md)",
    )
    group.add_argument(
        "--testbed", metavar="NAME", help="label of what was captured (default: unnamed)"
    )
    group.add_argument(
        "--cluster",
        metavar="WHERE",
        help="worker processes of Dask: local (one per core, or --workers N), the HOST:PORT of a "
        "scheduler, or ssh:INVENTORY (one per host, or --workers N)",
    )
    group.add_argument(
        "--worker-memory",
        type=memory,
        metavar="SIZE",
        help="what a worker may take before it is restarted (local and ssh; default: its share)",
    )


def check_store(options: argparse.Namespace) -> None:
    """Refuses options that contradict ``--store``, or need it."""
    if options.store is None:
        for name in ("testbed", "cluster", "worker_memory"):
            if getattr(options, name) is not None:
                raise UsageError(
                    f"--{name.replace('_', '-')} needs --store URL",
                    "for example: trustbed analyze captures/ --store lab.store --cluster local",
                )
        return
    alone = (
        *("report", "out", "junit", "csv", "samples", "burst", "annotate", "wireshark_profile"),
        *("sender", "receiver", "same_clock", "force"),
    )
    given = [name for name in alone if getattr(options, name)]
    if given:
        raise UsageError(
            f"--{given[0].replace('_', '-')} is about one capture, and --store about many",
            "leave one of the two out",
        )
    if options.worker_memory is not None and options.cluster is None:
        raise UsageError("--worker-memory has no effect without --cluster", "add --cluster local")
    is_there = options.cluster not in (None, "local") and not options.cluster.startswith("ssh:")
    for name in ("workers", "worker_memory") if is_there else ():
        if getattr(options, name) is not None:
            raise UsageError(
                f"--{name.replace('_', '-')} has no effect on workers that run already",
                "it belongs to --cluster local and --cluster ssh:INVENTORY",
            )
    if not options.captures:
        raise UsageError(
            "no capture given", "for example: trustbed analyze captures/ --store lab.store"
        )
    if "-" in options.captures:
        raise UsageError(
            "--store reads captures twice, which standard input (-) does not allow",
            "save it to a file",
        )


def add_captures(parser: argparse.ArgumentParser, more: str = "") -> None:
    """The captures to read."""
    parser.add_argument(
        "captures",
        nargs="*",
        metavar="CAPTURE",
        help="pcap or pcapng, plain, .gz or .zst; - reads standard input. Several files are one "
        f"rotated capture{more}",
    )


def add_directory_output(group: Group, what: str) -> None:
    """``--out DIR`` and what goes with it."""
    group.add_argument("-o", "--out", type=Path, metavar="DIR", help=what)
    group.add_argument(
        "--csv", action="store_true", help="CSV beside every Parquet table (with --out)"
    )
    group.add_argument("--force", action="store_true", help="let --out write among files of others")


def add_quiet(group: Group, what: str = "no summary and no progress bar") -> None:
    """``--quiet`` and ``--no-color``."""
    group.add_argument("-q", "--quiet", action="store_true", help=what)
    group.add_argument(
        "--no-color", action="store_true", help="no colour (or set the variable NO_COLOR)"
    )


def add_json(group: Group, what: str = "everything as JSON on standard output") -> None:
    """``--json``."""
    group.add_argument("--json", action="store_true", help=what)


def add_help(group: Group) -> None:
    """``--help``, which the command line answers before it parses."""
    group.add_argument("-h", "--help", action="store_true", help="print this page")


def add_end(
    parser: argparse.ArgumentParser, *, fail_on: str | None = None, strict: str | None = None
) -> None:
    """The last group: when to fail, and ``--help``.

    Args:
        parser: Gets the group.
        fail_on: What is reviewed or discarded; ``None``: no option ``--fail-on``.
        strict: When ``--strict`` exits with 1; ``None``: no such option.
    """
    group = parser.add_argument_group("exit code")
    if fail_on is not None:
        group.add_argument(
            "--fail-on",
            choices=LEVELS,
            metavar="LEVEL",
            help=f"review: exit 3 if {fail_on} needs review, 4 if one must be discarded; "
            "discard: only the 4",
        )
    if strict is not None:
        group.add_argument("--strict", action="store_true", help=f"exit 1 if {strict}")
    add_help(group)


def repeated(options: argparse.Namespace) -> str:
    """Options and captures that lead to the same verdicts again, as a shell takes them.

    The options are those that :func:`check_analyze` has passed. What cannot be repeated (standard
    input) and what would fill the line (the files of a rotated capture) is ``CAPTURE``.
    """
    two_point = bool(options.sender)
    words: list[str] = []
    if options.at and not two_point:
        words += ["--at", options.at]
    if options.workload:
        words += ["--workload", options.workload]
    if options.capacity:
        words += ["--capacity", f"{Decimal(options.capacity) / 10**6:f}Mbit/s"]
    words += [f"--{name}" for name in ("inner", "dedup") if getattr(options, name)]
    if options.memory:
        words += ["--memory", f"{options.memory}B"]
    for name in ("sender", "receiver"):
        files = _captures(getattr(options, name) or ())
        words += [word for file in files for word in (f"--{name}", file)]
    if options.same_clock:
        words.append("--same-clock")
    return " ".join([*words, *(() if two_point else _captures(options.captures))])


def _captures(files: Sequence[str]) -> list[str]:
    if "-" in files:
        return ["CAPTURE"]
    return ["CAPTURE…"] if len(files) > 2 else [shlex.quote(file) for file in files]


def parse(
    parser: argparse.ArgumentParser, arguments: Sequence[str], *, hint: str | None = None
) -> argparse.Namespace:
    """The options, or a :class:`UsageError` that names a near miss.

    Args:
        parser: The verb's.
        arguments: What was typed.
        hint: What to do about a word that is neither an option nor an option's value.
    """
    options, unknown = parser.parse_known_intermixed_args(list(arguments))
    strange = next((word for word in unknown if word.startswith("-") and word != "-"), None)
    if strange is not None:
        raise UsageError(
            f"no such option, {strange}",
            _nearest(strange, _names_of(parser), f"see {parser.prog} --help"),
        )
    if unknown:
        raise UsageError(f"{unknown[0]} is one word too many", hint or f"see {parser.prog} --help")
    return options


def check_plan(options: argparse.Namespace) -> None:
    """Refuses ``--dry-run`` as JSON: a plan is text."""
    if options.dry_run and options.json:
        raise UsageError("a plan is text, not JSON", "leave --json or --dry-run out")


def check_analyze(options: argparse.Namespace) -> None:
    """Refuses options that contradict each other."""
    hint = "see trustbed analyze --help"
    _check_ends(options, "analyze")
    if not options.captures:
        raise UsageError("no capture given", "for example: trustbed analyze server.pcap")
    if options.csv and options.out is None:
        raise UsageError(
            "--csv needs a directory, --out DIR",
            "for example: trustbed analyze server.pcap --out tables --csv",
        )
    if options.samples and options.out is None:
        raise UsageError(
            "--samples needs a directory, --out DIR",
            "for example: trustbed analyze server.pcap --out tables --samples",
        )
    if options.force and options.out is None and options.wireshark_profile is None:
        raise UsageError("--force has no effect without --out DIR or --wireshark-profile DIR", hint)
    check_inputs(options.captures)
    if options.burst and any(
        file == "-" or (Path(file).exists() and not Path(file).is_file())
        for file in options.captures
    ):
        raise UsageError(
            "--burst reads the capture a second time, which standard input and pipes do not allow",
            "save it to a file, or ask only for its burstiness: trustbed burst -",
        )


def _check_ends(options: argparse.Namespace, verb: str, behind: str = "") -> None:
    """Takes either captures or both ends, of which the sender's is judged."""
    example = f"for example: trustbed {verb} --sender client.pcap --receiver server.pcap{behind}"
    if not options.sender and not options.receiver:
        if options.same_clock:
            raise UsageError("--same-clock needs two captures", example)
        return
    if not options.sender or not options.receiver:
        missing = "--receiver" if options.sender else "--sender"
        raise UsageError(f"{missing} is missing: a two-point capture needs both ends", example)
    if options.captures:
        raise UsageError(
            f"{options.captures[0]} is neither the sender's nor the receiver's capture",
            example,
        )
    if options.at is not None:
        raise UsageError("--at contradicts --sender and --receiver, which imply it", example)
    if "-" in (*options.sender, *options.receiver):
        raise UsageError(
            "both ends are read twice, which standard input (-) does not allow", "save it to a file"
        )
    options.captures, options.at = options.sender, "sender"


def check_explain(options: argparse.Namespace) -> None:
    """Takes the last word as the transfer, an option of its own."""
    two_point = options.sender or options.receiver
    if len(options.captures) < (1 if two_point else 2):
        raise UsageError(
            "a capture and a transfer are needed",
            "for example: trustbed explain server.pcap :5201",
        )
    options.transfer = options.captures.pop()
    _check_ends(options, "explain", " :5201")
    check_inputs(options.captures)


def check_inputs(captures: Sequence[str], verb: str = "analyze") -> None:
    """Standard input comes alone, and from a pipe."""
    if "-" in captures and len(captures) > 1:
        raise UsageError(
            "standard input (-) cannot be one of several files", "give the files by name, or only -"
        )
    if "-" in captures and sys.stdin is not None and sys.stdin.isatty():
        raise UsageError(
            "standard input (-) is the keyboard", f"for example: tcpdump -w - | trustbed {verb} -"
        )


def _names_of(parser: argparse.ArgumentParser) -> list[str]:
    return re.findall(r"(?<![\w-])--[a-z][a-z-]*", parser.format_help())


def unknown_command(word: str, commands: Sequence[str], parent: str = "") -> UsageError:
    """The error about a verb, or an action of ``parent``, that does not exist."""
    if parent:
        return UsageError(
            f"no such action, {word}",
            _nearest(word, commands, f"see trustbed {parent} --help"),
        )
    if Path(word).is_file():
        return UsageError(
            f"no such command, {word}", f"to judge that file: trustbed analyze {word}"
        )
    return UsageError(f"no such command, {word}", _nearest(word, commands, "see trustbed --help"))


def _nearest(word: str, known: Sequence[str], otherwise: str) -> str:
    import difflib

    near = difflib.get_close_matches(word.partition("=")[0], known, n=1)
    return f"did you mean {near[0]}?" if near else otherwise
