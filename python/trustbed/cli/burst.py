"""``trustbed burst``: a capture in; the queues out that its traffic would build.

Files first, standard output last: whoever closes the pipe early still has the files.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from trustbed.cli import ERROR, FINE, arguments, interrupt, progress
from trustbed.cli.analyze import describe, give_up
from trustbed.question import (
    MEASURES,
    Basis,
    BurstQuestion,
    By,
    Mode,
    Offload,
    Wavelet,
    available_cores,
)

if TYPE_CHECKING:
    from trustbed.burstiness import Burstiness
    from trustbed.report.paint import Paint

T = TypeVar("T")


def parser() -> argparse.ArgumentParser:
    """The parser of ``trustbed burst``."""
    parser = arguments.Parser(prog="trustbed burst", add_help=False, allow_abbrev=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("captures", nargs="*", metavar="CAPTURE")
    parser.add_argument("--rate", type=_rate)
    parser.add_argument("--mode", choices=get_args(Mode))
    parser.add_argument("--window", type=arguments.span, default=BurstQuestion(files=()).window)
    parser.add_argument("--align", choices=("epoch", "first"), default="epoch")
    parser.add_argument("--link-rate", type=_rate)
    parser.add_argument("--rates", type=_listed(_rate))
    parser.add_argument("--buffer", type=_listed(_buffer))
    parser.add_argument("--filter", type=_filter)
    parser.add_argument("--by", choices=get_args(By))
    parser.add_argument("--top", type=_top, default=20)
    parser.add_argument("--basis", choices=get_args(Basis), default="frame")
    parser.add_argument("--offload", choices=get_args(Offload), default="stacked")
    parser.add_argument("--inner", action="store_true")
    parser.add_argument("--lost", action="store_true")
    parser.add_argument("--bin", type=arguments.span, default=BurstQuestion(files=()).bin)
    parser.add_argument("--count", choices=("bytes", "packets"), default="bytes")
    parser.add_argument("--wavelet", choices=get_args(Wavelet), default="daubechies3")
    parser.add_argument("--octaves", type=_octaves, default=(None, None))
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--only", type=_listed(_measure))
    parser.add_argument("--workers", type=arguments.workers)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-o", "--out", type=Path)
    parser.add_argument("--csv", action="store_true")
    parser.add_argument("--force", action="store_true")
    parser.add_argument("-q", "--quiet", action="store_true")
    parser.add_argument("--no-color", action="store_true")
    parser.add_argument("--strict", action="store_true")
    return parser


def _rate(text: str) -> int:
    from trustbed.burst_study import FASTEST

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
        raise argparse.ArgumentTypeError(f"{text!r} is no number of streams")
    return int(text)


def _octaves(text: str) -> tuple[int | None, int | None]:
    first, dash, last = text.partition("-")
    numbers = tuple(int(part) if part.isdecimal() else None for part in (first, last))
    known = [number for number in numbers if number is not None]
    strange = any(part and not part.isdecimal() for part in (first, last))
    if not dash or not known or strange or 0 in known or known != sorted(known):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no range of octaves (write it like 3-9, 3- or -9)"
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
    _check_places(options)
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
                f"--{name} says nothing without --out DIR", f"{example} --out tables --{name}"
            )
    if options.each and options.out is not None:
        raise arguments.UsageError(
            "--out holds the tables of one capture, not of --each",
            "call trustbed burst once for every file",
        )
    arguments.check_inputs(options.captures, "burst")


def _check_places(options: argparse.Namespace) -> None:
    from trustbed.report import placing

    if options.report is not None:
        placing.check_file(options.report)
    if options.out is not None:
        placing.check_folder(options.out, force=options.force)


def _question(options: argparse.Namespace, files: Sequence[str]) -> BurstQuestion:
    return BurstQuestion(
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
    """The capture, measured, with a progress bar if somebody waits for it."""
    from trustbed import burstiness
    from trustbed.burst_study import TooManyLost, TooManyWindows

    shown = progress.Progress(files[0]) if progress.wanted(quiet=options.quiet) else nullcontext()
    with interrupt.ends_waiting(give_up), shown as bar:
        try:
            return burstiness.ask(
                _question(options, files), progress=_without_zero(bar) if bar else None
            )
        except (TooManyLost, TooManyWindows) as error:
            raise arguments.Complaint(error.message, error.hint) from None


def _without_zero(bar: progress.Progress) -> Callable[[int, int | None], None]:
    """The bar stays at its end while what was read is measured."""

    def show(read: int, total: int | None) -> None:
        if read:
            bar(read, total)

    return show


def _write_files(
    measured: Sequence[Burstiness], options: argparse.Namespace, about: dict[str, Any]
) -> None:
    if options.out is not None:
        measured[0].write(options.out, csv=options.csv, force=options.force, about=about)
    if options.report is not None:
        from trustbed.report import burst_page

        burst_page.write(options.report, [one.model for one in measured], measured[0].about(about))


def _write_json(
    measured: Sequence[Burstiness], stream: Any, options: argparse.Namespace, about: dict[str, Any]
) -> None:  # noqa: ANN401 - any text stream
    from trustbed.report import burst_json

    documents = [one.document(about) for one in measured]
    if options.each:
        burst_json.write_several(stream, documents)
    else:
        burst_json.write(stream, documents[0])


def _print_summary(measured: Sequence[Burstiness], options: argparse.Namespace) -> None:
    from trustbed.report import burst_text, paint

    columns = (
        shutil.get_terminal_size((burst_text.WIDEST, 24)).columns
        if sys.stdout.isatty()
        else burst_text.WIDEST
    )
    painter: Paint = paint.Paint(paint.wanted(sys.stdout, never=options.no_color))
    named = [(one.question.name, one.model) for one in measured]
    if len(named) == 1:
        sys.stdout.write(burst_text.render(*named[0], columns=columns, paint=painter))
    else:
        sys.stdout.write(burst_text.compared(named, columns=columns, paint=painter))
    for path in (options.out, options.report):
        if path is not None:
            sys.stdout.write(f"wrote {path}\n")


def _end(measured: Sequence[Burstiness], options: argparse.Namespace) -> int:
    damage = [place for one in measured for place in one.damage]
    if options.strict and damage:
        print(f"error: part of the capture could not be read, {damage[0]}", file=sys.stderr)
        print("hint: without --strict what could be read is measured all the same", file=sys.stderr)
        return ERROR
    return FINE
