"""``trustbed watch``: an interface in, windows out, until Ctrl-C.

The engine captures in a thread of its own; this module fetches, stores and shows windows. However
the watch ends (Ctrl-C, a signal, its duration, a reader that went away, an interface that
vanished), the engine is closed first, so that the file is complete.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

from trustbed import _core
from trustbed.cli import ERROR, FINE, arguments, burst
from trustbed.report import paint
from trustbed.report.placing import check_file
from trustbed.report.words import count, counted, percent
from trustbed.watch import History, openmetrics, view
from trustbed.watch.engine import Event, Window, WrittenFile
from trustbed.watch.scrape import Endpoint, parse_address
from trustbed.watch.screen import Screen

_REFRESH_SECONDS = 0.25
_LINE_SECONDS = 1.0
_NOBODY = 65534
"""The user without rights (``kernel.overflowuid``)."""
_FATAL = {"write_failed", "interface_gone", "capture_failed"}


def parser() -> arguments.Parser:
    """The parser of ``trustbed watch``."""
    parser = arguments.Parser(
        "watch",
        "[OPTIONS] INTERFACE",
        "Live burstiness of an interface: rates, and the queue that the traffic would\n"
        "build in front of a slower link, window by window. Needs root or the capability\n"
        "CAP_NET_RAW, and gives both up once it captures. Ctrl-C ends it.",
        "examples:\n"
        "  sudo trustbed watch eth0 --rate 1Gbit/s\n"
        "  sudo trustbed watch eth0 --metrics 9464\n"
        "  sudo trustbed watch eth0 --json --write eth0.pcapng --duration 60s\n\n"
        "exit codes: 0 fine (Ctrl-C too), 1 error: interface gone or file incomplete,\n"
        "2 wrong usage",
    )
    parser.add_argument(
        "interface", nargs="*", metavar="INTERFACE", help="for example eth0; ip link lists them"
    )
    measured = parser.add_argument_group("measurement")
    burst.add_rate_and_mode(measured, rate_type=arguments.rate)
    measured.add_argument(
        "--window",
        type=arguments.span,
        default=100_000_000,
        metavar="TIME",
        help="length of a window (default: 100ms); the dynamic modes keep its packets, 12 bytes "
        "each",
    )
    burst.add_basis(measured)
    measured.add_argument(
        "--offload",
        choices=("stacked", "as-captured"),
        default="stacked",
        metavar="HOW",
        help="packets of segmentation offload: stacked cuts them into the frames on the wire, "
        "all at one moment (default); as-captured: whole",
    )
    measured.add_argument(
        "--by",
        choices=("direction", "none"),
        default="direction",
        metavar="HOW",
        help="direction: received, sent and all (default); none: only all",
    )
    measured.add_argument(
        "--filter", metavar="EXPR", help="only these packets, for example 'tcp port 80'"
    )
    captured = parser.add_argument_group("capture")
    captured.add_argument(
        "--snap",
        type=_snap,
        default=128,
        metavar="BYTES",
        help="bytes to capture of a packet (default: 128, headers only)",
    )
    captured.add_argument(
        "--ring",
        type=arguments.size,
        default=32 << 20,
        metavar="SIZE",
        help="memory for packets that wait (default: 32MiB)",
    )
    captured.add_argument(
        "--timestamps",
        choices=("hardware", "software"),
        default="hardware",
        metavar="FROM",
        help="hardware: the interface's own where it has them (default); software: the kernel's",
    )
    ends = parser.add_argument_group("duration (default: until Ctrl-C)")
    ends.add_argument(
        "--duration", type=arguments.span, metavar="TIME", help="end after this time: 30s"
    )
    ends.add_argument("--count", type=_count, metavar="N", help="end after N windows")
    output = parser.add_argument_group("output")
    arguments.add_json(output, "a line of JSON per window and direction, on standard output")
    output.add_argument(
        "--metrics",
        type=_address,
        metavar="ADDR",
        help="serve OpenMetrics over HTTP: a port on loopback, for example 9464, or ADDRESS:PORT",
    )
    output.add_argument(
        "--write", type=Path, metavar="FILE", help="the packets as pcapng, with drop counters"
    )
    arguments.add_quiet(output, "neither view nor summary")
    arguments.add_end(parser, strict="the kernel dropped packets")
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    options = arguments.parse(parser(), words)
    check(options)
    if options.write is not None:
        check_file(options.write)
    with ExitStack() as stack:
        # Ports below 1024 need the privileges that end when the capture is open.
        bound = None
        if options.metrics is not None:
            bound = _bound(options.metrics, lambda: watch.metrics())
            stack.callback(bound.close)
        engine = _open(options)
        stack.callback(engine.close)
        watch = Watch(engine, options)
        stop = stack.enter_context(_stops())
        if bound is not None:
            stack.enter_context(bound)
            print(f"metrics at {bound.url}", file=sys.stderr, flush=True)
            watch.endpoint = bound.url
        with _shown(watch, options) as show:
            watch.run(stop, show)
    return watch.end()


def check(options: argparse.Namespace) -> None:
    """What the options must satisfy together; sets the mode that follows from them."""
    if len(options.interface) != 1:
        message = (
            "no interface given"
            if not options.interface
            else f"one interface, not {len(options.interface)}"
        )
        raise arguments.UsageError(message, "for example: trustbed watch eth0")
    options.mode = options.mode or ("dynamic-same" if options.rate is None else "static")
    if options.mode == "static" and options.rate is None:
        raise arguments.UsageError(
            "--mode static needs a rate, --rate RATE",
            "for example: trustbed watch eth0 --rate 1Gbit/s",
        )
    if options.mode != "static" and options.rate is not None:
        raise arguments.UsageError(
            f"--rate has no effect with --mode {options.mode}",
            "the dynamic modes use the traffic's own rate",
        )


def _open(options: argparse.Namespace) -> _core.Watch:
    try:
        return _core.Watch(
            options.interface[0],
            rate=options.rate,
            mode=options.mode,
            window_ns=options.window,
            basis=options.basis,
            directions=options.by == "direction",
            filter=options.filter,
            offload=options.offload,
            snap=options.snap,
            ring=options.ring,
            hardware_timestamps=options.timestamps == "hardware",
            write=options.write,
            successor=_successor(),
        )
    except ValueError as error:
        raise arguments.UsageError(str(error), "see trustbed watch --help") from error


def _successor() -> tuple[int, int]:
    """Whom root becomes once the capture is open: the user behind sudo, else nobody."""
    words = os.environ.get("SUDO_UID", ""), os.environ.get("SUDO_GID", "")
    if all(word.isdecimal() and 0 < int(word) < 2**32 - 1 for word in words):
        return int(words[0]), int(words[1])
    return _NOBODY, _NOBODY


class Stop:
    """Set by a signal: end the watch in order."""

    requested = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """The handler."""
        if self.requested and number == signal.SIGINT:
            raise KeyboardInterrupt  # Ctrl-C twice: at once
        self.requested = True


@contextmanager
def _stops() -> Iterator[Stop]:
    """Ctrl-C, SIGTERM and SIGHUP end the watch in order; they do not interrupt it."""
    stop = Stop()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _bound(address: tuple[str, int], text: Callable[[], str]) -> Endpoint:
    try:
        return Endpoint(address, text)
    except OSError as error:
        host, port = address
        reason = (error.strerror or str(error)).lower()
        raise arguments.Complaint(
            f"metrics cannot be served at {host}:{port}, {reason}",
            "name another port, or 0 for any",
        ) from error


class Shown:
    """Shows nothing but a summary at the end. The base of what shows more."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    def windows(self, windows: list[Window]) -> None:
        """These became complete."""

    def now(self) -> None:
        """Called some times a second."""

    def report(self, event: Event) -> None:
        """Something happened."""
        _report(event)


