"""The output of ``iperf3 --json``: a row per stream and interval, a summary per direction.

Rates are of the payload, without headers of TCP, UDP and IP. What a run that was interrupted
received is not known to the sender: null.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from trustbed.workload.errors import WorkloadError, first_line
from trustbed.workload.tables import Row, column, nanoseconds, table

_MICROSECOND = 1e-6
_MILLISECOND = 1e-3

SUMMARY = pa.schema(
    [
        column("direction", pa.string(), "", "upload (client to server) or download"),
        column("protocol", pa.string(), "", "TCP, UDP or SCTP"),
        column("streams", pa.int64(), "1", "streams at a time"),
        column("duration_ns", pa.int64(), "ns", "duration of sending"),
        column("sent_bytes", pa.int64(), "B", "payload that the sender handed to its kernel"),
        column("sent_bits_per_second", pa.float64(), "bit/s", "the same per second"),
        column("received_bytes", pa.int64(), "B", "payload that the receiver read"),
        column("received_bits_per_second", pa.float64(), "bit/s", "the same per second"),
        column("retransmits", pa.int64(), "1", "segments that TCP sent again"),
        column("jitter_ns", pa.int64(), "ns", "UDP: jitter after RFC 1889"),
        column("packets", pa.int64(), "1", "UDP: datagrams"),
        column("lost_packets", pa.int64(), "1", "UDP: datagrams that did not arrive"),
        column("congestion_control", pa.string(), "", "TCP: the sender's"),
        column("error", pa.string(), "", "why the run ended early; null when it did not"),
    ]
)
INTERVALS = pa.schema(
    [
        column("stream", pa.int64(), "1", "number of the stream's socket"),
        column("sending", pa.bool_(), "", "whether this end sends"),
        column(
            "start_ns",
            pa.int64(),
            "ns",
            "beginning of the interval, since the beginning of the run",
        ),
        column("end_ns", pa.int64(), "ns", "end of the interval"),
        column("bytes", pa.int64(), "B", "payload"),
        column("bits_per_second", pa.float64(), "bit/s", "the same per second"),
        column("retransmits", pa.int64(), "1", "segments that TCP sent again"),
        column("congestion_window_bytes", pa.int64(), "B", "TCP: at the end of the interval"),
        column("rtt_ns", pa.int64(), "ns", "TCP: smoothed RTT at the end of the interval"),
        column(
            "rtt_variation_ns", pa.int64(), "ns", "TCP: RTT variation at the end of the interval"
        ),
        column("jitter_ns", pa.int64(), "ns", "UDP: jitter after RFC 1889, at the receiver"),
        column("packets", pa.int64(), "1", "UDP: datagrams"),
        column(
            "lost_packets", pa.int64(), "1", "UDP: datagrams that did not arrive, at the receiver"
        ),
        column(
            "omitted",
            pa.bool_(),
            "",
            "whether it belongs to the seconds that --omit leaves out of the summary",
        ),
    ]
)

_ADVICE = "run iperf3 with --json, and capture its standard output"


def _report(text: str) -> Mapping[str, Any]:
    try:
        report = json.loads(text)
    except (ValueError, RecursionError):
        raise WorkloadError(
            f"this is no report of iperf3 --json (it begins with: {first_line(text)})", _ADVICE
        ) from None
    if not isinstance(report, dict) or "end" not in report or "intervals" not in report:
        raise WorkloadError(
            'this JSON is no report of iperf3: it has no "intervals" and "end"', _ADVICE
        )
    if not report["end"].get("sum_sent") and not report["end"].get("sum"):
        raise WorkloadError(
            f"iperf3 gave up: {report.get('error') or 'it has no summary'}",
            (
                "is a server (iperf3 -s) up and reachable from this host, and not busy with "
                "another client?"
            ),
        )
    return report


def summary(text: str) -> pa.Table:
    """One row per direction (:data:`SUMMARY`): two with ``--bidir``.

    Raises:
        WorkloadError: It is no such report, or the run failed before anything was measured.
    """
    report = _report(text)
    test = report["start"].get("test_start", {})
    first = "download" if test.get("reverse") else "upload"
    rows = [_direction(report, test, first, "")]
    if "sum_sent_bidir_reverse" in report["end"]:
        rows.append(_direction(report, test, "download", "_bidir_reverse"))
    return table(SUMMARY, rows)


def _direction(
    report: Mapping[str, Any], test: Mapping[str, Any], direction: str, ending: str
) -> Row:
    end = report["end"]
    error = report.get("error")
    # Before 3.11 the summary of UDP was one: bytes are the sender's, losses the receiver's.
    alone = {} if f"sum_sent{ending}" in end else end.get("sum", {})
    sent = alone or end[f"sum_sent{ending}"]
    received = {} if error else _arrived(alone) or end.get(f"sum_received{ending}", {})
    # With --bidir both ends send, and only this end's congestion control is known to be its
    # sender's.
    control = end.get("sender_tcp_congestion") if not ending else end.get("receiver_tcp_congestion")
    return {
        "direction": direction,
        "protocol": test.get("protocol"),
        "streams": test.get("num_streams"),
        "duration_ns": nanoseconds(sent["seconds"]),
        "sent_bytes": sent["bytes"],
        "sent_bits_per_second": float(sent["bits_per_second"]),
        "received_bytes": received.get("bytes"),
        "received_bits_per_second": None if not received else float(received["bits_per_second"]),
        "retransmits": sent.get("retransmits"),
        "jitter_ns": nanoseconds(received.get("jitter_ms"), _MILLISECOND),
        "packets": sent.get("packets"),
        "lost_packets": received.get("lost_packets"),
        "congestion_control": control,
        "error": error,
    }


def _arrived(alone: Mapping[str, Any]) -> Mapping[str, Any]:
    """What arrived, of the only summary that UDP had; nothing where there are two."""
    if not alone:
        return {}
    packets, lost = alone.get("packets") or 0, alone.get("lost_packets") or 0
    share = 1 - max(0, lost) / packets if packets else 0.0
    rate = share * alone["bits_per_second"]
    return {**alone, "bytes": round(share * alone["bytes"]), "bits_per_second": rate}


def intervals(text: str) -> pa.Table:
    """One row per stream and interval (:data:`INTERVALS`).

    Raises:
        WorkloadError: As :func:`summary`.
    """
    report = _report(text)
    return table(INTERVALS, [_interval(stream) for stream in _streams(report)])


def _streams(report: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for interval in report["intervals"]:
        yield from interval["streams"]


def _interval(stream: Mapping[str, Any]) -> Row:
    return {
        "stream": stream["socket"],
        "sending": stream.get("sender"),
        "start_ns": nanoseconds(stream["start"]),
        "end_ns": nanoseconds(stream["end"]),
        "bytes": stream["bytes"],
        "bits_per_second": float(stream["bits_per_second"]),
        "retransmits": stream.get("retransmits"),
        "congestion_window_bytes": stream.get("snd_cwnd"),
        "rtt_ns": nanoseconds(stream.get("rtt"), _MICROSECOND),
        "rtt_variation_ns": nanoseconds(stream.get("rttvar"), _MICROSECOND),
        "jitter_ns": nanoseconds(stream.get("jitter_ms"), _MILLISECOND),
        "packets": stream.get("packets"),
        "lost_packets": stream.get("lost_packets"),
        "omitted": stream.get("omitted"),
    }
