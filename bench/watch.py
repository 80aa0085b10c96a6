"""What `trustbed watch` can keep up with, and what it costs those it watches.

Between two namespaces on a veth link that the bench makes.

The flood: frames of 60 bytes from one core, the watcher on the other. The load: `ab` fetches
objects from a small server with nobody looking, with `trustbed watch`, and with `tcpdump -w
/dev/null`, in turns; `ab` and the server have a core each, so that it does not matter where the
scheduler puts them, and who looks is free. A figure is the median over many short rounds of the
ratio within a round, so that a machine that becomes slower does not count.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.namespaces import Host, NoNamespaces, veth
from bench.process import ROOT, ProgramFailed, program
from bench.speed import Target

LARGE, SMALL = 1_000_000, 500
"""Sizes of the objects in bytes."""
_FLOOD_SECONDS = 5.0
_LOAD_SECONDS = 1
_CONNECTIONS = 8
_PORT = 8080
_SETTLE_SECONDS = 0.2
_START_SECONDS = 1.0


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
class Fetched:
    """One run of ``ab``.

    Attributes:
        requests_per_second: What counts.
        cpu_per_request: Seconds of CPU of ``ab``, the server and who looks: what other programs do
            to the machine is not in it.
    """

    requests_per_second: float
    cpu_per_request: float


@dataclass(frozen=True, kw_only=True)
class Load:
    """Objects of one size, one figure per round: nobody looking, the watcher, tcpdump."""

    size: int
    alone: list[Fetched]
    watch: list[Fetched]
    tcpdump: list[Fetched]

    def loss(self, looked_at: list[Fetched]) -> float:
        """The share of requests that was lost while somebody looked."""
        pairs = zip(looked_at, self.alone, strict=True)
        return 1 - statistics.median(
            one.requests_per_second / without.requests_per_second for one, without in pairs
        )

    def more_cpu(self, looked_at: list[Fetched]) -> float:
        """How much more CPU a request took meanwhile, as a share."""
        pairs = zip(looked_at, self.alone, strict=True)
        return (
            statistics.median(
                one.cpu_per_request / without.cpu_per_request for one, without in pairs
            )
            - 1
        )


@contextlib.contextmanager
def hosts() -> Iterator[tuple[Host, Host]]:
    """The two hosts, or why there are none."""
    for name in ("ab", "tcpdump"):
        if shutil.which(name) is None:
            raise ProgramFailed(f"no {name}")
    try:
        with veth() as (near, far):
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
    """The watcher against a sender that saturates the veth link."""
    with tempfile.TemporaryFile("w+") as lines:
        watcher = near.start(
            "taskset",
            "--cpu-list",
            cores()[0],
            program("trustbed"),
            "watch",
            "left",
            "--json",
            stdout=lines,
        )
        time.sleep(_START_SECONDS)
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
        raise ProgramFailed(
            f"{int(sent) - seen - dropped} of {sent} frames are neither measured nor "
            f"counted as dropped"
        )
    return Flooded(
        frames_per_second=int(sent) / float(seconds),
        seen=seen,
        dropped=dropped,
        cpu_share=cpu / lasted,
    )


def measure_load(near: Host, far: Host, size: int, rounds: int) -> Load:
    """Requests per second with nobody looking, with the watcher, with tcpdump; in turns."""
    first, *_, last = cores()
    server = far.start(
        "taskset",
        "--cpu-list",
        last,
        "env",
        f"PYTHONPATH={ROOT}",
        sys.executable,
        "-m",
        "bench.server",
        "10.0.0.2",
        str(_PORT),
        str(size),
    )
    lookers: dict[str, Sequence[str]] = {
        "alone": (),
        "watch": (program("trustbed"), "watch", "left", "--json", "--metrics", "0"),
        "tcpdump": ("tcpdump", "-i", "left", "-w", "/dev/null"),
    }
    found: dict[str, list[Fetched]] = {name: [] for name in lookers}
    try:
        assert server.stdout is not None
        if server.stdout.readline() != "ready\n":
            raise ProgramFailed("bench.server did not start")
        _fetch(near, first, [server])  # the first one is slower
        names = list(lookers)
        for number in range(rounds):
            for name in names[number % 3 :] + names[: number % 3]:
                with _looking(near, lookers[name]) as looker:
                    found[name].append(_fetch(near, first, [server, *looker]))
    finally:
        server.kill()
        server.communicate()
    return Load(size=size, alone=found["alone"], watch=found["watch"], tcpdump=found["tcpdump"])


def targets(flooded: Flooded, loads: Sequence[Load]) -> list[Target]:
    """What should be."""
    large, small = (next(load for load in loads if load.size == size) for size in (LARGE, SMALL))
    ratio = max(small.loss(small.watch), 0.0) / max(small.loss(small.tcpdump), 0.001)
    return [
        Target(
            what="watch: frames dropped in a flood from one core", value=flooded.dropped, limit=0
        ),
        Target(
            what="watch: share of requests lost, objects of 1 MB",
            value=large.loss(large.watch),
            limit=0.03,
        ),
        Target(
            what="watch: requests lost at 500 B, as a share of what tcpdump costs",
            value=ratio,
            limit=0.5,
        ),
    ]


@contextlib.contextmanager
def _looking(host: Host, command: Sequence[str]) -> Iterator[list[subprocess.Popen[str]]]:
    if not command:
        time.sleep(_SETTLE_SECONDS)
        yield []
        return
    looker = host.start(*command, stdout=subprocess.DEVNULL)
    try:
        # Both say on standard error when they are ready, and start-up is not what is measured.
        assert looker.stderr is not None
        while not re.search("metrics at|listening on", looker.stderr.readline()):
            if looker.poll() is not None:
                raise ProgramFailed(f"{' '.join(command)} ended with {looker.returncode}")
        time.sleep(_SETTLE_SECONDS)
        yield [looker]
        if looker.poll() is not None:
            raise ProgramFailed(f"{' '.join(command)} ended with {looker.returncode}")
    finally:
        looker.send_signal(signal.SIGINT)
        looker.communicate(timeout=30)


def _fetch(host: Host, core: str, others: Sequence[subprocess.Popen[str]]) -> Fetched:
    options = ("-q", "-r", "-t", str(_LOAD_SECONDS), "-n", "10000000", "-c", str(_CONNECTIONS))
    before = [_cpu_seconds(other) for other in others]
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = host.run(
        "taskset", "--cpu-list", core, "ab", *options, f"http://10.0.0.2:{_PORT}/", check=False
    ).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = sum(_cpu_seconds(other) for other in others) - sum(before)
    cpu += after.ru_utime + after.ru_stime - own.ru_utime - own.ru_stime
    rate, count = (
        re.search(rf"{name}:\s+([\d.]+)", said)
        for name in ("Requests per second", "Complete requests")
    )
    if rate is None or count is None or not re.search(r"Failed requests:\s+0\b", said):
        raise ProgramFailed(f"ab said: {' / '.join(said.strip().splitlines()[-3:])}")
    return Fetched(requests_per_second=float(rate[1]), cpu_per_request=cpu / int(count[1]))


def _cpu_seconds(process: subprocess.Popen[str]) -> float:
    fields = (
        Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    )
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _module(host: Host, *words: str) -> subprocess.CompletedProcess[str]:
    return host.run("env", f"PYTHONPATH={ROOT}", sys.executable, "-m", *words)
