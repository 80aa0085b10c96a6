"""Judges a round: a row for each of its connections, and what may be done with it.

The capture beside the sender judges connections, corrected by the capture beside the receiver for
losses between the hosts and for the receiver's part of a round trip. Everything here is derived and
can be made again.

Bias: the receiver's own samples stand beside the verdict; no verdict is made of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal, TypeAlias

from trustbed import _core
from trustbed.analysis.capture import analyze
from trustbed.analysis.two_point import TwoPoint, join
from trustbed.campaign import VERDICTS, path_of
from trustbed.campaign.runner.directory import CAPTURE, CAPTURES, FAR_CAPTURE, RoundDirectory
from trustbed.campaign.runner.round import connections_of, ends_of
from trustbed.diagnose.evidence import Row
from trustbed.diagnose.host import HostEvidence, kernel_times, processor_of
from trustbed.diagnose.judge import HostOf
from trustbed.run.samples import SampleLines, below, read_lines, summary
from trustbed.scenario.campaign_model import Campaign
from trustbed.workload import mean

__all__ = ["judge_round"]

_CROSSING_COLUMNS = (
    "sender",
    "sender_port",
    "sender_capture",
    "data_frames_sent",
    "data_frames_delivered",
    "data_frames_lost",
    "data_frames_missed",
    "spurious_frames",
    "reordered_frames",
    "owd_min_ns",
    "owd_increase_p50_ns",
    "owd_increase_p95_ns",
    "path_p50_ns",
    "turnaround_p50_ns",
)
MOST_SKEW = 500e-6
"""No clock that runs is steered faster than by this (RFC 5905: 500 ppm); ours may be, too."""
HostRole: TypeAlias = Literal["sender", "receiver"]
Record: TypeAlias = Mapping[str, Any]
"""``round.json``: what a round's agents reported."""
_HOSTS: tuple[HostRole, ...] = ("sender", "receiver")
_GRAVEST_FIRST = ("discard", "review", "trust")
_COLUMNS = (
    "transfer",
    "src",
    "src_port",
    "rtt_mean_ns",
    "rtt_sd_ns",
    "rto_linux_ns",
    "spacing_mean_ns",
    "long_pause_fraction",
    "loss_rate",
    "segments_wire",
    "retransmitted_packets",
    "window_max_bytes",
    "idle_open_window_fraction",
    "mss",
    "payload_bytes_per_packet",
    "packet_bytes",
    "cause",
    "confidence",
    "verdict",
    "rule",
)
"""Of the table of transfers."""


def judge_round(
    round_directory: RoundDirectory, record: Record, campaign: Campaign
) -> dict[str, Any]:
    """What a round came to: a row for each of its connections, and what may be done with it."""
    ends, unjoined = _join(round_directory, record)
    two_point = {} if ends is None else _two_point(ends)
    samples = {role: _samples(round_directory, record, role) for role in _HOSTS}
    transfers, findings, error = _transfers(
        round_directory, _evidence(record, samples["sender"].rows, ends)
    )
    base = _base(record)
    received, sent = ends_of(record, "received"), ends_of(record, "sent")
    rows = []
    for one in connections_of(record):
        key = (one["number"], one["role"])
        here, there = sent.get(key) or {}, received.get(key) or {}
        transfer = transfers.get(str(here.get("local")), {})
        crossing = two_point.get(str(here.get("local")), _crossed({}))
        rows.append(
            {**_row(record, one, base), **_ends(here, there), **_measured(transfer), **crossing}
        )
    verdicts = Counter(row["verdict"] for row in rows if row["verdict"] in VERDICTS)
    flags = _flags(record, rows, samples, unjoined)
    return {
        "outcome": record["outcome"],
        "use": next((verdict for verdict in _GRAVEST_FIRST if verdicts[verdict]), None),
        "verdicts": {verdict: verdicts[verdict] for verdict in VERDICTS},
        "flags": flags,
        "hosts": {role: _host(samples[role]) for role in _HOSTS},
        "connections": rows,
        "path": path_of(record, clock_stepped="clock_stepped" in flags),
        "clocks": None if ends is None else asdict(ends.clocks),
        "findings": findings,
        "capture_error": error,
        "join_error": unjoined,
    }


