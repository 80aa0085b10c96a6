"""What tracing system calls costs, what it loses, and whether it agrees with strace.

The cost is the drop of requests per second of nginx serving 500-byte objects to `ab` on loopback,
both on this machine, each request on a connection of its own: tracing off, every process, one
process tree (nginx), and counting only, in random order within every round. The median over rounds
of each round's own ratio.

Bias: the tracer's own work shares the cores with both, as it does where it is used; on a machine
with an idle core it costs less.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pyarrow.parquet

from bench.process import ProgramFailed
from bench.speed import Target
from trustbed.agent.client import Agent
from trustbed.agent.messages import Configuration
from trustbed.calls.importing import import_trace
from trustbed.run.tracing import record_command

_PORT = 8099
_OBJECT_BYTES = 500
_REQUESTS = 60_000
_CONNECTIONS = 10
_SECONDS = 120.0
_NGINX = """
daemon off; worker_processes 1; pid {directory}/pid; error_log {directory}/errors;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/fastcgi; uwsgi_temp_path {directory}/uwsgi;
  scgi_temp_path {directory}/scgi;
  server {{ listen 127.0.0.1:{port}; root {directory}/pages; }}
}}
"""
_STORM = """
import os, sys, time
call, until = os.getppid, 0
sys.stdin.readline()
began = time.monotonic()
for _ in range({count}): call()
print(time.monotonic() - began)
"""
_DETERMINISTIC = (
    ("/bin/true",),
    ("dd", "if=/dev/zero", "of=/dev/null", "bs=1k", "count=20000", "status=none"),
    ("ls", "-lR", "/etc"),
    ("sh", "-c", "for i in 1 2 3 4 5; do /bin/echo $i; done"),
)


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Requests per second by what was traced, round by round, and the calls that were recorded."""

    requests_per_second: Mapping[str, Sequence[float]]
    calls: Mapping[str, int]
    lost: int

    def drop(self, name: str) -> float:
        """The share of requests per second that tracing costs: the median over rounds."""
        pairs = zip(self.requests_per_second[name], self.requests_per_second["off"], strict=True)
        return 1 - median(traced / plain for traced, plain in pairs)


@dataclass(frozen=True, kw_only=True)
class Storm:
    """Calls as fast as one thread can make them."""

    calls_per_second: float
    made: int
    recorded: int
    lost: int

    @property
    def uncounted(self) -> int:
        """Calls that are neither recorded nor counted as lost."""
        return max(0, self.made - self.recorded - self.lost)


def measure_cost(rounds: int) -> Cost:
    """Serves with and without tracing."""
    rates: dict[str, list[float]] = defaultdict(list)
    calls: dict[str, int] = {}
    lost = 0
    order = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="trustbed-bench-") as directory:
        place = Path(directory)
        with _nginx(place) as server:
            every = {"path": str(place / "calls.rows")}
            ways: dict[str, Configuration | None] = {
                "off": None,
                "all": every,
                "one": {**every, "select": {"processes": [server]}},
                "count": {},
            }
            _requests_per_second()
            for _ in range(rounds):
                for name in order.sample(list(ways), len(ways)):
                    config = ways[name]
                    if config is None:
                        rates[name].append(_requests_per_second())
                        continue
                    with Agent.start("trace", config) as agent:
                        agent.begin()
                        rates[name].append(_requests_per_second())
                        report = agent.stop(_SECONDS)
                    calls[name], lost = report["calls"], lost + report["lost"]
    return Cost(
        requests_per_second=dict(rates),
        calls=calls,
        lost=lost,
    )


@contextlib.contextmanager
def _nginx(place: Path) -> Iterator[int]:
    """A web server with one page; its process. As root nginx gives its rights away."""
    (place / "pages").mkdir()
    place.chmod(0o755)
    (place / "pages" / "object").write_bytes(bytes(_OBJECT_BYTES))
    (place / "nginx.conf").write_text(_NGINX.format(directory=place, port=_PORT), encoding="utf-8")
    command = ["nginx", "-p", str(place), "-c", str(place / "nginx.conf")]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        _wait_for(server)
        yield server.pid
    finally:
        server.terminate()
        server.wait(_SECONDS)


