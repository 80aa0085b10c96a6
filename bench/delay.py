"""One-way delays from test packets (STAMP) against the emulator's ledger of the same packets.

Two hosts on veth links to a middle, where every packet is delayed by a time of its own, with the
same
clock everywhere. The ledger has when a packet came to the link and when it left; the probe has when
the kernel handed it on and when the other kernel took it up. What lies between is the veth links,
the
emulator's sockets and both kernels' queues, which count as error here.

Bias: sender, reflector and emulator share the cores; what the emulator itself was late by is in
both figures.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.emulate import emulator
from bench.estimators import FAR, NEAR, Agents, hosts
from bench.namespaces import NoNamespaces
from bench.process import ProgramFailed
from bench.speed import Target
from trustbed.run import rows

_DELAY_NS = 10_000_000
_DEVIATION_NS = 1_000_000
_GAP_NS = 5_000_000
WANTED_NS = 50_000
TOLERATED_JITTER = 0.10
_PIPES = {"forward": 0, "backward": 1}


@dataclass(frozen=True, kw_only=True)
class Way:
    """One direction. Times in nanoseconds.

    Attributes:
        probes: Packets that both tell of.
        error_p50: Median of how far the probe's delay is from the ledger's, without sign.
        error_p99: Its 99th percentile.
        jitter: P95 − P50 of the probe's delays.
        ledger_jitter: The same of the ledger's.
    """

    probes: int
    error_p50: float
    error_p99: float
    jitter: float
    ledger_jitter: float

    @property
    def jitter_error(self) -> float:
        """How far the jitter is from the ledger's, as a share of it."""
        return abs(self.jitter / self.ledger_jitter - 1)


def measure(count: int) -> Mapping[str, Way]:
    """Both directions, by so many probes."""
    link = {
        "delay_ns": _DELAY_NS,
        "jitter": {"kind": "normal", "deviation_ns": _DEVIATION_NS, "keep_order": False},
    }
    ends = [{"name": "near", "addresses": [NEAR]}, {"name": "far", "addresses": [FAR]}]
    topology = {"chain": {"ends": ends, "up": [link], "down": [link]}}
    try:
        with (
            hosts() as (middle, near, far),
            tempfile.TemporaryDirectory() as name,
            contextlib.ExitStack() as stack,
        ):
            ledger, told = Path(name) / "ledger", Path(name) / "probes"
            with emulator(middle, topology, ledger=str(ledger)):
                agents = Agents(stack)
                reflector = agents.start(far, "reflect", {"listen": f"{FAR}:0", "peer": NEAR})
                asked = {
                    "to": reflector.ready["listening"],
                    "from": NEAR,
                    "mean_gap_ns": _GAP_NS,
                    "count": count,
                    "rows": str(told),
                }
                agents.start(near, "probe", asked).report()
                reflector.stop()
            return compared(rows.read(told).to_pylist(), rows.read(ledger).to_pylist())
    except NoNamespaces as error:
        raise ProgramFailed(str(error)) from error


def compared(
    probes: Sequence[Mapping[str, Any]], ledger: Sequence[Mapping[str, Any]]
) -> dict[str, Way]:
    """Both directions.

    The packets of a direction came to its link in the order in which they were sent.

    Raises:
        ProgramFailed: The two do not tell of the same packets.
    """
    found = {}
    for name, pipe in _PIPES.items():
        crossed = sorted(
            (row for row in ledger if row["pipe"] == pipe), key=lambda row: row["packet"]
        )
        # The reflector answers in the order in which probes come to it.
        sent = sorted(
            probes,
            key=lambda row: row["sent_ns"] if name == "forward" else row["reflector_sent_ns"],
        )
        if len(crossed) != len(sent) or any(row["round_trip_ns"] is None for row in sent):
            raise ProgramFailed(
                f"{len(sent)} probes, and {len(crossed)} packets in the ledger: something "
                f"was lost, or somebody else sends"
            )
        truth = [row["actual_ns"] - row["arrived_ns"] for row in crossed]
        seen = [row[f"{name}_ns"] for row in sent]
        errors = sorted(abs(one - other) for one, other in zip(seen, truth, strict=True))
        found[name] = Way(
            probes=len(sent),
            error_p50=_at(errors, 0.5),
            error_p99=_at(errors, 0.99),
            jitter=_spread(seen),
            ledger_jitter=_spread(truth),
        )
    return found


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _spread(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return _at(ordered, 0.95) - _at(ordered, 0.5)


def line(name: str, way: Way) -> str:
    """A direction for a person."""
    jitter = (
        f"jitter {way.jitter / 1e3:.0f} µs, the ledger's {way.ledger_jitter / 1e3:.0f} µs "
        f"({way.jitter_error:.1%} off)"
    )
    return (
        f"{name:<9} {way.probes} probes, off by {way.error_p50 / 1e3:.1f} µs (p50), "
        f"{way.error_p99 / 1e3:.1f} µs (p99); {jitter}"
    )


def targets(found: Mapping[str, Way]) -> list[Target]:
    """What should be."""
    wanted = []
    for name, way in found.items():
        wanted.append(
            Target(
                what=f"delay: {name} probes against the ledger, p50",
                value=way.error_p50 / 1e3,
                limit=WANTED_NS / 1e3,
                unit="µs",
            )
        )
        wanted.append(
            Target(
                what=f"delay: {name} jitter (P95 − P50) against the ledger's",
                value=way.jitter_error,
                limit=TOLERATED_JITTER,
            )
        )
    return wanted
