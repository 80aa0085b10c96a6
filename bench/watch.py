"""What `trustbed watch` can keep up with, and what it costs those it watches: between two namespaces on a cable that the bench makes.

The flood: frames of 60 bytes from one core, the watcher on the other. The load: `ab` fetches objects from a small server with nobody
looking, with `trustbed watch`, and with `tcpdump -w /dev/null`, in turns; `ab` and the server have a core each, so that it does not matter
where the scheduler puts them, and who looks is free. A figure is the median over many short rounds of the ratio within
a round, so that a machine that becomes slower does not count.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.namespaces import Host, NoNamespaces, cable
from bench.process import ROOT, ProgramFailed, program
from bench.speed import Target

LARGE, SMALL = 1_000_000, 500
"""Sizes of the objects in bytes."""
_FLOOD_SECONDS = 5.0
_LOAD_SECONDS = 1
_CONNECTIONS = 8
_PORT = 8080
_SETTLE_SECONDS = 0.4


@dataclass(frozen=True, kw_only=True)
class Flooded:
    """What became of a flood.

    Attributes:
        frames_per_second: What the sender got rid of.
        seen: Frames that were measured.
        dropped: Frames that found no room in the ring.
        cpu_share: Share of one core that the watcher took.
    """

    frames_per_second: float
    seen: int
    dropped: int
    cpu_share: float


@dataclass(frozen=True, kw_only=True)
class Load:
    """Requests per second for objects of one size, one figure per round."""

    size: int
    alone: list[float]
    watch: list[float]
    tcpdump: list[float]

    def loss(self, looked_at: list[float]) -> float:
        """The share of requests that was lost while somebody looked."""
        return 1 - statistics.median(with_it / without for with_it, without in zip(looked_at, self.alone, strict=True))


@contextlib.contextmanager
def hosts() -> Iterator[tuple[Host, Host]]:
    """The two hosts, or why there are none."""
    for name in ("ab", "tcpdump"):
        if shutil.which(name) is None:
            raise ProgramFailed(f"no {name}")
    try:
        with cable() as (near, far):
            yield near, far
    except NoNamespaces as error:
        raise ProgramFailed(str(error)) from error


def cores() -> list[str]:
    """The cores that there are; at least two."""
    found = [str(core) for core in sorted(os.sched_getaffinity(0))]
    if len(found) < 2:
        raise ProgramFailed("one core cannot send and watch at once")
    return found


def measure_flood(near: Host, far: Host) -> Flooded:
    """The watcher against a sender that saturates the cable."""
    with tempfile.TemporaryFile("w+") as lines:
        watcher = near.start("taskset", "--cpu-list", cores()[0], program("trustbed"), "watch", "left", "--json", stdout=lines)
        time.sleep(_SETTLE_SECONDS)
        begun = time.perf_counter()
        sent, seconds = _module(far, "bench.sender", "right", str(_FLOOD_SECONDS)).stdout.split()
        watcher.send_signal(signal.SIGINT)
        _, status, usage = os.wait4(watcher.pid, 0)
        watcher.returncode = os.waitstatus_to_exitcode(status)
        lasted = time.perf_counter() - begun
        lines.seek(0)
        windows = [json.loads(line) for line in lines]
    if watcher.returncode != 0 or not windows:
        raise ProgramFailed(f"trustbed watch exited with {watcher.returncode}")
    seen = sum(window["packets"] for window in windows if window["direction"] == "in")
    dropped: int = windows[-1]["kernel_dropped"]
    cpu = usage.ru_utime + usage.ru_stime
    if seen + dropped < int(sent):
        raise ProgramFailed(f"{int(sent) - seen - dropped} of {sent} frames are neither measured nor counted as dropped")
    return Flooded(frames_per_second=int(sent) / float(seconds), seen=seen, dropped=dropped, cpu_share=cpu / lasted)


def measure_load(near: Host, far: Host, size: int, rounds: int) -> Load:
    """Requests per second with nobody looking, with the watcher, with tcpdump; in turns."""
    first, *_, last = cores()
    server = far.start(
        "taskset", "--cpu-list", last, "env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "bench.server", "10.0.0.2", str(_PORT), str(size)
    )
    lookers: dict[str, Sequence[str]] = {
        "alone": (),
        "watch": (program("trustbed"), "watch", "left", "--json"),
        "tcpdump": ("tcpdump", "-i", "left", "-w", "/dev/null"),
    }
    found: dict[str, list[float]] = {name: [] for name in lookers}
    try:
        assert server.stdout is not None
        if server.stdout.readline() != "ready\n":
            raise ProgramFailed("bench.server did not start")
        _requests_per_second(near, first)  # the first one is slower
        names = list(lookers)
        for number in range(rounds):
            for name in names[number % 3 :] + names[: number % 3]:
                with _looking(near, lookers[name]):
                    found[name].append(_requests_per_second(near, first))
    finally:
        server.kill()
        server.communicate()
    return Load(size=size, alone=found["alone"], watch=found["watch"], tcpdump=found["tcpdump"])


def targets(flooded: Flooded, loads: Sequence[Load]) -> list[Target]:
    """What should be."""
    large, small = (next(load for load in loads if load.size == size) for size in (LARGE, SMALL))
    ratio = max(small.loss(small.watch), 0.0) / max(small.loss(small.tcpdump), 0.001)
    return [
        Target(what="watch: frames dropped in a flood from one core", value=flooded.dropped, limit=0),
        Target(what="watch: share of requests lost, objects of 1 MB", value=large.loss(large.watch), limit=0.03),
        Target(what="watch: requests lost at 500 B, as a share of what tcpdump costs", value=ratio, limit=0.5),
    ]


@contextlib.contextmanager
def _looking(host: Host, command: Sequence[str]) -> Iterator[None]:
    if not command:
        time.sleep(_SETTLE_SECONDS)
        yield
        return
    looker = host.start(*command, stdout=subprocess.DEVNULL)
    try:
        time.sleep(_SETTLE_SECONDS)
        yield
        if looker.poll() is not None:
            raise ProgramFailed(f"{' '.join(command)} ended with {looker.returncode}")
    finally:
        looker.send_signal(signal.SIGINT)
        looker.communicate(timeout=30)


def _requests_per_second(host: Host, core: str) -> float:
    command = (
        "taskset",
        "--cpu-list",
        core,
        "ab",
        "-q",
        "-r",
        "-t",
        str(_LOAD_SECONDS),
        "-n",
        "10000000",
        "-c",
        str(_CONNECTIONS),
        f"http://10.0.0.2:{_PORT}/",
    )
    said = host.run(*command, check=False).stdout
    found = re.search(r"Requests per second:\s+([\d.]+)", said)
    if found is None or not re.search(r"Failed requests:\s+0\b", said):
        raise ProgramFailed(f"ab said: {' / '.join(said.strip().splitlines()[-3:])}")
    return float(found[1])


def _module(host: Host, *words: str) -> subprocess.CompletedProcess[str]:
    return host.run("env", f"PYTHONPATH={ROOT}", sys.executable, "-m", *words)
