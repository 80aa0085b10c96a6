"""The true available bandwidth beside an estimator, from the ledger of its bottleneck link.

In a bin of 1 s it is A = C - 8·(background IP bytes)/1 s, where C is the rate of the narrowest link
of the path in IP packets of full size (:data:`PACKET_BYTES`). Background is what the link
transmitted without the estimator's own packets. The ledger does not know whose a packet is: own
packets are those that a capture beside the receiver holds, moved back by the delay of the link.

Bias: own packets that were lost behind the bottleneck count as background, so A can be under-,
never overestimated by them. Short background packets occupy the link with more than their IP bytes
(14 bytes of Ethernet each), so beside many of them A is overestimated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from trustbed import _core
from trustbed.analysis.burst import burst
from trustbed.run.execution.commands import address_of
from trustbed.scenario import Direction, Link, Scenario, Workload
from trustbed.scenario.bottleneck import path
from trustbed.workload.estimates import Available, Bin

SECOND = 1_000_000_000
PACKET_BYTES, ETHERNET_BYTES = 1500, 14
SLICE_NS = 10_000_000
"""The resolution with which packets are counted: bins of 1 s begin with the estimator."""
_COLUMNS = ("departed_ns", "due_ns", "length", "pipe")


class BandwidthUnknownError(Exception):
    """Why the available bandwidth of a path is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """The narrowest link of a path in one direction.

    Attributes:
        pipe: Its name in the ledger.
        capacity: Its rate in IP packets of full size, in bit/s.
    """

    pipe: str
    capacity: float


def bottleneck(scenario: Scenario, workload: Workload) -> Bottleneck:
    """The narrowest link from the host of a workload to the other one.

    Raises:
        BandwidthUnknownError: No link of the path has a rate, it changes, or an access link is the
            narrowest.
    """
    assert workload.to is not None, "validated when the scenario was read"
    found: list[tuple[int, str]] = []
    for edge in path(scenario, workload.host, workload.to):
        name, direction = _pipe(scenario, edge)
        if (
            direction.rate_steps
            or direction.rate_trace is not None
            or direction.policer is not None
            or direction.shaper is not None
        ):
            raise BandwidthUnknownError(f"the rate of {name or 'an access link'} is not constant")
        if direction.rate is not None:
            found.append((direction.rate, name))
    if not found:
        raise BandwidthUnknownError(f"no link from {workload.host} to {workload.to} has a rate")
    rate, name = min(found)
    if not name:
        raise BandwidthUnknownError("the narrowest link is the access link of a host")
    return Bottleneck(pipe=name, capacity=rate * PACKET_BYTES / (PACKET_BYTES + ETHERNET_BYTES))


def direction(scenario: Scenario, edge: tuple[str, str]) -> Direction:
    """One direction of a link by its ends, first to last."""
    return _pipe(scenario, edge)[1]


def _pipe(scenario: Scenario, edge: tuple[str, str]) -> tuple[str, Direction]:
    """The name and the keys of one direction of a link; access links have no name."""
    for link in scenario.links:
        direction = _direction(link, edge)
        if direction is not None:
            return direction
    for host in scenario.hosts:
        if edge == (host.name, host.router):
            return "", host.access_up or Direction()
        if edge == (host.router, host.name):
            return "", host.access_down or Direction()
    raise AssertionError(f"a path has no link from {edge[0]} to {edge[1]}")


def _direction(link: Link, edge: tuple[str, str]) -> tuple[str, Direction] | None:
    if link.backward is None:
        return (link.name, link.forward) if link.ends == edge else None
    if link.ends == edge:
        return f"{link.name}.up", link.forward
    return (f"{link.name}.down", link.backward) if link.ends[::-1] == edge else None


