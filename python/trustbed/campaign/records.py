"""The files of a round: ``round.json`` has the measurements, ``judged.json`` the judgement.

Both are validated when they are read. Unknown keys are ignored, and keys that an earlier version
did not write have a default.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypeVar, get_args

import msgspec

from trustbed.campaign import answers
from trustbed.campaign.answers import Answer, Json
from trustbed.findings import Finding
from trustbed.scenario.campaign_model import Role

HostRole: TypeAlias = Literal["sender", "receiver"]


class ClockReading(msgspec.Struct, frozen=True, kw_only=True):
    """A host's clock: its offset ahead of the controller's, and the error of that."""

    ahead_ns: int
    error_ns: int
    at_ns: int


Clocks: TypeAlias = dict[HostRole, ClockReading]
"""The hosts' clocks, as far as they could be read."""
Number: TypeAlias = int | float
RecordT = TypeVar("RecordT", "RoundRecord", "JudgedRound")
_FORMER_KEYS = {"troubles": "warnings", "ways_lost": "transport_losses"}
"""Keys of earlier versions."""


def read(found: object, form: type[RecordT]) -> RecordT:
    """The record that JSON holds.

    Raises:
        msgspec.ValidationError: A key has another form.
    """
    if isinstance(found, dict):
        found = {_FORMER_KEYS.get(key, key): value for key, value in found.items()}
    return msgspec.convert(found, form, dec_hook=_answer)


def plain(record: RoundRecord | JudgedRound) -> Json:
    """The JSON object of a record."""
    found: Json = msgspec.to_builtins(record, enc_hook=_whole)
    return found


def text(record: RoundRecord | JudgedRound) -> str:
    """The same as it is written to a file."""
    return msgspec.json.format(msgspec.json.encode(record, enc_hook=_whole)).decode() + "\n"


def _answer(form: Any, found: Any) -> Answer[Any]:  # noqa: ANN401 - what msgspec hands over
    return Answer(found, msgspec.convert(found, get_args(form)[0]))


def _whole(answer: Answer[Any]) -> Json:
    return answer.whole


def none_of() -> list[Any]:
    """An empty list that is written all the same, unlike the default of ``list``."""
    return []


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why something failed, and how to fix it."""

    message: str
    hint: str = ""


class RoundWarning(Failure, frozen=True, kw_only=True):
    """A failure beside the connections."""

    what: str


class TransportLoss(msgspec.Struct, frozen=True, kw_only=True):
    """A time without a transport to a host, by the controller's clock."""

    host: str
    from_ns: int
    until_ns: int | None
    why: str


class ConnectionOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Why a connection failed, if it did."""

    number: int
    role: Role
    failure: str | None


class RoundRecord(msgspec.Struct, kw_only=True, omit_defaults=True):
    """``round.json``: the reports of a round's agents. Steps that did not take place have no key.

    Attributes:
        due_ns: When it was due; this and ``began_ns``, ``ended_ns`` by the controller's clock.
        warnings: Failures beside the connections.
        delay: Null where the measurement failed; unset: not configured. The same holds for an
            estimator's report in ``bandwidth``.
        started_ns: When the connections began, by each host's clock.
        start_spread_ns: How far apart the hosts began, by the controller's clock.
        watched: Samples and captures, by ``sender.capture`` and the like.
        transport_losses: The times without a transport to a host.
        hosts: The files with the facts of the hosts.
    """

    pair: str
    number: int
    index: str
    sender: str | None = None
    receiver: str | None = None
    probe_bytes: int | None = None
    data_bytes: int | None = None
    arrangement: str | None = None
    limit_ns: int = 0
    due_ns: int | None = None
    began_ns: int | None = None
    warnings: list[RoundWarning] = msgspec.field(default_factory=none_of)
    clocks: Clocks | None = None
    ping: Answer[answers.Pinged] | None = None
    delay: Answer[answers.Probed] | msgspec.UnsetType | None = msgspec.UNSET
    bandwidth: dict[str, Answer[answers.Estimated] | None] | None = None
    clocks_before: Clocks | None = None
    started_ns: dict[HostRole, int] | None = None
    start_spread_ns: int | msgspec.UnsetType | None = msgspec.UNSET
    sent: Answer[answers.Sent] | None = None
    received: Answer[answers.Received] | None = None
    watched: dict[str, Answer[answers.Watched]] | None = None
    clocks_after: Clocks | None = None
    error: Failure | None = None
    ended_ns: int | None = None
    transport_losses: list[TransportLoss] = msgspec.field(default_factory=none_of)
    connections: list[ConnectionOutcome] = msgspec.field(default_factory=none_of)
    outcome: str | None = None
    hosts: dict[str, str | None] | None = None


class OneWayDelay(msgspec.Struct, frozen=True, kw_only=True):
    """Losses and delays of one direction in a round; delays above the minimum of the round."""

    lost: int | None = None
    above_least_p50_seconds: float | None = None
    above_least_p95_seconds: float | None = None
    jitter_seconds: float | None = None


class RoundDelay(msgspec.Struct, frozen=True, kw_only=True):
    """Results of test packets in a round; ``answered``: the measurement did not fail."""

    answered: bool
    clock_stepped: bool
    sent_probes: int
    answered_probes: int
    round_trip_least_seconds: float | None
    receiver_ahead_seconds: float | None
    receiver_ahead_error_seconds: float | None
    forward: OneWayDelay
    backward: OneWayDelay


class RoundEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """Results of an estimator in a round; a bound that is null is unknown."""

    estimator: str
    answered: bool
    low_bits_per_second: Number | None
    high_bits_per_second: Number | None
    at_limit: bool
    ending: str | None
    ended_early: bool
    runs: int | None
    runs_used: int | None
    sent_ip_bytes: int | None
    duration_seconds: float | None


class RoundPath(msgspec.Struct, frozen=True, kw_only=True):
    """Measurements of the path before the connections; ``delay`` is null if there were none."""

    delay: RoundDelay | None = None
    bandwidth: tuple[RoundEstimate, ...] = ()


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """A host's load during the connections; shares from 0 to 1, ``None`` is unknown.

    Attributes:
        busy_share: Share of its CPU time in use.
        steal_share: Share of its CPU time taken by the hypervisor.
        throttled_share: Share of the time spent waiting for a quota's next period.
        wakeup_latency_max_ns: The largest wake-up latency of a sleeping thread.
    """

    samples: int = 0
    steal_share: float | None = None
    busy_share: float | None = None
    throttled_share: float | None = None
    wakeup_latency_max_ns: Number | None = None
    malformed_samples: int = 0


class ClockDifference(msgspec.Struct, frozen=True, kw_only=True):
    """How the clocks of both captures differ (:class:`trustbed.analysis.two_point.Clocks`)."""

    ahead_seconds: float
    ahead_error_seconds: float
    skew: float | None
    skew_error: float | None
    clock_slew_seconds: float | None
    stated: bool
    frames: int


class JudgedConnection(msgspec.Struct, frozen=True, kw_only=True):
    """A connection, from the reports of both hosts and their captures. ``None`` is unknown.

    Attributes:
        pair: Name of the pair of hosts.
        round: Number of the round.
        index: Name of the index.
        number: Which connection pair of the round, from 0.
        failure: Why it failed; ``None``: it completed.
        rtt_base_seconds: Mean of the pings before the round.
        app_bytes_per_second: At the receiver, from the accept to the last byte read.
        loss_rate: Retransmitted over sent segments.
        segments: Sent, retransmissions included.
        window_max_bytes: The largest window that the receiver advertised, as captured.
        packet_bytes: At IP level.
        passed_between: Frames delivered from capture to capture.
        unseen: Frames that only the receiver's capture has.
        needless: Spurious retransmissions.
    """

    pair: str = ""
    round: int = 0
    index: str = ""
    number: int = 0
    role: Role
    failure: str | None = None
    size_bytes: int | None = None
    rtt_base_seconds: float | None = None
    close: str | None = None
    connect_time_ns: int | None = None
    received_bytes: int | None = None
    app_bytes_per_second: Number | None = None
    snd_bytes_per_second: Number | None = None
    congestion_control: str | None = None
    window_clamp_bytes: int | None = None
    kernel_rtt_ns: int | None = None
    kernel_retransmitted_segments: int | None = None
    transfer: str | None = None
    rtt_mean_seconds: float | None = None
    rtt_sd_seconds: float | None = None
    rto_linux_seconds: float | None = None
    spacing_mean_seconds: float | None = None
    long_pause_fraction: float | None = None
    loss_rate: float | None = None
    segments: int | None = None
    retransmitted: int | None = None
    window_max_bytes: Number | None = None
    idle_open_window_fraction: float | None = None
    mss: int | None = None
    payload_bytes_per_packet: Number | None = None
    packet_bytes: Number | None = None
    cause: str | None = None
    confidence: float | None = None
    verdict: str | None = None
    rule: str | None = None
    sent_between: int | None = None
    passed_between: int | None = None
    lost_between: int | None = None
    unseen: int | None = None
    needless: int | None = None
    reordered: int | None = None
    owd_min_seconds: float | None = None
    owd_increase_p50_seconds: float | None = None
    owd_increase_p95_seconds: float | None = None
    path_p50_seconds: float | None = None
    turnaround_p50_seconds: float | None = None


class JudgedRound(msgspec.Struct, frozen=True, kw_only=True):
    """``judged.json``: a row for each connection of a round, and the verdict on the round.

    Attributes:
        use: ``trust``, ``review`` or ``discard``; null where no connection was judged.
        flags: Facts about the round as a whole.
        capture_error: Why the capture beside the sender could not be read.
        join_error: Why the two captures could not be joined.
        judging_error: Why judging failed; then there is nothing else.
    """

    outcome: str | None = None
    use: str | None = None
    verdicts: dict[str, int] = msgspec.field(default_factory=dict)
    flags: list[str] = msgspec.field(default_factory=list)
    hosts: dict[HostRole, Load | None] = msgspec.field(default_factory=dict)
    connections: list[JudgedConnection] = msgspec.field(default_factory=list)
    path: RoundPath | None = None
    clocks: ClockDifference | None = None
    findings: list[Finding] = msgspec.field(default_factory=list)
    capture_error: str | None = None
    join_error: str | None = None
    judging_error: Failure | msgspec.UnsetType = msgspec.UNSET
