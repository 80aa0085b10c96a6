"""Judges a round: a row for each of its connections, and the verdict on the round.

Connections are judged by the sender's capture, corrected by the receiver's capture for losses
between the hosts and for the receiver's part of a round trip. Everything here is derived and can be
repeated.

``python -m trustbed.campaign.judge`` judges the rounds that it is given
(:mod:`trustbed.campaign.runner.judging`).

Bias: the receiver's own samples are reported beside the verdict, which does not depend on them.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from trustbed import _core
from trustbed.analysis.capture import analyze
from trustbed.analysis.two_point import TwoPoint, join
from trustbed.campaign import VERDICTS, path_of
from trustbed.campaign.answers import SentConnection, Tcp
from trustbed.campaign.records import (
    ClockDifference,
    ConnectionOutcome,
    HostRole,
    JudgedConnection,
    JudgedRound,
    Load,
    Number,
    RoundRecord,
    plain,
)
from trustbed.campaign.runner.directory import CAPTURE, CAPTURES, FAR_CAPTURE, RoundDirectory
from trustbed.campaign.runner.judging import NICE, Answer, Refusal
from trustbed.campaign.runner.round import connections_of, received_of, sent_of
from trustbed.diagnose.evidence import Row
from trustbed.diagnose.host import HostEvidence, kernel_times, processor_of
from trustbed.diagnose.judge import HostOf
from trustbed.findings import Finding
from trustbed.run.samples import SampleLines, below, read_lines, summary
from trustbed.workload import mean

__all__ = ["judge_round"]

MOST_SKEW = 500e-6
"""No clock that runs is slewed faster than by this (RFC 5905: 500 ppm); ours may be, too."""
_HOSTS: tuple[HostRole, ...] = ("sender", "receiver")
_GRAVEST_FIRST = ("discard", "review", "trust")


class _Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """Columns of the table of transfers."""

    transfer: str | None = None
    src: str | None = None
    src_port: int | None = None
    rtt_mean_ns: Number | None = None
    rtt_sd_ns: Number | None = None
    rto_linux_ns: Number | None = None
    spacing_mean_ns: Number | None = None
    long_pause_fraction: float | None = None
    loss_rate: float | None = None
    segments_wire: int | None = None
    retransmitted_packets: int | None = None
    window_max_bytes: Number | None = None
    idle_open_window_fraction: float | None = None
    mss: int | None = None
    payload_bytes_per_packet: Number | None = None
    packet_bytes: Number | None = None
    cause: str | None = None
    confidence: float | None = None
    verdict: str | None = None
    rule: str | None = None


class _TwoPointRow(msgspec.Struct, frozen=True, kw_only=True):
    """Columns of the two-point table: data frames from capture to capture."""

    sender: str | None = None
    sender_port: int | None = None
    sender_capture: str | None = None
    data_frames_sent: int | None = None
    data_frames_delivered: int | None = None
    data_frames_lost: int | None = None
    data_frames_missed: int | None = None
    spurious_frames: int | None = None
    reordered_frames: int | None = None
    owd_min_ns: Number | None = None
    owd_increase_p50_ns: Number | None = None
    owd_increase_p95_ns: Number | None = None
    path_p50_ns: Number | None = None
    turnaround_p50_ns: Number | None = None


def judge_round(round_directory: RoundDirectory, record: RoundRecord) -> JudgedRound:
    """The judgement of a round: a row for each of its connections, and the verdict."""
    joined, join_error = _join(round_directory, record)
    two_point = {} if joined is None else _two_point(joined)
    samples = {role: _samples(round_directory, record, role) for role in _HOSTS}
    transfers, findings, error = _transfers(
        round_directory, _evidence(record, samples["sender"].rows, joined)
    )
    rows = [
        _row(record, one, transfers=transfers, two_point=two_point)
        for one in connections_of(record)
    ]
    verdicts = Counter(row.verdict for row in rows)
    flags = _flags(record, rows, samples, join_error)
    return JudgedRound(
        outcome=record.outcome,
        use=next((verdict for verdict in _GRAVEST_FIRST if verdicts[verdict]), None),
        verdicts={verdict: verdicts[verdict] for verdict in VERDICTS},
        flags=flags,
        hosts={role: _load(samples[role]) for role in _HOSTS},
        connections=rows,
        path=path_of(record, clock_stepped="clock_stepped" in flags),
        clocks=None
        if joined is None
        else msgspec.convert(joined.clocks, ClockDifference, from_attributes=True),
        findings=findings,
        capture_error=error,
        join_error=join_error,
    )


def _transfers(
    round_directory: RoundDirectory, host_of: HostOf
) -> tuple[dict[str, _Transfer], list[Finding], str | None]:
    """Judged transfers by sending address and port, the capture's findings, and its read error."""
    file = round_directory.path / CAPTURE
    if not file.is_file():
        return {}, [], None
    try:
        capture = analyze(file, at="sender", workload="bulk", workers=1, host_of=host_of)
    except _core.CaptureError as error:
        return {}, [], error.message
    table = capture.transfers.select(_Transfer.__struct_fields__).to_pylist()
    rows = {_end(row.src, row.src_port): row for row in msgspec.convert(table, list[_Transfer])}
    return rows, list(capture.judgement.findings), None


