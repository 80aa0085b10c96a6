"""A host that is another machine, reached by SSH or by a command; or this one, treated the same.

In order: the transport, a probe, the program, the control channel; then commands and agents run
on it as on any host. Nothing stays running there, in whichever order they end:
the agent ends with its standard input, or when it has received nothing for
:data:`~trustbed.testbed.remote.program.SILENCE_SECONDS`, and with it all that it has started; files
that were not fetched are removed.

With :class:`Keep`, what runs on a host outlives the loss of its transport for a given time:
:meth:`RemoteHost.resume` connects again and finds everything as it was; until then
:attr:`RemoteHost.is_away` holds.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from trustbed.agent import client as agent
from trustbed.agent.control import Control, ControlledHost, Loss, Peer
from trustbed.errors import TestbedError
from trustbed.scenario.inventory import (
    InventoryHost,
    Local,
    Namespace,
    Prefix,
    Ssh,
    transport_of,
)
from trustbed.testbed.remote import program as programs
from trustbed.testbed.remote.loop import Loop
from trustbed.testbed.remote.prefix import PrefixTransport
from trustbed.testbed.remote.program import SILENCE_SECONDS, Keep, Probed, Program
from trustbed.testbed.remote.ssh import SshTransport
from trustbed.testbed.remote.transport import Stream, Transport
from trustbed.testbed.remote.turns import Access

_HELLO_SECONDS = 60.0
_END_SECONDS = 40.0
"""More than the time after which the agent kills what runs on the host."""
_GONE_SECONDS = 2.0


class RemoteHost(ControlledHost):
    """Made by :meth:`connect`; :meth:`end` ends it, and everything that trustbed runs on it."""

    fetch_seconds = 3600.0

    def __init__(
        self, described: InventoryHost, transport: Transport, program: Program, probed: Probed
    ) -> None:
        super().__init__(described.name)
        self.described = described
        self.probed = probed
        self.title = title_of(described)
        self._transport = transport
        self._program = program
        self._copied = not isinstance(described.transport, (Local, Namespace))
        self._numbers = itertools.count(1)
        self._stream: Stream | None = None
        self._control: Control | None = None

    @classmethod
    def connect(
        cls,
        access: Access,
        described: InventoryHost,
        program: Program,
        keep: Keep | None = None,
    ) -> RemoteHost:
        """Connects, copies the agent if it is not there yet, and starts it.

        Args:
            access: Where connections live, and how many are made at once.
            described: The host.
            program: The agent.
            keep: How long processes there outlive the loss of the transport; unused for this
                machine, which has none to lose.

        Raises:
            TestbedError: It failed; the error gives the reason and how to fix it.
        """
        title = title_of(described)
        transport = _connect(access, described, title)
        try:
            probed = programs.probe(transport, title, program, described.directory)
            host = cls(described, transport, program, probed)
            if host._copied and not probed.has_program:
                host._copy(access)
            host.program = (
                f"{probed.directory}/{program.name}" if host._copied else str(program.path)
            )
            try:
                host._begin(access.loop, keep if host._copied else None)
            except programs.ProgramGoneError:
                host._copy(access)
                host._begin(access.loop, keep if host._copied else None)
        except BaseException:
            transport.close()
            raise
        return host

    def _copy(self, access: Access) -> None:
        with access.limits.copying(access.loop):
            programs.copy(self._transport, self.title, self._program, self.probed.directory)

    def resume(self, access: Access) -> bool:
        """Connects again after the transport was lost.

        False if the session on the host has ended meanwhile, so that it is gone.

        Raises:
            TestbedError: It failed.
        """
        loop = access.loop
        transport = _connect(access, self.described, self.title)
        try:
            stream = programs.resume(transport, self.directory, self.program)
        except BaseException:
            transport.close()
            raise
        try:
            with loop.interruptible(self.give_up):
                resumed = self.control.resume(stream.link, stream.why, _HELLO_SECONDS)
        except TestbedError:
            resumed = False
        before = (self._stream, self._transport)
        self._stream, self._transport = stream, transport
        if before[0] is not None:
            before[0].end()
        before[1].close()
        if resumed:
            return True
        ended = stream.wait(_GONE_SECONDS)
        if ended is not None and ended.code in programs.NO_SESSION:
            self.control.give_up("its session on the host has ended meanwhile")
        if self.is_gone:
            return False
        raise TestbedError(f"{self.title}: {self.control.losses[-1].why}", "it is tried again")

    def give_up(self) -> None:
        """Stops waiting for a host whose transport is lost: it counts as gone."""
        if self._control is not None:
            self._control.give_up("trustbed no longer waits for it")

    def _begin(self, loop: Loop, keep: Keep | None) -> None:
        self._stream = stream = programs.start(
            self._transport, self.name, self.probed.directory, self.program, keep
        )
        peer = Peer(
            title=self.title,
            when_gone="its processes have been ended; connect again when it can be reached",
            when_missing="install it on the host, or give its full path",
            when_unread="check whether its disk is full, and whether the file's writer runs",
            silence_seconds=SILENCE_SECONDS,
        )
        self._control = control = Control(
            stream.link, peer, stream.why, keep_seconds=None if keep is None else keep.seconds
        )
        try:
            with loop.interruptible(control.close):
                answered = control.wait(lambda: control.hello is not None, _HELLO_SECONDS)
            if not answered:
                hint = "the host may be overloaded; try again"
                raise TestbedError(
                    f"the agent on {self.title} does not answer within {_HELLO_SECONDS:g} s", hint
                )
            self._check_version()
        except TestbedError as error:
            ended = stream.wait(0) if control.is_gone else None
            self.stop()
            raise programs.not_started(
                self.title, self.program, ended, error, self._program
            ) from None
        except BaseException:
            self.stop()
            raise

    def _check_version(self) -> None:
        from trustbed import __version__

        found = (self.control.hello or {}).get("version")
        if found != __version__:
            message = f"the agent on {self.title} is of trustbed {found}, and this is {__version__}"
            raise TestbedError(
                message,
                (
                    "TRUSTBED_AGENT names another agent, or the installation is half an old "
                    "one: install trustbed again"
                ),
            )

    @property
    def control(self) -> Control:
        """Its control channel."""
        assert self._control is not None, "it is connected"
        return self._control

    @property
    def is_gone(self) -> bool:
        """Whether it no longer answers requests."""
        return self._control is None or self._control.is_gone

    @property
    def is_away(self) -> bool:
        """Whether its transport is lost while its processes may go on.

        :meth:`resume` finds out.
        """
        return self._control is not None and self._control.is_away

    @property
    def losses(self) -> Sequence[Loss]:
        """The times without a transport to it, in order."""
        return () if self._control is None else self._control.losses

    @property
    def directory(self) -> str:
        """A directory there for the files of this session; it is removed with it."""
        return str((self.control.hello or {})["directory"])

    def remote_path(self, file: Path) -> str:
        """A name of its own in the session's directory."""
        return f"{self.directory}/{next(self._numbers)}-{file.name}"

    @property
    def existing(self) -> frozenset[str]:
        """The session's directory."""
        return frozenset({self.directory})

    def facts(self) -> Mapping[str, object]:
        """Its entry in a record, with its clock compared now.

        Raises:
            TestbedError: It is gone.
        """
        hello = self.control.hello or {}
        return {
            "way": transport_of(self.described),
            "measured": None if self.described.measured is None else str(self.described.measured),
            "system": self.probed.system,
            "machine": self.probed.machine,
            "kernel": hello.get("kernel"),
            "agent_version": hello.get("version"),
            "agent_sha256": self._program.sha256,
            "agent": self.program,
            "clock": asdict(self.read_clock()),
        }

    def end(self, *, remove: bool = False) -> None:
        """Ends its session and waits for that; has no effect if it has ended.

        Args:
            remove: Remove the agent's program from there as well.

        Raises:
            TestbedError: The program could not be removed.
        """
        try:
            self.stop()
            if remove and self._copied:
                programs.remove(self._transport, self.title, self.probed.directory)
        finally:
            self._transport.close()

    def stop(self) -> None:
        """Ends the session, and removes its files.

        The transport stays.
        """
        gone = self.is_gone or self.is_away
        if self._control is not None:
            self._control.close()
        if self._stream is not None:
            # A host that is gone does not answer.
            self._stream.wait(_GONE_SECONDS if gone else _END_SECONDS)
            self._stream.end()
            self._stream = None


def title_of(described: InventoryHost) -> str:
    """The name of a host in messages."""
    return f"the host {described.name}"


def _connect(access: Access, described: InventoryHost, title: str) -> Transport:
    loop = access.loop
    match described.transport:
        case Ssh() as ssh:
            return SshTransport.connect(access, ssh, title)
        case Prefix(words=words):
            return PrefixTransport(loop, words, title)
        case Namespace(file=file):
            return PrefixTransport(
                loop,
                [str(agent.binary()), "exec", "--namespace", str(file), "--replace", "--"],
                title,
            )
        case Local():
            return PrefixTransport(loop, (), title)
