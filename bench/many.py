"""Many captures into a store, and out of it: workers, what a store costs, questions, pages.

And one large capture in parts by two workers, against one process with two threads.

The captures are one recording under another number in a field of the pcap header that nobody
reads: as many hashes, and the same work each. The large one is the bench's mix (or, where its
templates are not, repeated recordings), and is removed again. The store of a million transfers is
drawn: a thousand entries of a thousand transfers between forty hosts in a year, every fifth a run
of sixty repetitions for one of twenty papers.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import random
import shutil
import signal
import statistics
import struct
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pyarrow as pa

import trustbed
from bench import ui
from bench.block import build_block
from bench.captures import DIRECTORY, Capture, Captures, write_capture
from bench.mix import SHIFT_NS, mix_templates
from bench.process import ROOT, ProgramFailed, program, run
from bench.speed import Target, warm
from bench.templates import SNAP_LENGTH
from trustbed.analysis.capture import analyze
from trustbed.store import cluster, files
from trustbed.store.captures import How, Job, jobs_of, store_capture
from trustbed.store.entry import About, key_of
from trustbed.store.store import open_store
from trustbed.store.tables import conformed, store_schemas

RECORDING = ROOT / "recordings" / "bandwidth-limited.sender.pcap.gz"
QUESTIONS = ("hosts", "causes", "papers")
DAY_NS = 86_400 * 10**9
BEGAN_NS = 1_767_225_600 * 10**9
_SINGLE = 20
"""Commands of one capture each that are tried."""
_RUN_EVERY, _REPETITIONS, _PAPERS = 5, 60, 20
"""Of the drawn store: entries to a run, repetitions of a run, papers."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one run of this part found.

    Attributes:
        captures: How many.
        alone_seconds: Analysing all of them in one process, without a store.
        commands_seconds: The same by a command for each, from twenty of them.
        one_seconds: The same by one worker process into a store, from the first capture on.
        walls: Seconds of the whole command by one and by two worker processes.
        kills: Workers that were killed, in as many sweeps as there are numbers.
        different: Sweeps whose tables were not those of the first one.
        packets: Of the large capture.
        threads_seconds: Storing it by one process with two threads, round by round.
        parts_seconds: The same by two workers of a cluster, from the first task on.
        unequal: Rounds in which a file of a table was not the same, byte for byte.
        questions: Seconds and bytes of memory of each question's whole command.
        looked: The pages of the same store, and a transfer zoomed.
    """

    captures: int
    alone_seconds: float
    commands_seconds: float
    one_seconds: float
    walls: tuple[float, float]
    kills: tuple[int, ...]
    different: int
    packets: int
    threads_seconds: tuple[float, ...]
    parts_seconds: tuple[float, ...]
    unequal: int
    questions: dict[str, tuple[float, int]]
    looked: ui.Measured


@dataclass(frozen=True)
class _Large:
    packets: int
    threads_seconds: tuple[float, ...]
    parts_seconds: tuple[float, ...]
    unequal: int


def measure(
    captures: int, sweeps: int, transfers: int, packets: int, zoomed: int, rounds: int
) -> Measured:
    """Everything of this part."""
    directory = DIRECTORY / "many"
    shutil.rmtree(directory, ignore_errors=True)
    try:
        jobs = _captures(directory / "captures", captures)
        started = time.perf_counter()
        for job in jobs:
            _ = analyze(job.files, workers=1).transfers
        alone = time.perf_counter() - started
        commands = statistics.median(map(_single, jobs[:_SINGLE])) * len(jobs)
        one = _swept(jobs, directory / "swept", 1, 0, 0)
        walls = tuple(_command(directory, workers) for workers in (1, 2))
        killed = [
            _swept(jobs, directory / f"killed-{number}", 2, number, 8) for number in range(sweeps)
        ]
        large = _large(directory, packets, rounds)
        shutil.rmtree(directory / "captures")
        _drawn(directory / "million", transfers)
        return Measured(
            captures=captures,
            alone_seconds=alone,
            commands_seconds=commands,
            one_seconds=one.seconds,
            walls=(walls[0], walls[1]),
            kills=tuple(sweep.kills for sweep in killed),
            different=sum(not sweep.tables.equals(one.tables) for sweep in killed),
            **asdict(large),
            questions={name: _asked(directory / "million", name) for name in QUESTIONS},
            looked=ui.measure(directory, zoomed),
        )
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _captures(directory: Path, count: int) -> list[Job]:
    directory.mkdir(parents=True)
    data = bytearray(gzip.decompress(RECORDING.read_bytes()))
    for number in range(count):
        struct.pack_into("<I", data, 12, number)  # sigfigs
        (directory / f"{number:04}.pcap").write_bytes(data)
    return jobs_of([directory])


@dataclass(frozen=True)
class _Sweep:
    seconds: float
    kills: int
    tables: pa.Table


def _swept(jobs: list[Job], path: Path, workers: int, seed: int, kills: int) -> _Sweep:
    """Stores all captures; kills so many workers, each after a capture of its own was stored."""
    how = How(version=trustbed.__version__)
    url = open_store(path, create=True).url
    chance = random.Random(seed)
    moments = set(chance.sample(range(len(jobs)), kills))
    killed, started = 0, 0.0
    where = cluster.Cluster(where="local", processes=workers, memory=1 << 30)
    for number, one in enumerate(cluster.carry_out(jobs, url, how, where)):
        started = started or time.perf_counter() - one.seconds
        if number in moments:
            process = int(one.worker.rpartition(":")[2])
            try:
                os.kill(process, signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass  # it was killed by the moment before
    seconds = time.perf_counter() - started
    tables = open_store(url).transfers.table()
    shutil.rmtree(path)
    return _Sweep(seconds, killed, tables.sort_by("capture").combine_chunks())


def _large(directory: Path, packets: int, rounds: int) -> _Large:
    """Stores one capture by threads and by parts, in turns."""
    capture = _large_capture(directory, packets)
    one, small = directory / "large", _captures(directory / "small", 1)
    one.mkdir()
    capture.path.rename(file := one / "large.pcap")
    seconds: dict[int, list[float]] = {1: [], 2: []}
    unequal = 0
    try:
        warm(replace(capture, path=file))
        for _ in range(rounds):
            stores = {workers: directory / f"large-{workers}" for workers in seconds}
            for workers, path in stores.items():
                seconds[workers].append(_one_large(jobs_of([one]), small, path, workers))
            first, second = (_tables(path) for path in stores.values())
            unequal += first != second
            for path in stores.values():
                shutil.rmtree(path)
    finally:
        shutil.rmtree(one)
    return _Large(capture.packets, tuple(seconds[1]), tuple(seconds[2]), unequal)


def _large_capture(directory: Path, packets: int) -> Capture:
    """As many packets as blocks make, more rather than fewer, in a file of its own."""
    templates = mix_templates()
    if not templates:
        return Captures(block_packets=packets // 16).of(packets // 16 * 16)
    block = build_block(templates, 2 * sum(len(one.since_start_ns) for one in templates))
    copies = -(-packets // block.packets)
    file = directory / "large-capture.pcap"
    size = copies * block.packets * (16 + SNAP_LENGTH)
    write_capture(file, block.overlapping(copies, SHIFT_NS), expected_bytes=size)
    return Capture(
        path=file, packets=copies * block.packets, connections=copies * block.connections
    )


def _one_large(jobs: list[Job], small: list[Job], path: Path, workers: int) -> float:
    """Seconds of one capture: by two threads of this process, or by two workers of a cluster.

    The small one shows when the cluster is there.
    """
    url, how = open_store(path, create=True).url, How(version=trustbed.__version__, workers=2)
    started = time.perf_counter()
    if workers == 1:
        outcomes = [store_capture(job, url, how) for job in jobs]
    else:
        where = cluster.Cluster(where="local", processes=workers, memory=4 << 30)
        outcomes = []
        for one in cluster.carry_out([*small, *jobs], url, replace(how, workers=1), where):
            if not outcomes:
                started = time.perf_counter() - one.seconds
            outcomes.append(one)
            ended = time.perf_counter()  # of the last one; workers are ended later
    if any(one.state != "stored" for one in outcomes):
        raise ProgramFailed(f"not stored: {[one.message for one in outcomes]}")
    return (time.perf_counter() if workers == 1 else ended) - started


def _tables(path: Path) -> dict[str, str]:
    """The hash of every file of the large capture's tables."""
    (entry,) = (one for one in open_store(path).entries if one.name == "large.pcap")
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted((path / entry.directory).iterdir())
    }


