"""Stores made by hand, whose answers can be found with paper and pencil."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from trustbed.store.captures import date_of
from trustbed.store.entry import About, key_of
from trustbed.store.store import Store, open_store
from trustbed.store.tables import conformed, store_schemas

SECOND = 10**9
HOUR, DAY = 3600 * SECOND, 86_400 * SECOND
BEGAN = 1_767_225_600 * SECOND
"""2026-01-01T00:00:00Z, a midnight."""
VERSION = "0.1.0"
CAUSES = {
    "bandwidth_limited": "trust",
    "host_scheduling": "discard",
    "network_congestion": "trust",
}


@dataclass(frozen=True)
class Sent:
    """A transfer: from where to where, when it began, and its cause, which has one verdict."""

    src: str
    dst: str
    at_ns: int | None
    cause: str = "bandwidth_limited"


def store_transfers(
    store: Store,
    name: str,
    sent: Sequence[Sent],
    *,
    testbed: str = "lab",
    version: str = VERSION,
    subject: str | None = None,
    wide: bool = True,
    files: Sequence[str] | None = None,
    size_bytes: int = 0,
) -> str | None:
    """Publishes a capture of these transfers; returns its key, or None if it is there.

    Without ``wide`` it has the table of verdicts only, which is quick to write.
    """
    columns = {
        "source": [name] * len(sent),
        "transfer": [f"{number}.0" for number in range(len(sent))],
        "src": [one.src for one in sent],
        "dst": [one.dst for one in sent],
        "start_ns": pa.array([one.at_ns for one in sent], pa.timestamp("ns", "UTC")),
        "cause": [one.cause for one in sent],
        "verdict": [CAUSES.get(one.cause, "not_judged") for one in sent],
    }
    names = ["transfers"] if wide else ["verdicts"]
    tables = {name: conformed(pa.table(columns), store_schemas()[name]) for name in names}
    first = min((one.at_ns for one in sent if one.at_ns is not None), default=None)
    subject = subject or hashlib.sha256(name.encode()).hexdigest()
    about = About(
        kind="capture",
        key=key_of(subject, version, {}),
        subject=subject,
        name=name,
        version=version,
        options={},
        testbed=testbed,
        date=date_of(first),
        first_ns=first,
        files=tuple(files or [f"/captures/{name}"]),
        size_bytes=size_bytes,
        verdicts={},
    )
    entry = store.publish(about, {name: table.to_reader() for name, table in tables.items()})
    return None if entry is None else entry.key


def lab(path: Path, *, days: int = 20, per_day: int = 8) -> Store:
    """Captures of twenty days, one every three hours, between three hosts.

    From 03:00 to 09:00 what gamma sends is to be discarded; from the eleventh day on a third of all
    transfers queues on the path, all of them alpha's.
    """
    store = open_store(path, create=True)
    for number in range(days * per_day):
        day, slot = divmod(number, per_day)
        at = BEGAN + day * DAY + slot * DAY // per_day
        stalled = 3 <= slot * 24 // per_day < 9
        sent = [
            Sent("gamma", "alpha", at + n, "host_scheduling" if stalled else "bandwidth_limited")
            for n in range(3)
        ]
        sent += [
            Sent(
                "alpha",
                "beta",
                at + n,
                "network_congestion" if 2 * day >= days and n % 2 else "bandwidth_limited",
            )
            for n in range(6)
        ]
        store_transfers(store, f"c{number:04}.pcap", sent, wide=False)
    return open_store(path)