def _wait_for(server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", _PORT)):
            return
        time.sleep(0.05)
    raise ProgramFailed("nginx does not listen")


def _requests_per_second() -> float:
    url = f"http://127.0.0.1:{_PORT}/object"
    command = ["ab", "-q", "-n", str(_REQUESTS), "-c", str(_CONNECTIONS), url]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"^Requests per second: +([\d.]+)", printed, re.MULTILINE)
    if found is None:
        raise ProgramFailed(f"ab printed no rate: {printed[-200:]}")
    return float(found[1])


def measure_storm(count: int) -> Storm:
    """One thread makes calls without a pause, and every one of them must be accounted for."""
    with tempfile.TemporaryDirectory(prefix="trustbed-bench-") as directory:
        command = [sys.executable, "-S", "-E", "-c", _STORM.format(count=count)]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        config = {
            "path": str(Path(directory) / "calls.rows"),
            "select": {"processes": [process.pid]},
        }
        with Agent.start("trace", config) as agent:
            agent.begin()
            printed, _ = process.communicate("\n", timeout=_SECONDS)
            report = agent.stop(_SECONDS)
    return Storm(
        calls_per_second=count / float(printed),
        made=count,
        recorded=report["by_call"].get("getppid", 0),
        lost=report["lost"],
    )


def measure_agreement() -> tuple[int, int]:
    """Threads of deterministic programs, and those whose calls are not as strace has them."""
    threads = different = 0
    with tempfile.TemporaryDirectory(prefix="trustbed-bench-") as directory:
        text, ours, theirs = (Path(directory) / name for name in ("text", "ours", "theirs"))
        for command in _DETERMINISTIC:
            with _silent():
                record_command(command, ours)
            subprocess.run(
                ["strace", "-f", "-tt", "-T", "-o", str(text), *command],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            import_trace(text, theirs, format="strace")
            mine, other = _sequences(ours), _sequences(theirs)
            threads += len(other)
            different += abs(len(mine) - len(other))
            different += sum(one != another for one, another in zip(mine, other, strict=False))
    return threads, different


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Standard output goes nowhere meanwhile, also that of programs."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _sequences(table: Path) -> list[list[str]]:
    """The calls of every thread; threads that race have no order.

    Whether a child's end interrupts the wait for it or comes before differs from one execution to
    the next: where a handler returns is left out.
    """
    found: dict[int, list[str]] = defaultdict(list)
    read = pyarrow.parquet.read_table(table, columns=["tid", "call"])
    for tid, call in zip(read["tid"].to_pylist(), read["call"].to_pylist(), strict=True):
        if call != "rt_sigreturn":
            found[tid].append(call)
    return sorted(found.values())


@dataclass(frozen=True, kw_only=True)
class Tracing:
    """All that is measured of tracing."""

    cost: Cost
    storm: Storm
    threads: int
    different: int


def measure(rounds: int) -> Tracing:
    """Cost, losses and agreement."""
    storm = measure_storm(3_000_000)
    threads, different = measure_agreement()
    return Tracing(cost=measure_cost(rounds), storm=storm, threads=threads, different=different)


def lines(found: Tracing) -> Iterator[str]:
    """What was measured, in words."""
    rates = found.cost.requests_per_second
    yield f"nginx, 500 B, tracing off: {median(rates['off']):,.0f} requests/s"
    for name, what in (("all", "every process"), ("one", "nginx only"), ("count", "counting")):
        yield (
            f"  {what}: {median(rates[name]):,.0f} requests/s (-{found.cost.drop(name):.1%}), "
            f"{found.cost.calls[name]:,} calls"
        )
    yield (
        f"one thread, {found.storm.calls_per_second:,.0f} calls/s: "
        f"{found.storm.recorded:,} of {found.storm.made:,} recorded, {found.storm.lost:,} lost"
    )
    yield f"strace: {found.different} of {found.threads} threads differ"


def targets(found: Tracing) -> list[Target]:
    """What should hold."""
    return [
        Target(
            what="tracing: cost to nginx, every process",
            value=100 * found.cost.drop("all"),
            limit=12,
            unit="%",
        ),
        Target(
            what="tracing: cost to nginx, its process tree",
            value=100 * found.cost.drop("one"),
            limit=5,
            unit="%",
        ),
        Target(
            what="tracing: calls neither recorded nor counted as lost",
            value=found.storm.uncounted,
            limit=0,
        ),
        Target(
            what="tracing: threads whose calls differ from strace's",
            value=found.different,
            limit=0,
        ),
    ]
