"""The two or three short sentences that give a diagnosis its deciding numbers.

Words only: reads evidence and numbers, decides nothing. An unknown number is left out or called
unknown.
"""

from __future__ import annotations

from trustbed.diagnose import budget, budget_words
from trustbed.diagnose.causes import Cause
from trustbed.diagnose.conditions import MOSTLY_IDLE, UNEXPLAINED, Case, at_least
from trustbed.findings.words import count_words, percent_words, rate_words, seconds_words


def reasons_of(cause: Cause, case: Case) -> tuple[str, ...]:
    """The deciding numbers of this case, most telling first."""
    if cause == "insufficient":
        return (
            "the transfer did not complete"
            if case.evidence.failed
            else "shorter than ten round trips, or less than 64 kB delivered",
        )
    if cause in ("driver_stall", "host_stall"):
        return (_stalls(case), *_cpu(case), _rate(case))
    if budget.is_known(case.evidence):
        return budget_words.reasons(cause, case)
    if cause == "receiver_limited":
        return (_rate(case), _window(case), _path(case))
    if cause in ("host_scheduling", "sender_application_limited"):
        return (_rate(case), _pauses(case), _path(case), *_cpu(case), *_application(case))
    if cause == "slow_start":
        return (
            _rate(case),
            "no packet was lost, and it ended before slow start reached its bound",
            _path(case),
        )
    if cause == "network_congestion" and UNEXPLAINED.holds(case) and MOSTLY_IDLE.holds(case):
        return (
            _rate(case),
            _path(case),
            "less than one packet in flight on average: idle most of the time",
        )
    return (_rate(case), _path(case), _pauses(case))


def _window(case: Case) -> str:
    closed = percent_words(case.evidence.window_closed)
    return f"for {closed} of the time the receiver's window was closed"


def _rate(case: Case) -> str:
    numbers = case.numbers
    rate = rate_words(case.evidence.throughput_bytes_per_second)
    if not case.evidence.throughput_bytes_per_second:
        return "throughput unknown"
    if numbers.expected_bytes_per_second is None:
        return f"{rate}; what the path allows is unknown, because {_unseen(case)}"
    limit = {
        "window": "where window and delay allow",
        "loss": f"where a loss of {percent_words(case.evidence.loss)} allows",
        "capacity": "where the link carries",
        None: "where the path allows",
    }[numbers.bound]
    share = (
        f" ({percent_words(numbers.ratio)})"
        if numbers.ratio is not None
        else f"; the window bound is unknown, because {_unseen(case)}"
    )
    return f"{rate} {limit} {rate_words(numbers.expected_bytes_per_second)}{share}"


def _unseen(case: Case) -> str:
    evidence = case.evidence
    missing = [
        name
        for name, value in (
            ("window", evidence.window_bytes),
            ("RTT", evidence.rtt_seconds or evidence.rtt_base_seconds),
        )
        if not value
    ]
    return (
        f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} unknown"
        if missing
        else "nothing bounds it"
    )


def _pauses(case: Case) -> str:
    evidence, numbers, thresholds = case.evidence, case.numbers, case.thresholds
    if numbers.long_pauses is None:
        return "this capture does not show whether the sender paused"
    longer, idle = evidence.long_pause_fraction, evidence.idle_open_window_fraction
    if longer is None and idle is None:
        mean, period = evidence.spacing_mean_seconds, numbers.packet_period_seconds
        if mean is None or period is None:
            return (
                "long pauses were reported"
                if numbers.long_pauses
                else "no long pauses were reported"
            )
        return (
            f"mean pause {seconds_words(mean)} where a packet was due every {seconds_words(period)}"
        )
    if not numbers.long_pauses:
        what = "idle with an open window" if idle is not None else "paused longer than the RTT"
        return (
            f"no pauses of its own: {what} for "
            f"{percent_words(idle if idle is not None else longer)} of the time"
        )
    if not at_least(idle, thresholds.idle_open_window_fraction):
        return f"{percent_words(longer)} of the time in pauses longer than the RTT"
    tail = (
        f", {percent_words(longer)} in pauses longer than the RTT"
        if at_least(longer, thresholds.long_pause_fraction)
        else ""
    )
    return f"idle with an open window for {percent_words(idle)} of the time{tail}"


def _path(case: Case) -> str:
    evidence, inflation = case.evidence, case.numbers.rtt_inflation
    loss = _loss(evidence.loss)
    if inflation is None:
        rtt = (
            f"RTT {seconds_words(evidence.rtt_seconds)}" if evidence.rtt_seconds else "RTT unknown"
        )
        return f"{rtt}, {loss}"
    rtt, base = seconds_words(evidence.rtt_seconds), seconds_words(evidence.rtt_base_seconds)
    if at_least(inflation, case.thresholds.inflation):
        return f"RTT {rtt} is {inflation:.2f} times its base of {base}, {loss}"
    return f"RTT {rtt} is the path's own (base {base}), {loss}"


def _loss(loss: float | None) -> str:
    if loss is None:
        return "loss unknown"
    return f"{percent_words(loss)} of the packets lost" if loss else "no packet lost"


def _stalls(case: Case) -> str:
    gaps, numbers = case.evidence.stall_gaps_seconds, case.numbers
    near = (
        f", each near a multiple of {case.thresholds.reset_period_seconds:g} s"
        if numbers.stalls_near_reset_period
        else ""
    )
    reset = ", and the kernel log shows a reset" if case.evidence.kernel_reset else ""
    return (
        f"the whole host stopped {count_words(len(gaps), 'time')}, for "
        f"{seconds_words(numbers.stalled_seconds)} in total{near}{reset}"
    )


def _cpu(case: Case) -> tuple[str, ...]:
    share = case.evidence.cpu_share
    return (
        ()
        if share is None
        else (f"an always-ready thread obtained {percent_words(share)} of a core",)
    )


def _application(case: Case) -> tuple[str, ...]:
    idle = case.evidence.app_limited_fraction
    if idle is None:
        return ()
    if idle < case.thresholds.app_hint:
        return (
            "it did not run out of data: few pauses followed a short segment with nothing in "
            "flight",
        )
    return (
        f"for {percent_words(idle)} of the time it was idle after a short segment with "
        f"nothing in flight",
    )
