"""The closed lists: why a transfer ran at its speed, and whether the number may be used.

A cause is declared once, with its verdict and its words; headlines, next steps, verdicts and the
page docs/diagnosis.md follow from this table. Decides nothing by itself: :mod:`.rules` names the
cause.

Bias: a cause whose location is unknown (path or testbed fabric, receiver or its network) is never
trusted and never discarded by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

Cause: TypeAlias = Literal[
    "insufficient",
    "driver_stall",
    "host_stall",
    "network_loss",
    "network_congestion",
    "bandwidth_limited",
    "window_limited",
    "receiver_limited",
    "host_scheduling",
    "sender_application_limited",
    "slow_start",
    "policed",
    "shaped",
    "reordering",
    "route_change",
    "outage",
    "send_buffer_limited",
    "acknowledgements_delayed",
    "peer_limited",
    "rate_changed",
    "receiver_stalled",
    "sender_rate_limited",
    "mark_limited",
    "unexplained",
    "no_anomaly",
]
Verdict: TypeAlias = Literal["trust", "review", "discard", "not_judged"]
VerdictRule: TypeAlias = Literal[
    "trust", "review", "discard", "by_score", "if_failed", "if_health_known"
]

VERDICTS: Mapping[Verdict, str] = MappingProxyType(
    {
        "trust": "the number describes the network under test",
        "review": "a person must check before the number is used",
        "discard": "the testbed, not the network, was measured",
        "not_judged": "too short to judge",
    }
)
ADVICE: Mapping[Verdict, str] = MappingProxyType(
    {
        "trust": "describes the network",
        "review": "check before use",
        "discard": "do not use",
        "not_judged": "not judged",
    }
)
VERDICT_RULES: Mapping[VerdictRule, str] = MappingProxyType(
    {
        "trust": "trust",
        "review": "review",
        "discard": "discard",
        "by_score": "discard from a score of {discard_hundredths:g} on, else review",
        "if_failed": "discard if it failed, not_judged if it is too short",
        "if_health_known": (
            "trust if pauses are known and not long and loss and i are known, else review"
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseEntry:
    """Everything about one cause.

    Attributes:
        name: As tables and reports have it.
        meaning: One sentence.
        verdict: How the verdict follows from it.
        headline: First half of the headline; the advice of the verdict is the second.
        next_step: What to do next. For a trusted cause: how to use the number.
        headlines: Whole headlines for verdicts where the two halves would not fit.
    """

    name: Cause
    meaning: str
    verdict: VerdictRule
    headline: str
    next_step: str
    headlines: Mapping[Verdict, str] = field(default_factory=dict)

    @property
    def page(self) -> str:
        """Where the documentation describes it."""
        return f"diagnosis.md#{self.name}"

    def headline_of(self, verdict: Verdict) -> str:
        """The headline for this verdict, in at most 60 characters."""
        return self.headlines.get(verdict) or f"{self.headline} — {ADVICE[verdict]}"


_TABLE = (
    CauseEntry(
        name="insufficient",
        meaning="the transfer failed, or is too short to judge",
        verdict="if_failed",
        headline="the transfer failed",
        headlines={"not_judged": "too short to judge"},
        next_step="repeat the transfer, for at least ten round trips and 64 kB",
    ),
    CauseEntry(
        name="driver_stall",
        meaning="the sending host's network driver hung and was reset",
        verdict="discard",
        headline="the sender's network driver hung",
        headlines={"review": "the sender's driver may have hung — check before use"},
        next_step=(
            "read the kernel log of the sending host for transmit-queue resets, change driver or "
            "NIC model, and repeat"
        ),
    ),
    CauseEntry(
        name="host_stall",
        meaning="the whole sending host stopped for seconds",
        verdict="by_score",
        headline="the sending host stopped",
        headlines={"review": "the sending host may have stopped — check before use"},
        next_step="check steal time and other load on the sending host's machine, and repeat",
    ),
    CauseEntry(
        name="network_loss",
        meaning="lost packets slowed the sender down",
        verdict="review",
        headline="slowed by packet loss",
        next_step=(
            "capture at a second point to locate the loss: on the path, or in the testbed's own "
            "fabric"
        ),
    ),
    CauseEntry(
        name="network_congestion",
        meaning="packets waited in a queue on the path",
        verdict="trust",
        headline="queued on the path",
        headlines={"review": "delayed, perhaps by a queue — check before use"},
        next_step=(
            "use the number as the path's, with its queue and the load of the moment; repeat at "
            "another time to see what the path gives when idle"
        ),
    ),
    CauseEntry(
        name="bandwidth_limited",
        meaning="the transfer filled the link",
        verdict="trust",
        headline="filled the link",
        next_step="use the number as the link's",
    ),
    CauseEntry(
        name="window_limited",
        meaning="the receiver's advertised window and the delay set the speed",
        verdict="trust",
        headline="limited by its window",
        headlines={"trust": "limited by its window — a property of the network"},
        next_step="use the number; a larger receive window would show more of the path",
    ),
    CauseEntry(
        name="receiver_limited",
        meaning="the receiver closed its window or let it shrink: it did not keep up",
        verdict="review",
        headline="the receiver did not keep up",
        next_step="check the receiving host: CPU share, and how fast the application reads",
    ),
    CauseEntry(
        name="host_scheduling",
        meaning="the sending host held back data that it was allowed to send",
        verdict="by_score",
        headline="the sending host stalled",
        headlines={"review": "the sending host may have stalled — check before use"},
        next_step=(
            "check the sending host's CPU quota, steal, pinning and neighbours; free its CPU and "
            "repeat"
        ),
    ),
    CauseEntry(
        name="sender_application_limited",
        meaning="the sending application supplied too little data",
        verdict="review",
        headline="the application sent too little",
        next_step=(
            "find out what the application waits for; measure the path with a bulk transfer"
        ),
    ),
    CauseEntry(
        name="slow_start",
        meaning="the transfer ended before the sender had found its speed",
        verdict="trust",
        headline="still in slow start",
        headlines={"trust": "ended in slow start — true, but no steady rate"},
        next_step=(
            "use the number for transfers of this size; measure the path with a longer transfer"
        ),
    ),
    CauseEntry(
        name="policed",
        meaning="a token bucket on the path dropped packets above its rate",
        verdict="trust",
        headline="policed on the path",
        next_step=(
            "use the number as the path's; a sender that paces below the policed rate loses nothing"
        ),
    ),
    CauseEntry(
        name="shaped",
        meaning="a token bucket on the path let a burst pass, then delayed packets above its rate",
        verdict="review",
        headline="a burst, then a lower rate",
        next_step=(
            "state the rate after the burst as the path's; the mean holds for this length only"
        ),
    ),
    CauseEntry(
        name="reordering",
        meaning="packets overtook one another, and the sender took them for lost",
        verdict="trust",
        headline="slowed by reordering",
        next_step=("use the number as the path's; check for unintended per-packet load balancing"),
    ),
    CauseEntry(
        name="route_change",
        meaning="the path's delay changed for good: the transfer measured two paths in turn",
        verdict="review",
        headline="two paths, one after the other",
        next_step="split the transfer at the change, or repeat it while the route is stable",
    ),
    CauseEntry(
        name="outage",
        meaning="nothing reached the sender for a large part of the transfer",
        verdict="review",
        headline="retransmissions went unanswered",
        next_step=(
            "check whether other connections went on meanwhile: if so, it was the path or the "
            "receiver; repeat"
        ),
    ),
    CauseEntry(
        name="send_buffer_limited",
        meaning="the sender's own buffer and the delay set the speed",
        verdict="review",
        headline="limited by its send buffer",
        next_step="give the sender a larger buffer (SO_SNDBUF, net.ipv4.tcp_wmem) and repeat",
    ),
    CauseEntry(
        name="acknowledgements_delayed",
        meaning="the receiver's acknowledgements waited for a timer",
        verdict="review",
        headline="slowed by delayed acknowledgements",
        next_step="check the receiver's delayed acknowledgements, or use larger windows",
    ),
    CauseEntry(
        name="peer_limited",
        meaning="the sender waited for requests or answers of its peer",
        verdict="trust",
        headline="waited for its peer",
        headlines={"trust": "waited for its peer — true, but no rate of the path"},
        next_step=(
            "a rate while sending, where one is stated, is the path's; the rate over the "
            "transfer's life is the peer's as well"
        ),
    ),
    CauseEntry(
        name="rate_changed",
        meaning="the rate that the path gave this transfer changed while it ran",
        verdict="review",
        headline="the path's rate changed",
        next_step=(
            "state both rates, and use the later one; repeat to see whether the change recurs"
        ),
    ),
    CauseEntry(
        name="receiver_stalled",
        meaning=(
            "the receiving host fell silent again and again, and then acknowledged everything at "
            "once"
        ),
        verdict="review",
        headline="the receiving host stalled",
        next_step="check the receiving host's CPU quota, steal and neighbours, and repeat",
    ),
    CauseEntry(
        name="sender_rate_limited",
        meaning="a queue, NIC or pacer on the sending host set the rate",
        verdict="review",
        headline="rate-limited at the sending host",
        next_step="check `tc qdisc` and the NIC of the sending host: the number is theirs",
    ),
    CauseEntry(
        name="mark_limited",
        meaning="congestion marks of the path (ECN) kept the sender below its rate",
        verdict="trust",
        headline="held back by congestion marks",
        next_step="use the number as the path's under this marking",
    ),
    CauseEntry(
        name="unexplained",
        meaning=(
            "slower than window, delay, loss and capacity allow, and nothing in the capture "
            "explains it"
        ),
        verdict="review",
        headline="slow for no visible reason",
        next_step="repeat with captures at both ends and the CPU share of both hosts recorded",
    ),
    CauseEntry(
        name="no_anomaly",
        meaning="nothing unusual is visible, but the throughput cannot be compared with anything",
        verdict="if_health_known",
        headline="nothing unusual seen",
        headlines={"review": "too little seen to compare — check before use"},
        next_step=(
            "capture at the sender, from the handshake on, so that throughput can be compared "
            "with window and RTT"
        ),
    ),
)
CAUSES: Mapping[Cause, CauseEntry] = MappingProxyType({entry.name: entry for entry in _TABLE})
"""Every cause, in the order of the documentation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetEntry:
    """Words for two causes between which the packets do not decide: true of either."""

    headline: str
    next_step: str


