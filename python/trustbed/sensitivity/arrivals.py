"""What came to a link in a repetition, from the emulator's ledger, and captures to play back."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

BIN_NS = 1_000_000
"""The width of the bins of a series."""
PACKETS = Path("ledger") / "packets.parquet"
_HEADERS = 66
"""Ethernet, IPv4, and TCP with timestamps."""
_PASSED = pa.array(["passed", "inside"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """What came to one direction of a link while the application ran.

    Attributes:
        pipe: The direction: the name of its pipe.
        series: Bytes of the frames of every millisecond.
        packets: How many came.
        lost: The share of packets that it lost.
        queue_seconds: The time that what a packet found in the queue takes to send, in the mean.
    """

    pipe: str
    series: Sequence[float]
    packets: int
    lost: float
    queue_seconds: float

    @property
    def bits_per_second(self) -> float:
        """The mean rate."""
        seconds = len(self.series) * BIN_NS / 1e9
        return 8 * sum(self.series) / seconds if seconds else 0.0

    @property
    def packets_over_payload(self) -> float:
        """Bytes of frames by bytes of payload, of TCP."""
        octets = sum(self.series)
        return octets / max(1.0, octets - _HEADERS * self.packets) if octets else 1.0


def arrivals(
    repetition: Path, link: str, *, begin_ns: int, end_ns: int, capacity: float
) -> dict[str, Arrivals]:
    """Both directions of a link by their pipes' names; ``capacity`` in bit/s.

    Empty without a ledger of packets.
    """
    path = repetition / PACKETS
    if not path.is_file():
        return {}
    table = pa.parquet.read_table(
        path, columns=["arrived_ns", "length", "pipe", "fate", "found_bytes"]
    )
    table = table.filter(
        pc.and_(
            pc.greater_equal(table["arrived_ns"], begin_ns), pc.less(table["arrived_ns"], end_ns)
        )
    )
    found = {}
    names = pc.cast(table["pipe"], pa.string())
    for pipe in (link, f"{link}.up", f"{link}.down"):
        own = table.filter(pc.equal(names, pipe))
        if own.num_rows:
            found[pipe] = _of(own, pipe, begin_ns, end_ns, capacity)
    return found


def _of(table: pa.Table, pipe: str, begin_ns: int, end_ns: int, capacity: float) -> Arrivals:
    bins = (end_ns - begin_ns) // BIN_NS
    series = [0.0] * bins
    by_bin = (
        pa.table(
            {
                "bin": pc.divide(pc.subtract(table["arrived_ns"], begin_ns), BIN_NS),
                "bytes": pc.cast(table["length"], pa.int64()),
            }
        )
        .group_by("bin")
        .aggregate([("bytes", "sum")])
    )
    for place, octets in zip(
        by_bin["bin"].to_pylist(), by_bin["bytes_sum"].to_pylist(), strict=True
    ):
        if place < bins:
            series[place] = float(octets)
    passed = pc.is_in(pc.cast(table["fate"], pa.string()), value_set=_PASSED)
    waiting = pc.mean(table["found_bytes"]).as_py() or 0.0
    return Arrivals(
        pipe=pipe,
        series=series,
        packets=table.num_rows,
        lost=1.0 - (pc.mean(pc.cast(passed, pa.int64())).as_py() or 0.0),
        queue_seconds=8 * waiting / capacity,
    )


# A capture that the playback of a scenario reads: IPv4 and UDP headers, no payload.

_LARGEST, _SMALLEST = 1500, 46
MOST_PACKETS = 20
"""Of a millisecond."""
MOST_BITS_PER_SECOND = 1000 * 8 * MOST_PACKETS * _LARGEST
"""What a capture can have at most."""
_ETHERNET = bytes(12) + b"\x08\x00"
_SNAP = len(_ETHERNET) + 28


def write_capture(path: Path, series: Sequence[float]) -> int:
    """Writes datagrams that make up a series of IP bytes per millisecond; how many.

    What does not fill a packet of 46 B waits for the next millisecond, and so does what exceeds
    :data:`MOST_PACKETS`: a sender that is late would show its own bursts, not these.
    """
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, _SNAP, 1))
        # Playback counts time from the first packet, so there is one at the beginning.
        file.write(_record(0, _SMALLEST))
        written, rest = 1, -float(_SMALLEST)
        for place, octets in enumerate(series):
            rest += octets
            here = 0
            while rest >= _SMALLEST and here < MOST_PACKETS:
                length = min(_LARGEST, int(rest))
                if length == _LARGEST and 0 < rest - length < _SMALLEST:
                    length -= _SMALLEST  # leave enough for one more packet
                file.write(_record(place, length))
                rest -= length
                here += 1
            written += here
    return written


def _record(millisecond: int, length: int) -> bytes:
    seconds, rest = divmod(millisecond, 1000)
    ip = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, length, 0, 0, 64, 17, 0, b"\x0a\0\0\1", b"\x0a\0\0\2"
    )
    udp = struct.pack("!HHHH", 9, 9, length - 20, 0)
    header = struct.pack("<IIII", seconds, rest * 1000, _SNAP, len(_ETHERNET) + length)
    return header + _ETHERNET + ip + udp