def _join(
    round_directory: RoundDirectory, record: RoundRecord
) -> tuple[TwoPoint | None, str | None]:
    """The two-point capture, where both hosts captured; or why the two cannot be joined."""
    if not all((round_directory.path / name).is_file() for name in CAPTURES):
        return None, None
    if record.ping is not None and record.ping.read.interface == "lo":
        # Both hosts are one machine: no path between them delays or loses packets.
        return None, None
    try:
        return join(round_directory.path / CAPTURE, round_directory.path / FAR_CAPTURE), None
    except _core.CaptureError as error:
        return None, error.message


def _two_point(joined: TwoPoint) -> dict[str, _TwoPointRow]:
    """The two-point results of each connection's data, by sending address and port."""
    table = joined.two_point.select(_TwoPointRow.__struct_fields__).to_pylist()
    rows = [
        row for row in msgspec.convert(table, list[_TwoPointRow]) if row.sender_capture == "first"
    ]
    if joined.dropped["second"]:
        # Frames that the receiver's capture dropped look lost: the number of losses is unknown.
        rows = [msgspec.structs.replace(row, data_frames_lost=None) for row in rows]
    return {_end(row.sender, row.sender_port): row for row in rows}


def _end(address: object, port: object) -> str:
    """An address and port as agents write them."""
    return f"[{address}]:{port}" if ":" in str(address) else f"{address}:{port}"


def _evidence(record: RoundRecord, samples: Sequence[Row], joined: TwoPoint | None) -> HostOf:
    """Evidence of the sending host and of the other capture for the round's own connections."""
    ends = {row.local: row for row in sent_of(record).values()}
    seen_of = None if joined is None else joined.sent_from("first")
    processor = processor_of(
        *(list(below(samples, key, ("interval_ns",))) for key in ("processes", "cgroups"))
    )

    def of(row: Row) -> HostEvidence | None:
        if (end := ends.get(_end(row.get("src"), row.get("src_port")))) is None:
            return None
        tcp = {} if end.tcp is None else msgspec.structs.asdict(end.tcp)
        times = kernel_times(tcp, send_buffer_bytes=end.send_buffer_bytes, declared=False)
        return replace(processor, kernel=times, ends=None if seen_of is None else seen_of(row))

    return of


def _samples(round_directory: RoundDirectory, record: RoundRecord, role: HostRole) -> SampleLines:
    """A host's samples until its last connection ended.

    A host that lost its transport samples on until the controller stops it.
    """
    file = round_directory.path / f"{role}.samples.jsonl"
    if not file.is_file():
        return SampleLines((), 0)
    read = read_lines(file)
    ends = [*(sent_of if role == "sender" else received_of)(record).values()]
    moments = [at for row in ends for at in (row.last_byte_ns, row.result_ns) if at is not None]
    if not record.transport_losses or not moments or record.started_ns is None:
        return read
    until = record.started_ns[role] + max(moments)
    rows = [line for line in read.rows if line["at_ns"] - (line.get("interval_ns") or 0) <= until]
    return SampleLines(rows, read.malformed)


def _base(record: RoundRecord) -> float | None:
    trips = () if record.ping is None else record.ping.read.round_trips_ns
    return mean([trip / 1e9 for trip in trips if trip is not None])


