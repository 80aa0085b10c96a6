"""Stores made by hand, whose answers can be found with paper and pencil."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from trustbed.store.captures import date_of
from trustbed.store.entry import key_of
from trustbed.store.store import About, Store, open_store
from trustbed.store.tables import VERDICTS, conformed, store_schemas

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
    at_ns: int
    cause: str = "bandwidth_limited"


def store_transfers(
    store: Store,
    name: str,
    sent: Sequence[Sent],
    *,
    testbed: str = "lab",
    version: str = VERSION,
    subject: str | None = None,
) -> str | None:
    """Publishes a capture of these transfers; returns its key, or None if it is there."""
    columns = {
        "source": [name] * len(sent),
        "transfer": [f"{number}.0" for number in range(len(sent))],
        "src": [one.src for one in sent],
        "dst": [one.dst for one in sent],
        "start_ns": pa.array([one.at_ns for one in sent], pa.timestamp("ns", "UTC")),
        "cause": [one.cause for one in sent],
        "verdict": [CAUSES.get(one.cause, "not_judged") for one in sent],
    }
    table = conformed(pa.table(columns), store_schemas()["transfers"])
    first = min((one.at_ns for one in sent), default=None)
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
        files=(f"/captures/{name}",),
        verdicts={},
    )
    verdicts = table.select(list(VERDICTS))
    tables = {"transfers": table.to_reader(), "verdicts": verdicts.to_reader()}
    entry = store.publish(about, tables)
    return None if entry is None else entry.key


def new_store(path: Path) -> Store:
    """An empty store."""
    return open_store(str(path), create=True)


def lab(path: Path) -> Store:
    """Four weeks of captures every two hours between three hosts.

    From 02:00 to 06:00 what gamma sends is to be discarded; from the fifteenth day on half of what
    alpha sends queues on the path.
    """
    store = new_store(path)
    for number in range(28 * 12):
        at = BEGAN + number * 2 * HOUR
        hour, day = number % 12 * 2, number // 12
        sent = [
            Sent(
                "gamma",
                "alpha",
                at + second * SECOND,
                "host_scheduling" if 2 <= hour < 6 else "bandwidth_limited",
            )
            for second in range(3)
        ]
        sent += [
            Sent(
                "alpha",
                "beta",
                at + second * SECOND,
                "network_congestion" if day >= 14 and second % 2 else "bandwidth_limited",
            )
            for second in range(6)
        ]
        store_transfers(store, f"c{number:04}.pcap", sent)
    return open_store(str(path))
