"""``trustbed burst``: a capture in; the queues that its traffic would build out.

Files first, standard output last: a reader that closes the pipe early still has the files.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar, get_args

from trustbed.analysis.options import (
    MEASURES,
    Basis,
    BurstOptions,
    By,
    Mode,
    Offload,
    Wavelet,
    available_cores,
)
from trustbed.cli import ERROR, FINE, arguments, interrupt, progress, terminal
from trustbed.cli.analyze import About, describe, give_up
from trustbed.report import printable

if TYPE_CHECKING:
    from trustbed.analysis.burst import Burstiness

T = TypeVar("T")


def parser() -> arguments.Parser:
    """The parser of ``trustbed burst``."""
    parser = arguments.Parser(
        "burst",
        "[OPTIONS] CAPTURE…",
        "Measures how bursty the traffic of a capture is: the queue it would build in\n"
        "front of a slower link, the buffer it needs there, what a smaller buffer would\n"
        "lose, and on which time scales it varies. Senders do not react: the traffic is\n"
        "taken as it was.",
        "examples:\n"
        "  trustbed burst server.pcap\n"
        "  trustbed burst server.pcap --rate 40Mbit/s --buffer 64KiB,256KiB\n"
        "  trustbed burst server.pcap --report burst.html\n\n"
        "exit codes: 0 fine, 1 error, 2 wrong usage",
    )
    default = BurstOptions(files=())
    arguments.add_captures(parser, ", unless --each is given")
    link = parser.add_argument_group("link")
    add_rate_and_mode(link, rate_type=_rate)
    link.add_argument(
        "--window",
        type=arguments.span,
        default=default.window,
        metavar="TIME",
        help="length of a window (default: 100ms)",
    )
    link.add_argument(
        "--align",
        choices=("epoch", "first"),
        default="epoch",
        metavar="HOW",
        help="windows begin at multiples of their length since the epoch (default), or at the "
        "first packet: epoch, first",
    )
    link.add_argument(
        "--link-rate",
        type=_rate,
        metavar="RATE",
        help="rate of the captured link: the upper end of buffer against rate",
    )
    link.add_argument(
        "--rates",
        type=_listed(_rate),
        metavar="RATE,…",
        help="links to compute losses for (default: --rate, else --link-rate, else those that "
        "the traffic loads to 80 %% and 50 %%)",
    )
    link.add_argument(
        "--buffer",
        type=_listed(_buffer),
        metavar="SIZE,…",
        help="buffers to compute losses for, for example 16KiB,64KiB",
    )
    packets = parser.add_argument_group("packets")
    packets.add_argument(
        "--filter",
        type=_filter,
        metavar="EXPR",
        help="only these, for example 'tcp port 80 and not host ::1'",
    )
    packets.add_argument(
        "--by",
        choices=get_args(By),
        metavar="WHAT",
        help="single streams too: direction, vlan, interface or flow",
    )
    packets.add_argument(
        "--top",
        type=_top,
        default=20,
        metavar="N",
        help="how many streams, the largest first (default: 20)",
    )
    add_basis(packets)
    packets.add_argument(
        "--offload",
        choices=get_args(Offload),
        default="stacked",
        metavar="HOW",
        help="packets of segmentation offload: stacked cuts them into the frames on the wire, "
        "all at one moment (default); spread: at the rate of --link-rate; as-captured: whole",
    )
    packets.add_argument(
        "--inner",
        action="store_true",
        help="measure the packets inside VXLAN, GRE, Geneve and IP in IP",
    )
    scales = parser.add_argument_group("time scales")
    scales.add_argument(
        "--bin",
        type=arguments.span,
        default=default.bin,
        metavar="TIME",
        help="bins for energy and rate over time (default: 1ms)",
    )
    scales.add_argument(
        "--count",
        choices=("bytes", "packets"),
        default="bytes",
        metavar="WHAT",
        help="energy of bytes (default) or packets",
    )
    scales.add_argument(
        "--wavelet",
        choices=get_args(Wavelet),
        default="daubechies3",
        metavar="NAME",
        help="for the Hurst parameter: haar, daubechies2 or daubechies3 (default)",
    )
    scales.add_argument(
        "--octaves",
        type=_octaves,
        default=(None, None),
        metavar="FIRST-LAST",
        help="octaves to fit it to (default: chosen)",
    )
    reading = parser.add_argument_group("reading")
    reading.add_argument(
        "--each", action="store_true", help="every file is a capture of its own; compares them"
    )
    reading.add_argument(
        "--only",
        type=_listed(_measure),
        metavar="PARTS",
        help="only these: windows, sigma, queue, energy, rates, gaps, trains (commas between)",
    )
    arguments.add_workers(reading)
    output = parser.add_argument_group("output")
    output.add_argument("--report", type=Path, metavar="FILE", help="an HTML page with charts")
    arguments.add_json(output)
    arguments.add_directory_output(output, "Parquet tables of all the above")
    output.add_argument(
        "--lost",
        action="store_true",
        help="a table of every packet that a buffer loses, with its frame number (with --out)",
    )
    arguments.add_quiet(output)
    arguments.add_end(parser, strict="part of the capture could not be read")
    return parser


def add_rate_and_mode(group: arguments.Group, rate_type: Callable[[str], int]) -> None:
    """The virtual bottleneck: ``--rate`` and ``--mode``."""
    group.add_argument(
        "--rate",
        type=rate_type,
        metavar="RATE",
        help="rate of the virtual bottleneck, for example 40Mbit/s",
    )
    group.add_argument(
        "--mode",
        choices=get_args(Mode),
        metavar="MODE",
        help="static: --rate (default with --rate); dynamic-same: each window's own mean rate "
        "(default without); dynamic-previous: that of the window before; dynamic-same-carry: own "
        "mean, the queue carries over",
    )


def add_basis(group: arguments.Group) -> None:
    """What counts as the length of a packet: ``--basis``."""
    group.add_argument(
        "--basis",
        choices=get_args(Basis),
        default="frame",
        metavar="BASIS",
        help="length of a packet: frame (default), frame_fcs (4 bytes more), wire (24 more, at "
        "least 84) or ip",
    )


def _rate(text: str) -> int:
    from trustbed.analysis.burst_study import FASTEST

    rate = arguments.rate(text)
    if rate > FASTEST:
        raise argparse.ArgumentTypeError(
            f"{text} is beyond 10 Tbit/s, the largest rate that is measured"
        )
    return rate


def _buffer(text: str) -> int:
    size = arguments.size(text)
    if size == 0:
        raise argparse.ArgumentTypeError("a buffer of 0 bytes holds nothing")
    return size


def _listed(one: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    return lambda text: tuple(one(part.strip()) for part in text.split(","))


def _filter(text: str) -> str:
    from trustbed._core import check_filter

    try:
        check_filter(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def _top(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of streams")
    return int(text)


_MOST_OCTAVES = 62
"""No capture is longer: 2⁶² of the shortest bins."""


def _octaves(text: str) -> tuple[int | None, int | None]:
    first, dash, last = text.partition("-")
    numbers = tuple(int(part) if part.isdecimal() else None for part in (first, last))
    known = [number for number in numbers if number is not None]
    strange = any(part and not part.isdecimal() for part in (first, last))
    strange |= any(number > _MOST_OCTAVES for number in known)
    if not dash or not known or strange or 0 in known or known != sorted(known):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a range of octaves (write it like 3-9, 3- or -9)"
        )
    return numbers[0], numbers[1]


def _measure(text: str) -> str:
    if text not in MEASURES:
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(MEASURES)}")
    return text


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    options = arguments.parse(parser(), words)
    _check(options)
    _check_outputs(options)
    about = describe(words, "burst")
    groups = [[file] for file in options.captures] if options.each else [options.captures]
    measured = [_read(options, files) for files in groups]
    _write_files(measured, options, about)
    if options.json:
        _write_json(measured, sys.stdout, options, about)
    elif not options.quiet:
        _print_summary(measured, options)
    return _end(measured, options)


def _check(options: argparse.Namespace) -> None:
    example = "for example: trustbed burst server.pcap"
    if not options.captures:
        raise arguments.UsageError("no capture given", example)
    if options.mode == "static" and options.rate is None:
        raise arguments.UsageError(
            "--mode static needs a rate, --rate RATE", f"{example} --rate 40Mbit/s"
        )
    if options.offload == "spread" and options.link_rate is None:
        raise arguments.UsageError(
            "--offload spread needs the rate of the link, --link-rate RATE",
            f"{example} --offload spread --link-rate 1Gbit/s",
        )
    if options.lost and options.only and "queue" not in options.only:
        raise arguments.UsageError(
            "--lost needs the queues that --only leaves out",
            f"{example} --out tables --lost --only queue",
        )
    for name in ("lost", "csv", "force"):
        if getattr(options, name) and options.out is None:
            raise arguments.UsageError(
                f"--{name} has no effect without --out DIR", f"{example} --out tables --{name}"
            )
    if options.each and options.out is not None:
        raise arguments.UsageError(
            "--out holds the tables of one capture, not of --each",
            "call trustbed burst once for every file",
        )
    arguments.check_inputs(options.captures, "burst")


def _check_outputs(options: argparse.Namespace) -> None:
    from trustbed.report import placing

    if options.report is not None:
        placing.check_file(options.report, options.captures)
    if options.out is not None:
        placing.check_directory(options.out, force=options.force)


def _options_of(options: argparse.Namespace, files: Sequence[str]) -> BurstOptions:
    return BurstOptions(
        files=tuple(files),
        mode=options.mode or ("dynamic-same" if options.rate is None else "static"),
        rate=options.rate,
        window=options.window,
        basis=options.basis,
        align=options.align,
        by=options.by,
        filter=options.filter,
        offload=options.offload,
        link_rate=options.link_rate,
        buffers=tuple(sorted(set(options.buffer))) if options.buffer else None,
        rates=tuple(sorted(set(options.rates))) if options.rates else None,
        bin=options.bin,
        count=options.count,
        wavelet=options.wavelet,
        octaves=options.octaves,
        measures=frozenset(options.only or MEASURES),
        top=options.top,
        inner=options.inner,
        lost=options.lost,
        workers=options.workers or available_cores(),
    )


def _read(options: argparse.Namespace, files: Sequence[str]) -> Burstiness:
    """The measured capture; shows a progress bar on a terminal."""
    from trustbed.analysis import burst as burstiness
    from trustbed.analysis.burst_study import TooManyLost, TooManyWindows

    shown = progress.shown(files[0], quiet=options.quiet)
    with interrupt.abandoned_by_interrupt(give_up), shown as bar:
        try:
            return burstiness.analyse(
                _options_of(options, files), progress=_without_zero(bar) if bar else None
            )
        except (TooManyLost, TooManyWindows) as error:
            raise arguments.Complaint(error.message, error.hint) from None


def _without_zero(bar: progress.Progress) -> Callable[[int, int | None], None]:
    """The bar stays at its end while what was read is measured."""

    def show(read: int, total: int | None) -> None:
        if read:
            bar(read, total)

    return show


def _write_files(measured: Sequence[Burstiness], options: argparse.Namespace, about: About) -> None:
    if options.out is not None:
        measured[0].write(options.out, csv=options.csv, force=options.force, about=about)
    if options.report is not None:
        from trustbed.report.burst import page as burst_page

        burst_page.write(options.report, [one.model for one in measured], measured[0].about(about))


def _write_json(
    measured: Sequence[Burstiness],
    stream: TextIO,
    options: argparse.Namespace,
    about: About,
) -> None:
    from trustbed.report.burst import json as burst_json

    documents = [one.document(about) for one in measured]
    if options.each:
        burst_json.write_several(stream, documents)
    else:
        burst_json.write(stream, documents[0])


def _print_summary(measured: Sequence[Burstiness], options: argparse.Namespace) -> None:
    from trustbed.report.burst import text as burst_text

    columns, paint = terminal.width(burst_text.WIDEST), terminal.paint(no_color=options.no_color)
    named = [(one.options.name, one.model) for one in measured]
    if len(named) == 1:
        printable.write(burst_text.render(*named[0], columns=columns, paint=paint))
    else:
        printable.write(burst_text.compared(named, columns=columns, paint=paint))
    for path in (options.out, options.report):
        if path is not None:
            printable.write(f"wrote {path}\n")


def _end(measured: Sequence[Burstiness], options: argparse.Namespace) -> int:
    damage = [damaged for one in measured for damaged in one.damage]
    if options.strict and damage:
        print(f"error: part of the capture could not be read, {damage[0]}", file=sys.stderr)
        print("hint: without --strict trustbed measures what it could read", file=sys.stderr)
        return ERROR
    return FINE
