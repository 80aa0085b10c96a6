"""What judging costs for each transfer, and JSON beside an analysis that writes nothing.

Judging is timed on the transfers of a bench capture, as often as there must be thousands of them.
JSON is timed on connections of ten packets, of which a row each is written, so that rows and not
packets decide.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from bench.captures import DIRECTORY, Capture
from bench.hostile_captures import ACK, FIN, PCAP_HEADER, PSH, SYN, Record, record, tcp
from bench.process import program, run
from bench.speed import Target
from trustbed.analysis.capture import analyze
from trustbed.analysis.transfer_columns import TransferColumns
from trustbed.diagnose.judge import Known, judge_columns
from trustbed.diagnose.quality import CaptureQuality

LEAST_JUDGED = 4000
MOST_MILLISECONDS = 0.02
MOST_JSON = 2.0
STEP_NS = 50_000
"""Time between two packets of a connection."""
PACKETS = 10
"""Of a connection."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one run of this part found.

    Attributes:
        judged: Transfers that were judged.
        milliseconds: CPU of judging one.
        connections: Of ten packets each.
        quiet_seconds: CPU of their analysis.
        json_seconds: The same with JSON on standard output.
        json_bytes: How much that is.
    """

    judged: int
    milliseconds: float
    connections: int
    quiet_seconds: float
    json_seconds: float
    json_bytes: int


def measure(capture: Capture, connections: int, rounds: int) -> Measured:
    """Judging the transfers of a capture, and JSON of short connections."""
    judged, milliseconds = judging(capture.path, rounds)
    path = DIRECTORY / f"short-{connections}.pcap"
    write_short(path, connections)
    try:
        costs: dict[str, list[float]] = {"--quiet": [], "--json": []}
        for _ in range(rounds):
            for option, seconds in costs.items():
                command = [program("trustbed"), "analyze", str(path), "--workers", "1", option]
                seconds.append(run(command).cpu_seconds)
        command = [program("trustbed"), "analyze", str(path), "--workers", "1", "--json"]
        written = run(command, keep_output=True).output
    finally:
        path.unlink()
    return Measured(
        judged=judged,
        milliseconds=milliseconds,
        connections=connections,
        quiet_seconds=statistics.median(costs["--quiet"]),
        json_seconds=statistics.median(costs["--json"]),
        json_bytes=len(written.encode()),
    )


def judging(path: Path, rounds: int) -> tuple[int, float]:
    """How many transfers were judged, and the CPU of one in ms: median of the rounds."""
    capture = analyze(path, workers=1)
    table = pa.RecordBatchReader.from_stream(capture.stream("transfers")).read_all()
    judged = table.filter(pc.invert(table["too_short"]))
    if not judged.num_rows:
        raise ValueError(f"{path.name} has no transfer that can be judged")
    times = -(-LEAST_JUDGED // judged.num_rows)
    (batch,) = pa.concat_tables([judged] * times).combine_chunks().to_batches()
    known = Known(quality=CaptureQuality.of(capture.facts))
    seconds = []
    for _ in range(max(rounds, 3)):
        started = time.process_time()
        judge_columns([TransferColumns(batch)], capture.facts, known)
        seconds.append(time.process_time() - started)
    return batch.num_rows, 1e3 * statistics.median(seconds) / batch.num_rows


def write_short(path: Path, connections: int) -> None:
    """Writes a capture of connections of ten packets, one after the other."""
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.write(PCAP_HEADER)
        for number in range(connections):
            file.writelines(_connection(number))


def _connection(number: int) -> Iterator[Record]:
    client = (0x0A000000 + number // 20_000, 40_000 + number % 20_000)
    server = (0xC0A80001 + number % 200, 443)
    steps = (
        (client, server, 0, 0, SYN, 0),
        (server, client, 0, 1, SYN | ACK, 0),
        (client, server, 1, 1, ACK, 0),
        (client, server, 1, 1, PSH | ACK, 300),
        (server, client, 1, 301, ACK, 1400),
        (server, client, 1401, 301, PSH | ACK, 800),
        (client, server, 301, 2201, ACK, 0),
        (client, server, 301, 2201, FIN | ACK, 0),
        (server, client, 2201, 302, FIN | ACK, 0),
        (client, server, 302, 2202, ACK, 0),
    )
    for index, (source, destination, seq, ack, flags, payload) in enumerate(steps):
        packet = tcp(source, destination, seq=seq, ack=ack, flags=flags, payload=payload)
        yield record((PACKETS * number + index) * STEP_NS, packet, len(packet) + payload)


def lines(found: Measured) -> Iterator[str]:
    """What was found, in words."""
    yield f"{found.judged} transfers judged in {found.milliseconds:.4f} ms each"
    yield (
        f"{found.connections} connections of {PACKETS} packets: {found.quiet_seconds:.2f} s quiet, "
        f"{found.json_seconds:.2f} s with {found.json_bytes / 1e6:.0f} MB of JSON"
    )


def targets(found: Measured) -> list[Target]:
    """The figures beside what they should be."""
    return [
        Target(
            what="judging a transfer",
            value=found.milliseconds,
            limit=MOST_MILLISECONDS,
            unit="ms",
        ),
        Target(
            what="CPU, JSON against quiet",
            value=found.json_seconds / found.quiet_seconds,
            limit=MOST_JSON,
        ),
    ]
