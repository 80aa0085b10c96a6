"""The kinds of disturbance, and the answers that are right for each.

Accepted causes and wanted verdicts, by what the judgement knows.

`capture` holds for a capture at the sender and nothing else; `known` for the same capture with the
knowledge of a run (the declared workload, samples of the host, the kernel's counters of the
socket); `away` for captures at the receiver and in the middle; `inside` for one taken within the
guest that sends. The first cause is the injected one: it names the row of the confusion matrix.
Further ones are other true names of the same limit. Where the packets allow two readings that are
not both true, only the injected one is accepted; an answer that names both is scored apart. The
table in docs/validation.md is printed from this one.

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
    """Accepted answers, for one amount of knowledge.

    ``only`` restricts the verdicts of a cause further: (cause, verdicts).
    """

    causes: tuple[str, ...]
    verdicts: tuple[str, ...]
    only: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def allowed(self, cause: str) -> tuple[str, ...]:
        """The verdicts that are right beside this cause."""
        return dict(self.only).get(cause, self.verdicts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of disturbance of a transfer.

    ``costs``: measured against its twin; nothing, if there is no disturbance; or most, if it acts
    most of the time. ``workload`` is what a run declares; a program with pauses of its own is not
    declared at all.
    """

    name: str
    disturbance: str
    capture: Wanted
    known: Wanted
    away: Wanted
    inside: Wanted
    why: str
    costs: Costs = "twin"
    workload: Literal["bulk", "unknown"] = "bulk"

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
    only: tuple[tuple[str, tuple[str, ...]], ...] = (),
    costs: Costs = "twin",
    workload: Literal["bulk", "unknown"] = "bulk",
) -> Kind:
    capture = Wanted(causes=causes, verdicts=verdicts, only=only)
    return Kind(
        name=name,
        disturbance=disturbance,
        capture=capture,
        known=known or capture,
        away=away or capture,
        inside=capture,
        why=why,
        costs=costs,
        workload=workload,
    )


def _host(name: str, disturbance: str, why: str, capture: Wanted) -> Kind:
    """A starved sender: with knowledge of the host there is one answer."""
    known = Wanted(causes=("host_scheduling",), verdicts=(DISCARD,))
    away = Wanted(causes=capture.causes, verdicts=(REVIEW, DISCARD))
    return Kind(
        name=name,
        disturbance=disturbance,
        capture=capture,
        known=known,
        away=away,
        inside=away,
        why=why,
    )


