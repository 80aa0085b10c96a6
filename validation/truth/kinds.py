"""The kinds of disturbance, and the answers that are right for each.

Accepted causes and wanted verdicts, by what the judgement knows.

A *set* of causes is accepted where the packets allow more than one interpretation. `capture` holds
for a capture at the sender and nothing else; `known` for the same capture with the knowledge of a
run (the declared workload, samples of the host, the kernel's counters of the socket); `away` for
captures at the receiver and in the middle. The first cause of `known` is the injected one: it names
the row of the confusion matrix. The table in docs/validation.md is printed from this one.

Holds no numbers: doses are in `disturbances`. How a transfer is labelled in the end depends on what
the disturbance cost: see `labels`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Costs: TypeAlias = Literal["twin", "nothing", "most"]
TRUST, REVIEW, DISCARD, NOT_JUDGED = "trust", "review", "discard", "not_judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Accepted answers, for one amount of knowledge."""

    causes: tuple[str, ...]
    verdicts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of disturbance of a transfer.

    ``costs``: measured against its twin; nothing, if there is no disturbance; or most, if it acts
    most of the time.
    """

    name: str
    disturbance: str
    capture: Wanted
    known: Wanted
    away: Wanted
    why: str
    costs: Costs = "twin"

    @property
    def cause(self) -> str:
        """The injected cause."""
        return self.known.causes[0]


def _kind(
    name: str,
    disturbance: str,
    causes: tuple[str, ...],
    verdicts: tuple[str, ...],
    why: str,
    *,
    known: Wanted | None = None,
    away: Wanted | None = None,
    costs: Costs = "twin",
) -> Kind:
    capture = Wanted(causes=causes, verdicts=verdicts)
    return Kind(
        name=name,
        disturbance=disturbance,
        capture=capture,
        known=known or capture,
        away=away or capture,
        why=why,
        costs=costs,
    )


def _host(name: str, disturbance: str, why: str, capture: Wanted) -> Kind:
    """A starved sender: with knowledge of the host there is one answer."""
    known = Wanted(causes=("host_scheduling",), verdicts=(DISCARD,))
    away = Wanted(causes=capture.causes, verdicts=(REVIEW, DISCARD))
    return Kind(
        name=name, disturbance=disturbance, capture=capture, known=known, away=away, why=why
    )


_PROCESS = Wanted(
    causes=("host_scheduling", "sender_application_limited"), verdicts=(REVIEW, DISCARD)
)
_MACHINE = Wanted(causes=("host_scheduling",), verdicts=(DISCARD,))
_MACHINE_WORDS = (
    "the whole machine stops, including its responses to ACKs: no application causes that"
)
_PROCESS_WORDS = (
    "a descheduled process leaves the same packets as one that pauses; the host's samples "
    "distinguish them"
)

_KINDS: tuple[Kind, ...] = (
    _kind(
        "undisturbed-window",
        "none; the receiver has a small buffer",
        ("window_limited",),
        (TRUST,),
        "window over RTT is what this network delivers to this receiver",
        costs="nothing",
    ),
    _kind(
        "undisturbed-link",
        "none; the link is the only limit",
        ("bandwidth_limited", "network_congestion"),
        (TRUST,),
        (
            "a lone transfer that fills its link, and the queue that it builds there, are "
            "properties of the network"
        ),
        costs="nothing",
    ),
    _kind(
        "short",
        "none; too few bytes for slow start to end on this path",
        ("slow_start", "insufficient"),
        (TRUST, NOT_JUDGED),
        "true of this network, though not a steady rate; below ten round trips there is no verdict",
        costs="nothing",
    ),
    _kind(
        "loss-random",
        "independent loss of data packets on one of the two links",
        ("network_loss",),
        (REVIEW,),
        (
            "packets are lost on the path under test or in the fabric of the testbed, which no "
            "capture distinguishes"
        ),
    ),
    _kind(
        "loss-bursty",
        "loss in bursts (Gilbert-Elliott) on one of the two links",
        ("network_loss",),
        (REVIEW,),
        "as for random loss",
    ),
    _kind(
        "cross-greedy",
        "one to six TCP transfers of another host share the narrow link",
        ("network_congestion",),
        (TRUST,),
        "a queue that others fill as well is part of what the network delivers",
    ),
    _kind(
        "cross-steady",
        "UDP of constant or Poisson rate shares the narrow link",
        ("network_congestion", "bandwidth_limited"),
        (TRUST,),
        "the capacity that steady traffic leaves is a smaller link: both names are right",
    ),
    _kind(
        "reverse",
        "the path of the acknowledgements is congested",
        ("network_congestion",),
        (TRUST,),
        "acknowledgements wait in a queue of the path",
    ),
    _kind(
        "policer",
        "a token bucket drops what exceeds its rate",
        ("policed",),
        (TRUST,),
        (
            "a policer on the path is the network's own limit, however it limits (Flach et "
            "al., SIGCOMM 2016)"
        ),
    ),
    _kind(
        "shaper-burst",
        (
            "a token bucket delays what exceeds its rate, after a burst at full rate that is a "
            "large part of the transfer"
        ),
        ("shaped",),
        (TRUST,),
        (
            "the network's own limit; the mean over burst and rest depends on the transfer's "
            "length, which the report must state"
        ),
    ),
    _kind(
        "shaper",
        "the same with a burst too small to be visible",
        ("bandwidth_limited", "shaped", "network_congestion"),
        (TRUST,),
        "without its burst a shaper is a slower link",
    ),
    _kind(
        "reordering",
        "packets are held back and overtaken",
        ("reordering",),
        (TRUST,),
        "the path reorders, and the sender mistakes it for loss: true of this network",
    ),
    _kind(
        "route-change",
        "the delay of the path changes once, midway",
        ("route_change",),
        (REVIEW,),
        "two paths were measured, one after the other: the mean describes neither",
    ),
    _kind(
        "outage",
        "the link of one host is down for one to three seconds",
        ("outage", "host_stall"),
        (REVIEW, DISCARD),
        (
            "nothing came back for seconds; the packets do not show whether the path or the host "
            "failed"
        ),
    ),
    _kind(
        "nic-stall",
        (
            "the link of one host with several transfers is down for 13 s or twice that, "
            "while they retransmit"
        ),
        ("driver_stall",),
        (DISCARD,),
        "the pattern of a hung transmit queue and its watchdog: the testbed was measured",
        costs="most",
        away=Wanted(causes=("driver_stall", "outage", "host_stall"), verdicts=(REVIEW, DISCARD)),
    ),
    _host(
        "quota",
        "the sending process is limited to a share of a CPU (cgroup)",
        _PROCESS_WORDS,
        _PROCESS,
    ),
    _host("spinner", "another process competes for the sender's CPU", _PROCESS_WORDS, _PROCESS),
    _host(
        "freeze",
        "the sending process is stopped and continued periodically",
        _PROCESS_WORDS,
        _PROCESS,
    ),
    _host(
        "guest-quota",
        "the sending machine is limited to a share of a CPU",
        _MACHINE_WORDS,
        _MACHINE,
    ),
    _host(
        "guest-spinner",
        "another process competes with the sending machine",
        _MACHINE_WORDS,
        _MACHINE,
    ),
    _host(
        "guest-freeze",
        "the sending machine is stopped and continued periodically",
        _MACHINE_WORDS,
        _MACHINE,
    ),
    _kind(
        "slow-reader",
        "the receiving application reads slower than data arrive",
        ("receiver_limited",),
        (REVIEW,),
        "the receiver's program was measured; that may be intended, so a person decides",
    ),
    _kind(
        "bursty-writer",
        "the sending application writes in bursts, with pauses",
        ("sender_application_limited", "host_scheduling"),
        (REVIEW, DISCARD),
        (
            "the sender's program was measured; from packets alone it looks like a descheduled "
            "process"
        ),
        known=Wanted(causes=("sender_application_limited",), verdicts=(REVIEW,)),
    ),
    _kind(
        "send-buffer",
        "the sender's buffer is smaller than the bandwidth-delay product",
        ("window_limited", "send_buffer_limited", "sender_application_limited"),
        (TRUST, REVIEW),
        (
            "buffer over RTT: the same law as for the receiver's window, set at the other end, "
            "which no packet reports"
        ),
        known=Wanted(causes=("window_limited", "send_buffer_limited"), verdicts=(TRUST, REVIEW)),
    ),
    _kind(
        "delayed-ack",
        "the receiver delays its acknowledgements whenever allowed",
        ("acknowledgements_delayed", "window_limited", "receiver_limited"),
        (TRUST, REVIEW),
        (
            "the receiver's timer is part of the round trip; whether it counts as the network's "
            "is a matter of convention, so both verdicts are accepted"
        ),
    ),
    _kind(
        "loss-and-queue",
        "random loss and greedy transfers of another host",
        ("network_congestion", "network_loss"),
        (TRUST, REVIEW),
        "either may have cost more",
    ),
    _kind(
        "freeze-and-loss",
        "the sending process is stopped periodically and packets are lost",
        ("host_scheduling", "sender_application_limited", "network_loss"),
        (REVIEW, DISCARD),
        "either may have cost more; in no case does the number describe the network alone",
    ),
    _kind(
        "guest-quota-and-loss",
        "the sending machine is limited to a share of a CPU and packets are lost",
        ("host_scheduling", "network_loss"),
        (REVIEW, DISCARD),
        "either may have cost more; in no case does the number describe the network alone",
    ),
)

KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _KINDS}
"""Every kind by its name, in the order of the table."""

UNDISTURBED = {"window": "undisturbed-window", "link": "undisturbed-link", "short": "short"}
"""The kind of an undisturbed transfer, by what limits the network."""


def table() -> str:
    """The table as Markdown."""
    head = (
        "| kind | disturbance | sender's capture alone | with host samples | elsewhere | "
        "why |\n|---|---|---|---|---|---|\n"
    )
    return head + "".join(
        f"| `{kind.name}` | {kind.disturbance} | {_cell(kind.capture)} | "
        f"{_or_same(kind, kind.known)} | {_or_same(kind, kind.away)} | {kind.why} |\n"
        for kind in _KINDS
    )


def _cell(wanted: Wanted) -> str:
    return f"{', '.join(wanted.causes)} → {' or '.join(wanted.verdicts)}"


def _or_same(kind: Kind, wanted: Wanted) -> str:
    return "the same" if wanted == kind.capture else _cell(wanted)
