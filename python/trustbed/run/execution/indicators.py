"""Indicators of processor availability from within a host, from lines of JSON to Parquet.

Wake-up latency, and the spin monitor.

They run on the host: a fault that affects its processes affects them. Samples beside them
(:mod:`trustbed.run.samples`) are taken outside and are never affected. What a kernel does not
report is null.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from trustbed.run.execution.configurations import raw
from trustbed.run.samples import Row, read_lines
from trustbed.run.throttling import most_throttled
from trustbed.scenario import Watch
from trustbed.workload.tables import column, table

WAKEUPS = pa.schema(
    [
        column(
            "at_ns",
            pa.int64(),
            "ns",
            "when it was looked, since the epoch; late where the host itself did not run",
        ),
        column("interval_ns", pa.int64(), "ns", "since the look before"),
        column("wakeups", pa.int64(), "1", "how often the thread that sleeps woke up"),
        column(
            "wakeups_missed",
            pa.int64(),
            "1",
            "moments that passed before it had woken up for an earlier one",
        ),
        column("wakeups_late", pa.int64(), "1", "wake-ups that were more than 0.25 ms late"),
        column(
            "wakeups_late_ns",
            pa.int64(),
            "ns",
            "how long it was due and did not run, in those alone",
        ),
        column("wakeups_late_share", pa.float64(), "1", "the same as a share of the time"),
        column("wakeup_latency_most_ns", pa.int64(), "ns", "the latest nap"),
        column("wakeups_used_ns", pa.int64(), "ns", "processor time that the thread used"),
        column(
            "throttled_periods",
            pa.int64(),
            "1",
            "periods in which the host's own quota was used up; null without one",
        ),
        column("throttled_ns", pa.int64(), "ns", "how long tasks waited for the next period"),
    ]
)
SPIN = pa.schema(
    [
        column(
            "from_ns",
            pa.int64(),
            "ns",
            "beginning of the second, or of what was watched of it, since the epoch",
        ),
        column("until_ns", pa.int64(), "ns", "its end"),
        column("watched_ns", pa.int64(), "ns", "how long a thread spun in it"),
        column("lost_ns", pa.int64(), "ns", "how much of that it lost in gaps"),
        column(
            "share",
            pa.float64(),
            "1",
            "the share of a core that it had; null where it did not spin",
        ),
        column(
            "availability_percent",
            pa.float64(),
            "%",
            "the same as a part of the node: divided by the cores that it may use",
        ),
        column("gaps", pa.int64(), "1", "gaps that began in it"),
        column(
            "longest_gap_ns",
            pa.int64(),
            "ns",
            "the longest of them, whole even where it ends later",
        ),
        column("starved", pa.bool_(), "", "whether the share is below 0.9"),
        column(
            "charged_excess_share",
            pa.float64(),
            "1",
            "by how much more than it had the kernel charged: stolen time that nobody tells",
        ),
    ]
)
SCHEMAS = {"wakeups": WAKEUPS, "spin": SPIN}
ABOUT = {
    "wakeups": (
        "One row per second and host: what a thread saw that sleeps from moment to moment "
        "(`[samples]`, key `wakeups`)."
    ),
    "spin": (
        "One row per second and host: what a thread had that always wants to run "
        "(`[samples]`, key `spin`)."
    ),
}


def convert(directory: Path, watch: Watch) -> Mapping[str, int]:
    """Turns the requested JSON lines into tables beside them, and removes the lines.

    Returns how many lines of each file were malformed, where any were.
    """
    malformed: dict[str, int] = {}
    for host in watch.hosts:
        for kind, rows in (("wakeups", _wakeups), ("spin", _spin)):
            source = raw(directory, host, kind)
            if source.is_file():
                read = read_lines(source)
                if read.malformed:
                    malformed[source.name] = read.malformed
                found = table(SCHEMAS[kind], [row for line in read.rows for row in rows(line)])
                pyarrow.parquet.write_table(
                    found, directory / f"{host}.{kind}.parquet", compression="zstd", version="2.6"
                )
                source.unlink()
    return malformed


_COUNTS = {
    "wakeups_missed": "missed",
    "wakeups_late": "late",
    "wakeups_late_ns": "late_ns",
    "wakeups_late_share": "late_share",
    "wakeup_latency_most_ns": "late_most_ns",
    "wakeups_used_ns": "used_ns",
}
"""Columns, by what the agent calls them."""


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
    """Seconds without a watched time have nulls, and are rows all the same."""
    yield {
        **line,
        "from_ns": line["at_ns"],
        "charged_excess_share": (line.get("charged") or {}).get("excess_share"),
    }