def _row(
    record: RoundRecord,
    one: ConnectionOutcome,
    *,
    transfers: Mapping[str, _Transfer],
    two_point: Mapping[str, _TwoPointRow],
) -> JudgedConnection:
    """A connection, from both hosts' reports and captures."""
    key = (one.number, one.role)
    received = received_of(record).get(key)
    sent = sent_of(record).get(key) or SentConnection(*key, connected_ns=None, close=None)
    tcp, local = sent.tcp or Tcp(), str(sent.local)
    transfer, ends = transfers.get(local, _Transfer()), two_point.get(local, _TwoPointRow())
    return JudgedConnection(
        pair=record.pair,
        round=record.number,
        index=record.index,
        number=one.number,
        role=one.role,
        failure=one.failure,
        size_bytes=record.probe_bytes if one.role == "probe" else record.data_bytes,
        rtt_base_seconds=_base(record),
        close=sent.close if received is None else received.close or sent.close,
        connect_time_ns=sent.connect_time_ns,
        received_bytes=None if received is None else received.payload_bytes,
        app_bytes_per_second=None if received is None else received.app_bytes_per_second,
        snd_bytes_per_second=sent.snd_bytes_per_second,
        congestion_control=sent.congestion_control,
        window_clamp_bytes=None if received is None else received.window_clamp_bytes,
        kernel_rtt_ns=tcp.rtt_ns,
        kernel_retransmitted_segments=tcp.retransmitted_segments,
        transfer=transfer.transfer,
        rtt_mean_seconds=_seconds(transfer.rtt_mean_ns),
        rtt_sd_seconds=_seconds(transfer.rtt_sd_ns),
        rto_linux_seconds=_seconds(transfer.rto_linux_ns),
        spacing_mean_seconds=_seconds(transfer.spacing_mean_ns),
        long_pause_fraction=transfer.long_pause_fraction,
        loss_rate=transfer.loss_rate,
        segments=transfer.segments_wire,
        retransmitted=transfer.retransmitted_packets,
        window_max_bytes=transfer.window_max_bytes,
        idle_open_window_fraction=transfer.idle_open_window_fraction,
        mss=transfer.mss,
        payload_bytes_per_packet=transfer.payload_bytes_per_packet,
        packet_bytes=transfer.packet_bytes,
        cause=transfer.cause,
        confidence=transfer.confidence,
        verdict=transfer.verdict,
        rule=transfer.rule,
        sent_between=ends.data_frames_sent,
        passed_between=ends.data_frames_delivered,
        lost_between=ends.data_frames_lost,
        unseen=ends.data_frames_missed,
        needless=ends.spurious_frames,
        reordered=ends.reordered_frames,
        owd_min_seconds=_seconds(ends.owd_min_ns),
        owd_increase_p50_seconds=_seconds(ends.owd_increase_p50_ns),
        owd_increase_p95_seconds=_seconds(ends.owd_increase_p95_ns),
        path_p50_seconds=_seconds(ends.path_p50_ns),
        turnaround_p50_seconds=_seconds(ends.turnaround_p50_ns),
    )


def _seconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9


def _flags(
    record: RoundRecord,
    rows: Sequence[JudgedConnection],
    samples: Mapping[HostRole, SampleLines],
    join_error: str | None,
) -> list[str]:
    """Facts about the round as a whole."""
    near, far = ((record.watched or {}).get(f"{role}.capture") for role in _HOSTS)
    found = {
        "no_capture": near is None,
        "one_end_only": near is not None and far is None,
        "capture_loss": any(one is not None and one.read.dropped_frames for one in (near, far)),
        "not_joined": join_error is not None,
        "clock_stepped": any(_is_stepped(record, role) for role in _HOSTS),
        "no_ping": _base(record) is None,
        "not_all_judged": near is not None
        and any(row.failure is None and row.cause is None for row in rows),
        "samples_malformed": any(one.malformed for one in samples.values()),
    }
    return [name for name, holds in found.items() if holds]


def _is_stepped(record: RoundRecord, role: HostRole) -> bool:
    """Whether a host's clock moved against the controller's by more than slewing can explain."""
    before, after = ((clocks or {}).get(role) for clocks in (record.clocks, record.clocks_after))
    if before is None or after is None:
        return False
    possible = before.error_ns + after.error_ns + 2 * MOST_SKEW * abs(after.at_ns - before.at_ns)
    return abs(after.ahead_ns - before.ahead_ns) > possible


def _load(samples: SampleLines) -> Load:
    """A host's load during the connections, from its samples."""
    late = [(line.get("wakeups") or {}).get("late_max_ns") for line in samples.rows]
    return Load(
        **summary(samples.rows),
        wakeup_latency_max_ns=max((one for one in late if one is not None), default=None),
        malformed_samples=samples.malformed,
    )


def _answer(asked: bytes) -> Answer:
    """The judgement of the round that a line names, or why there is none."""
    try:
        one = json.loads(asked)
        directory = RoundDirectory(one["number"], one["pair"], Path(one["path"]))
        return Answer(judged=plain(judge_round(directory, directory.record())))
    except Exception as error:
        return Answer(
            refused=Refusal(
                message=getattr(error, "message", None) or f"{type(error).__name__}: {error}",
                hint=getattr(error, "hint", None),
                errno=error.errno if isinstance(error, OSError) else None,
            )
        )


def _main() -> None:
    os.nice(NICE)
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # whatever else is printed is no answer
        for line in sys.stdin.buffer:
            answers.write(msgspec.json.encode(_answer(line)) + b"\n")
            answers.flush()


if __name__ == "__main__":
    _main()
