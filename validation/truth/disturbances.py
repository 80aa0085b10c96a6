"""The doses of each kind of disturbance.

From what stops a transfer down to what it does not feel, and how often in a whole run.

A dose is one setting of one kind; `writers` applies it to a scenario. Doses of what must be
discarded are chosen so that most of them cost well over 15 %: a missed discard is the worst
mistake, so it is the one that needs the most cases. Every other kind has a dose that costs little
or nothing, except what cannot be done a little: others' greedy transfers, a stalled interface, two
things at once.

Bias: what a dose costs depends on the machine where a guest's processor is emulated; `labels` looks
at the cost, not at the dose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from validation.truth import writers
from validation.truth.networks import Limit
from validation.truth.scenario import SERVER
from validation.truth.writers import Parameters, Write


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbance:
    """A kind, its doses, its networks, and how many transfers of it a whole run has.

    ``transfers`` is even: half of them are made on each half of the families. ``further`` ones, of
    ``further_doses``, make up for those that cost too little to count. They were planned once that
    was known and change nothing of the others.
    """

    kind: str
    transfers: int
    limits: tuple[Limit, ...]
    doses: tuple[Parameters, ...]
    write: Write
    further: int = 0
    further_doses: tuple[Parameters, ...] = ()
    guest: Literal["sender", "receiver"] | None = None
    """Which host is to be a guest."""
    least_rate_megabits: float = 0.0
    least_trip_ms: float = 0.0
    most_trip_ms: float = 1e9
    small_buffer: bool = False
    """Whether the sender's buffer is to be small.

    Otherwise the kernel keeps sending through every pause of its process.
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


_WINDOW: tuple[Limit, ...] = ("window",)
_LINK: tuple[Limit, ...] = ("link",)
_BOTH: tuple[Limit, ...] = ("window", "link")


def _row(
    kind: str,
    transfers: int,
    limits: tuple[Limit, ...],
    doses: tuple[Parameters, ...],
    write: Write,
    **more: Any,  # noqa: ANN401 - the other fields
) -> Disturbance:
    return Disturbance(
        kind=kind, transfers=transfers, limits=limits, doses=doses, write=write, **more
    )


