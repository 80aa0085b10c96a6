"""A guest from its start to its end.

It starts QEMU, waits for it and sets up its network; then commands run in it as on any host.

Starting has two steps, so that several boot at the same time: :meth:`Guest.start` returns at once,
:meth:`Guest.wait_until_ready` when the guest can be used. QEMU runs beside a process of the agent
like every command of a testbed, and ends with the process that started it; the guest also ends when
its control channel does.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from trustbed.agent.control import Control, ControlledHost, Peer, Reading
from trustbed.agent.control.host import COMMAND_SECONDS
from trustbed.agent.processes import Process
from trustbed.errors import TestbedError, reason_and_file
from trustbed.testbed.netns import apply, namespaces
from trustbed.testbed.netns.plan import INTERFACE, Plan, VethLink, tap_of
from trustbed.testbed.qemu import (
    accelerator,
    command_line,
    greeting,
    initramfs,
    kernel,
    network,
    tap,
)
from trustbed.testbed.qemu.command_line import Machine, Nic
from trustbed.testbed.qemu.modules import PARAVIRTUAL

BOOT_SECONDS = 240.0
"""How long a guest has until it can be used.

Some forty times what it takes on a quiet machine where every instruction is emulated.

The end of QEMU is noticed at once."""
_TAIL_BYTES = 1500
_CLOCK_SHIFTS = 3
"""A guest's first clock readings after boot are slow; a clock set by them is off by as much."""


