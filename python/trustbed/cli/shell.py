"""``trustbed shell``: a command behind a link that was described, and one line on what the link did.

Two hosts, near and far, with a pipe each way between them; the command runs on the near one with the terminal it was started from.
Everything is removed when it ends, and its exit code is ours. What the link did is talk, on standard error: standard output belongs to the
command, and with ``--json`` to one line behind it.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import IO, Any, Self

from trustbed.agent import Agent, AgentError
from trustbed.cli import arguments, guest_shell, link_options, link_summary
from trustbed.cli.interrupt import kills_are_interrupts
from trustbed.run.demand import Load, is_modest
from trustbed.scenario.guests import NIC_MODELS, Guest
from trustbed.testbed import (
    Host,
    Plan,
    Process,
    Testbed,
    TestbedError,
    outside,
    plan,
    prepare,
    registry,
)
from trustbed.testbed.control import ControlledProcess

NEAR, FAR = "near", "far"
ADDRESSES: Mapping[str, str] = {NEAR: "10.77.0.1", FAR: "10.77.0.2"}
_PEER = "TRUSTBED_PEER"
_RAW = ".trustbed-"
_MARK = "ledger-of-trustbed-shell"
_LISTEN_SECONDS = 60.0
_END_SECONDS = 10.0
_TURN_SECONDS = 0.25
_TAIL_BYTES = 2000


def parser() -> argparse.ArgumentParser:
    """The parser of ``trustbed shell``."""
    parser = arguments.Parser(prog="trustbed shell", add_help=False, allow_abbrev=False)
    parser.add_argument("-h", "--help", action="store_true")
    link_options.add(parser)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--far", metavar="CMD")
    parser.add_argument("--guest", metavar="NIC", choices=NIC_MODELS)
    parser.add_argument("--outside", action="store_true")
    parser.add_argument("--congestion-control", metavar="NAME")
    parser.add_argument("--seed", type=_seed, default=1)
    parser.add_argument("--ledger", type=Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-q", "--quiet", action="store_true")
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    try:
        return _run(words)
    except (AgentError, TestbedError) as error:
        raise NotRun(error.message, error.hint) from error


class NotRun(arguments.Complaint):
    """The command was not run, or not to its end, for a reason that is not its own: the exit code says so (as with env(1), timeout(1))."""

    code = 125


def _run(words: Sequence[str]) -> int:
    mine, command = _split(words)
    options = arguments.parse(parser(), mine)
    if not command:
        command = (
            [guest_shell.SHELL]
            if options.guest is not None
            else [os.environ.get("SHELL") or "/bin/sh"]
        )
    if options.words:
        raise arguments.UsageError(
            f"{options.words[0]} is no option",
            f"put the command behind two dashes: trustbed shell … -- {' '.join(options.words)}",
        )
    topology = _topology(options)
    if options.ledger is not None:
        from trustbed.report.placing import check_file

        check_file(options.ledger)
    if options.outside:
        outside.through_pasta()
    prepare()
    planned = plan(
        [
            Host(
                name=name,
                addresses=(address,),
                congestion_control=options.congestion_control,
                outside=options.outside and name == FAR,
                guest=Guest(nic=options.guest)
                if options.guest is not None and name == NEAR
                else None,
            )
            for name, address in ADDRESSES.items()
        ]
    )
    with kills_are_interrupts(), ExitStack() as stack:
        _refuse_what_cannot_be_emulated(topology)
        ledger = stack.enter_context(_raw_ledger(options.ledger))
        shell = Shell(planned, topology, options, command)
        code = shell.carry_out(
            None if ledger is None else {"path": str(ledger), "detail": "packets"}
        )
        if ledger is not None:
            link_summary.write_ledger(ledger, options.ledger)
    _tell(shell.report, options)
    return code


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our own words, and the command behind the dashes: none if there is none."""
    words = list(words)
    if "--" in words:
        at = words.index("--")
        if at + 1 < len(words):
            return words[:at], words[at + 1 :]
        words = words[:at]
    return words, []


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) >= 2**64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed (a whole number)")
    return int(text)


def _topology(options: argparse.Namespace) -> dict[str, Any]:
    up, down = link_options.pipes(options)
    hosts = [{"name": name, "addresses": [address]} for name, address in ADDRESSES.items()]
    pipes = [
        {"name": "up", "from": NEAR, "to": FAR, **up},
        {"name": "down", "from": FAR, "to": NEAR, **down},
    ]
    found = {"hosts": hosts, "routers": [], "pipes": pipes}
    return found | {"outside": FAR} if options.outside else found


def _refuse_what_cannot_be_emulated(topology: Mapping[str, Any]) -> None:
    """Rates that are not modest are held against what this machine can do: each way alone, since a command seldom fills both."""
    most = Load(bits_per_second=max(_rate(pipe) for pipe in topology["pipes"]))
    if is_modest([most]):
        return
    from trustbed.run import ceiling
    from trustbed.run.error import RunError

    try:
        ceiling.refuse_link(most)
    except RunError as error:
        raise NotRun(error.message, error.hint) from error


def _rate(pipe: Mapping[str, Any]) -> int:
    """What a pipe carries at most, over time; 0 where nothing limits it."""
    parts = (pipe, pipe.get("policer") or {}, pipe.get("shaper") or {})
    return min(
        (part["rate_bits_per_second"] for part in parts if "rate_bits_per_second" in part),
        default=0,
    )


