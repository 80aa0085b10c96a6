"""Campaigns as the library offers them: carried out between hosts that exist, every round judged as it arrives, and summed up.

Joins the halves: :mod:`trustbed.rounds` measures, :func:`judge_round` judges one round by its capture and by what its sender saw of itself,
and :func:`~trustbed.campaign_report.open_campaign` says what all rounds so far come to. What is derived can be made again.

Bias: connections are judged by the capture beside their sender, what was lost between the two hosts and the receiver's part of a round
trip corrected by the one beside the receiver. The receiver's own samples stand beside the verdict; none is made of them.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

from trustbed import _core
from trustbed.campaign import VERDICTS, path_of
from trustbed.campaign_report import open_campaign
from trustbed.capture import analyze
from trustbed.diagnose.evidence import Row
from trustbed.diagnose.host import HostEvidence, kernel_times, processor_of
from trustbed.diagnose.judge import HostOf
from trustbed.ends import Ends, join
from trustbed.resources import Asking
from trustbed.rounds.directory import CAPTURE, CAPTURES, FAR_CAPTURE, CampaignDirectory, RoundFolder
from trustbed.rounds.listener import RoundListener
from trustbed.rounds.round import connections_of, ends_of
from trustbed.rounds.runner import Runner
from trustbed.run.samples import below, lines_of, summary
from trustbed.scenario import campaign as campaigns
from trustbed.scenario.campaign_model import Campaign
from trustbed.testbed.remote import Hosts, Keep
from trustbed.workload import mean

__all__ = ["default_folder", "judge_round", "measure", "open_campaign"]

_CROSSING_COLUMNS = (
    "sender",
    "sender_port",
    "from_place",
    "data_sent",
    "data_passed",
    "data_lost",
    "data_unseen",
    "needless_frames",
    "reordered_frames",
    "delay_floor_ns",
    "delay_above_floor_p50_ns",
    "delay_above_floor_p95_ns",
    "path_p50_ns",
    "turnaround_p50_ns",
)
MOST_SKEW = 500e-6
"""No clock that runs is steered faster than by this (RFC 5905: 500 ppm); ours may be, too."""
KEEP_SECONDS = 300
"""How long the data of a round that has met its time limits wait on a host to which there is no way."""
_HOSTS: tuple[Literal["sender", "receiver"], ...] = ("sender", "receiver")
_GRAVEST_FIRST = ("discard", "review", "trust")
_COLUMNS = (
    "transfer",
    "src",
    "src_port",
    "rtt_mean_ns",
    "rtt_sd_ns",
    "rto_linux_ns",
    "spacing_mean_ns",
    "oversize_fraction",
    "loss_rate",
    "segments_wire",
    "retransmitted_packets",
    "window_max_bytes",
    "withheld_fraction",
    "mss",
    "payload_bytes_per_packet",
    "packet_bytes",
    "cause",
    "confidence",
    "verdict",
    "rule",
)
"""Of the table of transfers."""


def measure(
    study: campaigns.CampaignFile,
    directory: CampaignDirectory,
    *,
    about: Mapping[str, object],
    listener: RoundListener | None = None,
) -> None:
    """Carries a campaign out, or takes it up where it was left, until its last round has ended.

    What Prometheus and CloudWatch know of the hosts is asked for beside it, if the inventory says so.

    Raises ``RunDirectoryError``, ``AgentError``, ``TestbedError``, ``CampaignError``, or ``SourceError`` where CloudWatch is to be asked
    and cannot be; each has a ``message`` and a ``hint``.
    """
    asking = Asking(study.campaign, directory)

    def judge(folder: RoundFolder, record: Mapping[str, Any], campaign: Campaign) -> dict[str, Any]:
        asking.put(folder, record)
        return judge_round(folder, record, campaign)

    names = [host.name for host in study.campaign.hosts]
    keep = Keep(
        seconds=keep_seconds(study.campaign),
        owner=f"{os.uname().nodename}:{directory.path.resolve()}",
    )
    with Hosts(study.campaign.inventory, names, keep=keep) as hosts:
        Runner(
            study, directory, hosts, judge=judge, about=about, listener=listener, beside=asking
        ).carry_out()


def keep_seconds(campaign: Campaign) -> int:
    """How long a host to which there is no way goes on, and keeps what it has: until a round has met its time limits, and longer."""
    return math.ceil(campaign.rounds.longest_ns / 1e9) + KEEP_SECONDS


def default_folder(study: campaigns.CampaignFile) -> Path:
    """Where a campaign goes that nobody named a place for: here."""
    return Path(f"{study.file.stem}.pairs")


# A round.


def judge_round(
    folder: RoundFolder, record: Mapping[str, Any], campaign: Campaign
) -> dict[str, Any]:
    """What a round came to: a row for each of its connections, and what may be done with it."""
    ends, unjoined = _join(folder, record)
    crossings = {} if ends is None else _crossings(ends)
    transfers, findings, error = _transfers(folder, record, ends)
    base = _base(record)
    received, sent = ends_of(record, "received"), ends_of(record, "sent")
    rows = []
    for one in connections_of(record):
        key = (one["number"], one["role"])
        here, there = sent.get(key) or {}, received.get(key) or {}
        transfer = transfers.get(str(here.get("local")), {})
        crossing = crossings.get(str(here.get("local")), _crossed({}))
        rows.append(
            {**_row(record, one, base), **_ends(here, there), **_measured(transfer), **crossing}
        )
    verdicts = Counter(row["verdict"] for row in rows if row["verdict"] in VERDICTS)
    flags = _flags(record, rows, unjoined)
    return {
        "outcome": record["outcome"],
        "use": next((verdict for verdict in _GRAVEST_FIRST if verdicts[verdict]), None),
        "verdicts": {verdict: verdicts[verdict] for verdict in VERDICTS},
        "flags": flags,
        "hosts": {role: _host(_samples(folder, record, role)) for role in _HOSTS},
        "connections": rows,
        "path": path_of(record, clock_set="clock_set" in flags),
        "clocks": None if ends is None else asdict(ends.clocks),
        "findings": findings,
        "capture_error": error,
        "join_error": unjoined,
    }


def _transfers(
    folder: RoundFolder, record: Mapping[str, Any], ends: Ends | None
) -> tuple[dict[str, Row], list[dict[str, Any]], str | None]:
    """Judged transfers by the end that they were sent from, what was found in the capture, and why it could not be read."""
    file = folder.path / CAPTURE
    if not file.is_file():
        return {}, [], None
    try:
        capture = analyze(
            file, at="sender", workload="bulk", workers=1, host_of=_evidence(folder, record, ends)
        )
    except _core.CaptureError as error:
        return {}, [], error.message
    rows = {
        _end(row["src"], row["src_port"]): row
        for row in capture.transfers.select(_COLUMNS).to_pylist()
    }
    return rows, [asdict(finding) for finding in capture.examination.findings], None


def _join(folder: RoundFolder, record: Mapping[str, Any]) -> tuple[Ends | None, str | None]:
    """Both captures, where there are two of two places; why they cannot be joined, if so."""
    if not all((folder.path / name).is_file() for name in CAPTURES):
        return None, None
    if (record.get("ping") or {}).get("interface") == "lo":
        # Both hosts are one machine: between them is nothing that takes time or loses.
        return None, None
    try:
        return join(folder.path / CAPTURE, folder.path / FAR_CAPTURE), None
    except _core.CaptureError as error:
        return None, error.message


def _crossings(ends: Ends) -> dict[str, dict[str, Any]]:
    """What both captures together say of each connection's data, by the end that they were sent from."""
    found = {}
    for row in ends.crossings.select(_CROSSING_COLUMNS).to_pylist():
        if row["from_place"] == "first":
            # What the far capture dropped looks lost there: how much was is not known then.
            lost = None if ends.dropped["second"] else row["data_lost"]
            found[_end(row["sender"], row["sender_port"])] = _crossed({**row, "data_lost": lost})
    return found


