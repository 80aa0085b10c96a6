"""What ``owping`` prints: one row per session, which is one direction of a path.

Read are its summary for people and that of ``-M`` (version 3 of its keys).
Precision: median and percentiles come from owping's histogram, whose bins are 0.1 ms wide unless
``-b`` says otherwise; a delay is only as right as the two clocks are synchronised (RFC 4656), the
jitter (95th percentile less median) does not depend on their offset.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest

import pyarrow as pa

from trustbed.workload.errors import WorkloadError, first_line
from trustbed.workload.tables import Row, column, nanoseconds, table

SUMMARY = pa.schema(
    [
        column("source", pa.string(), "", "host that sent the packets, as owping names it"),
        column("destination", pa.string(), "", "host that received them"),
        column("sent", pa.int64(), "1", "packets sent"),
        column("lost", pa.int64(), "1", "packets that did not arrive in time"),
        column("duplicates", pa.int64(), "1", "packets that arrived more than once"),
        column("delay_min_ns", pa.int64(), "ns", "smallest one-way delay"),
        column("delay_p50_ns", pa.int64(), "ns", "median one-way delay"),
        column("delay_max_ns", pa.int64(), "ns", "largest one-way delay"),
        column("jitter_ns", pa.int64(), "ns", "95th percentile of the one-way delay less median"),
        column(
            "error_ns",
            pa.int64(),
            "ns",
            "largest error of a delay by the clocks' own estimate; null: not synchronised",
        ),
    ]
)
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_HEAD = re.compile(r"--- owping statistics from \[(.+?)\]:\S+ to \[(.+?)\]:\S+ ---")
_COUNTS = re.compile(r"(\d+) sent, (\d+) lost \([^)]*\), (\d+) duplicates")
_DELAYS = re.compile(
    r"one-way delay min/median/max = (\S+?)/(\S+?)/(\S+) (ns|us|ms|s)?, "
    r"\((?:err=(\S+) (?:ns|us|ms|s)?|unsync)\)"
)
_JITTER = re.compile(r"one-way jitter = (\S+) (ns|us|ms|s)? \(P95-P50\)")
_ADVICE = "keep the standard output of owping (with -M or without, but not -R or -Q) as it is"


def is_owping(text: str) -> bool:
    """Whether a text looks like output of owping."""
    return bool(_HEAD.search(text)) or bool(re.search(r"^SUMMARY\t\d", text, re.MULTILINE))


def summary(text: str) -> pa.Table:
    """One row per session (:data:`SUMMARY`), in the order of the output.

    Raises:
        WorkloadError: It is no such output, an incomplete one, or no packet was sent.
    """
    machine = re.split(r"^SUMMARY\t", text, flags=re.MULTILINE)[1:]
    rows = [_of_keys(part) for part in machine] if machine else list(_of_people(text))
    if not rows:
        raise WorkloadError(
            f"this is no output of owping (it begins with: {first_line(text)})", _ADVICE
        )
    if not any(row["sent"] for row in rows):
        raise WorkloadError(
            "owping sent no packet", "is owampd up on the peer, and does it allow the test?"
        )
    return table(SUMMARY, rows)


def _of_people(text: str) -> Iterator[Row]:
    heads = list(_HEAD.finditer(text))
    for head, following in zip_longest(heads, heads[1:]):
        part = text[head.end() : following.start() if following else len(text)]
        counts, delays, jitter = (one.search(part) for one in (_COUNTS, _DELAYS, _JITTER))
        if not counts or not delays or not jitter:
            raise WorkloadError(
                f"owping's summary of {head[1]} to {head[2]} is incomplete", _ADVICE
            )
        unit = _UNITS[delays[4] or "s"]
        yield {
            "source": head[1],
            "destination": head[2],
            "sent": int(counts[1]),
            "lost": int(counts[2]),
            "duplicates": int(counts[3]),
            "delay_min_ns": _known(delays[1], unit),
            "delay_p50_ns": _known(delays[2], unit),
            "delay_max_ns": _known(delays[3], unit),
            "jitter_ns": _known(jitter[1], _UNITS[jitter[2] or "s"]),
            "error_ns": _known(delays[5], unit),
        }


def _of_keys(part: str) -> Row:
    lines = part.splitlines()
    if not lines or not lines[0].startswith("3."):
        version = lines[0] if lines else "none"
        raise WorkloadError(
            f"owping -M printed version {version} of its keys; version 3 is known",
            "use an OWAMP that prints version 3, or leave out -M",
        )
    found = dict(line.split("\t", 1) for line in lines[1:] if line.count("\t") == 1)
    synchronised = _whole(found, "SYNC")
    return {
        "source": found.get("FROM_HOST"),
        "destination": found.get("TO_HOST"),
        "sent": _whole(found, "SENT"),
        "lost": _whole(found, "LOST"),
        "duplicates": _whole(found, "DUPS"),
        "delay_min_ns": _known(found.get("MIN")),
        "delay_p50_ns": _known(found.get("MEDIAN")),
        "delay_max_ns": _known(found.get("MAX")),
        "jitter_ns": _known(found.get("PDV")),
        "error_ns": _known(found.get("MAXERR")) if synchronised else None,
    }


def _whole(found: Mapping[str, str], key: str) -> int:
    try:
        return int(found[key])
    except (KeyError, ValueError):
        raise WorkloadError(f"owping -M printed no count for {key}", _ADVICE) from None


def _known(text: str | None, unit: float = 1.0) -> int | None:
    """A time in nanoseconds; owping prints ``nan`` where no packet arrived."""
    value = math.nan if text is None else float(text)
    return nanoseconds(value, unit) if math.isfinite(value) else None
