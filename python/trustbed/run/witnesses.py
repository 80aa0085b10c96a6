"""What processes on a host themselves saw of its processor, from lines of JSON to Parquet: those that nap, and those that spin.

They belong to the host: what disturbs its processes disturbs them. Samples beside them (:mod:`trustbed.run.samples`) look from outside and
are never disturbed. What a kernel does not tell is null.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from trustbed.run.configurations import raw
from trustbed.scenario import Watch
from trustbed.workload.tables import column, table

WITNESS = pa.schema(
    [
        column(
            "at_ns",
            pa.int64(),
            "ns",
            "when it was looked, since the epoch; late where the host itself did not run",
        ),
        column("interval_ns", pa.int64(), "ns", "since the look before"),
        column("naps", pa.int64(), "1", "how often the thread that naps woke up"),
        column(
            "naps_missed",
            pa.int64(),
            "1",
            "moments that passed before it had woken up for an earlier one",
        ),
        column("naps_late", pa.int64(), "1", "naps that ended more than 0.25 ms late"),
        column(
            "naps_late_ns", pa.int64(), "ns", "how long it was due and did not run, in those alone"
        ),
        column("naps_late_share", pa.float64(), "1", "the same as a share of the time"),
        column("naps_late_most_ns", pa.int64(), "ns", "the latest nap"),
        column("naps_used_ns", pa.int64(), "ns", "processor time that the thread used"),
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
SCHEMAS = {"witness": WITNESS, "spin": SPIN}
ABOUT = {
    "witness": "One row per second and host: what a thread saw that sleeps from moment to moment (`[samples]`, key `naps`).",
    "spin": "One row per second and host: what a thread had that always wants to run (`[samples]`, key `spin`).",
}

Row = Mapping[str, Any]


def convert(folder: Path, watch: Watch) -> None:
    """Turns the lines of those that were asked for into tables beside them, and removes the former."""
    for host in watch.hosts:
        for kind, rows in (("witness", _witness), ("spin", _spin)):
            source = raw(folder, host, kind)
            if source.is_file():
                found = table(SCHEMAS[kind], [row for line in _lines(source) for row in rows(line)])
                pyarrow.parquet.write_table(
                    found, folder / f"{host}.{kind}.parquet", compression="zstd", version="2.6"
                )
                source.unlink()


def _lines(source: Path) -> Iterator[Row]:
    """All but the first, which says what the others are; a last one that was cut is left out."""
    for text in source.read_text(encoding="utf-8").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if "at_ns" in line:
            yield line


def _witness(line: Row) -> Iterator[Row]:
    naps = line.get("naps") or {}
    known = {
        f"naps_{name}": naps.get(name)
        for name in ("missed", "late", "late_ns", "late_share", "late_most_ns", "used_ns")
    }
    quotas = line.get("cgroups") or ()
    yield {
        "at_ns": line["at_ns"],
        "interval_ns": line.get("interval_ns"),
        "naps": naps.get("count"),
        **known,
        "throttled_periods": _most(quotas, "throttled_periods"),
        "throttled_ns": _most(quotas, "throttled_ns"),
    }


def _most(quotas: tuple[Row, ...] | list[Row], key: str) -> int | None:
    """Of quotas one within the other, each counts what the inner one holds back as well."""
    return max((one[key] for one in quotas if one.get(key) is not None), default=None)


def _spin(line: Row) -> Iterator[Row]:
    """Seconds in which nothing was watched tell nothing, and are told."""
    yield {
        **line,
        "from_ns": line["at_ns"],
        "charged_excess_share": (line.get("charged") or {}).get("excess_share"),
    }