def peer(name: str) -> Peer:
    """Its name in messages, and hints for its failures."""
    return Peer(
        title=f"the guest {name}",
        when_gone="see its console log; what ran in it is lost",
        when_missing=(
            "a guest has busybox (sh, ping, nc, wget, …: `busybox --list`) and "
            "trustbed-agent, and what its image has; nothing of this machine's"
        ),
        when_unread="its memory may have run out; give it more",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The surroundings of a guest.

    Its plan, its namespace and the switch namespace, what marks its processes, its
    console's log.

    The guest removes the log unless ``keep_console``.
    """

    plan: Plan
    namespace: Path
    switch: Path
    environment: Mapping[str, str]
    console: Path
    keep_console: bool


class Guest(ControlledHost):
    """A machine of an experiment.

    In this order: :meth:`start`, :meth:`wait_until_ready`, anything else, :meth:`end`.
    """

    def __init__(self, veth: VethLink, surroundings: Surroundings) -> None:
        assert veth.host.guest is not None, "the caller saw to it"
        super().__init__(veth.host.name)
        self.accelerator = accelerator.Choice(name="tcg", reason="not started")
        self.clock: Reading | None = None
        self.boot_seconds: float | None = None
        self._veth = veth
        self._description = veth.host.guest
        self._surroundings = surroundings
        self._process: Process | None = None
        self._control: Control | None = None
        self._errors = -1
        self._begun = time.monotonic()

    # Start.

    def start(self) -> None:
        """Makes the veth link and starts QEMU.

        Raises:
            TestbedError: Something that it needs is missing.
        """
        accelerator.check_program(self._description.nic)
        core = kernel.ready()
        self.accelerator = accelerator.choose(self._description.accelerator)
        around = self._surroundings
        described = self._description
        cut_behind = described.nic == PARAVIRTUAL and described.offloads
        tap_name = tap_of(self._veth.port) if cut_behind else self._veth.port
        tap_end = tap.open_in(around.switch, tap_name, vnet_headers=cut_behind)
        ours, its = socket.socketpair()
        try:
            with namespaces.inside(around.switch):
                apply.settle_tap(around.plan, self._veth, bridged=cut_behind)
            self._begun = time.monotonic()
            self._errors = os.memfd_create("qemu", os.MFD_CLOEXEC)
            with _in_memory(initramfs.build(core, described.nic, described.image)) as archive:
                machine = Machine(
                    name=f"trustbed-{self.name}",
                    accelerator=self.accelerator.name,
                    cpus=described.cpus,
                    memory_bytes=described.memory_bytes,
                    kernel=core.image,
                    initramfs=archive,
                    control=its.fileno(),
                    console=around.console,
                    nic=Nic(model=described.nic, mac=self._veth.mac, tap=tap_end),
                )
                self._process = Process.start(
                    command_line.words(machine),
                    namespace=around.namespace,
                    stdout=self._errors,
                    stderr=self._errors,
                    environment=around.environment,
                    descriptors=(archive, its.fileno(), tap_end),
                )
        except BaseException:
            ours.close()
            raise
        finally:
            os.close(tap_end)
            its.close()
        self._control = Control(ours, peer(self.name))

    def wait_until_ready(self, seconds: float = BOOT_SECONDS) -> None:
        """Waits until it runs, sets up its network and clock, and checks its network card.

        Args:
            seconds: Time limit of all steps.

        Raises:
            TestbedError: It was not ready in time; the log of its console is preserved.
        """
        deadline = self._begun + seconds
        try:
            self._wait_for_hello(deadline)
            self._equip()
            self._set_clock()
            self._wait_for_link(deadline)
        except TestbedError as error:
            raise TestbedError(
                f"{error.message}{self._output()}",
                f"{error.hint}; its console's log: {self._console_log()}",
            ) from error
        self.boot_seconds = time.monotonic() - self._begun

    def _wait_for_hello(self, deadline: float) -> None:
        assert self._process is not None, "it was started"
        while not self.control.wait(lambda: self.control.hello is not None, 0.1):
            if self._process.poll() is not None:
                raise TestbedError(
                    f"the guest {self.name} ended while it was booted",
                    "see the output of QEMU and its kernel",
                )
            if time.monotonic() > deadline:
                hint = "the machine may be overloaded, or the kernel does not run here"
                raise TestbedError(
                    (
                        f"the guest {self.name} did not boot within "
                        f"{time.monotonic() - self._begun:.0f} s"
                    ),
                    hint,
                )

    def _equip(self) -> None:
        ended = self.run(
            ["sh", "-c", network.script(self._veth, offloads=self._description.offloads)],
            seconds=COMMAND_SECONDS,
        )
        if ended.returncode or not ended.stdout.strip().isdecimal():
            message = ended.stderr.strip().splitlines()
            raise TestbedError(
                (
                    f"the guest {self.name} cannot be set up: "
                    f"{message[-1] if message else f'code {ended.returncode}'}"
                ),
                "its kernel may lack what the scenario requests: a driver, or a congestion control",
            )
        with self.start_command(
            ["trustbed-agent", "guest", "netlink"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as relay:
            assert relay.stdin is not None
            assert relay.stdout is not None
            try:
                network.equip(
                    self._veth,
                    network.Relay(relay.stdin, relay.stdout, seconds=COMMAND_SECONDS),
                    int(ended.stdout),
                    mtu=self._surroundings.plan.mtu,
                    queue_packets=self._surroundings.plan.queue_packets,
                )
            except OSError as error:
                what = reason_and_file(error)
                raise TestbedError(
                    f"the guest {self.name} cannot be set up: {what}",
                    f"{self._description.nic} may not allow it",
                ) from error

    def _set_clock(self) -> None:
        """Sets its clock to this machine's, the clock of the experiment.

        Start times and captures refer to it.
        """
        for _ in range(_CLOCK_SHIFTS):
            self.clock = self.read_clock()
            if abs(self.clock.ahead_ns) <= self.clock.error_ns:
                return
            self.control.shift_clock(-self.clock.ahead_ns)
        self.clock = self.read_clock()

    def _wait_for_link(self, deadline: float) -> None:
        """Waits for the link; a greeting may come from any other host's address."""
        others = [
            address
            for veth in self._surroundings.plan.veths
            if veth is not self._veth
            for address in veth.addresses
        ]
        sender = next(
            (address for address in others if isinstance(address, ipaddress.IPv4Address)), None
        )
        if sender is None or 4 not in self._veth.versions:
            delivers = self._has_carrier(deadline)
        else:
            left = max(0.0, deadline - time.monotonic())
            delivers = greeting.answers(self._surroundings.switch, self._veth, sender, left)
        if not delivers:
            raise TestbedError(
                f"the guest {self.name} runs, but its {self._description.nic} delivers no packets",
                "try another model",
            )

    def _has_carrier(self, deadline: float) -> bool:
        while time.monotonic() < deadline:
            if (
                self.run(
                    ["cat", f"/sys/class/net/{INTERFACE}/carrier"], seconds=COMMAND_SECONDS
                ).stdout.strip()
                == "1"
            ):
                return True
            time.sleep(0.1)
        return False

    # Its life.

    @property
    def control(self) -> Control:
        """Its control channel."""
        assert self._control is not None, "it was started"
        return self._control

    @property
    def pid(self) -> int:
        """The process id of QEMU.

        Stopping or starving it stops or starves the whole machine.
        """
        assert self._process is not None, "it was started"
        return self._process.pid

    def remote_path(self, file: Path) -> str:
        """The same path as here: the guest has a file system of its own."""
        return str(file)

    def facts(self) -> Mapping[str, object]:
        """Its entry in the record of a run, with its clock compared now."""
        hello = self.control.hello or {}
        now = None
        with contextlib.suppress(TestbedError):  # one that is gone has no clock
            now = asdict(self.read_clock())
        return {
            "nic": self._description.nic,
            "cpus": self._description.cpus,
            "memory_bytes": self._description.memory_bytes,
            "offloads": self._description.offloads,
            "accelerator": self.accelerator.name,
            "accelerator_reason": self.accelerator.reason,
            "kernel": hello.get("kernel"),
            "qemu": accelerator.version(),
            "boot_seconds": self.boot_seconds,
            "pid": self.pid,
            "clock_at_boot": None if self.clock is None else asdict(self.clock),
            "clock_now": now,
        }

    # Its end.

    def end(self) -> None:
        """Ends it at any time; does nothing if it has ended."""
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.end()
        if self._errors >= 0:
            os.close(self._errors)
            self._errors = -1
        if not self._surroundings.keep_console:
            with contextlib.suppress(FileNotFoundError):
                self._surroundings.console.unlink()

    def _console_log(self) -> Path:
        """The path of the log after the end of the testbed."""
        if self._surroundings.keep_console:
            return self._surroundings.console
        number, name = tempfile.mkstemp(prefix=f"trustbed-{self.name}-", suffix=".console")
        with contextlib.suppress(OSError), open(number, "wb") as file:  # noqa: PTH123 - it is open already
            file.write(self._surroundings.console.read_bytes())
        return Path(name)

    def _output(self) -> str:
        """The end of the output of QEMU, or else of the guest's kernel."""
        message = (
            os.pread(
                self._errors, _TAIL_BYTES, max(0, os.fstat(self._errors).st_size - _TAIL_BYTES)
            )
            .decode(errors="replace")
            .strip()
        )
        if not message:
            with contextlib.suppress(OSError):
                lines = (
                    self._surroundings.console.read_text(encoding="utf-8", errors="replace")
                    .strip()
                    .splitlines()
                )
                # A program's output is worth more than the kernel's lines, which begin with a time.
                message = next(
                    (line for line in reversed(lines) if line and not line.startswith("[")),
                    lines[-1] if lines else "",
                )
                message = "".join(character for character in message if character.isprintable())
        return f": {message}" if message else ""


@contextlib.contextmanager
def _in_memory(content: bytes) -> Iterator[int]:
    """A file without a name; it lives as long as a process has its descriptor."""
    number = os.memfd_create("initramfs", 0)
    try:
        with open(number, "wb", closefd=False) as file:
            file.write(content)
        yield number
    finally:
        os.close(number)