def _host_or_path(host: str) -> str:
    return (
        f"check the {host} host's CPU quota, steal and neighbours, and whether other connections "
        f"went on meanwhile; repeat"
    )


SETS: Mapping[frozenset[Cause], SetEntry] = MappingProxyType(
    {
        frozenset({"receiver_stalled", "host_scheduling"}): SetEntry(
            headline="one of the two hosts stalled",
            next_step="check CPU quota, steal and neighbours of both hosts, and repeat",
        ),
        frozenset({"receiver_stalled", "outage"}): SetEntry(
            headline="the receiver or the path stalled", next_step=_host_or_path("receiving")
        ),
        frozenset({"host_scheduling", "outage"}): SetEntry(
            headline="the sending host or the path stalled", next_step=_host_or_path("sending")
        ),
        frozenset({"host_scheduling", "sender_application_limited"}): SetEntry(
            headline="the sender held back, host or application",
            next_step=(
                "find out which: repeat with the CPU share of the sending host recorded and the "
                "workload declared"
            ),
        ),
        frozenset({"rate_changed", "shaped"}): SetEntry(
            headline="the path's rate fell",
            next_step=(
                "state both rates, and use the later one; repeat after idle time to see whether "
                "the first rate returns"
            ),
        ),
    }
)
"""Sets with words of their own; the others have those of the cause that is named first."""

