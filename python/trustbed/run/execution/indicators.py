"""Converts the indicators of CPU availability (wake-up latency, spin monitor) to Parquet.

Indicators run as processes of a host, so faults affect them. Samples (:mod:`trustbed.run.samples`)
are taken outside the host, so faults do not. What a kernel does not report is null.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from trustbed.run.execution.configurations import raw_samples
from trustbed.run.samples import LINE, TIME, Row, read_lines, shape
from trustbed.run.throttling import most_throttled
from trustbed.scenario import Watch
from trustbed.workload.tables import column, table

WAKEUPS = pa.schema(
    [
        column(
            "at_ns",
            pa.int64(),
            "ns",
            "time of the sample, since the epoch; late where the host itself did not run",
        ),
        column("interval_ns", pa.int64(), "ns", "since the previous sample"),
        column("wakeups", pa.int64(), "1", "wake-ups of the sleeping thread"),
        column(
            "wakeups_missed",
            pa.int64(),
            "1",
            "scheduled wake-ups that passed while an earlier one was late",
        ),
        column("wakeups_late", pa.int64(), "1", "wake-ups that were more than 0.25 ms late"),
        column(
            "wakeups_late_ns",
            pa.int64(),
            "ns",
            "total latency of these late wake-ups",
        ),
        column("wakeups_late_share", pa.float64(), "1", "the same as a share of the interval"),
        column("wakeup_latency_most_ns", pa.int64(), "ns", "largest wake-up latency"),
        column("wakeups_used_ns", pa.int64(), "ns", "processor time that the thread used"),
        column(
            "throttled_periods",
            pa.int64(),
            "1",
            "periods in which the host's own quota was used up; null without one",
        ),
        column("throttled_ns", pa.int64(), "ns", "how long tasks were throttled"),
    ]
)
SPIN = pa.schema(
    [
        column(
            "from_ns",
            pa.int64(),
            "ns",
            "beginning of the second, or of the monitored part of it, since the epoch",
        ),
        column("until_ns", pa.int64(), "ns", "its end"),
        column("watched_ns", pa.int64(), "ns", "how long the spin monitor ran in it"),
        column("lost_ns", pa.int64(), "ns", "how much of that was lost in gaps"),
        column(
            "share",
            pa.float64(),
            "1",
            "share of one core that the monitor got; null where it did not run",
        ),
        column(
            "availability_percent",
            pa.float64(),
            "%",
            "the same divided by the number of cores that the host may use",
        ),
        column("gaps", pa.int64(), "1", "gaps that began in it"),
        column(
            "longest_gap_ns",
            pa.int64(),
            "ns",
            "the longest of them, counted whole even if it ends later",
        ),
        column("starved", pa.bool_(), "", "whether the share is below 0.9"),
        column(
            "charged_excess_share",
            pa.float64(),
            "1",
            "share of charged CPU time beyond the time that it ran: hidden steal",
        ),
    ]
)
SCHEMAS = {"wakeups": WAKEUPS, "spin": SPIN}
ABOUT = {
    "wakeups": (
        "One row per second and host: the wake-up latency of a thread that sleeps for short "
        "intervals (`[samples]`, key `wakeups`)."
    ),
    "spin": (
        "One row per second and host: the CPU time that the spin monitor got "
        "(`[samples]`, key `spin`)."
    ),
}
_COUNTS = {
    "wakeups_missed": "missed",
    "wakeups_late": "late",
    "wakeups_late_ns": "late_ns",
    "wakeups_late_share": "late_share",
    "wakeup_latency_most_ns": "late_max_ns",
    "wakeups_used_ns": "used_ns",
}
"""The agent's keys, by column."""
_LINES = {
    "wakeups": LINE,
    "spin": shape(
        *(field for field in SPIN if field.name not in ("from_ns", "charged_excess_share")),
        needs={"at_ns": TIME},
        charged=shape(SPIN.field("charged_excess_share").with_name("excess_share")),
    ),
}
"""The lines of each kind."""


def convert(directory: Path, watch: Watch) -> Mapping[str, int]:
    """Converts the JSON lines of all indicators to tables beside them, and removes the lines.

    Returns the number of malformed lines by file, where there are any.
    """
    malformed: dict[str, int] = {}
    for host in watch.hosts:
        for kind, rows in (("wakeups", _wakeups), ("spin", _spin)):
            source = raw_samples(directory, host, kind)
            if source.is_file():
                read = read_lines(source, _LINES[kind])
                if read.malformed:
                    malformed[source.name] = read.malformed
                found = table(SCHEMAS[kind], [row for line in read.rows for row in rows(line)])
                pyarrow.parquet.write_table(
                    found, directory / f"{host}.{kind}.parquet", compression="zstd", version="2.6"
                )
                source.unlink()
    return malformed


def _wakeups(line: Row) -> Iterator[Row]:
    counted = line.get("wakeups") or {}
    quota = most_throttled(line.get("cgroups") or ())
    yield {
        "at_ns": line["at_ns"],
        "interval_ns": line.get("interval_ns"),
        "wakeups": counted.get("count"),
        **{column: counted.get(key) for column, key in _COUNTS.items()},
        "throttled_periods": quota.get("throttled_periods"),
        "throttled_ns": quota.get("throttled_ns"),
    }


def _spin(line: Row) -> Iterator[Row]:
    """One row per second; nulls where the thread did not spin."""
    yield {
        **line,
        "from_ns": line["at_ns"],
        "charged_excess_share": (line.get("charged") or {}).get("excess_share"),
    }
