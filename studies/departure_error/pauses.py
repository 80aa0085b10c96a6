"""The process that makes an emulator late.

It stops another process and lets it go on, at moments that it is given.

A process of its own, because a stop of 0.2 ms can wait for nobody: it sleeps to the moment, with
real-time priority above the emulator's where that is permitted. It reads one line of JSON (`pid`,
`stops`: begin and length in seconds), counts from the next line on, and ends with the last stop or
when its input ends; then it prints when stops really began and ended, in nanoseconds of the
real-time clock. Whatever happens, the other process is left running.

Bias: a thread that runs is stopped when it next leaves the kernel, some microseconds later than
noted here.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_PRIORITY = 40


class Pauses:
    """Stops a process while the block lasts.

    :meth:`begin` says from when on the times count; :meth:`done` what was done.
    """

    def __init__(self, pid: int, stops: Sequence[tuple[float, float]]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).resolve().parent.parent.parent,
        )
        self._say(json.dumps({"pid": pid, "stops": list(stops)}))

    def begin(self) -> None:
        """Time counts from here."""
        self._say("go")

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None, "asked for"
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def done(self, seconds: float = 10.0) -> list[tuple[int, int]]:
        """Ends it; when the process really stopped, and went on."""
        out, _ = self._process.communicate(timeout=seconds)
        return [(begin, end) for begin, end in json.loads(out)]

    def close(self) -> None:
        """Ends it, whatever it does."""
        if self._process.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.communicate(timeout=1.0)
        self._process.kill()  # nothing happens to a process that has ended
        self._process.wait()


def carry_out(
    pid: int, stops: Sequence[tuple[float, float]], *, input_number: int
) -> list[tuple[int, int]]:
    """Stops a process at these times from now on until the last one, or until the input ends."""
    zero = time.monotonic()
    done = []
    try:
        for begin, length in stops:
            wait = zero + begin - time.monotonic()
            if select.select([input_number], [], [], max(wait, 0.0))[0]:
                break
            os.kill(pid, signal.SIGSTOP)
            stopped, stopped_ns = time.monotonic(), time.time_ns()
            time.sleep(max(stopped + length - time.monotonic(), 0.0))
            os.kill(pid, signal.SIGCONT)
            done.append((stopped_ns, time.time_ns()))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    return done


def main() -> int:
    """The process itself."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(_PRIORITY))
    asked: dict[str, Any] = json.loads(_line(sys.stdin.fileno()))
    done: list[tuple[int, int]] = []
    if _line(sys.stdin.fileno()):
        with contextlib.suppress(
            ProcessLookupError
        ):  # it ended by itself: there is nothing left to disturb
            done = carry_out(asked["pid"], asked["stops"], input_number=sys.stdin.fileno())
    sys.stdout.write(json.dumps(done))
    return 0


def _line(number: int) -> bytes:
    """A line, byte by byte: nothing may wait in a buffer where select does not see it."""
    found = b""
    while (byte := os.read(number, 1)) not in (b"", b"\n"):
        found += byte
    return found


if __name__ == "__main__":
    sys.exit(main())