def _transfers(
    round_directory: RoundDirectory, host_of: HostOf
) -> tuple[dict[str, Row], list[dict[str, Any]], str | None]:
    """Judged transfers by sending address and port, the capture's findings, and its read error."""
    file = round_directory.path / CAPTURE
    if not file.is_file():
        return {}, [], None
    try:
        capture = analyze(
            file,
            at="sender",
            workload="bulk",
            workers=1,
            host_of=host_of,
        )
    except _core.CaptureError as error:
        return {}, [], error.message
    rows = {
        _end(row["src"], row["src_port"]): row
        for row in capture.transfers.select(_COLUMNS).to_pylist()
    }
    return rows, [asdict(finding) for finding in capture.judgement.findings], None


def _join(round_directory: RoundDirectory, record: Record) -> tuple[TwoPoint | None, str | None]:
    """Both captures, where there are two of two places; why they cannot be joined, if so."""
    if not all((round_directory.path / name).is_file() for name in CAPTURES):
        return None, None
    if (record.get("ping") or {}).get("interface") == "lo":
        # Both hosts are one machine: between them is nothing that takes time or loses.
        return None, None
    try:
        return join(round_directory.path / CAPTURE, round_directory.path / FAR_CAPTURE), None
    except _core.CaptureError as error:
        return None, error.message


def _two_point(ends: TwoPoint) -> dict[str, dict[str, Any]]:
    """The two-point results of each connection's data, by sending address and port."""
    found = {}
    for row in ends.two_point.select(_CROSSING_COLUMNS).to_pylist():
        if row["sender_capture"] == "first":
            # What the far capture dropped looks lost there: how much was is not known then.
            lost = None if ends.dropped["second"] else row["data_frames_lost"]
            found[_end(row["sender"], row["sender_port"])] = _crossed(
                {**row, "data_frames_lost": lost}
            )
    return found


def _crossed(crossing: Row) -> dict[str, Any]:
    """Losses and one-way delays between the hosts, and the receiver's part of a round trip."""
    return {
        "sent_between": crossing.get("data_frames_sent"),
        "passed_between": crossing.get("data_frames_delivered"),
        "lost_between": crossing.get("data_frames_lost"),
        "unseen": crossing.get("data_frames_missed"),
        "needless": crossing.get("spurious_frames"),
        "reordered": crossing.get("reordered_frames"),
        "owd_min_seconds": _seconds(crossing.get("owd_min_ns")),
        "owd_increase_p50_seconds": _seconds(crossing.get("owd_increase_p50_ns")),
        "owd_increase_p95_seconds": _seconds(crossing.get("owd_increase_p95_ns")),
        "path_p50_seconds": _seconds(crossing.get("path_p50_ns")),
        "turnaround_p50_seconds": _seconds(crossing.get("turnaround_p50_ns")),
    }


def _end(address: str, port: object) -> str:
    """As agents write it."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _evidence(record: Record, samples: Sequence[Row], joined: TwoPoint | None) -> HostOf:
    """Evidence of the sending host and of the other capture for the round's own connections."""
    ends = {str(row.get("local")): row for row in ends_of(record, "sent").values()}
    seen_of = None if joined is None else joined.sent_from("first")
    processor = processor_of(
        *(list(below(samples, key, ("interval_ns",))) for key in ("processes", "cgroups"))
    )

    def of(row: Row) -> HostEvidence | None:
        if (end := ends.get(_end(str(row.get("src")), row.get("src_port")))) is None:
            return None
        times = kernel_times(
            end.get("tcp") or {}, send_buffer_bytes=end.get("send_buffer_bytes"), declared=False
        )
        return replace(processor, kernel=times, ends=None if seen_of is None else seen_of(row))

    return of


def _samples(round_directory: RoundDirectory, record: Record, role: HostRole) -> SampleLines:
    """A host's samples until its last connection ended.

    A host that lost its transport samples on until the controller stops it.
    """
    file = round_directory.path / f"{role}.samples.jsonl"
    if not file.is_file():
        return SampleLines((), 0)
    read = read_lines(file)
    ends = ends_of(record, "sent" if role == "sender" else "received").values()
    ended = max(
        (
            row[key]
            for row in ends
            for key in ("last_byte_ns", "result_ns")
            if row.get(key) is not None
        ),
        default=None,
    )
    if not record.get("ways_lost") or ended is None:
        return read
    until = record["started_ns"][role] + ended
    rows = [line for line in read.rows if line["at_ns"] - (line.get("interval_ns") or 0) <= until]
    return SampleLines(rows, read.malformed)