def _crossed(crossing: Row) -> dict[str, Any]:
    """What was lost between the hosts and what was not, how long the way took, and what the receiver took of a round trip."""
    return {
        "sent_between": crossing.get("data_sent"),
        "passed_between": crossing.get("data_passed"),
        "lost_between": crossing.get("data_lost"),
        "unseen": crossing.get("data_unseen"),
        "needless": crossing.get("needless_frames"),
        "reordered": crossing.get("reordered_frames"),
        "one_way_floor_seconds": _seconds(crossing.get("delay_floor_ns")),
        "one_way_above_floor_p50_seconds": _seconds(crossing.get("delay_above_floor_p50_ns")),
        "one_way_above_floor_p95_seconds": _seconds(crossing.get("delay_above_floor_p95_ns")),
        "path_p50_seconds": _seconds(crossing.get("path_p50_ns")),
        "turnaround_p50_seconds": _seconds(crossing.get("turnaround_p50_ns")),
    }


def _end(address: str, port: object) -> str:
    """As agents write it."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _evidence(folder: RoundFolder, record: Mapping[str, Any], joined: Ends | None) -> HostOf:
    """What is known of the sender's machine and seen at the other end, for the rows of its own connections."""
    ends = {str(row.get("local")): row for row in ends_of(record, "sent").values()}
    seen_of = None if joined is None else joined.sent_from("first")
    lines = _samples(folder, record, "sender")
    processes, cgroups = (
        list(below(lines, key, ("interval_ns",))) for key in ("processes", "cgroups")
    )

    def of(row: Row) -> HostEvidence | None:
        if (end := ends.get(_end(str(row.get("src")), row.get("src_port")))) is None:
            return None
        processor = processor_of(processes, cgroups)
        times = kernel_times(
            end.get("tcp") or {}, send_buffer_bytes=end.get("send_buffer_bytes"), declared=False
        )
        return replace(processor, kernel=times, ends=None if seen_of is None else seen_of(row))

    return of


