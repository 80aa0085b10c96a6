"""``trustbed ui`` through HTTP: the list of a million transfers, a zoom on millions of packets.

The capture is one connection of 1 Gbit/s at 20 ms, drawn packet by packet, an acknowledgement for
every second one. Times are those of a client: from the request to the last byte of the answer.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import trustbed
from bench.captures import PCAP_HEADER
from bench.process import program
from bench.speed import Target
from trustbed.store.captures import How, jobs_of, store_capture
from trustbed.store.store import open_store

GAP_NS, RTT_NS, PAYLOAD, HEADERS = 12_000, 20_000_000, 1448, 54
BEGAN_SECONDS = 1_767_225_600
ZOOMS = 40
PIXELS = 1300
_RECORD = np.dtype(
    [
        ("seconds", "<u4"),
        ("nanoseconds", "<u4"),
        ("kept", "<u4"),
        ("length", "<u4"),
        ("ethernet", "S12"),
        ("type", ">u2"),
        ("version", ">u2"),
        ("total", ">u2"),
        ("identity", ">u4"),
        ("ttl_protocol_sum", ">u4"),
        ("src", ">u4"),
        ("dst", ">u4"),
        ("src_port", ">u2"),
        ("dst_port", ">u2"),
        ("sequence", ">u4"),
        ("acknowledgement", ">u4"),
        ("flags", ">u2"),
        ("window", ">u2"),
        ("sum_urgent", ">u4"),
    ]
)


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What one run found, in seconds.

    Attributes:
        transfers: In the list.
        packets: Data packets of the transfer that is zoomed.
        start: From the command to its address.
        first_page: The first request: the list of transfers.
        pages: The slowest of some filtered lists.
        reading: From the first request for points until they are there; the capture is read.
        zooms: Of every stretch that was asked for, the whole transfer first.
    """

    transfers: int
    packets: int
    start: float
    first_page: float
    pages: float
    reading: float
    zooms: tuple[float, ...]


def capture(path: Path, packets: int) -> None:
    """Writes a capture of one connection with so many data packets."""
    size = packets + packets // 2 + 2
    records = np.zeros(size, _RECORD)
    times = np.empty(size, np.int64)
    data, acks = slice(2, packets + 2), slice(packets + 2, size)
    number = np.arange(packets, dtype=np.int64)
    second = np.arange(1, packets, 2, dtype=np.int64)
    times[:2] = 0, RTT_NS
    times[data] = 2 * RTT_NS + number * GAP_NS
    times[acks] = 3 * RTT_NS + second * GAP_NS
    records["sequence"][data] = (1 + number * PAYLOAD) % (1 << 32)
    records["sequence"][acks] = records["sequence"][1] = 0
    records["sequence"][acks] = 1
    records["acknowledgement"][1:] = 1
    records["acknowledgement"][acks] = (1 + (second + 1) * PAYLOAD) % (1 << 32)
    records["flags"] = 0x5010
    records["flags"][:2] = 0x5002, 0x5012
    records["window"] = 65535
    payload = np.zeros(size, np.uint32)
    payload[data] = PAYLOAD
    records["kept"], records["length"] = HEADERS, HEADERS + payload
    records["total"] = 40 + payload
    records["type"], records["version"], records["ttl_protocol_sum"] = 0x0800, 0x4500, 0x40060000
    client = np.ones(size, bool)
    client[1], client[acks] = False, False
    for name, ours, theirs in (("src", 0x0A000001, 0x0A000002), ("src_port", 40000, 5201)):
        records[name] = np.where(client, ours, theirs)
        records[name.replace("src", "dst")] = np.where(client, theirs, ours)
    records["seconds"] = BEGAN_SECONDS + times // 10**9
    records["nanoseconds"] = times % 10**9
    order = np.argsort(times, kind="stable")
    with path.open("wb") as file:
        file.write(PCAP_HEADER)
        for start in range(0, size, 1 << 20):
            file.write(records[order[start : start + (1 << 20)]].tobytes())


