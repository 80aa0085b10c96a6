"""The two or three short sentences that give a diagnosis its deciding numbers, and the step to take next.

Words only: reads evidence and numbers, decides nothing. A number that is unknown is left out or called unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from trustbed.diagnose.causes import Cause, Verdict
from trustbed.diagnose.conditions import MOSTLY_IDLE, UNEXPLAINED, Case, at_least
from trustbed.diagnose.shape_words import SHAPES
from trustbed.diagnose.units import count_words, percent_words, rate_words, seconds_words

NEXT_STEP: Mapping[Cause, str] = MappingProxyType(
    {
        "insufficient": "repeat the transfer, for at least ten round trips and 64 kB",
        "driver_stall": "read the kernel log of the sending host for transmit-queue resets, change driver or NIC model, and repeat",
        "host_stall": "look at steal time and at what else ran on the sending host's machine, and repeat",
        "network_loss": "capture at a second place to find where the packets are lost: on the path, or in the testbed's own fabric",
        "network_congestion": "use the number as the path's under this load; repeat at another time for the idle path",
        "bandwidth_limited": "use the number as the link's",
        "window_limited": "use the number; a larger receive window would show more of the path",
        "receiver_limited": "look at the receiving host: CPU share, and how fast the application reads",
        "host_scheduling": "look at the sending host: CPU quota, steal, pinning, neighbours; free its CPU and repeat",
        "sender_application_limited": "look at what the application waits for; measure the path with a bulk transfer",
        "slow_start": "use the number for transfers of this size; measure the path with a longer one",
        "policed": "use the number as the path's; a sender that paces below the policed rate loses nothing",
        "shaped": "use the number for transfers of this length; the rate after the burst is the path's",
        "reordering": "use the number as the path's; look for load balancing per packet where it is not wanted",
        "route_change": "split the transfer at the change, or repeat it while the route stands",
        "outage": "look whether others went on meanwhile: if so, it was the path or the receiver; repeat",
        "send_buffer_limited": "give the sender a larger buffer (SO_SNDBUF, net.ipv4.tcp_wmem) and repeat",
        "acknowledgements_delayed": "look at the receiver's delayed acknowledgements, or use larger windows",
        "unexplained": "repeat with captures at both ends and with the CPU share of both hosts recorded",
        "no_anomaly": "capture at the sender, from the handshake on, so that throughput can be compared with window and RTT",
    }
)

BEFORE_USE = "before the number is used, rule out the other causes: capture at both ends and record the CPU share of both hosts"
_USES = frozenset(
    {
        "network_congestion",
        "bandwidth_limited",
        "window_limited",
        "slow_start",
        "policed",
        "shaped",
        "reordering",
    }
)


def next_step_of(cause: Cause, verdict: Verdict) -> str:
    """What to do next; nobody is told to use a number that is not trusted."""
    return BEFORE_USE if cause in _USES and verdict != "trust" else NEXT_STEP[cause]


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
    if cause == "receiver_limited":
        return (_rate(case), _window(case), _path(case))
    if cause in ("host_scheduling", "sender_application_limited"):
        return (_rate(case), _pauses(case), _path(case), *_cpu(case), *_application(case))
    if cause in SHAPES:
        return (_rate(case), SHAPES[cause](case), _path(case))
    if cause == "slow_start":
        return (
            _rate(case),
            "no packet was lost, and it ended before slow start could reach its bound",
            _path(case),
        )
    if cause == "network_congestion" and UNEXPLAINED.holds(case) and MOSTLY_IDLE.holds(case):
        return (
            _rate(case),
            _path(case),
            "on average less than one packet was in flight: it was idle most of the time",
        )
    return (_rate(case), _path(case), _pauses(case))


def _window(case: Case) -> str:
    closed, shrunk = case.evidence.window_closed, case.evidence.window_shrunk
    if at_least(closed, case.thresholds.window_closed) or shrunk is None:
        return f"for {percent_words(closed)} of the time the receiver's window was closed"
    full = percent_words(case.evidence.rwnd_limited)
    return f"for {percent_words(shrunk)} of the time the window was smaller than it had been, and full for {full}"


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
        f"{' and '.join(missing)} cannot be seen in this capture"
        if missing
        else "nothing bounds it"
    )


def _pauses(case: Case) -> str:
    evidence, numbers, thresholds = case.evidence, case.numbers, case.thresholds
    if numbers.oversize is None:
        return "whether the sender paused cannot be seen in this capture"
    longer, withheld = evidence.oversize_fraction, evidence.withheld_fraction
    if longer is None and withheld is None:
        mean, period = evidence.spacing_mean_seconds, numbers.packet_period_seconds
        if mean is None or period is None:
            return (
                "long pauses were reported" if numbers.oversize else "no long pauses were reported"
            )
        return (
            f"mean pause {seconds_words(mean)} where a packet was due every {seconds_words(period)}"
        )
    if not numbers.oversize:
        what = "withheld data" if withheld is not None else "paused for longer than a round trip"
        return f"no pauses of its own: it {what} for {percent_words(withheld if withheld is not None else longer)} of the time"
    if not at_least(withheld, thresholds.withheld_fraction):
        return f"{percent_words(longer)} of the time went into pauses longer than a round trip"
    tail = (
        f", {percent_words(longer)} in pauses longer than a round trip"
        if at_least(longer, thresholds.oversize_fraction)
        else ""
    )
    return f"for {percent_words(withheld)} of the time it was allowed to send and did not{tail}"


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
    return f"the whole host stopped {count_words(len(gaps), 'time')}, for {seconds_words(numbers.stalled_seconds)} in total{near}{reset}"


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
            "it did not run out of data: hardly a pause began after a short packet with everything acknowledged",
        )
    return (
        f"for {percent_words(idle)} of the time it was idle after a short packet with everything acknowledged",
    )
