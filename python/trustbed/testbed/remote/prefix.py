"""The transport by a command that runs others on a host, as ``docker exec -i web`` does.

Without a command, the host is this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout

from trustbed.agent.client import nameless_file
from trustbed.errors import TestbedError, reason
from trustbed.testbed.remote.loop import Loop
from trustbed.testbed.remote.transport import TAIL_BYTES, Ended, both_of, how

_WHY_SECONDS = 5.0
_END_SECONDS = 10.0


class PrefixTransport:
    """A loop's thread starts commands, since they end with the thread that started them."""

    def __init__(self, loop: Loop, prefix: Sequence[str], title: str) -> None:
        self._loop = loop
        self._prefix = tuple(prefix)
        self._title = title

    def run(self, words: Sequence[str], *, content: bytes = b"", seconds: float) -> Ended:
        """Runs a command there to its end: see :meth:`Transport.run`."""
        return self._loop.run(self._run([*self._prefix, *words], content, seconds))

    async def _run(self, words: Sequence[str], content: bytes, seconds: float) -> Ended:
        process = await self._start(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stderr is not None
        feeding = asyncio.ensure_future(_feed(process, content))
        try:
            async with asyncio.timeout(seconds):
                out, err = await both_of(
                    process.stdout, process.stderr, f"{words[0]} for {self._title}"
                )
                await feeding
                await process.wait()
        except TimeoutError:
            hint = "the machine may be overloaded, or refuse logins; try the command by hand"
            raise TestbedError(
                f"{self._title}: {words[0]} did not end within {seconds:g} s", hint
            ) from None
        finally:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)
            await _end(process)
        return Ended(_code(process.returncode), out, err)

    async def _start(self, words: Sequence[str], **streams: int) -> asyncio.subprocess.Process:
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(*words, start_new_session=True, **streams)  # type: ignore[arg-type] # streams by their names
        )
        try:
            # Half started it could not be ended.
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError):
                await _end(await starting)
            raise
        except OSError as error:
            message = reason(error)
            hint = "install it, or name another command in the inventory"
            raise TestbedError(
                f"{self._title}: {words[0]} cannot be run: {message}", hint
            ) from None

    def open(self, words: Sequence[str]) -> PrefixStream:
        """Starts a command there that stays: see :meth:`Transport.open`."""
        ours, its = socket.socketpair()
        errors = nameless_file()
        try:
            process = self._loop.run(
                self._start(
                    [*self._prefix, *words], stdin=its.fileno(), stdout=its.fileno(), stderr=errors
                )
            )
        except BaseException:
            ours.close()
            os.close(errors)
            raise
        finally:
            its.close()
        return PrefixStream(self._loop, process, ours, errors)

    def close(self) -> None:
        """There is nothing to give up."""


class PrefixStream:
    """See :class:`~trustbed.testbed.remote.transport.Stream`."""

    def __init__(
        self, loop: Loop, process: asyncio.subprocess.Process, link: socket.socket, errors: int
    ) -> None:
        self.link = link
        self._process = process
        self._errors = errors
        self._loop = loop
        self._code: Future[int] = loop.start(process.wait())

    def wait(self, seconds: float) -> Ended | None:
        """How it ended, if it has within the time."""
        try:
            code = self._code.result(seconds)
        except (FutureTimeout, CancelledError):
            return None
        message = (
            b""
            if self._errors < 0
            else os.pread(
                self._errors, TAIL_BYTES, max(0, os.fstat(self._errors).st_size - TAIL_BYTES)
            )
        )
        return Ended(_code(code), b"", message)

    def why(self, otherwise: str) -> str:
        """Why it has ended."""
        ended = self.wait(_WHY_SECONDS)
        return otherwise if ended is None else how(ended)

    def end(self) -> None:
        """Kills what has not ended by itself."""
        if not self._code.done():
            self._loop.tidy(self._kill())
        if self._errors >= 0:
            os.close(self._errors)
            self._errors = -1

    async def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            self._process.kill()
        await self._process.wait()


async def _feed(process: asyncio.subprocess.Process, content: bytes) -> None:
    """Writes what a command is to read, and closes the stream.

    One that reads nothing does not mind.
    """
    assert process.stdin is not None
    try:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            process.stdin.write(content)
            await process.stdin.drain()
    finally:
        process.stdin.close()


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kills a command and its descendants, if it has not ended, and closes our ends of its streams.

    Their reader is gone: a process outside the group ends when it writes, and so does what is
    another user's, as sudo's command is.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None and process.stdin.transport.get_write_buffer_size():
        process.stdin.transport.abort()  # closing would wait until the process has read the rest
    for stream in (1, 2):
        # What a process writes is read by its transport, which does not show it otherwise.
        pipe = process._transport.get_pipe_transport(stream)  # type: ignore[attr-defined]
        if pipe is not None:
            pipe.close()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _END_SECONDS)


def _code(code: int | None) -> int | None:
    return code if code is None or code >= 0 else None