def _single(job: Job) -> float:
    """Seconds of a command that analyses one capture."""
    return run([program("trustbed"), "analyze", *job.files, "--quiet"]).wall_seconds


def _command(directory: Path, workers: int) -> float:
    store = directory / f"command-{workers}"
    words = ["analyze", str(directory / "captures"), "--store", str(store), "--quiet"]
    cost = run([program("trustbed"), *words, "--cluster", "local", "--workers", str(workers)])
    shutil.rmtree(store)
    return cost.wall_seconds


def _drawn(path: Path, transfers: int) -> None:
    """A store of so many transfers, a thousand a capture or run."""
    chance = random.Random(1)
    store = open_store(path, create=True)
    kept = {name: getattr(files, name) for name in ("flush", "flush_tree")}
    for name in kept:
        setattr(files, name, lambda _: None)
    causes = {"bandwidth_limited": "trust", "host_scheduling": "discard", "shaped": "trust"}
    try:
        for number in range(transfers // 1000):
            name, at = f"{number:06}", BEGAN_NS + number * 365 * DAY_NS * 1000 // transfers
            found = chance.choices(list(causes), weights=[8, 1, 1], k=1000)
            columns = {
                "source": pa.array([name] * 1000),
                "transfer": [f"{n}.0" for n in range(1000)],
                "src": [f"10.0.0.{chance.randrange(40)}" for _ in range(1000)],
                "dst": [f"10.0.1.{chance.randrange(40)}" for _ in range(1000)],
                "start_ns": pa.array([at + n for n in range(1000)], pa.timestamp("ns", "UTC")),
                "cause": found,
                "verdict": [causes[cause] for cause in found],
            }
            tables = {"verdicts": conformed(pa.table(columns), store_schemas()["verdicts"])}
            if number % _RUN_EVERY == 0:
                tables["runs"] = _drawn_run(name, at, chance)
            about = About(
                kind="run" if "runs" in tables else "capture",
                key=key_of(name, "0.1.0", {}),
                subject=name,
                name=name,
                version="0.1.0",
                options={},
                testbed="drawn",
                date="2026-01-01",
                verdicts={},
            )
            store.publish(about, {key: table.to_reader() for key, table in tables.items()})
    finally:
        for name, function in kept.items():
            setattr(files, name, function)


def _drawn_run(name: str, at: int, chance: random.Random) -> pa.Table:
    """The repetitions of a run: twenty of three cells, most of them to be trusted."""
    uses = chance.choices(["trust", "review", "discard"], weights=[8, 1, 1], k=_REPETITIONS)
    numbers = range(_REPETITIONS)
    columns = {
        "run": [name] * _REPETITIONS,
        "paper": [f"paper {chance.randrange(_PAPERS)}"] * _REPETITIONS,
        "directory": [f"rep-{number:03}" for number in numbers],
        "repetition": pa.array(numbers, pa.int64()),
        "label": [f"{number % 3} ms" for number in numbers],
        "complete": [True] * _REPETITIONS,
        "use": uses,
        "why": [None if use == "trust" else f"the sending host stalled: {use}" for use in uses],
        "start_ns": pa.array([at + n for n in numbers], pa.timestamp("ns", "UTC")),
    }
    return conformed(pa.table(columns), store_schemas()["runs"])


def _asked(path: Path, question: str) -> tuple[float, int]:
    command = [program("trustbed"), "store", question, str(path), "--quiet"]
    cost = run(command, watch_memory=True)
    return cost.wall_seconds, cost.peak_private_bytes or 0


def lines(found: Measured) -> Iterator[str]:
    """The figures, in words."""
    one, two = found.walls
    alone = f"{found.alone_seconds:.1f} s in one process without a store"
    yield f"{found.captures} captures: {alone}, {found.commands_seconds:.0f} s as single commands"
    yield f"one worker {found.one_seconds:.1f} s without the start; commands {one:.1f}, {two:.1f} s"
    threads, parts = map(statistics.median, (found.threads_seconds, found.parts_seconds))
    yield f"{found.packets / 1e6:.1f} M packets: two threads {threads:.1f} s, parts {parts:.1f} s"
    yield f"{sum(found.kills)} workers killed in {len(found.kills)} sweeps"
    for name, (seconds, peak) in found.questions.items():
        yield f"store {name}: {seconds:.2f} s, {peak / 1e6:.0f} MB"
    yield from ui.lines(found.looked)


def targets(found: Measured) -> list[Target]:
    """What should hold."""
    one, two = found.walls
    seconds = max(seconds for seconds, _ in found.questions.values())
    peak = max(peak for _, peak in found.questions.values())
    return [
        Target(what="many captures: two worker processes ÷ one", value=two / one, limit=0.56),
        Target(
            what="scheduler and store over the sum of single analyses",
            value=found.one_seconds / found.alone_seconds - 1,
            limit=0.05,
        ),
        Target(
            what="one large capture: parts by two workers ÷ two threads of one process",
            value=statistics.median(found.parts_seconds) / statistics.median(found.threads_seconds),
            limit=1.05,
        ),
        Target(what="rounds in which its tables differed", value=found.unequal, limit=0),
        Target(what="sweeps whose killed workers changed a table", value=found.different, limit=0),
        Target(what="slowest question to a million transfers", value=seconds, limit=2, unit="s"),
        Target(what="its memory", value=peak / 1e6, limit=1000, unit="MB"),
        *ui.targets(found.looked),
    ]