class _Lines(Shown):
    """A line per second."""

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._due = time.monotonic() + _LINE_SECONDS

    def now(self) -> None:
        if time.monotonic() >= self._due:
            self._due += _LINE_SECONDS
            print(view.ticker(self.watch.state()), flush=True)


class _Json(Shown):
    """A line of JSON per window and direction."""

    def windows(self, windows: list[Window]) -> None:
        statistics = self.watch.engine.statistics()
        counters = {key: statistics[key] for key in ("kernel_received", "kernel_dropped")}
        for window in windows:
            sys.stdout.write(json.dumps({**window, **counters}) + "\n")
        sys.stdout.flush()


class _View(Shown):
    """A page, redrawn in place."""

    def __init__(self, watch: Watch, screen: Screen, painter: paint.Paint) -> None:
        super().__init__(watch)
        self._screen = screen
        self._paint = painter
        self._due = 0.0
        self._ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
        self.events: list[Event] = []

    def now(self) -> None:
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _REFRESH_SECONDS
        columns, rows = self._screen.size
        notes = [event["message"] for event in self.events]
        page = view.page(
            self.watch.state(notes),
            columns=columns,
            rows=rows,
            paint=self._paint,
            ascii_only=self._ascii_only,
        )
        self._screen.draw(page)

    def report(self, event: Event) -> None:
        self.events.append(event)


@contextmanager
def _shown(watch: Watch, options: argparse.Namespace) -> Iterator[Shown]:
    if options.json:
        yield _Json(watch)
    elif options.quiet:
        yield Shown(watch)
    elif sys.stdout.isatty():
        shown = None
        try:
            with Screen(sys.stdout) as screen:
                shown = _View(watch, screen, watch.painter)
                yield shown
        finally:
            for event in shown.events if shown is not None else ():
                _report(event)
    else:
        yield _Lines(watch)


