"""The rows of media streams and videos as tables: packets, frames, chunks and what was shown.

Times count from the request, which is the start of the client. The delay of a packet is taken from
the clocks of both ends: between hosts with clocks of their own it has their offset in it, and only
its variation means something.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa

from trustbed.run import rows
from trustbed.scenario.model import Workload
from trustbed.scenario.players import Media
from trustbed.workload import media
from trustbed.workload.distribution import mean, quantile
from trustbed.workload.playout import Playout, late_parts, playout
from trustbed.workload.tables import Row, column, nanoseconds
from trustbed.workload.tables import table as table_of
from trustbed.workload.video import Chunk, viewing

SECOND = 1e9

PACKETS = pa.schema(
    [
        column("arrived_ns", pa.int64(), "ns", "when it arrived, after the request"),
        column("sent", pa.timestamp("ns", tz="UTC"), "ns", "when it was sent, by its server"),
        column("frame", pa.int64(), "1", "number of the frame, from 0"),
        column("part", pa.int64(), "1", "which part of the frame, from 0"),
        column("bytes", pa.int64(), "B", "payload, with the header of the stream"),
        column("is_retransmission", pa.bool_(), "", "whether the part had been sent before"),
        column("is_duplicate", pa.bool_(), "", "whether the part had arrived before"),
        column(
            "delay_ns", pa.int64(), "ns", "arrived minus sent; with the offset between two clocks"
        ),
        column("gap_ns", pa.int64(), "ns", "time since the packet that arrived before it"),
        column("pdv_ns", pa.int64(), "ns", "delay minus the least one (RFC 5481)"),
        column("ipdv_ns", pa.int64(), "ns", "delay minus that of the packet before (RFC 5481)"),
        column("jitter_ns", pa.int64(), "ns", "filtered jitter after this packet (RFC 3550)"),
    ]
)
"""One row per received packet of a media stream, in the order of arrival."""

FRAMES = pa.schema(
    [
        column("frame", pa.int64(), "1", "number of the frame, from 0"),
        column("complete_ns", pa.int64(), "ns", "when all its parts were there; null: never"),
        column("due_ns", pa.int64(), "ns", "when it was to be shown"),
        column("shown_ns", pa.int64(), "ns", "when it was shown, or a repeat instead of it"),
        column("stall_ns", pa.int64(), "ns", "how long the player waited for it"),
        column("is_lost", pa.bool_(), "", "whether it never became complete"),
        column("late_parts", pa.int64(), "1", "parts that arrived after it was due"),
    ]
)
"""One row per frame of a media stream."""

_SHOWN = (
    column("media_ns", pa.int64(), "ns", "how long the media is"),
    column("start_up_ns", pa.int64(), "ns", "from the request to the first frame"),
    column("stalls", pa.int64(), "1", "how often the player waited"),
    column("stall_ns", pa.int64(), "ns", "for how long in total"),
    column("rebuffer_ratio", pa.float64(), "1", "stall time over media time"),
)

PLAYOUT = pa.schema(
    [
        *_SHOWN,
        column("frames", pa.int64(), "1", "frames of the media"),
        column("lost_frames", pa.int64(), "1", "frames that never became complete"),
        column("parts", pa.int64(), "1", "parts of all frames"),
        column("missing_parts", pa.int64(), "1", "parts that never arrived"),
        column("late_parts", pa.int64(), "1", "parts that arrived after their frame was due"),
        column("packets", pa.int64(), "1", "received packets"),
        column("retransmitted_packets", pa.int64(), "1", "of these, retransmissions"),
        column("duplicate_packets", pa.int64(), "1", "of these, with a part that was there"),
        column("delay_spread_ns", pa.int64(), "ns", "95th percentile of the delay minus median"),
        column("jitter_mean_ns", pa.int64(), "ns", "mean of the filtered jitter (RFC 3550)"),
        column("jitter_max_ns", pa.int64(), "ns", "its maximum"),
        column("pdv_p95_ns", pa.int64(), "ns", "95th percentile of the PDV (RFC 5481)"),
        column("pdv_p99_ns", pa.int64(), "ns", "99th percentile of the PDV"),
        column("ipdv_p95_ns", pa.int64(), "ns", "95th percentile of the IPDV's magnitude"),
        column("gap_p50_ns", pa.int64(), "ns", "median of the gaps between packets"),
        column("gap_p95_ns", pa.int64(), "ns", "95th percentile of the gaps"),
        column("gap_max_ns", pa.int64(), "ns", "longest gap"),
        column(
            "adequate_share", pa.float64(), "1", "share of seconds with at least the media's rate"
        ),
    ]
)
"""One row per media stream."""

CHUNKS = pa.schema(
    [
        column("chunk", pa.int64(), "1", "number of the chunk, from 0"),
        column("media_ns", pa.int64(), "ns", "how long it plays"),
        column("rate_bits_per_second", pa.int64(), "bit/s", "rate that was chosen for it"),
        column("asked_ns", pa.int64(), "ns", "when it was requested, connecting included"),
        column("first_byte_ns", pa.int64(), "ns", "when its first bytes were there"),
        column("last_byte_ns", pa.int64(), "ns", "when its last bytes were there"),
        column("bytes", pa.int64(), "B", "received content"),
        column(
            "throughput_bits_per_second",
            pa.float64(),
            "bit/s",
            "content over the time from the request to the last byte; null when it failed",
        ),
        column("buffer_before_ns", pa.int64(), "ns", "what was left to play when it was requested"),
        column("buffer_after_ns", pa.int64(), "ns", "what was left to play with it"),
        column("stall_ns", pa.int64(), "ns", "how long nothing was left since the row before"),
        column("error", pa.string(), "", "why it failed, and was requested again; null: it came"),
    ]
)
"""One row per requested chunk of a video."""

VIEWING = pa.schema(
    [
        *_SHOWN,
        column("chunks", pa.int64(), "1", "chunks that came"),
        column("missing_chunks", pa.int64(), "1", "chunks of the video that did not come"),
        column("failed_requests", pa.int64(), "1", "requests that failed"),
        column("switches", pa.int64(), "1", "chunks with another rate than the one before"),
        column(
            "mean_rate_bits_per_second", pa.float64(), "bit/s", "mean of the rates, by playing time"
        ),
    ]
)
"""One row per video."""

Tables = dict[str, pa.Table]


# Media streams.


_MOST_FRAMES = 10_000_000
"""Of a stream of which no scenario tells: a day of 100 a second."""


@dataclass(frozen=True, slots=True)
class _Received:
    """The columns of the rows, times in seconds after the request."""

    frame: Sequence[int]
    part: Sequence[int]
    bytes: Sequence[int]
    transmission: Sequence[int]
    sent: Sequence[float]
    arrived: Sequence[float]
    is_duplicate: Sequence[bool]


def media_tables(
    source: Path, report: Mapping[str, Any], planned: Workload | None = None
) -> Tables:
    """``packets``, ``frames`` and ``playout`` of a media stream.

    Args:
        source: The rows of its packets.
        report: What the host says of it.
        planned: What the scenario says of it, if that is known.

    Raises:
        RowsError: The rows are damaged.
        ValueError: The report is of another stream than the scenario's.
    """
    read = rows.read(source)
    stream, start = report.get("media"), report.get("start_ns")
    if stream is None or start is None:
        return {}
    if planned is not None and planned.media is not None:
        _check_stream(stream, planned.media, planned.duration_ns)
    received = _received(read, start)
    parts_of = _parts_of(stream)
    first: dict[tuple[int, int], float] = {}
    for frame, part, arrived in zip(received.frame, received.part, received.arrived, strict=True):
        first.setdefault((frame, part), arrived)
    arrivals: dict[int, list[float]] = defaultdict(list)
    for (frame, _), arrived in first.items():
        arrivals[frame].append(arrived)
    complete = [
        max(there) if len(there := arrivals.get(frame, ())) == parts else None
        for frame, parts in enumerate(parts_of)
    ]
    played = playout(
        complete,
        frames_per_second=stream["frames_per_second"],
        buffer=(report.get("buffer_ns") or 0) / SECOND,
    )
    delay = media.without_skew(received.sent, media.delays(received.sent, received.arrived))
    return {
        "packets": _packets(received, read, delay),
        "frames": _frames(complete, played, arrivals),
        "playout": table_of(
            PLAYOUT,
            [
                {
                    **_shown(
                        played.media,
                        played.start_up,
                        [stall.seconds for stall in played.stalls],
                        played.rebuffer_ratio,
                    ),
                    "frames": len(parts_of),
                    "lost_frames": played.lost_frames,
                    "parts": sum(parts_of),
                    "missing_parts": sum(parts_of) - len(first),
                    "late_parts": late_parts(
                        ((frame, arrived) for (frame, _), arrived in first.items()), played.due
                    ),
                    **_variation(received, delay, stream),
                }
            ],
        ),
    }


def _check_stream(stream: Mapping[str, Any], planned: Media, duration_ns: int) -> None:
    """A host's report decides no lengths: the stream is the scenario's, or it is refused."""
    expected = {
        "rate_bits_per_second": planned.rate,
        "frames_per_second": planned.frames_per_second,
        "frames": planned.frames(duration_ns),
    }
    for name, value in expected.items():
        if stream[name] != value:
            raise ValueError(f"{name} is {stream[name]!r:.40}, and {value} in the scenario")


def _received(read: pa.Table, start: int) -> _Received:
    of = {name: read.column(name).to_pylist() for name in read.column_names}
    known: set[tuple[int, int]] = set()
    duplicates = []
    for at in zip(of["frame"], of["part"], strict=True):
        duplicates.append(at in known)
        known.add(at)
    return _Received(
        frame=of["frame"],
        part=of["part"],
        bytes=of["bytes"],
        transmission=of["transmission"],
        sent=[(sent - start) / SECOND for sent in of["sent_ns"]],
        arrived=[arrived / SECOND for arrived in of["arrived_ns"]],
        is_duplicate=duplicates,
    )


def _parts_of(stream: Mapping[str, Any]) -> list[int]:
    """How many parts each frame has, by the same rule as the agent."""
    if not 0 < stream["frames"] <= _MOST_FRAMES:
        raise ValueError(f"{stream['frames']} frames")
    rate, steps = stream["rate_bits_per_second"], 8 * stream["frames_per_second"]
    ends = [frame * rate // steps for frame in range(stream["frames"] + 1)]
    return [max(1, -(-(end - begin) // 1400)) for begin, end in pairwise(ends)]


def _packets(received: _Received, read: pa.Table, delay: Sequence[float]) -> pa.Table:
    def whole(values: Sequence[float], missing: int = 0) -> pa.Array:
        return pa.array([None] * missing + [round(one * SECOND) for one in values], pa.int64())

    behind = 1 if delay else 0  # of the first packet there is no difference
    columns: Mapping[str, Any] = {
        "arrived_ns": read.column("arrived_ns"),
        "sent": read.column("sent_ns").cast(pa.timestamp("ns")).cast(pa.timestamp("ns", tz="UTC")),
        "frame": read.column("frame"),
        "part": read.column("part"),
        "bytes": read.column("bytes"),
        "is_retransmission": pa.array([one > 0 for one in received.transmission], pa.bool_()),
        "is_duplicate": pa.array(received.is_duplicate, pa.bool_()),
        "delay_ns": whole(delay),
        "gap_ns": whole(media.gaps(received.arrived), behind),
        "pdv_ns": whole(media.pdv(delay)),
        "ipdv_ns": whole(media.ipdv(delay), behind),
        "jitter_ns": whole(media.jitter(delay), behind),
    }
    return pa.table([columns[field.name] for field in PACKETS], schema=PACKETS)


def _frames(
    complete: Sequence[float | None], played: Playout, arrivals: Mapping[int, Sequence[float]]
) -> pa.Table:
    waits = {stall.frame: stall.seconds for stall in played.stalls}
    found: list[Row] = [
        {
            "frame": frame,
            "complete_ns": nanoseconds(complete[frame]),
            "due_ns": nanoseconds(played.due[frame]),
            "shown_ns": nanoseconds(played.shown[frame]),
            "stall_ns": nanoseconds(waits.get(frame, 0.0)),
            "is_lost": complete[frame] is None,
            "late_parts": late_parts(
                ((frame, arrived) for arrived in arrivals.get(frame, ())), played.due
            ),
        }
        for frame in range(len(complete))
    ]
    return table_of(FRAMES, found)


def _shown(
    length: float, start_up: float | None, stalls: Sequence[float], ratio: float | None
) -> dict[str, int | float | None]:
    return {
        "media_ns": nanoseconds(length),
        "start_up_ns": nanoseconds(start_up),
        "stalls": None if start_up is None else len(stalls),
        "stall_ns": None if start_up is None else nanoseconds(sum(stalls)),
        "rebuffer_ratio": ratio,
    }


def _variation(
    received: _Received, delay: Sequence[float], stream: Mapping[str, Any]
) -> dict[str, int | float | None]:
    filtered, between = media.jitter(delay), media.gaps(received.arrived)
    variation, steps = media.pdv(delay), [abs(one) for one in media.ipdv(delay)]
    return {
        "packets": len(delay),
        "retransmitted_packets": sum(one > 0 for one in received.transmission),
        "duplicate_packets": sum(received.is_duplicate),
        "delay_spread_ns": nanoseconds(media.delay_spread(delay)),
        "jitter_mean_ns": nanoseconds(mean(filtered)),
        "jitter_max_ns": nanoseconds(max(filtered, default=None)),
        "pdv_p95_ns": nanoseconds(quantile(variation, 0.95)),
        "pdv_p99_ns": nanoseconds(quantile(variation, 0.99)),
        "ipdv_p95_ns": nanoseconds(quantile(steps, 0.95)),
        "gap_p50_ns": nanoseconds(quantile(between, 0.5)),
        "gap_p95_ns": nanoseconds(quantile(between, 0.95)),
        "gap_max_ns": nanoseconds(max(between, default=None)),
        "adequate_share": media.adequate_share(
            received.arrived,
            received.bytes,
            rate=stream["rate_bits_per_second"],
            frames_per_second=stream["frames_per_second"],
            length=stream["frames"] / stream["frames_per_second"],
        ),
    }


# Videos.


def video_tables(source: Path, report: Mapping[str, Any]) -> Tables:
    """``chunks`` and ``playout`` of a video.

    Raises:
        RowsError: The rows are damaged.
    """
    read = rows.read(source)
    faults = rows.codes(read, "fault")
    found: list[dict[str, Any]] = [
        {
            **row,
            "error": None if row["fault"] == 0 else faults.get(row["fault"], str(row["fault"])),
            "throughput_bits_per_second": _throughput(row),
        }
        for row in read.to_pylist()
    ]
    came = [row for row in found if row["error"] is None]
    seen = viewing(
        [
            Chunk(
                row["last_byte_ns"] / SECOND, row["media_ns"] / SECOND, row["rate_bits_per_second"]
            )
            for row in came
        ]
    )
    planned = report.get("video_chunks")
    shown = {
        **_shown(seen.media, seen.start_up, seen.stalls, seen.rebuffer_ratio),
        "chunks": len(came),
        "missing_chunks": None if planned is None else planned - len(came),
        "failed_requests": len(found) - len(came),
        "switches": seen.switches,
        "mean_rate_bits_per_second": seen.mean_rate,
    }
    return {"chunks": table_of(CHUNKS, found), "playout": table_of(VIEWING, [shown])}


def _throughput(row: Mapping[str, Any]) -> float | None:
    last = row["last_byte_ns"]
    if row["fault"] != 0 or last is None or last <= row["asked_ns"]:
        return None
    return float(row["bytes"] * 8e9 / (last - row["asked_ns"]))