def measure(directory: Path, packets: int) -> Measured:
    """Serves what is in a directory, and a capture of so many packets beside it."""
    capture(directory / "one.pcap", packets)
    store = open_store(directory / "one.store", create=True)
    how = How(version=trustbed.__version__, testbed="one")
    outcome = store_capture(jobs_of([directory / "one.pcap"])[0], store.url, how)
    assert outcome.state == "stored", outcome
    environment = {**os.environ, "XDG_CACHE_HOME": str(directory / "cache")}
    started = time.perf_counter()
    with _served(directory, environment) as address:
        start = time.perf_counter() - started
        client = _Client(address)
        first_page, page = client.ask("/")
        count = int(page.partition(b'class="count"><b>')[2].partition(b" ")[0].replace(b",", b""))
        slowest = max(
            client.ask(path)[0]
            for path in (
                "/?q=10.0.0.7",
                "/?verdict=discard&sort=-start",
                "/?page=5000",
                "/captures",
            )
        )
        _, found = client.ask("/?testbed=one")
        where = "/points/" + found.partition(b'data-ref="')[2].partition(b'"')[0].decode()
        began = time.perf_counter()
        while (answer := json.loads(client.ask(where)[1]))["pending"]:
            assert answer["pending"]["state"] == "reading", answer["pending"]
            time.sleep(0.05)
        reading = time.perf_counter() - began
        chance, whole = random.Random(1), answer["whole"]
        stretches = [(0, whole)]
        for _ in range(ZOOMS):
            length = int(whole / 10 ** chance.uniform(0, 6))
            begin = chance.randrange(whole - length)
            stretches.append((begin, begin + length))
        zooms = tuple(
            client.ask(f"{where}?from={begin}&to={end}&px={PIXELS}")[0] for begin, end in stretches
        )
    return Measured(
        transfers=count,
        packets=answer["view"]["packets"],
        start=start,
        first_page=first_page,
        pages=slowest,
        reading=reading,
        zooms=zooms,
    )


@contextmanager
def _served(directory: Path, environment: dict[str, str]) -> Iterator[str]:
    command = [program("trustbed"), "ui", str(directory)]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as served:
        assert served.stdout is not None
        try:
            yield served.stdout.readline().strip()
        finally:
            served.send_signal(signal.SIGINT)


class _Client:
    """A browser's connection, with the cookie that the token became."""

    def __init__(self, address: str) -> None:
        host, _, query = address.removeprefix("http://").partition("/")
        self._connection = http.client.HTTPConnection(host, timeout=600)
        self._connection.request("GET", f"/{query}")
        answer = self._connection.getresponse()
        answer.read()
        self._cookie = (answer.getheader("set-cookie") or "").partition(";")[0]

    def ask(self, path: str) -> tuple[float, bytes]:
        """Seconds until the whole answer is here, and the answer."""
        began = time.perf_counter()
        self._connection.request("GET", path, headers={"Cookie": self._cookie})
        answer = self._connection.getresponse()
        content = answer.read()
        seconds = time.perf_counter() - began
        assert answer.status == 200, (path, answer.status)
        return seconds, content


def lines(found: Measured) -> Iterator[str]:
    """The figures, in words."""
    middle = sorted(found.zooms)[len(found.zooms) // 2]
    yield (
        f"ui of {found.transfers:,} judged transfers: {found.start:.2f} s until it serves, first "
        f"page {found.first_page * 1e3:.0f} ms, slowest other list {found.pages * 1e3:.0f} ms"
    )
    yield (
        f"ui, {found.packets:,} packets: read once in {found.reading:.1f} s; the whole transfer "
        f"{found.zooms[0] * 1e3:.0f} ms, {len(found.zooms) - 1} stretches {middle * 1e3:.0f} ms "
        f"(median), {max(found.zooms) * 1e3:.0f} ms (slowest)"
    )


def targets(found: Measured) -> list[Target]:
    """What should hold."""
    return [
        Target(what="ui: the first page", value=found.first_page, limit=1, unit="s"),
        Target(
            what=f"ui: slowest zoom on {found.packets / 1e6:.0f} M packets",
            value=max(found.zooms),
            limit=0.2,
            unit="s",
        ),
    ]