def _base(record: Record) -> float | None:
    found = [
        trip / 1e9
        for trip in (record.get("ping") or {}).get("round_trips_ns") or ()
        if trip is not None
    ]
    return mean(found)


def _row(record: Record, one: Row, base: float | None) -> dict[str, Any]:
    return {
        "pair": record["pair"],
        "round": record["number"],
        "index": record["index"],
        "number": one["number"],
        "role": one["role"],
        "failure": one["failure"],
        "size_bytes": record[f"{one['role']}_bytes"],
        "rtt_base_seconds": base,
    }


def _ends(sent: Row, received: Row) -> dict[str, Any]:
    """Both hosts' reports of a connection."""
    return {
        "close": received.get("close") or sent.get("close"),
        "connect_time_ns": sent.get("connect_time_ns"),
        "received_bytes": received.get("payload_bytes"),
        "app_bytes_per_second": received.get("app_bytes_per_second"),
        "snd_bytes_per_second": sent.get("snd_bytes_per_second"),
        "congestion_control": sent.get("congestion_control"),
        "window_clamp_bytes": received.get("window_clamp_bytes"),
        "kernel_rtt_ns": (sent.get("tcp") or {}).get("rtt_ns"),
        "kernel_retransmitted_segments": (sent.get("tcp") or {}).get("retransmitted_segments"),
    }


def _measured(transfer: Row) -> dict[str, Any]:
    """What the capture beside the sender says of it, under the names that campaigns have."""
    return {
        "transfer": transfer.get("transfer"),
        "rtt_mean_seconds": _seconds(transfer.get("rtt_mean_ns")),
        "rtt_sd_seconds": _seconds(transfer.get("rtt_sd_ns")),
        "rto_linux_seconds": _seconds(transfer.get("rto_linux_ns")),
        "spacing_mean_seconds": _seconds(transfer.get("spacing_mean_ns")),
        "long_pause_fraction": transfer.get("long_pause_fraction"),
        "loss_rate": transfer.get("loss_rate"),
        "segments": transfer.get("segments_wire"),
        "retransmitted": transfer.get("retransmitted_packets"),
        "window_max_bytes": transfer.get("window_max_bytes"),
        "idle_open_window_fraction": transfer.get("idle_open_window_fraction"),
        "mss": transfer.get("mss"),
        "payload_bytes_per_packet": transfer.get("payload_bytes_per_packet"),
        "packet_bytes": transfer.get("packet_bytes"),
        "cause": transfer.get("cause"),
        "confidence": transfer.get("confidence"),
        "verdict": transfer.get("verdict"),
        "rule": transfer.get("rule"),
    }


def _seconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9


def _flags(
    record: Record,
    rows: Sequence[Row],
    samples: Mapping[HostRole, SampleLines],
    unjoined: str | None,
) -> list[str]:
    """Facts about the round as a whole."""
    watched = record.get("watched") or {}
    captures = [watched.get(f"{role}.capture") or {} for role in ("sender", "receiver")]
    found = {
        "no_capture": not captures[0],
        "one_end_only": bool(captures[0]) and not captures[1],
        "capture_loss": any(one.get("dropped_frames") for one in captures),
        "not_joined": unjoined is not None,
        "clock_stepped": any(_is_set(record, role) for role in _HOSTS),
        "no_ping": _base(record) is None,
        "not_all_judged": any(row["failure"] is None and row["cause"] is None for row in rows)
        and bool(captures[0]),
        "samples_malformed": any(one.malformed for one in samples.values()),
    }
    return [name for name, holds in found.items() if holds]


def _is_set(record: Record, role: str) -> bool:
    """Whether a host's clock moved against the controller's by more than slewing can explain."""
    before, after = ((record.get(key) or {}).get(role) for key in ("clocks", "clocks_after"))
    if before is None or after is None:
        return False
    possible = (
        before["error_ns"]
        + after["error_ns"]
        + 2 * MOST_SKEW * abs(after["at_ns"] - before["at_ns"])
    )
    return bool(abs(after["ahead_ns"] - before["ahead_ns"]) > possible)


def _host(samples: SampleLines) -> dict[str, Any]:
    """A host's load during the connections, from its samples."""
    late = [
        line["wakeups"]["late_most_ns"]
        for line in samples.rows
        if line.get("wakeups") and line["wakeups"].get("late_most_ns") is not None
    ]
    return {
        **summary(samples.rows),
        "wakeup_latency_max_ns": max(late, default=None),
        "malformed_samples": samples.malformed,
    }
