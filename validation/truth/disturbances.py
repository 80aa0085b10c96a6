"""How strongly each kind of disturbance is done.

From what stops a transfer down to what it does not feel, and how often in a whole run.

A dose is one setting of one kind; `writers` says what it does to a scenario. Doses of what must be
discarded are chosen so that most of them cost well over 15 %: a missed discard is the worst
mistake, so it is the one that needs the most cases. Every other kind has a dose that costs little
or nothing, except what cannot be done a little: others' greedy transfers, a stalled interface, two
things at once.

Bias: what a dose costs depends on the machine where a guest's processor is emulated; `labels` looks
at the cost, not at the dose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from validation.truth import writers
from validation.truth.networks import Limit
from validation.truth.writers import Parameters, Write


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbance:
    """A kind, its doses, its networks, and how many transfers of it a whole run has (even)."""

    kind: str
    transfers: int
    limits: tuple[Limit, ...]
    doses: tuple[Parameters, ...]
    write: Write
    guest: bool = False
    least_trip_ms: float = 0.0
    most_trip_ms: float = 1e9
    small_buffer: bool = False
    """Whether the sender's buffer is to be small.

    Else a kernel carries its process through every pause.
    """
    tiny_window: bool = False
    """Whether the window is to hold a few segments only."""
    shared: bool = False
    """Whether others must be able to share the narrow link."""


def _doses(**settings: tuple[Any, ...]) -> tuple[Parameters, ...]:
    """Every combination of the settings."""
    found: list[dict[str, Any]] = [{}]
    for key, values in settings.items():
        found = [{**one, key: value} for one in found for value in values]
    return tuple(found)


def _stops(*pairs: str) -> tuple[Parameters, ...]:
    """Each as *stopped/every*."""
    return tuple(
        {"stopped": stopped, "every": every}
        for stopped, _, every in (pair.partition("/") for pair in pairs)
    )


def _shares(*pairs: str) -> tuple[Parameters, ...]:
    """Quotas, each as *share/period*."""
    return tuple(
        {"share": share, "period": period}
        for share, _, period in (pair.partition("/") for pair in pairs)
    )


def _spins(*words: str) -> tuple[Parameters, ...]:
    """Competitors, each as *busy/every policy*."""
    found = []
    for each in words:
        turn, policy = each.split()
        busy, _, every = turn.partition("/")
        found.append({"busy": busy, "every": every, "policy": policy})
    return tuple(found)


_BOTH: tuple[Limit, ...] = ("window", "link")

_PATHS = (
    Disturbance(
        kind="loss-random",
        transfers=40,
        limits=_BOTH,
        doses=_doses(loss=("0.05%", "0.3%", "1%", "2%", "4%")),
        write=writers.random_loss,
    ),
    Disturbance(
        kind="loss-bursty",
        transfers=24,
        limits=_BOTH,
        doses=_doses(to_bad=("0.05%", "0.5%", "2%"), to_good=("10%", "30%")),
        write=writers.bursty_loss,
    ),
    Disturbance(
        kind="cross-greedy",
        transfers=24,
        limits=_BOTH,
        doses=_doses(flows=(1, 2, 4, 6)),
        write=writers.greedy,
        shared=True,
        least_trip_ms=5,
    ),
    Disturbance(
        kind="cross-steady",
        transfers=32,
        limits=_BOTH,
        doses=_doses(share=(0.03, 0.3, 0.6, 0.9), model=("cbr", "poisson")),
        write=writers.steady,
        shared=True,
    ),
    Disturbance(
        kind="reverse",
        transfers=24,
        limits=_BOTH,
        doses=_doses(share=(0.3, 0.97, 1.1, 1.4)),
        write=writers.reverse,
        shared=True,
    ),
    Disturbance(
        kind="policer",
        transfers=40,
        limits=("link",),
        doses=_doses(share=(0.2, 0.5, 0.8, 1.1), burst_seconds=(0.005, 0.03, 0.2)),
        write=writers.policer,
    ),
    Disturbance(
        kind="shaper-burst",
        transfers=24,
        limits=("link",),
        doses=(
            *_doses(share=(0.2, 0.4, 0.6), burst_share=(0.15, 0.3, 0.6)),
            {"share": 0.95, "burst_share": 0.3},
        ),
        write=writers.shaper,
    ),
    Disturbance(
        kind="shaper",
        transfers=16,
        limits=("link",),
        doses=_doses(share=(0.3, 0.6, 0.8, 0.97)),
        write=writers.shaper,
    ),
    Disturbance(
        kind="reordering",
        transfers=36,
        limits=_BOTH,
        doses=_doses(share=("1%", "5%", "20%"), trips=(0.1, 0.5, 1.2)),
        write=writers.reordering,
    ),
    Disturbance(
        kind="route-change",
        transfers=24,
        limits=("window",),
        doses=_doses(trips=(1.05, 1.5, 2.5, 4.0)),
        write=writers.route_change,
        least_trip_ms=5,
        most_trip_ms=100,
    ),
    Disturbance(
        kind="outage",
        transfers=24,
        limits=_BOTH,
        doses=_doses(lasts=("100ms", "1s", "2s")),
        write=writers.outage,
    ),
    Disturbance(
        kind="loss-and-queue",
        transfers=12,
        limits=("link",),
        doses=_doses(loss=("0.3%", "1%"), flows=(2, 4)),
        write=writers.loss_and_queue,
        shared=True,
        least_trip_ms=5,
    ),
)

_APPLICATIONS = (
    Disturbance(
        kind="slow-reader",
        transfers=30,
        limits=("window",),
        doses=_doses(share=(0.1, 0.4, 0.7, 0.9, 1.3)),
        write=writers.slow_reader,
    ),
    Disturbance(
        kind="bursty-writer",
        transfers=36,
        limits=_BOTH,
        doses=_doses(share=(0.1, 0.4, 0.8), trips=(0.3, 1.5, 5.0)),
        write=writers.bursty_writer,
    ),
    Disturbance(
        kind="send-buffer",
        transfers=24,
        limits=_BOTH,
        doses=_doses(paths=(0.15, 0.4, 0.8, 2.0)),
        write=writers.send_buffer,
        least_trip_ms=10,
    ),
    Disturbance(
        kind="delayed-ack",
        transfers=16,
        limits=("window",),
        doses=_doses(delayed=("always",)),
        write=writers.delayed_ack,
        tiny_window=True,
    ),
)

_PROCESSES = (
    Disturbance(
        kind="freeze",
        transfers=128,
        limits=("window",),
        doses=_stops(
            "5ms/50ms",
            "35ms/50ms",
            "70ms/100ms",
            "140ms/200ms",
            "100ms/1s",
            "300ms/400ms",
            "500ms/1s",
            "800ms/1s",
        ),
        write=writers.fault(kind="freeze"),
        small_buffer=True,
    ),
    Disturbance(
        kind="quota",
        transfers=40,
        limits=("window",),
        doses=_shares("10%/10ms", "0.2%/500ms", "1%/100ms", "0.1%/1s", "0.3%/400ms"),
        write=writers.fault(kind="cpu-quota"),
        small_buffer=True,
    ),
    Disturbance(
        kind="spinner",
        transfers=40,
        limits=("window",),
        doses=_spins(
            "8ms/10ms normal",
            "45ms/50ms realtime",
            "8ms/10ms realtime",
            "90ms/100ms realtime",
            "270ms/300ms realtime",
        ),
        write=writers.fault(kind="spinner"),
        small_buffer=True,
    ),
    Disturbance(
        kind="freeze-and-loss",
        transfers=12,
        limits=("window",),
        doses=_doses(loss=("0.3%", "1%"), stopped=("140ms",), every=("200ms",)),
        write=writers.freeze_and_loss,
        small_buffer=True,
    ),
)

_MACHINES = (
    Disturbance(
        kind="nic-stall",
        transfers=14,
        limits=("window",),
        doses=(
            {"stalls": 1, "connections": 3},
            {"stalls": 1, "connections": 6},
            {"stalls": 2, "connections": 4},
        ),
        write=writers.nic_stall,
        least_trip_ms=5,
    ),
    Disturbance(
        kind="guest-quota",
        transfers=72,
        limits=("window",),
        doses=_shares(
            "10%/10ms",
            "90%/10ms",
            "20%/10ms",
            "20%/100ms",
            "50%/10ms",
            "15%/10ms",
            "10%/50ms",
            "30%/20ms",
        ),
        write=writers.fault(kind="cpu-quota"),
        guest=True,
    ),
    Disturbance(
        kind="guest-freeze",
        transfers=72,
        limits=("window",),
        doses=_stops(
            "2ms/50ms", "140ms/200ms", "35ms/50ms", "70ms/100ms", "300ms/400ms", "500ms/1s"
        ),
        write=writers.fault(kind="freeze"),
        guest=True,
    ),
    Disturbance(
        kind="guest-spinner",
        transfers=30,
        limits=("window",),
        doses=_spins(
            "9ms/10ms realtime",
            "7ms/10ms realtime",
            "45ms/50ms realtime",
            "9ms/10ms normal",
            "90ms/100ms realtime",
        ),
        write=writers.fault(kind="spinner"),
        guest=True,
    ),
    Disturbance(
        kind="guest-quota-and-loss",
        transfers=8,
        limits=("window",),
        doses=_doses(share=("10%", "20%"), loss=("0.3%", "1%")),
        write=writers.quota_and_loss,
        guest=True,
    ),
)

DISTURBANCES: tuple[Disturbance, ...] = (*_PATHS, *_APPLICATIONS, *_PROCESSES, *_MACHINES)
