"""What the command line accepts, and what it says when it does not.

Only argparse: its parser costs a tenth of the start-up that the larger command-line libraries need. The help texts are in
``trustbed.cli.help``.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

PLACES = ("sender", "receiver", "middle")
WORKLOADS = ("bulk", "interactive")
LEVELS = ("review", "discard")


class Complaint(Exception):
    """What a person asked for cannot be done: what, where, and what to do instead."""

    code = 1

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(Complaint):
    """The command line does not say what to do."""

    code = 2


class Parser(argparse.ArgumentParser):
    """Hands its complaints over instead of printing them, and leaves ``--help`` to the pages."""

    def error(self, message: str) -> NoReturn:
        """Hands the complaint over."""
        raise UsageError(message, f"see {self.prog} --help")


def workers(text: str) -> int:
    """A number of threads."""
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of threads (1 to 1024)")
    return int(text)


def rate(text: str) -> int:
    """Bits per second, above 0."""
    from trustbed._core import parse_rate
    from trustbed.question import lacks_unit

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
        raise argparse.ArgumentTypeError("a link with a rate of 0 carries nothing")
    return bits_per_second


def span(text: str) -> int:
    """Nanoseconds, above 0."""
    from trustbed._core import parse_span

    try:
        nanoseconds = int(parse_span(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if nanoseconds <= 0:
        raise argparse.ArgumentTypeError(f"{text} is no length of time; give one above 0")
    return nanoseconds


def size(text: str) -> int:
    """Bytes."""
    from trustbed._core import parse_size
    from trustbed.question import lacks_unit

    if lacks_unit(text):
        raise argparse.ArgumentTypeError(f"{text!r} lacks a unit (write it like 64KiB or 1500B)")
    try:
        return int(parse_size(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _question_options(parser: argparse.ArgumentParser) -> None:
    """What a verdict depends on."""
    parser.add_argument("--at", choices=PLACES)
    parser.add_argument("--workload", choices=WORKLOADS)
    parser.add_argument("--capacity", type=rate)
    parser.add_argument("--inner", action="store_true")
    parser.add_argument("--dedup", action="store_true")
    parser.add_argument("--sender", action="append")
    parser.add_argument("--receiver", action="append")
    parser.add_argument("--same-clock", action="store_true")
    parser.add_argument("captures", nargs="*", metavar="CAPTURE")


def _shared_options(parser: argparse.ArgumentParser) -> None:
    _question_options(parser)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--workers", type=workers)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("--no-color", action="store_true")


def analyze_parser() -> argparse.ArgumentParser:
    """The parser of ``trustbed analyze``."""
    parser = Parser(prog="trustbed analyze", add_help=False, allow_abbrev=False)
    _shared_options(parser)
    parser.add_argument("--burst", action="store_true")
    parser.add_argument("--report", type=Path)
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--csv", action="store_true")
    parser.add_argument("--samples", action="store_true")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--junit", type=Path)
    parser.add_argument("--fail-on", choices=LEVELS)
    parser.add_argument("--strict", action="store_true")
    return parser


def explain_parser() -> argparse.ArgumentParser:
    """The parser of ``trustbed explain``."""
    parser = Parser(prog="trustbed explain", add_help=False, allow_abbrev=False)
    _shared_options(parser)
    return parser


def repeated(options: argparse.Namespace) -> str:
    """Options and captures that lead to the same verdicts again, as a shell takes them.

    The options are those that :func:`check_analyze` has passed. What cannot be repeated (standard input) and what would fill the line (the
    files of a rotated capture) is ``CAPTURE``.
    """
    asked = argparse.ArgumentParser(add_help=False)
    _question_options(asked)
    given = vars(options) | ({"at": None, "captures": []} if options.sender else {})
    words: list[str] = []
    for action in asked._actions:
        value, name = given[action.dest], action.option_strings[:1]
        if value is True:
            words += name
        elif isinstance(value, list):
            words += [word for file in _captures(value) for word in (*name, file)]
        elif isinstance(value, int) and value:
            words += [*name, f"{Decimal(value) / 10**6:f}Mbit/s"]
        elif value:
            words += [*name, shlex.quote(value)]
    return " ".join(words)


def _captures(files: Sequence[str]) -> list[str]:
    if "-" in files:
        return ["CAPTURE"]
    return ["CAPTURE…"] if len(files) > 2 else [shlex.quote(file) for file in files]


def parse(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """The options, or a :class:`UsageError` that names a near miss."""
    options, unknown = parser.parse_known_intermixed_args(list(arguments))
    strange = next((word for word in unknown if word.startswith("-") and word != "-"), None)
    if strange is not None:
        raise UsageError(
            f"no such option, {strange}",
            _nearest(strange, _names_of(parser), f"see {parser.prog} --help"),
        )
    return options


def check_analyze(options: argparse.Namespace) -> None:
    """What the options must satisfy together."""
    hint = "see trustbed analyze --help"
    _check_ends(options, "analyze")
    if not options.captures:
        raise UsageError("no capture given", "for example: trustbed analyze server.pcap")
    if options.csv and options.out is None:
        raise UsageError(
            "--csv needs a place, --out DIR",
            "for example: trustbed analyze server.pcap --out tables --csv",
        )
    if options.samples and options.out is None:
        raise UsageError(
            "--samples needs a place, --out DIR",
            "for example: trustbed analyze server.pcap --out tables --samples",
        )
    if options.force and options.out is None:
        raise UsageError("--force says nothing without --out DIR", hint)
    check_inputs(options.captures)
    if options.burst and not all(Path(file).is_file() for file in options.captures):
        raise UsageError(
            "--burst reads the capture a second time, which standard input and pipes do not allow",
            "save it to a file, or ask only for its burstiness: trustbed burst -",
        )


def _check_ends(options: argparse.Namespace, verb: str, behind: str = "") -> None:
    """Either captures, or both ends; the sender's is judged then."""
    example = f"for example: trustbed {verb} --sender client.pcap --receiver server.pcap{behind}"
    if not options.sender and not options.receiver:
        if options.same_clock:
            raise UsageError("--same-clock says something about two captures", example)
        return
    if not options.sender or not options.receiver:
        missing = "--receiver" if options.sender else "--sender"
        raise UsageError(f"one end alone cannot be joined, {missing} is missing", example)
    if options.captures:
        raise UsageError(
            f"a capture is the sender's or the receiver's, {options.captures[0]} is neither",
            example,
        )
    if options.at is not None:
        raise UsageError("--at is said by --sender and --receiver already", example)
    if "-" in (*options.sender, *options.receiver):
        raise UsageError(
            "both ends are read twice, which standard input (-) does not allow", "save it to a file"
        )
    options.captures, options.at = options.sender, "sender"


def check_explain(options: argparse.Namespace) -> None:
    """A capture, or both ends, and behind it a transfer, which becomes an option of its own."""
    both_ends = options.sender or options.receiver
    if len(options.captures) < (1 if both_ends else 2):
        raise UsageError(
            "a capture and a transfer are needed", "for example: trustbed explain server.pcap 1.0"
        )
    options.transfer = options.captures.pop()
    _check_ends(options, "explain", " 1.0")
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
    return [
        name
        for action in parser._actions
        for name in action.option_strings
        if name.startswith("--")
    ]


def unknown_command(word: str, commands: Sequence[str]) -> UsageError:
    """The complaint about a verb that does not exist."""
    if Path(word).is_file():
        return UsageError(
            f"no such command, {word}", f"to judge that file: trustbed analyze {word}"
        )
    return UsageError(f"no such command, {word}", _nearest(word, commands, "see trustbed --help"))


def _nearest(word: str, known: Sequence[str], otherwise: str) -> str:
    import difflib

    near = difflib.get_close_matches(word.partition("=")[0], known, n=1)
    return f"did you mean {near[0]}?" if near else otherwise
