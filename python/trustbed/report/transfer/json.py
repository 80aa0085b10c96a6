"""The JSON contract: one document per capture, versioned, streamed.

``docs/json.md`` describes it and ``schema.json`` beside this file checks it. One table row is one
line of text, so that ``grep`` works on it and memory does not grow with the capture. Transfers that
are too short to judge, of which there may be millions, are arrays under one row of names. Numbers
are in base units, unknown is null, and what is not a number does not occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TextIO

from trustbed.report.printable import json_text, unchecked
from trustbed.report.records import Row

#: Raised when a field changes its meaning or goes away; new fields do not raise it.
SCHEMA_VERSION = 2

LINES_AT_A_TIME = 256
"""So many rows are written together: a few hundred kilobytes of text."""

#: What the document has of a transfer that is too short to judge; ``--out`` writes every column.
TOO_SHORT_COLUMNS = (
    "transfer",
    "connection",
    "src",
    "src_port",
    "dst",
    "dst_port",
    "at",
    "start_ns",
    "duration_ns",
    "packets",
    "payload_bytes",
    "unique_bytes",
    "retransmitted_packets",
    "retransmitted_bytes",
    "rtt_samples",
    "rtt_min_ns",
    "rtt_mean_ns",
    "throughput_bytes_per_second",
    "loss_rate",
    "one_sided",
    "midstream",
    "flags",
)


def write(
    stream: TextIO,
    *,
    about: Row,
    capture: Row,
    findings: Iterable[Row],
    skips: Iterable[Row],
    connections: Iterable[str],
    transfers: Iterable[str],
    too_short: Lines,
    summary: Row,
    burstiness: Row | None = None,
    two_point: Row | None = None,
) -> None:
    """Writes the document; the iterables are consumed one row at a time.

    Connections and transfers are lines of :mod:`trustbed.report.json_lines`.
    """
    put = unchecked(stream)
    put(
        f'{{\n"trustbed": {json_text(about)},\n"summary": {json_text(summary)},\n"capture": '
        f"{json_text(capture)}"
    )
    _write_lines(put, "findings", map(json_text, findings))
    _write_lines(put, "skips", map(json_text, skips))
    _write_lines(put, "transfers", transfers)
    put(f',\n"transfers_too_short": {{"columns": {json_text(too_short.names)}')
    _write_lines(put, "rows", too_short.lines)
    put("}")
    _write_lines(put, "connections", connections)
    for name, part in (("burstiness", burstiness), ("two_point", two_point)):
        if part is not None:
            put(f',\n"{name}": {json_text(part)}')
    put("\n}\n")


@dataclass(frozen=True, slots=True)
class Lines:
    """Rows as arrays: the names of their values, and a line for each row."""

    names: Sequence[str]
    lines: Iterable[str]


def _write_lines(put: Callable[[str], object], name: str, lines: Iterable[str]) -> None:
    put(f',\n"{name}": [')
    separator = "\n"
    remaining = iter(lines)
    while part := ",\n".join(islice(remaining, LINES_AT_A_TIME)):
        put(separator + part)
        separator = ",\n"
    put("]" if separator == "\n" else "\n]")