def _report(event: Event) -> None:
    """What happened, on standard error: an error with its hint, or a note."""
    severity = (
        "error"
        if event["code"] in _FATAL
        else "warning"
        if event["code"] == "interface_down"
        else "note"
    )
    print(f"{severity}: {event['message']}", file=sys.stderr)
    if event["hint"]:
        print(f"hint: {event['hint']}", file=sys.stderr)
    sys.stderr.flush()


class Watch:
    """A watch from its beginning to its end."""

    def __init__(self, engine: _core.Watch, options: argparse.Namespace) -> None:
        self.engine = engine
        self.options = options
        self.history = History(options.window / 1e9)
        self.endpoint: str | None = None
        self.painter = paint.Paint(paint.enabled(sys.stdout, never=options.no_color))
        self._started = time.time()
        self._begun = time.monotonic()
        self._lasted: float | None = None
        self._failed = False

    def run(self, stop: Stop, show: Shown) -> None:
        """Until it is to end, then what is left."""
        until = None if self.options.duration is None else self._begun + self.options.duration / 1e9
        while not (stop.requested or self.engine.ended or self._counted()):
            left = (
                _REFRESH_SECONDS
                if until is None
                else min(_REFRESH_SECONDS, until - time.monotonic())
            )
            if left <= 0:
                break
            self._take(self.engine.next(left), show)
            show.now()
        self._lasted = time.monotonic() - self._begun
        self.engine.close()
        self._take(self.engine.next(0), show)

    def _counted(self) -> bool:
        return self.options.count is not None and self.history.all.windows >= self.options.count

    def _take(self, windows: list[Window], show: Shown) -> None:
        for event in self.engine.events():
            self._failed |= event["code"] in _FATAL
            show.report(event)
        if self.options.count is not None:
            windows = self._up_to_count(windows)
        if windows:
            self.history.add(windows)
            show.windows(windows)

    def _up_to_count(self, windows: list[Window]) -> list[Window]:
        """Those among the first ``--count`` ones of their direction."""
        taken: list[Window] = []
        ahead: dict[str, int] = {}
        for window in windows:
            name = window["direction"]
            known = self.history.directions.get(name)
            before = ahead.setdefault(name, known.windows if known is not None else 0)
            shown = min(window["windows"], self.options.count - before)
            if shown > 0 and not window["partial"]:
                ahead[name] += shown
                taken.append({**window, "windows": shown})
        return taken

    def metrics(self) -> str:
        """The state as OpenMetrics."""
        return openmetrics.render(
            self.history, self.engine.facts(), self.engine.statistics(), self._started
        )

    def state(self, notes: Sequence[str] = ()) -> view.State:
        """The state that a page shows."""
        statistics = self.engine.statistics()
        return view.State(
            history=self.history,
            facts=self.engine.facts(),
            statistics=statistics,
            seconds=time.monotonic() - self._begun if self._lasted is None else self._lasted,
            notes=notes,
            metrics=self.endpoint,
            file_bytes=_length(statistics["file"]),
        )

    def end(self) -> int:
        """The summary, what must not be overlooked, and the exit code."""
        state = self.state()
        if not self.options.quiet:
            stream = sys.stderr if self.options.json else sys.stdout
            painter = paint.Paint(paint.enabled(stream, never=self.options.no_color))
            print("\n".join(view.summary(state, painter)), file=stream)
        dropped = state.statistics["kernel_dropped"]
        if dropped:
            self._report_dropped(dropped, dropped + state.statistics["kernel_received"])
        return ERROR if self._failed or (dropped and self.options.strict) else FINE

    def _report_dropped(self, dropped: int, passed: int) -> None:
        severity = "error" if self.options.strict else "warning"
        share = percent(dropped / passed)
        sys.stdout.flush()
        print(
            f"{severity}: the kernel dropped {count(dropped)} of "
            f"{counted(passed, 'frame')} ({share})",
            file=sys.stderr,
        )
        print(
            "hint: rates and queues are too low by what is missing; a larger --ring helps "
            "against bursts, a --filter does not",
            file=sys.stderr,
        )


def _length(file: WrittenFile | None) -> int | None:
    """The current length of the file."""
    if file is None:
        return None
    try:
        return Path(file["path"]).stat().st_size
    except OSError:
        return None


def _snap(text: str) -> int:
    if not text.isdecimal() or not 14 <= int(text) <= 262_144:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes (14 to 262144)")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 10**12:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of windows")
    return int(text)


def _address(text: str) -> tuple[str, int]:
    try:
        return parse_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{error} (write it like 9464, 127.0.0.1:9464 or [::1]:9464)"
        ) from error
