"""Reads what players play: a media stream, and a video in chunks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias, get_args

from trustbed.scenario.table import Table

Rule: TypeAlias = Literal["throughput", "buffer"]
StreamTransport: TypeAlias = Literal["udp", "tcp"]

RULES: tuple[Rule, ...] = get_args(Rule)
STREAM_TRANSPORTS: tuple[StreamTransport, ...] = get_args(StreamTransport)

_SECOND = 1_000_000_000
MEDIA_NS = 62 * _SECOND
"""How long a media stream is, unless the scenario is shorter (Vishwanath and Vahdat, USENIX ATC
2008, section 4)."""
_HEADER_BYTES = 24
"""What every packet of a stream begins with; no frame is shorter."""
_MOST_RATE = 1_000_000_000
_MOST_FRAMES = 1_000
_MOST_PARTS = 20_000_000
"""Packets of a stream; each is a row, and the client holds a byte for it."""
_PAYLOAD_BYTES = 1400
_SHORTEST_SEGMENT, _LONGEST_SEGMENT = 2 * _SECOND, 6 * _SECOND
_MOST_BUFFER = 3600 * _SECOND
_LEAST_VIDEO_RATE = 1000
_MOST_RATES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """A media stream: frames at a constant rate, which a client plays as they come.

    Attributes:
        transport: What carries it.
        rate: Of the payload, headers of the stream included, in bit/s.
        frames_per_second: The rate of its frames.
        buffer_ns: How much the player holds before it begins.
        repair: Whether the client reports missing parts that can still be in time.
    """

    transport: StreamTransport
    rate: int
    frames_per_second: int
    buffer_ns: int
    repair: bool

    def frames(self, duration_ns: int) -> int:
        """How many frames a duration has; one at least."""
        return max(1, duration_ns * self.frames_per_second // _SECOND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Video:
    """A video in chunks over HTTP, each at a rate that the player chooses.

    Attributes:
        segment_ns: How long a chunk plays.
        rates: What there is to choose from, in bit/s, ascending.
        rule: How the player chooses.
        buffer_ns: The most media that it keeps.
    """

    segment_ns: int
    rates: tuple[int, ...]
    rule: Rule
    buffer_ns: int


def read_media(table: Table, duration_ns: int) -> Media:
    """The stream of a workload of the kind ``media``."""
    transport: StreamTransport = table.choice("transport", STREAM_TRANSPORTS, "udp")
    found = Media(
        transport=transport,
        rate=table.rate_above_zero("rate", 450_000),
        frames_per_second=table.whole("frames_per_second", 30, least=1, most=_MOST_FRAMES),
        buffer_ns=table.span("buffer", 0, example="10s"),
        repair=table.flag("repair", False),
    )
    if found.repair and transport == "tcp":
        raise table.error(
            "repair",
            "has no effect over TCP, which retransmits what is lost itself",
            'leave it out, or write transport = "udp"',
        )
    least = 8 * _HEADER_BYTES * found.frames_per_second
    if not least <= found.rate <= _MOST_RATE:
        raise table.error(
            "rate",
            f"{found.rate} bit/s at {found.frames_per_second} frames a second leaves a frame no "
            f"room for its header of {_HEADER_BYTES} bytes"
            if found.rate < least
            else f"{found.rate} bit/s is more than a stream can have",
            f"give from {least}bit/s to {_MOST_RATE // 10**9}Gbit/s",
        )
    _check_buffer(table, found.buffer_ns)
    frames = found.frames(duration_ns)
    parts = frames * (1 + found.rate // found.frames_per_second // (8 * _PAYLOAD_BYTES))
    if parts > _MOST_PARTS:
        raise table.error(
            "rate",
            f"a stream of {duration_ns / _SECOND:g} s has {parts} packets at this rate, more than "
            f"{_MOST_PARTS}",
            "lower the rate, or shorten the duration",
        )
    return found


def read_video(table: Table) -> Video:
    """The video of a workload of the kind ``video``."""
    segment = table.span_above_zero("segment", 4 * _SECOND, example="4s")
    if not _SHORTEST_SEGMENT <= segment <= _LONGEST_SEGMENT:
        raise table.error(
            "segment",
            f"{segment / _SECOND:g} s is outside 2 s to 6 s",
            'give what videos are cut into, for example "4s"',
        )
    buffer = table.span_above_zero("buffer", 20 * _SECOND, example="20s")
    _check_buffer(table, buffer)
    if buffer < 2 * segment:
        raise table.error(
            "buffer",
            f"{buffer / _SECOND:g} s is less than two segments of {segment / _SECOND:g} s: one is "
            "played while the next one comes",
            f'give at least "{2 * segment / _SECOND:g}s"',
        )
    return Video(
        segment_ns=segment,
        rates=_rates(table),
        rule=table.choice("rule", RULES, "throughput"),
        buffer_ns=buffer,
    )


def _check_buffer(table: Table, buffer_ns: int) -> None:
    if buffer_ns > _MOST_BUFFER:
        raise table.error(
            "buffer", f"{buffer_ns / _SECOND:g} s is more than an hour", "give at most an hour"
        )


def _rates(table: Table) -> tuple[int, ...]:
    example = 'rates = ["1Mbit/s", "2.5Mbit/s", "5Mbit/s"]'
    found = table.rates("rates", (1_000_000, 2_500_000, 5_000_000))
    if not found or len(found) > _MOST_RATES:
        raise table.error(
            "rates",
            f"there are {len(found)} rates to choose from",
            f"give 1 to {_MOST_RATES}, for example {example}",
        )
    if min(found) < _LEAST_VIDEO_RATE:
        raise table.error(
            "rates", "a rate is below 1 kbit/s", f"give what videos have, for example {example}"
        )
    if any(one >= other for one, other in pairwise(found)):
        raise table.error(
            "rates", "do not ascend", f"give the lowest first, each once, for example {example}"
        )
    return found