_PATHS = (
    _row(
        "loss-random",
        40,
        _BOTH,
        _doses(loss=("0.05%", "0.3%", "1%", "2%", "4%")),
        writers.random_loss,
    ),
    _row(
        "loss-bursty",
        24,
        _BOTH,
        _doses(to_bad=("0.05%", "0.5%", "2%"), to_good=("10%", "30%")),
        writers.bursty_loss,
    ),
    _row(
        "ecn-marks",
        28,
        _LINK,
        _doses(probability=(0.003, 0.01, 0.03)),
        writers.ecn_marks,
        further=36,
        further_doses=_doses(probability=(0.01, 0.03)),
        most_trip_ms=100,
    ),
    _row(
        "cross-greedy",
        24,
        _BOTH,
        _doses(flows=(1, 2, 4, 6)),
        writers.greedy,
        shared=True,
        least_trip_ms=5,
    ),
    _row(
        "cross-steady",
        32,
        _BOTH,
        _doses(share=(0.03, 0.3, 0.6, 0.9), model=("cbr", "poisson")),
        writers.steady,
        shared=True,
    ),
    _row("reverse", 24, _BOTH, _doses(share=(0.3, 0.97, 1.1, 1.4)), writers.reverse, shared=True),
    _row(
        "policer",
        40,
        _LINK,
        _doses(share=(0.2, 0.5, 0.8, 1.1), burst_seconds=(0.005, 0.03, 0.2)),
        writers.policer,
    ),
    _row(
        "shaper-burst",
        32,
        _LINK,
        (
            *_doses(share=(0.2, 0.4, 0.6), burst_share=(0.15, 0.3, 0.6)),
            {"share": 0.95, "burst_share": 0.3},
        ),
        writers.shaper,
        further=8,
        further_doses=_doses(share=(0.2,), burst_share=(0.15, 0.3)),
    ),
    _row("shaper", 16, _LINK, _doses(share=(0.3, 0.6, 0.8, 0.97)), writers.shaper),
    _row(
        "reordering",
        36,
        _BOTH,
        _doses(share=("1%", "5%", "20%"), trips=(0.1, 0.5, 1.2)),
        writers.reordering,
        further=40,
        further_doses=_doses(share=("5%", "20%"), trips=(1.2,)),
    ),
    _row(
        "route-change",
        32,
        _WINDOW,
        _doses(trips=(1.05, 1.5, 2.5, 4.0)),
        writers.route_change,
        further=6,
        further_doses=_doses(trips=(2.5, 4.0)),
        least_trip_ms=5,
        most_trip_ms=100,
    ),
    _row("outage", 24, _BOTH, _doses(lasts=("100ms", "1s", "2s")), writers.outage),
    _row("far-outage", 16, _WINDOW, _doses(lasts=(13, 18, 26, 45)), writers.far_outage),
    _row(
        "rate-step",
        40,
        _LINK,
        (
            {"steps": ((0, 1.0), (0.5, 0.5))},
            {"steps": ((0, 1.0), (0.4, 0.4))},
            {"steps": ((0, 0.5), (0.5, 1.0))},
            {"steps": ((0, 1.0), (0.35, 0.3), (0.7, 0.7))},
        ),
        writers.rate_step,
        most_trip_ms=100,
    ),
    _row(
        "fair-share",
        32,
        _LINK,
        (
            {"steps": ((0, 1.0), (0.4, 0.5))},
            {"steps": ((0, 1.0), (0.3, 0.5), (0.7, 1.0))},
            {"steps": ((0, 0.5), (0.3, 0.333), (0.6, 0.5))},
            {"steps": ((0, 0.25), (0.5, 0.333))},
        ),
        writers.rate_step,
        most_trip_ms=100,
    ),
    _row("cellular", 24, _LINK, _doses(spread=(0.15, 0.3, 0.5)), writers.cellular),
    _row(
        "second-flow",
        32,
        _LINK,
        _doses(paths=(0.3, 0.6)),
        writers.second_flow,
        shared=True,
        least_trip_ms=5,
        most_trip_ms=100,
    ),
    _row(
        "parallel-flows",
        32,
        _LINK,
        _doses(flows=(4,), queue_paths=(0.15, 0.25, 0.5)),
        writers.parallel_flows,
    ),
    _row(
        "loss-and-queue",
        12,
        _LINK,
        _doses(loss=("0.3%", "1%"), flows=(2, 4)),
        writers.loss_and_queue,
        shared=True,
        least_trip_ms=5,
    ),
)

_APPLICATIONS = (
    _row(
        "slow-reader",
        30,
        _WINDOW,
        _doses(share=(0.1, 0.4, 0.7, 0.9, 1.3)),
        writers.slow_reader,
        further=14,
        further_doses=_doses(share=(0.1, 0.4, 0.7)),
    ),
    _row(
        "bursty-writer",
        36,
        _BOTH,
        _doses(share=(0.1, 0.4, 0.8), trips=(0.3, 1.5, 5.0)),
        writers.bursty_writer,
    ),
    _row(
        "long-bursts",
        36,
        _BOTH,
        _doses(share=(0.6, 0.4, 0.9), pause_ms=(300, 800)),
        writers.long_bursts,
    ),
    _row(
        "small-writes",
        32,
        _LINK,
        _doses(bytes=(1000, 2000, 4000), pause_ms=(5,), jitter=(0.2, 0.4)),
        writers.small_writes,
        least_rate_megabits=10,
        most_trip_ms=20,
    ),
    _row(
        "server-think",
        32,
        _BOTH,
        _doses(server_ms=(50, 120, 300), seconds=(0.05, 0.2)),
        writers.exchanges,
    ),
    _row(
        "request-response",
        36,
        _BOTH,
        _doses(client_ms=(50, 200, 1000), seconds=(0.05, 0.3)),
        writers.exchanges,
    ),
    _row(
        "own-qdisc",
        40,
        _BOTH,
        _doses(share=(0.25, 0.6), qdisc=("tbf", "htb")),
        writers.own_qdisc,
    ),
    _row(
        "send-buffer",
        32,
        _BOTH,
        _doses(paths=(0.15, 0.4, 0.8, 2.0)),
        writers.send_buffer,
        further=18,
        further_doses=_doses(paths=(0.15, 0.4)),
        least_trip_ms=10,
    ),
    _row(
        "delayed-ack",
        28,
        _WINDOW,
        _doses(delayed=("always",)),
        writers.delayed_ack,
        tiny_window=True,
    ),
)