_PROCESS = Wanted(causes=("host_scheduling",), verdicts=(REVIEW, DISCARD))
_MACHINE = Wanted(causes=("host_scheduling",), verdicts=(DISCARD,))
_MACHINE_WORDS = (
    "the whole machine stops, including its responses to ACKs: no application causes that; a "
    "capture within it does not see its own pauses and may ask for review"
)
_PROCESS_WORDS = (
    "a descheduled process leaves the same packets as one that pauses; the host's samples "
    "distinguish them"
)
_RECEIVER = ("receiver_stalled", "receiver_limited")
_APPLICATION = ("sender_application_limited",)
_LINK = ("bandwidth_limited", "network_congestion")
_SHARED = ("network_congestion", "bandwidth_limited")

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
        _LINK,
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
        "first-hop",
        "none; the link right behind the capture is the only limit",
        _LINK,
        (TRUST,),
        "the same limit, in the place where a capture at the sender sees least of its queue",
        costs="nothing",
    ),
    _kind(
        "shallow-queue",
        "none; the queue of the link holds 0.05 to 0.3 of the bandwidth-delay product",
        _SHARED,
        (TRUST,),
        "the link drops what it cannot hold, at the same level each time: its queue is the limit",
        costs="nothing",
    ),
    _kind(
        "codel",
        "none; the link's queue is managed by CoDel",
        _SHARED,
        (TRUST,),
        "drops by a queue's manager are the network's own limit, not faults of the path",
        costs="nothing",
    ),
    _kind(
        "red",
        "none; the link's queue is managed by RED",
        _SHARED,
        (TRUST,),
        "as for CoDel",
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
        "ecn-marks",
        "both ends use ECN; data packets are marked at random as they reach the receiver's host",
        ("mark_limited", "network_congestion"),
        (TRUST, REVIEW),
        "marks slow a sender like losses; a queue's manager sets them, so trust is not wrong",
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
        _SHARED,
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
        (TRUST, REVIEW),
        (
            "the network's own limit; the mean over burst and rest depends on the transfer's "
            "length, which the report must state; one fall of the rate looks like a path that "
            "changed"
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
        (REVIEW,),
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
        (REVIEW, DISCARD),
        (
            "the pattern of a hung transmit queue and its watchdog; without the kernel's log a "
            "path that is dead for as long leaves the same packets"
        ),
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
        _APPLICATION,
        (REVIEW,),
        (
            "the sender's program was measured; from packets alone it may look like a descheduled "
            "process, which is no reason to discard"
        ),
        workload="unknown",
    ),
    _kind(
        "send-buffer",
        "the sender's buffer is smaller than the bandwidth-delay product",
        ("send_buffer_limited", "window_limited"),
        (TRUST, REVIEW),
        (
            "buffer over RTT: the same law as for the receiver's window, set at the other end, "
            "which no packet reports"
        ),
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
        "long-bursts",
        "the sending application writes at full rate for a long time, then pauses as long",
        _APPLICATION,
        (REVIEW,),
        "the sender's program was measured; while it wrote, the network was",
        workload="unknown",
    ),
    _kind(
        "small-writes",
        "the sending application writes 1 to 4 kB every few milliseconds, over jitter",
        _APPLICATION,
        (REVIEW,),
        "a program that writes steadily and little; no queue, no window, no loss limits it",
        workload="unknown",
    ),
    _kind(
        "server-think",
        "the sending server takes 50 to 300 ms for every answer",
        _APPLICATION,
        (REVIEW,),
        "the server's own time is part of the number",
        workload="unknown",
    ),
    _kind(
        "request-response",
        "the peer waits 50 ms to 1 s between an answer and its next request",
        ("peer_limited",),
        (TRUST,),
        "while it sends, the network is measured; the rest is the peer's time, and stated apart",
        workload="unknown",
    ),
    _kind(
        "own-qdisc",
        "a token bucket (tbf or htb) at the sender's own interface, before the capture",
        ("sender_rate_limited", "bandwidth_limited"),
        (TRUST, REVIEW),
        (
            "packets queue within the sender before they are captured: its own limit, or, by its "
            "other name, the first link"
        ),
        only=(("sender_rate_limited", (REVIEW,)), ("bandwidth_limited", (TRUST,))),
        away=Wanted(
            causes=("sender_rate_limited", "bandwidth_limited", "network_congestion"),
            verdicts=(TRUST, REVIEW),
            only=(
                ("sender_rate_limited", (REVIEW,)),
                ("bandwidth_limited", (TRUST,)),
                ("network_congestion", (TRUST,)),
            ),
        ),
    ),
    _kind(
        "far-outage",
        "the far link is down for 13 to 45 s while three transfers of one host retransmit",
        ("outage",),
        (REVIEW,),
        "a link that is down far away looks like a hung interface nearby: nothing to discard by",
        costs="most",
    ),
    _kind(
        "rate-step",
        "the rate of the narrow link changes once or twice",
        ("rate_changed",),
        (REVIEW,),
        "two paths were measured, one after the other; both rates are stated",
    ),
    _kind(
        "cellular",
        "the rate of the narrow link follows a random walk, five steps a second",
        ("bandwidth_limited", "network_congestion", "rate_changed"),
        (TRUST, REVIEW),
        "a cell's rate varies all the time: its mean is a true number, its change a true remark",
        only=(
            ("bandwidth_limited", (TRUST,)),
            ("network_congestion", (TRUST,)),
            ("rate_changed", (REVIEW,)),
        ),
        costs="most",
    ),
    _kind(
        "fair-share",
        "the rate of a flow's own queue changes as flows in other queues come and go",
        ("rate_changed", "network_congestion", "bandwidth_limited"),
        (TRUST, REVIEW),
        (
            "a fair queue gives each flow that waits the same share: to a flow it is a link whose "
            "rate changes, and whether flows or the link changed, its packets do not show"
        ),
        only=(
            ("network_congestion", (TRUST,)),
            ("bandwidth_limited", (TRUST,)),
            ("rate_changed", (REVIEW,)),
        ),
    ),
    _kind(
        "second-flow",
        "a flow of another host with a fixed window joins midway",
        ("network_congestion", "bandwidth_limited", "rate_changed"),
        (TRUST, REVIEW),
        "the share changed, the path did not",
        only=(
            ("network_congestion", (TRUST,)),
            ("bandwidth_limited", (TRUST,)),
            ("rate_changed", (REVIEW,)),
        ),
    ),
    _kind(
        "parallel-flows",
        "four flows of one host share a queue of a quarter of the bandwidth-delay product",
        _SHARED,
        (TRUST,),
        "each gets its share of the link; their losses are the queue's",
    ),
    _kind(
        "receiver-stopped",
        "the receiving process is stopped and continued periodically; its window fills",
        _RECEIVER,
        (REVIEW, DISCARD),
        "the receiving machine was measured",
    ),
    _kind(
        "receiver-guest-quota",
        "the receiving machine is limited to a share of a CPU",
        _RECEIVER,
        (REVIEW, DISCARD),
        "late acknowledgements of a machine that did not run are no queue of the network",
    ),
    _kind(
        "receiver-guest-freeze",
        "the receiving machine is stopped and continued periodically",
        _RECEIVER,
        (REVIEW, DISCARD),
        "as for the quota",
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
        ("host_scheduling", "network_loss"),
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

UNDISTURBED = frozenset(kind.name for kind in _KINDS if kind.costs == "nothing")
"""The kinds of undisturbed transfers; which one it is follows from the network."""


def table() -> str:
    """The table as Markdown."""
    head = (
        "| kind | disturbance | sender's capture alone | with host samples | elsewhere | "
        "within the guest | why |\n|---|---|---|---|---|---|---|\n"
    )
    return head + "".join(
        f"| `{kind.name}` | {kind.disturbance} | {_cell(kind.capture)} | "
        f"{_or_same(kind, kind.known)} | {_or_same(kind, kind.away)} | "
        f"{_or_same(kind, kind.inside)} | {kind.why} |\n"
        for kind in _KINDS
    )


def _cell(wanted: Wanted) -> str:
    if wanted.only:
        return "; ".join(
            f"{cause} → {' or '.join(wanted.allowed(cause))}" for cause in wanted.causes
        )
    return f"{', '.join(wanted.causes)} → {' or '.join(wanted.verdicts)}"


def _or_same(kind: Kind, wanted: Wanted) -> str:
    return "the same" if wanted == kind.capture else _cell(wanted)
