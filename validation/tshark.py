"""Runs tshark and reads its TCP analysis, frame by frame."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

FLAGS = (
    "retransmission",
    "fast_retransmission",
    "spurious_retransmission",
    "out_of_order",
    "duplicate_ack",
    "keep_alive",
    "zero_window",
    "zero_window_probe",
    "lost_segment",
    "ack_lost_segment",
)
FIELDS = (
    "frame.number",
    "tcp.stream",
    "tcp.len",
    "tcp.srcport",
    "tcp.seq_raw",
    *(f"tcp.analysis.{flag}" for flag in FLAGS),
)
# What a user of tshark gets without a configuration of their own.
OPTIONS = ("-n", "-o", "tcp.desegment_tcp_streams:FALSE")


class UnreadableError(Exception):
    """tshark cannot read this capture; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A TCP packet as tshark sees it.

    `layers`: TCP headers in the frame, more than one where a tunnel or an ICMP error carries
    another.
    """

    number: int
    streams: tuple[int, ...]
    lengths: tuple[int, ...]
    ports: tuple[int, ...]
    seqs: tuple[int, ...]
    flags: frozenset[str]


def version() -> str:
    """What tshark calls itself."""
    ended = subprocess.run(["tshark", "--version"], capture_output=True, text=True, check=False)
    return (
        " ".join(ended.stdout.splitlines()[0].split()[:3]).rstrip(".")
        if ended.stdout
        else "tshark (unknown version)"
    )


def run(path: Path) -> dict[int, Frame]:
    """TCP frames of a capture by their number.

    Raises:
        UnreadableError: tshark does not read the file to its end.
    """
    command = [
        "tshark",
        *OPTIONS,
        "-r",
        str(path),
        "-Y",
        "tcp",
        "-T",
        "fields",
        "-E",
        "separator=/t",
        "-E",
        "occurrence=a",
        "-E",
        "aggregator=,",
    ]
    for name in FIELDS:
        command += ["-e", name]
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if ended.returncode != 0:
        complaints = [line for line in ended.stderr.splitlines() if line and "as user" not in line]
        raise UnreadableError(
            complaints[0][:150] if complaints else f"exit code {ended.returncode}"
        )
    return dict(map(_frame, ended.stdout.splitlines()))


def _frame(line: str) -> tuple[int, Frame]:
    number, streams, lengths, ports, seqs, *flags = line.split("\t")
    return int(number), Frame(
        int(number),
        _numbers(streams),
        _numbers(lengths),
        _numbers(ports),
        _numbers(seqs),
        frozenset(name for name, value in zip(FLAGS, flags, strict=True) if value),
    )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)
