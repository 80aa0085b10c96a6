"""Runs a program to its end and says what it cost.

CPU time is what the kernel charged to the process and the children it waited for (user and system),
so it counts every thread. Peak memory is private memory (`RssAnon` of /proc): pages of a mapped
file belong to the page cache and are left out. It is polled.

Bias: a peak shorter than the polling interval can be missed, so memory is never over-, but can be
under-estimated. Without polling nothing runs beside the program.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

POLL_SECONDS = 0.005
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one run of a program cost.

    Attributes:
        cpu_seconds: User and system time of all its threads and children.
        user_seconds: The user time of them alone.
        wall_seconds: From start to end.
        peak_private_bytes: Largest private memory seen; None when it was not watched.
        output: What it printed on stdout; empty unless asked for.
    """

    cpu_seconds: float
    user_seconds: float
    wall_seconds: float
    peak_private_bytes: int | None
    output: str


class ProgramFailed(Exception):
    """A program of the bench ended with an error: its figures would mean nothing."""


def run(command: list[str], *, watch_memory: bool = False, keep_output: bool = False) -> Cost:
    """Runs `command` and waits for it.

    Raises:
        ProgramFailed: It exited with another code than 0.
    """
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        child = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output if keep_output else subprocess.DEVNULL,
            stderr=errors,
        )
        watch = _Watch(child.pid) if watch_memory else None
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - started
        # Popen must not wait for a process that is already gone.
        child.returncode = os.waitstatus_to_exitcode(status)
        peak = watch.stop() if watch else None
        if child.returncode != 0:
            errors.seek(0)
            tail = errors.read().decode(errors="replace").strip().splitlines()[-5:]
            raise ProgramFailed(
                f"{' '.join(command)} exited with {child.returncode}: {' / '.join(tail)}"
            )
        output.seek(0)
        text = output.read().decode(errors="replace")
    return Cost(
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        user_seconds=usage.ru_utime,
        wall_seconds=wall,
        peak_private_bytes=peak,
        output=text,
    )


class _Watch:
    """Polls the private memory of a process from a thread of its own."""

    def __init__(self, pid: int) -> None:
        self._status = Path(f"/proc/{pid}/status")
        self._peak = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def _poll(self) -> None:
        while not self._ended.wait(POLL_SECONDS):
            try:
                lines = self._status.read_text(encoding="ascii").splitlines()
            except OSError:
                return
            self._peak = max(
                self._peak,
                sum(_bytes(line) for line in lines if line.startswith(("RssAnon:", "RssShmem:"))),
            )

    def stop(self) -> int:
        """Ends the polling and returns the peak in bytes."""
        self._ended.set()
        self._thread.join()
        return self._peak


def _bytes(line: str) -> int:
    return int(line.split()[1]) * 1024


def program(name: str) -> str:
    """The path of a program of the environment that runs the bench.

    Raises:
        ProgramFailed: It is not there.
    """
    path = Path(sys.executable).with_name(name)
    if not path.exists():
        raise ProgramFailed(f"no {path}; run: make setup")
    return str(path)
