"""The conditions of rules and confidence.

Words, a test and the number shown beside it.

A condition takes a :class:`Case` (evidence, derived numbers, thresholds) and holds or not. It does
not know which rule uses it.

Bias: an unknown number never fulfils a condition, except where the words contain "or unknown".

The words carry the thresholds' names in braces, so that the printed rule always states the value in
use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trustbed.diagnose.budget import Budget, Limit
from trustbed.diagnose.evidence import DELIVERY_RATE, Evidence
from trustbed.diagnose.numbers import Numbers, derive, idle_open_window_share
from trustbed.diagnose.shapes import queue_inflation, queued_packets
from trustbed.diagnose.thresholds import Thresholds
from trustbed.findings import filled
from trustbed.findings.words import number_words, percent_words, seconds_words


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What a condition looks at.

    ``budget`` says who waited for whom, ``longest_wait`` whose wait cost most, and how much, and
    ``limit`` what bound the transfer for the largest part of the rest.
    """

    evidence: Evidence
    numbers: Numbers
    thresholds: Thresholds
    budget: Budget
    longest_wait: tuple[str, float]
    limit: Limit

    @classmethod
    def of(cls, evidence: Evidence, thresholds: Thresholds) -> Case:
        """The case that this evidence makes: derives its numbers."""
        budget = Budget.of(evidence)
        return cls(
            evidence,
            derive(evidence, thresholds),
            thresholds,
            budget,
            budget.longest_wait,
            budget.limit,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """One test in words (with thresholds in braces) and in code.

    ``shown`` prints the numbers that were compared.
    """

    words: str
    holds: Callable[[Case], bool]
    shown: Callable[[Case], str]

    def wording(self, thresholds: Thresholds) -> str:
        """The words with the thresholds' values filled in."""
        return filled(self.words, thresholds)


def at_least(value: float | None, threshold: float) -> bool:
    """Known and not below the threshold."""
    return value is not None and value >= threshold


def below(value: float | None, threshold: float) -> bool:
    """Known and below the threshold."""
    return value is not None and value < threshold


def _ratio(case: Case) -> str:
    return f"r = {number_words(case.numbers.ratio)}"


def _inflation(case: Case) -> str:
    return f"i = {number_words(case.numbers.rtt_inflation)}"


def _loss(case: Case) -> str:
    return f"loss = {percent_words(case.evidence.loss)}"


def _loss_and_ratio(case: Case) -> str:
    return f"{_loss(case)}, {_bounds(case)}, {_ratio(case)}"


def _bounds(case: Case) -> str:
    numbers = case.numbers
    named = (
        ("X₁", numbers.x1_bytes_per_second),
        ("X₂", numbers.x2_bytes_per_second),
        ("X₃", numbers.x3_bytes_per_second),
    )
    return ", ".join(
        f"{name} = {'∞' if value is None else f'{value * 8e-6:.4g} Mbit/s'}"
        for name, value in named
    )


def _pauses(case: Case) -> str:
    evidence, numbers = case.evidence, case.numbers
    if evidence.long_pause_fraction is None and evidence.idle_open_window_fraction is None:
        mean, period = (
            seconds_words(evidence.spacing_mean_seconds),
            seconds_words(numbers.packet_period_seconds),
        )
        return f"mean pause {mean} against T_pkt {period}"
    empty = (
        ""
        if evidence.empty_fraction is None
        else f", empty = {percent_words(evidence.empty_fraction)}"
    )
    return (
        f"f = {percent_words(evidence.long_pause_fraction)}, h = "
        f"{percent_words(idle_open_window_share(evidence))}{empty}"
    )


def _stalls(case: Case) -> str:
    return (
        f"stalled {seconds_words(case.numbers.stalled_seconds)} of "
        f"{seconds_words(case.evidence.duration_seconds)}"
    )


def _gaps(case: Case) -> str:
    gaps = case.evidence.stall_gaps_seconds
    return "stalls of " + (", ".join(seconds_words(gap) for gap in gaps) if gaps else "no length")


def _application(case: Case) -> str:
    evidence = case.evidence
    ignored = (
        " (ignored: bulk)" if evidence.workload == "bulk" and evidence.app_limited_fraction else ""
    )
    return (
        f"app_limited = {percent_words(evidence.app_limited_fraction)}{ignored}, "
        f"workload = {evidence.workload}, cpu_share = {number_words(evidence.cpu_share)}"
    )


def _cpu(case: Case) -> str:
    return f"cpu_share = {number_words(case.evidence.cpu_share)}"


def _saturated(case: Case) -> str:
    return f"window_saturated = {percent_words(case.evidence.window_saturated)}"


def _closed(case: Case) -> str:
    return f"window_closed = {percent_words(case.evidence.window_closed)}"


def _named(name: str, value: Callable[[Case], object]) -> Callable[[Case], str]:
    def shown(case: Case) -> str:
        answer = value(case)
        return f"{name} = {'unknown' if answer is None else str(answer).lower()}"

    return shown


def _capacity(case: Case) -> str:
    source = case.evidence.capacity_source
    inflation = queue_inflation(case.evidence)
    packets = queued_packets(case.evidence, case.evidence.rate_high_bytes_per_second)
    return (
        f"capacity_source = {source or 'unknown'}, {number_words(inflation)} times base and "
        f"own, {number_words(packets)} packets"
    )


def _is_loss(case: Case) -> bool:
    numbers, thresholds = case.numbers, case.thresholds
    if at_least(case.evidence.loss, thresholds.loss_decisive):
        return True
    return numbers.loss_bound and at_least(numbers.ratio, thresholds.half_explained_ratio)


def _is_application(case: Case) -> bool:
    evidence, thresholds = case.evidence, case.thresholds
    idle = (
        case.numbers.application_share >= thresholds.app_limited
        or evidence.workload == "interactive"
    )
    return idle and not below(evidence.cpu_share, thresholds.cpu_starved)


def _is_stalled(case: Case) -> bool:
    stalled, duration = case.numbers.stalled_seconds, case.evidence.duration_seconds
    if not case.evidence.stall_gaps_seconds:
        return False
    # A host that retransmits is no stalled one: nobody answered it. Neither is one that waits for
    # its peer.
    shares, length = case.budget, duration or 0.0
    # What went unanswered to the end lies behind the last acknowledgement.
    unanswered = max(shares.outage * length, case.evidence.unanswered_seconds or 0.0)
    waited = unanswered + shares.peer * length
    if not case.evidence.kernel_reset and waited >= stalled / 2:
        return False
    return stalled >= case.thresholds.stall_seconds or bool(
        duration and stalled >= case.thresholds.stall_share * duration
    )


def _capacity_is_smaller(case: Case) -> bool:
    x1, x3 = case.numbers.x1_bytes_per_second, case.numbers.x3_bytes_per_second
    return x3 is not None and (x1 is None or x3 < x1)


def _clean_path(case: Case) -> bool:
    low = not at_least(case.evidence.loss, case.thresholds.loss_negligible)
    return low and not at_least(case.numbers.rtt_inflation, case.thresholds.inflation)


FAILED = Condition(
    "the transfer failed",
    lambda c: bool(c.evidence.failed),
    _named("failed", lambda c: c.evidence.failed),
)
TOO_SHORT = Condition(
    "shorter than 10 round trips, or less than 64 kB delivered",
    lambda c: bool(c.evidence.too_short),
    _named("too_short", lambda c: c.evidence.too_short),
)
STALLED = Condition(
    "the host's stalls last {stall_seconds:g} s or {stall_share:.0%} of the transfer in total",
    _is_stalled,
    _stalls,
)
RESET_SIGNATURE = Condition(
    "the kernel log shows a reset, or every stall lasts near a multiple of "
    "{reset_period_seconds:g} s",
    lambda c: bool(c.evidence.kernel_reset) or c.numbers.stalls_near_reset_period,
    lambda c: f"{_gaps(c)}, {_named('kernel_reset', lambda k: k.evidence.kernel_reset)(c)}",
)
KERNEL_RESET = Condition(
    "the kernel log shows a reset",
    lambda c: bool(c.evidence.kernel_reset),
    _named("kernel_reset", lambda c: c.evidence.kernel_reset),
)
NEAR_RESET_PERIOD = Condition(
    "every stall within {reset_tolerance_seconds:g} s of a multiple of {reset_period_seconds:g} s",
    lambda c: c.numbers.stalls_near_reset_period,
    _gaps,
)
EXPLAINED = Condition(
    "r known and ≥ {explained_ratio:g}",
    lambda c: at_least(c.numbers.ratio, c.thresholds.explained_ratio),
    _ratio,
)
UNEXPLAINED = Condition(
    "r known and < {explained_ratio:g}",
    lambda c: below(c.numbers.ratio, c.thresholds.explained_ratio),
    _ratio,
)
NO_RATIO = Condition("r unknown", lambda c: c.numbers.ratio is None, _ratio)
CONFIRMED = Condition(
    "r ≤ {window_met:g}",
    lambda c: c.numbers.ratio is not None and c.numbers.ratio <= c.thresholds.window_met,
    _ratio,
)
LOSS_BOUND = Condition(
    "X₂ < {loss_bound_margin:g} · min(X₁, X₃)", lambda c: c.numbers.loss_bound, _bounds
)
INFLATED = Condition(
    "i ≥ {inflation:g}",
    lambda c: at_least(c.numbers.rtt_inflation, c.thresholds.inflation),
    _inflation,
)
NOT_INFLATED = Condition(
    "i < {inflation:g} or unknown",
    lambda c: not at_least(c.numbers.rtt_inflation, c.thresholds.inflation),
    _inflation,
)
CLEARLY_INFLATED = Condition(
    "i ≥ {inflation_clear:g}",
    lambda c: at_least(c.numbers.rtt_inflation, c.thresholds.inflation_clear),
    _inflation,
)
CAPACITY_MEASURED = Condition(
    "the capacity was measured in the transfer itself (a steady delivery rate with a full pipe), "
    "and a queue stood before it: RTT ≥ {link_queue_inflation:g} times base and own packets, and "
    "above its base by {link_queue_packets:g} packets (or unknown)",
    lambda c: c.evidence.capacity_source == DELIVERY_RATE and not c.numbers.capacity_refuted,
    _capacity,
)
CAPACITY_SMALLER = Condition("X₃ < X₁", _capacity_is_smaller, _bounds)
LONG_PAUSES = Condition(
    "long pauses: f ≥ {long_pause_fraction:.0%}, h ≥ {idle_open_window_fraction:.0%} or empty ≥ "
    "{empty_fraction:.0%} (else mean pause > T_pkt, else as reported)",
    lambda c: c.numbers.long_pauses is True,
    _pauses,
)
CLEARLY_IDLE_OPEN_WINDOW = Condition(
    "h ≥ {idle_open_window_clear:.0%}",
    lambda c: at_least(idle_open_window_share(c.evidence), c.thresholds.idle_open_window_clear),
    _pauses,
)
NO_LONG_PAUSES = Condition(
    "pauses known and not long", lambda c: c.numbers.long_pauses is False, _pauses
)
APPLICATION_IDLE = Condition(
    "(app_limited ≥ {app_limited:.0%} or workload = interactive) and cpu_share ≥ {cpu_starved:g} "
    "or unknown",
    _is_application,
    _application,
)
APPLICATION_SEEN = Condition(
    "app_limited ≥ {app_limited:.0%}",
    lambda c: c.numbers.application_share >= c.thresholds.app_limited,
    _application,
)
WINDOW_CLOSED = Condition(
    "window_closed ≥ {window_closed:.0%}",
    lambda c: at_least(c.evidence.window_closed, c.thresholds.window_closed),
    _closed,
)
WINDOW_MOSTLY_CLOSED = Condition(
    "window_closed ≥ {window_closed_clear:.0%}",
    lambda c: at_least(c.evidence.window_closed, c.thresholds.window_closed_clear),
    _closed,
)
WINDOW_SATURATED = Condition(
    "window_saturated ≥ {window_saturated:.0%}",
    lambda c: at_least(c.evidence.window_saturated, c.thresholds.window_saturated),
    _saturated,
)
LOSS = Condition(
    "loss ≥ {loss_decisive:.1%}, or X₂ < {loss_bound_margin:g} · min(X₁, X₃) with r ≥ "
    "{half_explained_ratio:g}",
    _is_loss,
    _loss_and_ratio,
)
LOSS_HEAVY = Condition(
    "loss ≥ {loss_heavy:.0%}", lambda c: at_least(c.evidence.loss, c.thresholds.loss_heavy), _loss
)
LOSS_PRESENT = Condition(
    "loss > {loss_present:.2%}",
    lambda c: c.evidence.loss is not None and c.evidence.loss > c.thresholds.loss_present,
    _loss,
)
CLEAN_PATH = Condition(
    "loss < {loss_negligible:.1%} and i < {inflation:g}, or unknown",
    _clean_path,
    lambda c: f"{_loss(c)}, {_inflation(c)}",
)
MOSTLY_IDLE = Condition(
    "X·R < p: less than {packets_in_flight_least:g} packet in flight on average",
    lambda c: below(c.numbers.packets_in_flight, c.thresholds.packets_in_flight_least),
    lambda c: f"packets in flight = {number_words(c.numbers.packets_in_flight)}",
)
SLOW_START = Condition(
    "ended without loss before slow start could reach its bound",
    lambda c: bool(c.evidence.slow_start),
    _named("slow_start", lambda c: c.evidence.slow_start),
)
CPU_STARVED = Condition(
    "cpu_share < {cpu_starved:g}",
    lambda c: below(c.evidence.cpu_share, c.thresholds.cpu_starved),
    _cpu,
)
CPU_FREE = Condition(
    "cpu_share ≥ {cpu_free:g}",
    lambda c: at_least(c.evidence.cpu_share, c.thresholds.cpu_free),
    _cpu,
)
HEALTH_KNOWN = Condition(
    "pauses known and not long, loss and i known",
    lambda c: (
        c.numbers.long_pauses is False
        and c.evidence.loss is not None
        and c.numbers.rtt_inflation is not None
    ),
    lambda c: f"{_pauses(c)}, {_loss(c)}, {_inflation(c)}",
)