IMPOSSIBLE_RATE = "faster than its window or link allows — check before use"
BEFORE_USE = (
    "before the number is used, rule out the other causes: capture at both ends and record the "
    "CPU share of both hosts"
)


def headline(causes: tuple[Cause, ...], verdict: Verdict, *, impossible: bool = False) -> str:
    """The verdict in at most 60 characters; ``impossible`` if an impossible rate cost the trust."""
    if impossible:
        return IMPOSSIBLE_RATE
    either = SETS.get(frozenset(causes))
    return (
        CAUSES[causes[0]].headline_of(verdict)
        if either is None
        else f"{either.headline} — {ADVICE[verdict]}"
    )


def next_step_of(causes: tuple[Cause, ...], verdict: Verdict) -> str:
    """What to do next; a number that is not trusted is never recommended for use."""
    if (either := SETS.get(frozenset(causes))) is not None:
        return either.next_step
    entry = CAUSES[causes[0]]
    return BEFORE_USE if entry.verdict == "trust" != verdict else entry.next_step


def cause_in_words(cause: str, verdict: str = "discard") -> str:
    """A cause as reports list it; one that this version does not know keeps its name."""
    if (cause, verdict) == ("insufficient", "not_judged"):
        return CAUSES["insufficient"].headline_of("not_judged")
    known = {str(name): entry.headline for name, entry in CAUSES.items()}
    return known.get(cause, cause.replace("_", " "))
