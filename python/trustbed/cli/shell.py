"""``trustbed shell``: a command behind an emulated link, and one line on what the link did.

Two hosts, near and far, with a pipe in each direction; the command runs on the near one with the
terminal it was started from. Everything is removed when it ends, and its exit code is ours. The
line goes to standard error: standard output belongs to the command, and with ``--json`` to one line
after it.
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

from trustbed.agent.client import Agent
from trustbed.agent.control import ControlledProcess
from trustbed.cli import (
    ERROR,
    arguments,
    guest_shell,
    link_options,
    link_summary,
    shell_background,
    system_error,
)
from trustbed.cli.interrupt import signals_as_interrupts
from trustbed.errors import TrustbedError
from trustbed.run.execution.demand import Load, is_modest
from trustbed.scenario.guests import NIC_MODELS, Guest
from trustbed.testbed import Host, Plan, Process, Testbed, TestbedError, plan, prepare
from trustbed.testbed.netns import address_translation as outside
from trustbed.testbed.netns import registry

NEAR, FAR = "near", "far"
ADDRESSES: Mapping[str, str] = {NEAR: "10.77.0.1", FAR: "10.77.0.2"}
PEER = "peer"
"""Name of the far end in the hosts file of the near one."""
_PEER = "TRUSTBED_PEER"
_RAW = ".trustbed-"
_MARK = "ledger-of-trustbed-shell"
_LISTEN_SECONDS = 60.0
_END_SECONDS = 10.0
_TURN_SECONDS = 0.25
_TAIL_BYTES = 2000


def parser() -> arguments.Parser:
    """The parser of ``trustbed shell``."""
    parser = arguments.Parser(
        "shell",
        "[OPTIONS] [-- CMD…]",
        "Runs any command behind an emulated link, in a network of its own, and reports\n"
        "what the link did: throughput, queueing delay, drops, and the emulator's own\n"
        "departure error. Nothing else of this host's network is reachable from there.\n\n"
        "CMD is the command with its arguments; without one, your shell. The far end of\n"
        f"the link has the name {PEER} and the address {ADDRESSES[FAR]}, also in the\n"
        f"variable ${_PEER} (write that inside sh -c '…', or your shell expands it\n"
        "too early).",
        "examples:\n"
        f"  trustbed shell --rate 20Mbit/s --delay 9ms --far 'iperf3 -s' -- iperf3 -c {PEER}\n"
        f"  trustbed shell --delay 25ms --loss 1% -- ping -c3 {PEER}\n"
        f"  trustbed shell --rate 9Mbit/s --background web -- ping -c3 {PEER}\n"
        "  trustbed shell --rate 5Mbit/s --outside -- curl -O https://example.org/\n\n"
        "exit codes: that of the command (128 and its number if a signal ended it);\n"
        "125 if something else went wrong, 2 wrong usage",
    )
    link_options.add(parser)
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    near = parser.add_argument_group("near end")
    near.add_argument(
        "--guest",
        metavar="NIC",
        choices=NIC_MODELS,
        help="run CMD in a QEMU guest with this network card: virtio-net, e1000, e1000e, vmxnet3 "
        "or rtl8139. It has busybox (sh, ping, nc, wget, …) and trustbed-agent. It boots in "
        "seconds; the first time fetches a kernel",
    )
    far = parser.add_argument_group("far end")
    far.add_argument(
        "--far",
        metavar="CMD",
        help="start a server there, for example 'iperf3 -s', and wait until it listens",
    )
    far.add_argument(
        "--outside",
        action="store_true",
        help="reach this host's network through the link (IPv4): as root, or with pasta. Through "
        "pasta, ping needs sysctl net.ipv4.ping_group_range",
    )
    far.add_argument(
        "--congestion-control",
        metavar="NAME",
        help="TCP congestion control of both ends (default: this host's)",
    )
    shell_background.add(parser)
    output = parser.add_argument_group("output")
    output.add_argument(
        "--ledger",
        type=Path,
        metavar="FILE",
        help="a row per packet and pipe as Parquet: scheduled and actual times, queue length, fate",
    )
    arguments.add_json(output, "one line of JSON after the output of CMD")
    output.add_argument("-q", "--quiet", action="store_true", help="no summary")
    arguments.add_help(output)
    return parser


def run(words: Sequence[str]) -> int:
    """Runs the verb."""
    try:
        return _run(words)
    except BrokenPipeError:
        raise
    except TrustbedError as error:
        if error.exit_code != ERROR:
            raise
        raise NotRun(error.message, error.hint) from error
    except OSError as error:
        raise NotRun(*system_error(error)) from error


class NotRun(arguments.Complaint):
    """The command was not run, or not to its end, for a reason that is not its own.

    The exit code shows it (as with env(1), timeout(1)).
    """

    exit_code = 125


def _run(words: Sequence[str]) -> int:
    own, command = _split(words)
    _refuse_command_without_dashes(own)
    options = arguments.parse(parser(), own)
    if not command:
        command = (
            [guest_shell.SHELL]
            if options.guest is not None
            else [os.environ.get("SHELL") or "/bin/sh"]
        )
    topology = _topology(options)
    if options.ledger is not None:
        from trustbed.report.placing import check_file

        check_file(options.ledger)
    if options.outside:
        outside.through_pasta()
    prepare()  # possible only as long as there is one thread: reading a model starts some
    up, down = map(_rate, topology["pipes"])
    users = shell_background.background(options, tuple(ADDRESSES.values()), (up, down))
    if users is not None:
        topology = users.topology(NEAR, FAR, topology)
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
        + ([] if users is None else users.hosts())
    )
    with signals_as_interrupts(), ExitStack() as stack:
        _refuse_what_cannot_be_emulated(topology)
        ledger = stack.enter_context(_raw_ledger(options.ledger))
        shell = Shell(planned, topology, options, command, users)
        code = shell.carry_out(
            None if ledger is None else {"path": str(ledger), "detail": "packets"}
        )
        if ledger is not None:
            link_summary.write_ledger(ledger, options.ledger)
    _print_report(shell.report, options)
    return code


def _refuse_command_without_dashes(own: Sequence[str]) -> None:
    """A word that is no option, or an option's value, begins a command."""
    found, _ = parser().parse_known_args(list(own))
    if found.words:
        command = list(own)[list(own).index(found.words[0]) :]
        raise arguments.UsageError(
            f"{command[0]} is not an option",
            f"put -- before the command: trustbed shell … -- {' '.join(command)}",
        )


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our own words, and the command after the dashes, if any."""
    words = list(words)
    if "--" in words:
        at = words.index("--")
        if at + 1 < len(words):
            return words[:at], words[at + 1 :]
        words = words[:at]
    return words, []


def _topology(options: argparse.Namespace) -> Mapping[str, Any]:
    up, down = link_options.pipes(options)
    hosts = [{"name": name, "addresses": [address]} for name, address in ADDRESSES.items()]
    pipes = [
        {"name": "up", "from": NEAR, "to": FAR, **up},
        {"name": "down", "from": FAR, "to": NEAR, **down},
    ]
    found = {"hosts": hosts, "routers": [], "pipes": pipes}
    return found | {"outside": FAR} if options.outside else found


def _refuse_what_cannot_be_emulated(topology: Mapping[str, Any]) -> None:
    """Checks high rates against what this machine can emulate.

    Each direction alone, since a command seldom fills both.
    """
    most = Load(bits_per_second=max(_rate(pipe) for pipe in topology["pipes"]))
    if is_modest([most]):
        return
    from trustbed.run.error import RunError
    from trustbed.run.execution import ceiling

    try:
        ceiling.refuse_link(most)
    except RunError as error:
        raise NotRun(error.message, error.hint) from error


def _rate(pipe: Mapping[str, Any]) -> int:
    """The most that a pipe delivers over time; 0 if unlimited."""
    parts = (pipe, pipe.get("policer") or {}, pipe.get("shaper") or {})
    return min(
        (part["rate_bits_per_second"] for part in parts if "rate_bits_per_second" in part),
        default=0,
    )


@contextmanager
def _raw_ledger(ledger: Path | None) -> Iterator[Path | None]:
    """Where the emulator writes records while it runs; removed afterwards.

    The next run removes what a killed one left.
    """
    if ledger is None:
        yield None
        return
    for left in ledger.parent.glob(f"{_RAW}*"):
        ours = left.is_dir() and not left.is_symlink() and (left / _MARK).is_file()
        if ours and not registry.is_held(left):
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_RAW, dir=ledger.parent) as directory:
        hold = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with contextlib.suppress(OSError):  # of a file system without locks
                fcntl.flock(hold, fcntl.LOCK_EX)
                (
                    Path(directory) / _MARK
                ).touch()  # from now on it may be removed when no process holds it
            yield Path(directory) / "ledger"
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
        users: shell_background.Background | None = None,
    ) -> None:
        self.report: link_summary.Report = {}
        self._users = users
        self._plan = planned
        self._topology = topology
        self._options = options
        self._command = command

    def carry_out(self, ledger: Mapping[str, Any] | None) -> int:
        """The exit code of the command."""
        purpose = f"shell {' '.join(self._command)}"[:200]
        with Testbed(self._plan, purpose=purpose) as testbed, ExitStack() as stack:
            config = self._plan.emulator(self._topology, seed=self._options.seed, ledger=ledger)
            emulator = testbed.start_agent("emulate", config, where="net")
            emulator.begin()
            generator = None
            if self._users is not None:
                directory = stack.enter_context(tempfile.TemporaryDirectory())
                generator = self._users.start(testbed, Path(directory))
            server = None
            if self._options.far is not None:
                output = stack.enter_context(tempfile.TemporaryFile())
                server = _Server(testbed, self._options.far, output)
            hosts = stack.enter_context(_hosts_file())
            self._greet()
            with _Signals() as signals:
                process = stack.enter_context(self._started(testbed, hosts))
                signals.pass_on_to(process)
                code = _attend(process, emulator)
            if server is not None:
                server.check()
            told = {} if generator is None else {"background": generator.stop()}
            self.report = {**emulator.stop(), "ready": emulator.ready, **told}
        return code

    def _started(
        self, testbed: Testbed, hosts: Path
    ) -> AbstractContextManager[Process | ControlledProcess]:
        """Starts the command on the near host."""
        environment = {_PEER: ADDRESSES[FAR]}
        if self._options.guest is not None:
            return guest_shell.started(testbed, NEAR, self._command, environment)
        command = _with_hosts_file(self._command, hosts)
        return testbed.start(NEAR, command, stdin=None, environment=environment, foreground=True)

    def _greet(self) -> None:
        """Explains the prompt to an interactive user."""
        if (
            self._options.quiet
            or len(self._command) > 1
            or not (sys.stdin is not None and sys.stdin.isatty())
        ):
            return
        peer = f"the far end is {PEER}, {ADDRESSES[FAR]}"
        tcp = _congestion_control(self._options)
        where = (
            ""
            if self._options.guest is None
            else f"in a guest ({self._options.guest}; busybox and trustbed-agent) "
        )
        print(
            f"{where}behind {link_summary.described(self._topology['pipes'])}; {peer}; "
            f"{'' if tcp is None else f'TCP {tcp}; '}exit ends it",
            file=sys.stderr,
            flush=True,
        )


@contextmanager
def _hosts_file() -> Iterator[Path]:
    """This host's ``/etc/hosts`` and the far end's name."""
    try:
        known = Path("/etc/hosts").read_text(encoding="utf-8", errors="replace").rstrip("\n")
    except OSError:
        known = "127.0.0.1 localhost"
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="hosts-") as file:
        file.write(f"{known}\n{ADDRESSES[FAR]} {PEER}\n")
        file.flush()
        Path(file.name).chmod(0o644)
        yield Path(file.name)


def _with_hosts_file(command: Sequence[str], hosts: Path) -> Sequence[str]:
    """The command with ``hosts`` as its ``/etc/hosts``, in a mount namespace of its own.

    The command unchanged where that is impossible, or where its program does not exist: the error
    is then the usual one.
    """
    if shutil.which(command[0]) is None or shutil.which("unshare") is None:
        return command
    mount = 'mount --bind "$0" /etc/hosts 2>/dev/null; exec "$@"'
    shell = ["unshare", "--mount", "--propagation", "slave", "/bin/sh", "-c", mount]
    return [*shell, str(hosts), *command]


def _congestion_control(options: argparse.Namespace) -> str | None:
    """The TCP congestion control in force; ``None`` in a guest whose default is unknown."""
    chosen: str | None = options.congestion_control
    if chosen is not None or options.guest is not None:
        return chosen
    try:
        return Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text("ascii").strip()
    except OSError:
        return None


def _attend(process: Process | ControlledProcess, emulator: Agent) -> int:
    """Waits for the command while the emulator lives."""
    while (code := process.wait(_TURN_SECONDS)) is None:
        while emulator.poll() is not None:
            pass
    return code


class _Signals:
    """Passes signals on to the command: we end when it has.

    Ctrl-C reaches it without us, if it has the terminal.
    """

    def __init__(self) -> None:
        self._process: Process | ControlledProcess | None = None
        self._waiting: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            self._before[number] = signal.signal(number, self._received)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _received(self, number: int, frame: FrameType | None) -> None:
        if self._process is None:
            self._waiting.append(number)
        else:
            self._process.signal(number)

    def pass_on_to(self, process: Process | ControlledProcess) -> None:
        """The command runs; it gets the signals that came before."""
        self._process = process
        for number in self._waiting:
            process.signal(number)


class _Server:
    """The command on the far host; it listens once this is made."""

    def __init__(self, testbed: Testbed, line: str, output: IO[bytes]) -> None:
        self._testbed = testbed
        self._line = line
        self._output = output
        words = ["/bin/sh", "-c", line]
        self._process = testbed.start(
            FAR, words, stdout=output, stderr=output, environment={_PEER: ADDRESSES[NEAR]}
        )
        deadline = time.monotonic() + _LISTEN_SECONDS
        while not testbed.listening(FAR):
            code = self._process.wait(0.02)
            if code is not None:
                raise TestbedError(
                    f"the far command {line!r} ended with code {code} before it "
                    f"listened{self._output_end()}",
                    "try it alone: it must stay and listen",
                )
            if time.monotonic() > deadline:
                hint = "it must open a TCP or UDP port; see its own options"
                raise TestbedError(
                    f"the far command {line!r} does not listen after {_LISTEN_SECONDS:g} "
                    f"s{self._output_end()}",
                    hint,
                )

    def check(self) -> None:
        """Warns if it has failed meanwhile."""
        # One that does not listen any more is about to end.
        code = (
            self._process.poll()
            if self._testbed.listening(FAR)
            else self._process.wait(_END_SECONDS)
        )
        if code:
            print(
                f"warning: the far command {self._line!r} had ended with code "
                f"{code}{self._output_end()}",
                file=sys.stderr,
            )

    def _output_end(self) -> str:
        """The last of its output."""
        self._output.seek(max(0, self._output.seek(0, os.SEEK_END) - _TAIL_BYTES))
        text = self._output.read().decode(errors="replace").strip()
        return f": {text}" if text else ""


def _print_report(report: Mapping[str, Any], options: argparse.Namespace) -> None:
    findings = link_summary.findings(report)
    if options.json:
        print(json.dumps(link_summary.model(report, findings)), flush=True)
    with contextlib.suppress(BrokenPipeError):
        if not options.quiet:
            tcp = _congestion_control(options)
            text = link_summary.line(report)
            print(text if tcp is None else f"{text} · TCP {tcp}", file=sys.stderr)
            if "background" in report:
                print(shell_background.summary(report["background"]), file=sys.stderr)
        for finding in findings:
            if finding.severity in ("error", "warning"):
                print(
                    f"warning: {finding.message}: do not trust what was measured", file=sys.stderr
                )
                print(f"hint: {finding.next_step}", file=sys.stderr)