def _samples(
    folder: RoundFolder, record: Mapping[str, Any], role: Literal["sender", "receiver"]
) -> list[Mapping[str, Any]]:
    """What a host saw of itself, until its last connection had ended: one to which the way was lost goes on until somebody tells it."""
    file = folder.path / f"{role}.samples.jsonl"
    if not file.is_file():
        return []
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
        return list(lines_of(file))
    until = record["started_ns"][role] + ended
    return [line for line in lines_of(file) if line["at_ns"] - line["interval_ns"] <= until]


def _base(record: Mapping[str, Any]) -> float | None:
    found = [
        trip / 1e9
        for trip in (record.get("ping") or {}).get("round_trips_ns") or ()
        if trip is not None
    ]
    return mean(found)


def _row(record: Mapping[str, Any], one: Mapping[str, Any], base: float | None) -> dict[str, Any]:
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


def _ends(sent: Mapping[str, Any], received: Mapping[str, Any]) -> dict[str, Any]:
    """What both hosts said of a connection."""
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
        "oversize_fraction": transfer.get("oversize_fraction"),
        "loss_rate": transfer.get("loss_rate"),
        "segments": transfer.get("segments_wire"),
        "retransmitted": transfer.get("retransmitted_packets"),
        "window_max_bytes": transfer.get("window_max_bytes"),
        "withheld_fraction": transfer.get("withheld_fraction"),
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
    record: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], unjoined: str | None
) -> list[str]:
    """What is to be known of the round as a whole."""
    watched = record.get("watched") or {}
    captures = [watched.get(f"{role}.capture") or {} for role in ("sender", "receiver")]
    found = {
        "no_capture": not captures[0],
        "one_end_only": bool(captures[0]) and not captures[1],
        "capture_loss": any(one.get("dropped_frames") for one in captures),
        "not_joined": unjoined is not None,
        "clock_set": any(_is_set(record, role) for role in _HOSTS),
        "no_ping": _base(record) is None,
        "not_all_judged": any(row["failure"] is None and row["cause"] is None for row in rows)
        and bool(captures[0]),
    }
    return [name for name, holds in found.items() if holds]


def _is_set(record: Mapping[str, Any], role: str) -> bool:
    """Whether a host's clock went another way during the round than any that is only steered, against the one of this machine."""
    before, after = ((record.get(key) or {}).get(role) for key in ("clocks", "clocks_after"))
    if before is None or after is None:
        return False
    possible = (
        before["error_ns"]
        + after["error_ns"]
        + 2 * MOST_SKEW * abs(after["at_ns"] - before["at_ns"])
    )
    return bool(abs(after["ahead_ns"] - before["ahead_ns"]) > possible)


def _host(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How a host was during the connections, from its samples."""
    late = [
        line["naps"]["late_most_ns"]
        for line in lines
        if line.get("naps") and line["naps"].get("late_most_ns") is not None
    ]
    return {**summary(lines), "nap_late_max_ns": max(late, default=None)}