def available(
    capacity: float,
    link: Mapping[int, int],
    own: Mapping[int, int],
    *,
    begin_ns: int,
    end_ns: int,
) -> Available:
    """The available bandwidth over a run and in its whole seconds. Pure.

    Args:
        capacity: Rate of the link in IP packets, bit/s.
        link: IP bytes that the link transmitted, by the number of the slice (:data:`SLICE_NS`)
            since the epoch.
        own: The same of the estimator's own packets.
        begin_ns: The beginning of the run, since the epoch.
        end_ns: Its end.
    """
    first, last = begin_ns // SLICE_NS, max(begin_ns // SLICE_NS + 1, -(-end_ns // SLICE_NS))
    per_bin = SECOND // SLICE_NS

    def between(start: int, stop: int) -> Bin:
        carried, probes = (
            sum(each.get(number, 0) for number in range(start, stop)) for each in (link, own)
        )
        seconds = (stop - start) * SLICE_NS / SECOND
        return Bin(
            at_ns=(start - first) * SLICE_NS,
            background_bytes=carried - probes,
            own_bytes=probes,
            available=capacity - 8 * (carried - probes) / seconds,
        )

    return Available(
        capacity=capacity,
        mean=between(first, last).available,
        bins=tuple(
            between(start, start + per_bin) for start in range(first, last - per_bin + 1, per_bin)
        ),
    )


def read(
    workload: Workload, scenario: Scenario, directory: Path, *, begin_ns: int, end_ns: int
) -> Available:
    """The available bandwidth beside an estimator of a complete repetition.

    Raises:
        BandwidthUnknownError: The scenario, or what was recorded, does not tell it.
    """
    narrow = bottleneck(scenario, workload)
    ledger = directory / "ledger" / "packets.parquet"
    if not ledger.is_file():
        raise BandwidthUnknownError(
            'there is no ledger of packets (choose ledger = "packets" below [emulator])'
        )
    capture = directory / "captures" / f"{workload.to}.pcapng"
    if not capture.is_file():
        raise BandwidthUnknownError(f"no capture beside {workload.to} tells probes from background")
    link, delay_ns = _transmitted(ledger, narrow.pipe)
    try:
        own = _own(capture, address_of(scenario, workload.host), workload.port, delay_ns)
    except _core.CaptureError as error:
        raise BandwidthUnknownError(error.message) from None
    return available(narrow.capacity, link, own, begin_ns=begin_ns, end_ns=end_ns)


def _transmitted(ledger: Path, pipe: str) -> tuple[Counter[int], int]:
    """IP bytes that a pipe transmitted, by slice, and the delay behind it in nanoseconds."""
    found: Counter[int] = Counter()
    delay: int | None = None
    try:
        with pyarrow.parquet.ParquetFile(ledger) as file:
            for batch in file.iter_batches(columns=list(_COLUMNS)):
                rows = pa.Table.from_batches([batch]).filter(
                    pc.and_(
                        pc.equal(batch.column("pipe").cast(pa.string()), pipe),
                        pc.is_valid(batch.column("departed_ns")),
                    )
                )
                delay = _least(delay, rows)
                found.update(_sums(rows))
    except (OSError, pa.ArrowException, KeyError) as error:
        raise BandwidthUnknownError(f"the ledger cannot be read: {error}") from None
    return found, delay or 0


def _least(known: int | None, rows: pa.Table) -> int | None:
    """The least delay behind the link, of these packets and those before."""
    least = pc.min(pc.subtract(rows.column("due_ns"), rows.column("departed_ns"))).as_py()
    return min((one for one in (known, least) if one is not None), default=None)


def _sums(rows: pa.Table) -> dict[int, int]:
    slices = pa.table(
        {
            "slice": pc.divide(rows.column("departed_ns"), SLICE_NS),
            "bytes": pc.subtract(rows.column("length").cast(pa.int64()), ETHERNET_BYTES),
        }
    )
    summed = slices.group_by("slice").aggregate([("bytes", "sum")])
    return dict(
        zip(summed.column("slice").to_pylist(), summed.column("bytes_sum").to_pylist(), strict=True)
    )


def _own(capture: Path, source: str, port: int, delay_ns: int) -> Counter[int]:
    """IP bytes of a workload's packets, by the slice in which they left the bottleneck."""
    seen = burst(
        capture,
        only=("windows",),
        window=SLICE_NS / SECOND,
        basis="ip",
        filter=f"src host {source} and dst port {port}",
        workers=1,
    )
    return shifted(
        ((row["start_seconds"], row["abw_bits_per_second"]) for row in seen.rows("windows")),
        delay_ns,
    )


def shifted(windows: Iterable[tuple[float, float]], delay_ns: int) -> Counter[int]:
    """Bytes by slice, moved back by a delay; ``windows``: start in seconds, and rate in bit/s."""
    back = round(delay_ns / SLICE_NS)
    found: Counter[int] = Counter()
    for start, rate in windows:
        found[round(start * SECOND / SLICE_NS) - back] += round(rate * SLICE_NS / SECOND / 8)
    return found