@contextmanager
def _raw_ledger(wanted: Path | None) -> Iterator[Path | None]:
    """Where the emulator writes records while it runs; gone afterwards, or, of one that was killed, when there is a next one."""
    if wanted is None:
        yield None
        return
    for left in wanted.parent.glob(f"{_RAW}*"):
        ours = left.is_dir() and not left.is_symlink() and (left / _MARK).is_file()
        if ours and not registry.is_held(left):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_RAW, dir=wanted.parent) as folder:
        hold = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with contextlib.suppress(OSError):  # of a file system without locks
                fcntl.flock(hold, fcntl.LOCK_EX)
                (Path(folder) / _MARK).touch()  # from now on it may be removed when nobody holds it
            yield Path(folder) / "ledger"
        finally:
            os.close(hold)


class Shell:
    """A command behind a link, from its beginning to its end."""

    def __init__(
        self,
        planned: Plan,
        topology: Mapping[str, Any],
        options: argparse.Namespace,
        command: Sequence[str],
    ) -> None:
        self.report: dict[str, Any] = {}
        self._plan = planned
        self._topology = topology
        self._options = options
        self._command = command

    def carry_out(self, ledger: Mapping[str, Any] | None) -> int:
        """The exit code of the command."""
        purpose = f"shell {' '.join(self._command)}"[:200]
        with Testbed(self._plan, purpose=purpose) as bed, ExitStack() as stack:
            config = self._plan.emulator(self._topology, seed=self._options.seed, ledger=ledger)
            emulator = bed.start_agent("emulate", config, where="net")
            emulator.begin()
            server = None
            if self._options.far is not None:
                output = stack.enter_context(tempfile.TemporaryFile())
                server = _Server(bed, self._options.far, output)
            self._greet()
            with _Signals() as signals:
                process = stack.enter_context(self._started(bed))
                signals.pass_on_to(process)
                code = _attend(process, emulator)
            if server is not None:
                server.check()
            self.report = {**emulator.stop(), "ready": emulator.ready}
        return code

    def _started(self, bed: Testbed) -> AbstractContextManager[Process | ControlledProcess]:
        """The command, where it belongs."""
        if self._options.guest is not None:
            return guest_shell.started(bed, NEAR, self._command, {_PEER: ADDRESSES[FAR]})
        return bed.start(
            NEAR, self._command, stdin=None, environment={_PEER: ADDRESSES[FAR]}, foreground=True
        )

    def _greet(self) -> None:
        """Where a person finds themselves who gets a prompt and nothing else."""
        if (
            self._options.quiet
            or len(self._command) > 1
            or not (sys.stdin is not None and sys.stdin.isatty())
        ):
            return
        peer = f"the far end is {ADDRESSES[FAR]} ($TRUSTBED_PEER)"
        where = (
            ""
            if self._options.guest is None
            else f"in a guest ({self._options.guest}; busybox and trustbed-agent) "
        )
        print(
            f"{where}behind {link_summary.described(self._topology['pipes'])}; {peer}; exit ends it",
            file=sys.stderr,
            flush=True,
        )


def _attend(process: Process | ControlledProcess, emulator: Agent) -> int:
    """Waits for the command, and sees that the emulator lives meanwhile."""
    while (code := process.wait(_TURN_SECONDS)) is None:
        while emulator.poll() is not None:
            pass
    return code


class _Signals:
    """Signals that are sent to us are meant for the command: we end when it has. Ctrl-C reaches it without us, if it has the terminal."""

    def __init__(self) -> None:
        self._process: Process | ControlledProcess | None = None
        self._waiting: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            self._before[number] = signal.signal(number, self._heard)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _heard(self, number: int, frame: FrameType | None) -> None:
        if self._process is None:
            self._waiting.append(number)
        else:
            self._process.signal(number)

    def pass_on_to(self, process: Process | ControlledProcess) -> None:
        """The command runs; it gets what came meanwhile."""
        self._process = process
        for number in self._waiting:
            process.signal(number)


class _Server:
    """The command on the far host, which listens once this is made."""

    def __init__(self, bed: Testbed, line: str, output: IO[bytes]) -> None:
        self._bed = bed
        self._line = line
        self._output = output
        words = ["/bin/sh", "-c", line]
        self._process = bed.start(
            FAR, words, stdout=output, stderr=output, environment={_PEER: ADDRESSES[NEAR]}
        )
        deadline = time.monotonic() + _LISTEN_SECONDS
        while not bed.listening(FAR):
            code = self._process.wait(0.02)
            if code is not None:
                raise TestbedError(
                    f"the far command {line!r} ended with code {code} before it listened{self._said()}",
                    "try it alone: it must stay and listen",
                )
            if time.monotonic() > deadline:
                hint = "it must open a TCP or UDP port; see its own options"
                raise TestbedError(
                    f"the far command {line!r} does not listen after {_LISTEN_SECONDS:g} s{self._said()}",
                    hint,
                )

    def check(self) -> None:
        """Says if it has ended badly meanwhile."""
        # One that does not listen any more is about to end.
        code = (
            self._process.poll() if self._bed.listening(FAR) else self._process.wait(_END_SECONDS)
        )
        if code:
            print(
                f"warning: the far command {self._line!r} had ended with code {code}{self._said()}",
                file=sys.stderr,
            )

    def _said(self) -> str:
        """The end of what it has written."""
        self._output.seek(max(0, self._output.seek(0, os.SEEK_END) - _TAIL_BYTES))
        text = self._output.read().decode(errors="replace").strip()
        return f": {text}" if text else ""


def _tell(report: Mapping[str, Any], options: argparse.Namespace) -> None:
    findings = link_summary.findings(report)
    if options.json:
        print(json.dumps(link_summary.model(report, findings)), flush=True)
    with contextlib.suppress(BrokenPipeError):
        if not options.quiet:
            print(link_summary.line(report), file=sys.stderr)
        for finding in findings:
            if finding.severity in ("error", "warning"):
                print(
                    f"warning: {finding.message}: do not trust what was measured", file=sys.stderr
                )
                print(f"hint: {finding.next_step}", file=sys.stderr)