_PROCESSES = (
    _row(
        "freeze",
        40,
        _BOTH,
        _stops(
            "5ms/50ms",
            "35ms/50ms",
            "70ms/100ms",
            "140ms/200ms",
            "100ms/1s",
            "300ms/400ms",
            "500ms/1s",
            "800ms/1s",
        ),
        writers.fault(kind="freeze"),
        small_buffer=True,
    ),
    _row(
        "quota",
        30,
        _WINDOW,
        _shares("10%/10ms", "0.2%/500ms", "1%/100ms", "0.1%/1s", "0.3%/400ms"),
        writers.fault(kind="cpu-quota"),
        small_buffer=True,
    ),
    _row(
        "spinner",
        30,
        _WINDOW,
        _spins(
            "8ms/10ms normal",
            "45ms/50ms realtime",
            "8ms/10ms realtime",
            "90ms/100ms realtime",
            "270ms/300ms realtime",
        ),
        writers.fault(kind="spinner"),
        small_buffer=True,
    ),
    _row(
        "freeze-and-loss",
        8,
        _WINDOW,
        _doses(loss=("0.3%", "1%"), stopped=("140ms",), every=("200ms",)),
        writers.freeze_and_loss,
        small_buffer=True,
    ),
)

_RECEIVERS = (
    _row(
        "receiver-stopped",
        32,
        _WINDOW,
        _stops("80ms/200ms", "140ms/200ms", "300ms/400ms", "500ms/1s"),
        writers.fault(kind="freeze", host=SERVER),
    ),
    _row(
        "receiver-guest-quota",
        24,
        _WINDOW,
        _shares("10%/10ms", "20%/100ms", "10%/50ms", "15%/20ms"),
        writers.fault(kind="cpu-quota", host=SERVER),
        guest="receiver",
    ),
    _row(
        "receiver-guest-freeze",
        24,
        _BOTH,
        _stops("35ms/50ms", "80ms/200ms", "140ms/200ms", "300ms/400ms"),
        writers.fault(kind="freeze", host=SERVER),
        guest="receiver",
    ),
)

_MACHINES = (
    _row(
        "nic-stall",
        48,
        _WINDOW,
        (
            {"stalls": 1, "connections": 3},
            {"stalls": 1, "connections": 6},
            {"stalls": 2, "connections": 4},
        ),
        writers.nic_stall,
        least_trip_ms=5,
    ),
    _row(
        "guest-quota",
        48,
        _BOTH,
        _shares(
            "10%/10ms",
            "90%/10ms",
            "20%/10ms",
            "20%/100ms",
            "50%/10ms",
            "15%/10ms",
            "10%/50ms",
            "30%/20ms",
        ),
        writers.fault(kind="cpu-quota"),
        guest="sender",
    ),
    _row(
        "guest-freeze",
        48,
        _BOTH,
        _stops(
            "2ms/50ms",
            "140ms/200ms",
            "35ms/50ms",
            "70ms/100ms",
            "5ms/20ms",
            "100ms/200ms",
            "300ms/400ms",
            "500ms/1s",
        ),
        writers.fault(kind="freeze"),
        guest="sender",
    ),
    _row(
        "guest-spinner",
        30,
        _BOTH,
        _spins(
            "9ms/10ms realtime",
            "7ms/10ms realtime",
            "45ms/50ms realtime",
            "9ms/10ms normal",
            "90ms/100ms realtime",
        ),
        writers.fault(kind="spinner"),
        guest="sender",
    ),
    _row(
        "guest-quota-and-loss",
        8,
        _WINDOW,
        _doses(share=("10%", "20%"), loss=("0.3%", "1%")),
        writers.quota_and_loss,
        guest="sender",
    ),
)

DISTURBANCES: tuple[Disturbance, ...] = (
    *_PATHS,
    *_APPLICATIONS,
    *_PROCESSES,
    *_RECEIVERS,
    *_MACHINES,
)
