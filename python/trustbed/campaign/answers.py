"""Agents' answers during a round.

Fields that a round does not read are not checked; its record stores the whole answer.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeAlias, TypeVar

import msgspec

T = TypeVar("T")
Json: TypeAlias = dict[str, Any]
"""A JSON object as in a file."""


class Answer(Generic[T]):
    """An agent's report: ``whole`` for the record, and the fields that are ``read``.

    No dataclass: msgspec would take its fields for keys.
    """

    __slots__ = ("read", "whole")

    def __init__(self, whole: Json, read: T) -> None:
        self.whole = whole
        self.read = read


class Started(msgspec.Struct, frozen=True):
    """An agent has started, at this time of its host's real-time clock."""

    start_ns: int


class Opened(msgspec.Struct, frozen=True):
    """The receiver's ports, as ``address:port`` by role; null for a role without connections."""

    listening: dict[str, str | None]


class Listening(msgspec.Struct, frozen=True):
    """The one port of a reflector or of an estimator's receiver, as ``address:port``."""

    listening: str


class Interface(msgspec.Struct, frozen=True):
    """The interface that has the measured address; null: none has it."""

    interface: str | None = None


class Pinged(msgspec.Struct, frozen=True):
    """Round-trip times, and the address and interface that the sender uses."""

    own: str = msgspec.field(name="from")
    round_trips_ns: tuple[int | None, ...]
    interface: str | None = None


class Reflected(msgspec.Struct, frozen=True):
    """Test packets that the reflector left unanswered because they came too fast."""

    too_fast_packets: int
    clock_steps: int = 0


class DelayQuantiles(msgspec.Struct, frozen=True):
    """Delays of the test packets of which there are some."""

    probes: int
    least_ns: int
    p50_ns: int
    p95_ns: int


class Delays(msgspec.Struct, frozen=True):
    """Round trips, and one-way delays by both clocks."""

    round_trip: DelayQuantiles | None = None
    forward: DelayQuantiles | None = None
    backward: DelayQuantiles | None = None


class LostProbes(msgspec.Struct, frozen=True):
    """Lost test packets by direction, as far as it is known."""

    lost_forward_probes: int | None = None
    lost_backward_probes: int | None = None
    lost_somewhere_probes: int | None = None


class Offset(msgspec.Struct, frozen=True):
    """How much the receiver's clock is ahead of the sender's."""

    ahead_ns: int | None = None
    error_ns: int | None = None


class ProbedClocks(msgspec.Struct, frozen=True):
    """How both clocks ran while test packets were sent."""

    uneven: bool = False
    clock_steps: int = 0
    offset: Offset | None = None


class Probed(msgspec.Struct, frozen=True):
    """The fate of test packets; ``reflector`` is the receiver's part of it."""

    sent_probes: int = 0
    answered_probes: int = 0
    directions: LostProbes | None = None
    delays: Delays | None = None
    clocks: ProbedClocks | None = None
    reflector: Reflected | None = None


class Runs(msgspec.Struct, frozen=True):
    """Streams or chirps."""

    sent: int | None = None
    used: int | None = None


class Pathload(msgspec.Struct, frozen=True):
    """An interval; a bound that is null lies beyond what can be sent."""

    low_bits_per_second: float | None = None
    high_bits_per_second: float | None = None


class ChirpEstimate(msgspec.Struct, frozen=True):
    """The estimate of one chirp."""

    at_limit: bool


class Pathchirp(msgspec.Struct, frozen=True):
    """A mean of the latest estimates."""

    mean_ip_bits_per_second: float | None = None
    estimates_in_mean: int = 0
    estimates: tuple[ChirpEstimate, ...] = ()
    unusable_chirps: int = 0


class Estimated(msgspec.Struct, frozen=True):
    """An estimator's report."""

    ending: str | None = None
    pathload: Pathload | None = None
    pathchirp: Pathchirp | None = None
    streams: Runs | None = None
    chirps: Runs | None = None
    sent_ip_bytes: int | None = None
    duration_ns: int | None = None


class Tcp(msgspec.Struct, frozen=True):
    """The sender's ``tcp_info`` at the close."""

    rtt_ns: int | None = None
    retransmitted_segments: int | None = None
    busy_ns: int | None = None
    receive_window_limited_ns: int | None = None
    send_buffer_limited_ns: int | None = None


class SentConnection(msgspec.Struct, frozen=True):
    """A connection as its sender reports it."""

    pair: int
    role: Literal["probe", "data"]
    connected_ns: int | None
    close: str | None
    local: str | None = None
    last_byte_ns: int | None = None
    result_ns: int | None = None
    connect_time_ns: int | None = None
    snd_bytes_per_second: float | None = None
    congestion_control: str | None = None
    send_buffer_bytes: int | None = None
    tcp: Tcp | None = None


class ReceivedConnection(msgspec.Struct, frozen=True):
    """A connection as its receiver reports it; bytes, and nanoseconds since the start."""

    pair: int
    role: Literal["probe", "data"]
    failed: bool
    accepted_ns: int | None
    size_bytes: int
    payload_bytes: int
    last_byte_ns: int | None
    result_ns: int | None
    close: str | None
    app_bytes_per_second: float | None = None
    window_clamp_bytes: int | None = None


class Sent(msgspec.Struct, frozen=True):
    """The sender's report."""

    connections: tuple[SentConnection, ...]


class Received(msgspec.Struct, frozen=True):
    """The receiver's report."""

    connections: tuple[ReceivedConnection, ...]


class Watched(msgspec.Struct, frozen=True):
    """What a capture, or the samples, of a host came to."""

    dropped_frames: int | None = None
